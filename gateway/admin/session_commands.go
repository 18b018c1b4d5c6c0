package admin

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// commands serve the admin actions on sessions and replicas, and execute those of other replicas.
type commands struct {
	hub        *session.Hub
	sessions   *access.Sessions
	members    Membership
	actions    *Actions
	frameBytes int64
}

// interruptOrder is the body of an interrupt.
type interruptOrder struct {
	Reason    string         `json:"reason" wire:"min=1,max=500" doc:"The reason, for the audit log."`
	AgentID   wire.AgentID   `json:"agentId,omitempty" doc:"The agent to stop; all when absent."`
	MonitorID wire.MonitorID `json:"monitorId,omitempty" doc:"The monitor whose agents are stopped; not together with agentId."`
}

var interruptOrderForm = httpio.FormOf[interruptOrder]()

// performOnSession performs an action on the session of the path.
func (o *commands) performOnSession(c echo.Context, d Action, do func(ctx context.Context, id wire.SessionID, act string) (string, error)) error {
	id := wire.SessionID(c.Param("session"))
	d.Target = string(id) + d.Target
	d.check = func(ctx context.Context) error {
		if err := id.Validate(); err != nil {
			return &session.Error{Code: wire.CodeSessionNotFound, Reason: wire.CodeSessionNotFound.Info().Message}
		}
		info, err := o.hub.Info(ctx, id)
		if err == nil && info.Quarantined != "" && d.Action != actionRelease && d.Action != ActionDelete {
			err = &session.Error{Code: wire.CodeSessionInvalidState, Reason: "The session is quarantined; release it first."}
		}
		if err == nil && d.needsOpen {
			err = o.hub.Serving()
		}
		if err == nil && d.precondition != nil {
			err = d.precondition(ctx)
		}
		return err
	}
	d.Execute = func(ctx context.Context, act string) (string, error) { return do(ctx, id, act) }
	return o.actions.performAudited(c, d)
}

// The actions that are possible on a quarantined session.
const (
	actionRelease = "session.release"
	ActionDelete  = "session.delete"
)

func (o *commands) interruptSession(c echo.Context) error {
	in, err := interruptOrderForm.Read(c, o.frameBytes)
	if err != nil {
		return err
	}
	m := wire.Interrupt{Scope: wire.ScopeSession, AgentID: in.AgentID, MonitorID: in.MonitorID}
	d, user := Action{Action: "session.interrupt", reason: in.Reason, needsOpen: true}, access.Caller(c).User
	switch {
	case in.AgentID != "" && in.MonitorID != "":
		return problem.Query("monitorId", "Name an agent or a monitor, not both.")
	case in.AgentID != "":
		m.Scope, d.Target = wire.ScopeAgent, "/"+string(in.AgentID)
	case in.MonitorID != "":
		m.Scope, d.Target = wire.ScopeMonitor, "/"+string(in.MonitorID)
	}
	return o.performOnSession(c, d, func(ctx context.Context, id wire.SessionID, act string) (string, error) {
		m.MessageID = wire.MessageID(act)
		return o.hub.ActAsAdmin(ctx, id, user, m.MessageID, wire.Message{Session: id, ID: m.MessageID, Data: m})
	})
}

// cancelMessage removes a waiting message from its queue.
func (o *commands) cancelMessage(c echo.Context) error {
	in, err := adminOrderForm.Read(c, o.frameBytes)
	if err != nil {
		return err
	}
	message, user := wire.MessageID(httpio.PathParam(c, "message")), access.Caller(c).User
	if message.Validate() != nil {
		return problem.Status(http.StatusNotFound, "No such message waits in this session.")
	}
	d := Action{Action: "message.cancel", Target: "/" + string(message), reason: in.Reason, needsOpen: true}
	return o.performOnSession(c, d, func(ctx context.Context, id wire.SessionID, act string) (string, error) {
		// Owners of earlier versions identify the action by the id of the message.
		m := wire.Message{Session: id, ID: wire.MessageID(act), Data: wire.DeleteQueuedMessage{Target: message}}
		note, err := o.hub.ActAsAdmin(ctx, id, user, m.ID, m)
		if e, ok := errors.AsType[*session.Error](err); ok && e.Code == wire.CodeInvalidMessage {
			err = problem.Status(http.StatusNotFound, e.Reason)
		}
		return note, err
	})
}

func (o *commands) resetSession(c echo.Context) error {
	in, err := adminOrderForm.Read(c, o.frameBytes)
	if err != nil {
		return err
	}
	user := access.Caller(c).User
	return o.performOnSession(c, Action{Action: "session.reset", reason: in.Reason, needsOpen: true}, func(ctx context.Context, id wire.SessionID, act string) (string, error) {
		m := wire.Reset{MessageID: wire.MessageID(act)}
		return o.hub.ActAsAdmin(ctx, id, user, m.MessageID, wire.Message{Session: id, ID: m.MessageID, Data: m})
	})
}

func (o *commands) releaseSession(c echo.Context) error {
	in, err := adminOrderForm.Read(c, o.frameBytes)
	if err != nil {
		return err
	}
	return o.performOnSession(c, Action{Action: actionRelease, reason: in.Reason}, func(ctx context.Context, id wire.SessionID, _ string) (string, error) {
		info, err := o.hub.Info(ctx, id)
		if err != nil {
			return "", err
		}
		// That is no error: a client that repeats the request after a crash must learn that it is
		// done.
		detail := "it was not quarantined"
		if info.Quarantined != "" {
			detail = "it was quarantined: " + info.Quarantined
		}
		return detail, o.hub.LiftQuarantine(ctx, id)
	})
}

// removeSession deletes any user's session. The reason may be in the query, since not every client
// can send a body with DELETE.
func (o *commands) removeSession(c echo.Context) error {
	in := adminOrder{Reason: c.QueryParam("reason")}
	if in.Reason == "" {
		var err error
		if in, err = adminOrderForm.Read(c, o.frameBytes); err != nil {
			return err
		}
	}
	return o.performOnSession(c, Action{Action: ActionDelete, reason: in.Reason, DoneIfGone: true}, func(ctx context.Context, id wire.SessionID, _ string) (string, error) {
		err := o.sessions.Remove(ctx, id)
		if errors.Is(err, store.ErrQuarantined) || errors.Is(err, store.ErrCorrupt) {
			err = o.hub.Discard(ctx, id)
		}
		return "", err
	})
}
