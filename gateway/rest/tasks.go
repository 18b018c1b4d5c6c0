package rest

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/wire"
)

// taskLimit is the limit of a page of tasks.
var taskLimit = httpio.NewPageLimit(history.MaxTasks, 100)

// maxTaskQueryBytes bounds the search text.
const maxTaskQueryBytes = 500

type taskList struct {
	Tasks []history.FoundTask `json:"tasks" doc:"Newest first. parentTaskId links them to a tree; costs includes all tasks below."`
	More  bool                `json:"more" doc:"There are older tasks: request them with before and the id of the last."`
}

var taskListForm = httpio.FormOf[taskList]()

func (h *histories) taskRoutes() []openapi.Route {
	return []openapi.Route{{
		Method: http.MethodGet, Path: "/api/sessions/:session/tasks", Guard: openapi.GuardIdentity, Handler: h.getTasks, Tag: "conversation",
		Summary: "List the tasks of agents and those they delegated",
		Detail:  "A task is a turn of an agent. The newest 500 are stored; a page has 100 when limit is absent.",
		Query: []openapi.Param{
			{Name: "q", Doc: "Words in the request or the result, case-insensitive."},
			{Name: "status", Doc: "active, delegated, completed, failed or interrupted."},
			{Name: "monitor", Doc: "Only tasks of this monitor."},
			taskLimit.Param(),
			{Name: "before", Doc: "Only tasks after the one with this id in the list."},
		},
		Answers: openapi.Success(http.StatusOK, "A page of tasks.", openapi.JSONBody(taskListForm)),
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
		return q, problem.Query("q", "Want fewer words.")
	case q.State != "" && !slices.Contains(taskStates, q.State):
		return q, problem.Query("status", "Want active, delegated, completed, failed or interrupted.")
	case q.Monitor != "" && q.Monitor.Validate() != nil:
		return q, problem.Query("monitor", "Want the id of a monitor.")
	case q.Before != "" && (q.Before.Validate() != nil || history.NumberOf(q.Before) == 0):
		return q, problem.Query("before", "Want the id of a task.")
	}
	q.Limit, err = taskLimit.Read(c)
	return q, err
}

func (h *histories) getTasks(c echo.Context) error {
	info, err := h.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	q, err := taskQuery(c)
	if err != nil {
		return err
	}
	return h.budget.WithPage(c.Request().Context(), access.Caller(c).User, func(ctx context.Context) (err error) {
		list := taskList{}
		if list.Tasks, list.More, err = h.hub.Tasks(ctx, info.ID, q); err != nil {
			return err
		}
		return taskListForm.Answer(c, http.StatusOK, &list)
	})
}
