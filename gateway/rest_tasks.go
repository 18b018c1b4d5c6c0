package gateway

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

// maxTaskQueryBytes bounds the search text.
const maxTaskQueryBytes = 500

type taskList struct {
	Tasks []history.FoundTask `json:"tasks" doc:"Newest first. parentTaskId links them to a tree; costs includes all tasks below."`
	More  bool                `json:"more" doc:"There are older tasks: request them with before and the id of the last."`
}

var taskListForm = formOf[taskList]()

func (s *histories) taskRoutes() []route {
	return []route{{
		method: http.MethodGet, path: "/api/sessions/:session/tasks", guard: guardIdentity, handler: s.getTasks, tag: "conversation",
		summary: "List the tasks of agents and those they delegated",
		detail:  "A task is a turn of an agent. The newest 500 are stored; a page has 100 when limit is absent.",
		query: []param{
			{name: "q", doc: "Words in the request or the result, case-insensitive."},
			{name: "status", doc: "active, delegated, completed, failed or interrupted."},
			{name: "monitor", doc: "Only tasks of this monitor."},
			taskLimit.param(),
			{name: "before", doc: "Only tasks after the one with this id in the list."},
		},
		answers: success(http.StatusOK, "A page of tasks.", jsonBody(taskListForm)),
	}}
}

// taskStates are the allowed values of the query parameter status.
var taskStates = []string{"active", "delegated", "completed", "failed", "interrupted"}

// taskQuery parses the query of a request for tasks.
func taskQuery(c echo.Context) (q history.TaskQuery, err error) {
	q = history.TaskQuery{
		Text: c.QueryParam("q"), State: c.QueryParam("status"), Monitor: wire.MonitorID(c.QueryParam("monitor")),
		Before: wire.TaskID(c.QueryParam("before")),
	}
	switch {
	case len(q.Text) > maxTaskQueryBytes:
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

func (s *histories) getTasks(c echo.Context) error {
	info, err := s.requests.require(c, accessViewer)
	if err != nil {
		return err
	}
	q, err := taskQuery(c)
	if err != nil {
		return err
	}
	return s.budget.withPage(c.Request().Context(), caller(c).User, func(ctx context.Context) (err error) {
		list := taskList{}
		if list.Tasks, list.More, err = s.hub.Tasks(ctx, info.ID, q); err != nil {
			return err
		}
		return taskListForm.answer(c, http.StatusOK, &list)
	})
}
