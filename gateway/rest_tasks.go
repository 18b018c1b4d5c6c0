package gateway

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

// taskWords is how long what is looked for may be, in bytes.
const taskWords = 500

// taskList is a part of the tasks of a session.
type taskList struct {
	Tasks []history.FoundTask `json:"tasks" doc:"The newest first. parentTaskId makes a tree of them; costs has all below a task."`
	More  bool                `json:"more" doc:"There are older ones: ask again with before and the id of the last."`
}

var taskListForm = formOf[taskList]()

func (s *Server) taskRoutes() []route {
	return []route{{
		method: http.MethodGet, path: "/api/sessions/:session/tasks", guard: guardKnown, do: s.getTasks, tag: "conversation",
		summary: "What was asked of agents, and what they handed on to each other",
		detail:  "A task is a turn of an agent. The newest 500 are kept; a page has 100 when limit is absent.",
		query: []param{
			{name: "q", doc: "Words that are in what was asked or in what came of it, in capitals or not."},
			{name: "status", doc: "active, delegated, completed, failed or interrupted."},
			{name: "monitor", doc: "Only those of this monitor."},
			taskLimit.param(),
			{name: "before", doc: "Only what comes after this task in the list, by its id."},
		},
		answers: ok(http.StatusOK, "A page of tasks.", of(taskListForm)),
	}}
}

// taskStates are what tasks can be looked for by.
var taskStates = []string{"active", "delegated", "completed", "failed", "interrupted"}

// taskQuery reads which tasks are wanted.
func taskQuery(c echo.Context) (q history.TaskQuery, err error) {
	q = history.TaskQuery{
		Text: c.QueryParam("q"), State: c.QueryParam("status"), Monitor: wire.MonitorID(c.QueryParam("monitor")),
		Before: wire.TaskID(c.QueryParam("before")),
	}
	switch {
	case len(q.Text) > taskWords:
		return q, queryProblem("q", "Want fewer words.")
	case q.State != "" && !slices.Contains(taskStates, q.State):
		return q, queryProblem("status", "Want active, delegated, completed, failed or interrupted.")
	case q.Monitor != "" && q.Monitor.Validate() != nil:
		return q, queryProblem("monitor", "Want the id of a monitor.")
	case q.Before != "" && (q.Before.Validate() != nil || history.NumberOf(q.Before) == 0):
		return q, queryProblem("before", "Want the id of a task.")
	}
	q.Limit, err = taskLimit.read(c)
	return q, err
}

func (s *Server) getTasks(c echo.Context) error {
	info, err := s.requireAccess(c, accessViewer)
	if err != nil {
		return err
	}
	q, err := taskQuery(c)
	if err != nil {
		return err
	}
	return s.readLarge(c, func(ctx context.Context) (err error) {
		list := taskList{}
		if list.Tasks, list.More, err = s.hub.Tasks(ctx, info.ID, q); err != nil {
			return err
		}
		return taskListForm.answer(c, http.StatusOK, &list)
	})
}
