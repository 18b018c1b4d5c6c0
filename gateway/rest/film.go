package rest

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// filmStart is where the film of a session begins.
type filmStart struct {
	After wire.Position      `json:"after" doc:"The message_id after which the log has all events; 0-0 for all of it."`
	State *wire.SessionState `json:"state,omitempty" doc:"The state there; absent if the log begins with the session."`
}

var filmStartForm = httpio.FormOf[filmStart]()

func (m *messages) filmRoute() openapi.Route {
	return openapi.Route{
		Method: http.MethodGet, Path: "/api/sessions/:session/film", Guard: openapi.GuardIdentity, Handler: m.getFilmStart, Tag: "conversation",
		Summary: "Where the known past of a session begins",
		Detail: "The earliest state from which on the log has all events. Folding the events after it gives the state of each later moment. " +
			"The log may lose its oldest events meanwhile: a page of them is then 410, and this request gives a later beginning.",
		Answers: openapi.Success(http.StatusOK, "The beginning.", openapi.JSONBody(filmStartForm)),
	}
}

// getFilmStart responds with the earliest state from which on the log has all events. For a session
// without one that is the present state.
func (m *messages) getFilmStart(c echo.Context) error {
	info, err := m.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	return m.budget.WithPage(c.Request().Context(), access.Caller(c).User, func(ctx context.Context) error {
		start, known, err := m.requests.hub.FilmStart(ctx, info.ID)
		if err != nil {
			return err
		}
		out := filmStart{After: start.After, State: start.State}
		if !known {
			err := m.requests.withHandle(c, info, func(ctx context.Context, h *session.Handle) error {
				state, err := h.Snapshot(ctx, nil)
				state.HeartbeatMS = int(m.heartbeat.Milliseconds())
				out = filmStart{After: state.LastMessageID, State: &state}
				return err
			})
			if err != nil {
				return err
			}
		}
		return filmStartForm.Answer(c, http.StatusOK, &out)
	})
}
