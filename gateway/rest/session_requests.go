package rest

import (
	"cmp"
	"context"
	"errors"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/admin"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// sessionRequests does what all requests to a session have in common: it checks the caller's access,
// opens the session and delivers messages to it.
type sessionRequests struct {
	hub      *session.Hub
	sessions *access.Sessions
	actions  *admin.Actions
	// trace starts the trace of a message with the client's traceparent, which is not validated.
	trace func(id wire.SessionID, m *wire.Message, traceparent string)
}

// require returns the session of the request's path, or an error if the caller has less than
// the least access.
func (r *sessionRequests) require(c echo.Context, least access.Level) (session.Info, error) {
	granted, info, err := r.sessions.Access(c.Request().Context(), access.Caller(c), wire.SessionID(c.Param("session")))
	if err != nil {
		return session.Info{}, err
	}
	if granted < least {
		return session.Info{}, problem.New(wire.CodeForbidden, "")
	}
	switch least {
	case access.Viewer:
		err = r.actions.RecordRead(c, info)
	case access.Operator:
		err = r.actions.RecordEntry(c, info)
	default: // Level as owner is audited with the action itself
	}
	return info, err
}

// current returns the session that a request of the desktop dialect means: the one it names,
// or the most recently updated one of its user.
func (r *sessionRequests) current(c echo.Context, least access.Level) (session.Info, error) {
	me, ctx := access.Caller(c), c.Request().Context()
	id := wire.SessionID(cmp.Or(c.QueryParam("sessionId"), string(me.Session)))
	if id == "" {
		var err error
		if id, err = r.sessions.Latest(ctx, me.User); err != nil {
			return session.Info{}, err
		}
	}
	granted, info, err := r.sessions.Access(ctx, me, id)
	if err == nil && granted < least {
		err = problem.New(wire.CodeForbidden, "")
	}
	if err != nil {
		return info, err
	}
	switch least {
	case access.Viewer:
		err = r.actions.RecordRead(c, info)
	case access.Operator:
		err = r.actions.RecordEntry(c, info)
	default: // as above
	}
	return info, err
}

// withHandle opens a session for the duration of do.
func (r *sessionRequests) withHandle(c echo.Context, info session.Info, do func(ctx context.Context, h *session.Handle) error) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), httpio.AnswerTimeout)
	defer cancel()
	h, err := r.hub.Open(ctx, info.ID)
	if err != nil {
		return err
	}
	defer h.Close()
	return do(ctx, h)
}

// deliverAndWait delivers a message to a session and waits for its answer. A rejection is returned
// as a problem.
func (r *sessionRequests) deliverAndWait(c echo.Context, id wire.SessionID, msg wire.Message) (session.Answer, error) {
	ctx, cancel := context.WithTimeout(c.Request().Context(), httpio.AnswerTimeout)
	defer cancel()
	r.trace(id, &msg, c.Request().Header.Get(headerTraceparent))
	answer, err := r.hub.DeliverAndWait(ctx, id, session.Command{
		From:    session.Sender{Connection: access.NewConnectionID(), User: access.Caller(c).User, Invited: access.Caller(c).Session != ""},
		Message: msg,
	})
	if err != nil {
		p := problem.Of(err)
		p.MessageID = cmp.Or(p.MessageID, msg.ID)
		return session.Answer{}, errors.Join(p, err)
	}
	refused, ok := answer.Data.(wire.MessageRejected)
	if !ok {
		return answer, nil
	}
	p := problem.New(refused.Code, refused.Reason)
	p.MessageID, p.Field, p.ReasonCode = refused.MessageID, refused.Field, refused.ReasonCode
	return session.Answer{}, p
}

// readState returns the state of the request's session, if the caller may see it.
func (r *sessionRequests) readState(c echo.Context) (info session.Info, state wire.SessionState, err error) {
	if info, err = r.require(c, access.Viewer); err != nil {
		return info, state, err
	}
	err = r.withHandle(c, info, func(ctx context.Context, h *session.Handle) (err error) {
		state, err = h.Snapshot(ctx, nil)
		return err
	})
	return info, state, err
}
