package admin

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// films serve the beginnings of the films of sessions. The rest of a film is the log, see [eventLogs].
type films struct {
	hub     *session.Hub
	budget  *httpio.Budget
	actions *Actions
}

// adminFilm is where the film of a session begins.
type adminFilm struct {
	After wire.Position      `json:"after" doc:"The message_id after which the log has all events; 0-0 for all of it."`
	State *wire.SessionState `json:"state,omitempty" doc:"The state there; absent if the log begins with the session."`
}

var adminFilmForm = httpio.FormOf[adminFilm]()

func (f *films) routes() []openapi.Route {
	return []openapi.Route{{
		Method: http.MethodGet, Path: "/api/admin/sessions/:session/film", Guard: openapi.GuardRead, Handler: f.getStart, Tag: "admin",
		Summary: "Where the known past of a session begins, without opening it",
		Detail: "Folding the events after it gives the state of each later moment. Needs the role admin:content, and the audit log names the caller. " +
			"409 for a session whose log has lost its beginning and has no stored state yet.",
		Answers: openapi.Success(http.StatusOK, "The beginning.", openapi.JSONBody(adminFilmForm)),
	}}
}

// getStart responds with the earliest state from which on the log has all events. The response has
// texts of users and agents, so it is recorded before it is sent.
func (f *films) getStart(c echo.Context) error {
	id, err := sessionParam(c)
	if err != nil {
		return err
	}
	if !seesContent(c) {
		return problem.New(wire.CodeForbidden, "A film has texts of users and agents: it needs the role "+string(auth.RoleAdminContent)+".")
	}
	info, err := f.hub.Info(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return f.budget.WithPage(c.Request().Context(), access.Caller(c).User, func(ctx context.Context) error {
		start, known, err := f.hub.FilmStart(ctx, info.ID)
		if err != nil {
			return notFoundIfDeleted(err)
		}
		if !known {
			return problem.New(wire.CodeSessionInvalidState, "The log of this session has lost its beginning, and no state of it is stored yet. It has a film after its next events.")
		}
		err = f.actions.PerformWithoutReason(c, Action{
			Action: viewFilm, Target: string(info.ID),
			Execute: func(context.Context, string) (string, error) { return "", nil },
		})
		if err != nil {
			return err
		}
		// The rest of the film is the log.
		f.actions.openings.markOpen(opening{who: access.Caller(c).User, action: viewLog, target: string(info.ID)})
		return adminFilmForm.Answer(c, http.StatusOK, &adminFilm{After: start.After, State: start.State})
	})
}
