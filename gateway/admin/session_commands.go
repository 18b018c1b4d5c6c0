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
func (cm *commands) performOnSession(c echo.Context, action Action, do func(ctx context.Context, id wire.SessionID, act string) (string, error)) error {
	id := wire.SessionID(c.Param("session"))
	action.Target = string(id) + action.Target
	action.check = func(ctx context.Context) error {
		if err := id.Validate(); err != nil {
			return &session.Error{Code: wire.CodeSessionNotFound, Reason: wire.CodeSessionNotFound.Info().Message}
		}
		info, err := cm.hub.Info(ctx, id)
		if err == nil && info.Quarantined != "" && action.Action != actionRelease && action.Action != ActionDelete {
			err = &session.Error{Code: wire.CodeSessionInvalidState, Reason: "The session is quarantined; release it first."}
		}
		if err == nil && action.needsOpen {
			err = cm.hub.Serving()
		}
		if err == nil && action.precondition != nil {
			err = action.precondition(ctx)
		}
		return err
	}
	action.Execute = func(ctx context.Context, act string) (string, error) { return do(ctx, id, act) }
	return cm.actions.performAudited(c, action)
}

// The actions that are possible on a quarantined session.
const (
	actionRelease = "session.release"
	ActionDelete  = "session.delete"
)

func (cm *commands) interruptSession(c echo.Context) error {
	in, err := interruptOrderForm.Read(c, cm.frameBytes)
	if err != nil {
		return err
	}
	m := wire.Interrupt{Scope: wire.ScopeSession, AgentID: in.AgentID, MonitorID: in.MonitorID}
	action, user := Action{Action: "session.interrupt", reason: in.Reason, needsOpen: true}, access.Caller(c).User
	switch {
	case in.AgentID != "" && in.MonitorID != "":
		return problem.Query("monitorId", "Name an agent or a monitor, not both.")
	case in.AgentID != "":
		m.Scope, action.Target = wire.ScopeAgent, "/"+string(in.AgentID)
	case in.MonitorID != "":
		m.Scope, action.Target = wire.ScopeMonitor, "/"+string(in.MonitorID)
	}
	return cm.performOnSession(c, action, func(ctx context.Context, id wire.SessionID, act string) (string, error) {
		m.MessageID = wire.MessageID(act)
		return cm.hub.ActAsAdmin(ctx, id, user, m.MessageID, wire.Message{Session: id, ID: m.MessageID, Data: m})
	})
}

// cancelMessage removes a waiting message from its queue.
func (cm *commands) cancelMessage(c echo.Context) error {
	in, err := adminOrderForm.Read(c, cm.frameBytes)
	if err != nil {
		return err
	}
	message, user := wire.MessageID(httpio.PathParam(c, "message")), access.Caller(c).User
	if message.Validate() != nil {
		return problem.Status(http.StatusNotFound, "No such message waits in this session.")
	}
	action := Action{Action: "message.cancel", Target: "/" + string(message), reason: in.Reason, needsOpen: true}
	return cm.performOnSession(c, action, func(ctx context.Context, id wire.SessionID, act string) (string, error) {
		// Owners of earlier versions identify the action by the id of the message.
		m := wire.Message{Session: id, ID: wire.MessageID(act), Data: wire.DeleteQueuedMessage{Target: message}}
		note, err := cm.hub.ActAsAdmin(ctx, id, user, m.ID, m)
		if e, ok := errors.AsType[*session.Error](err); ok && e.Code == wire.CodeInvalidMessage {
			err = problem.Status(http.StatusNotFound, e.Reason)
		}
		return note, err
	})
}

func (cm *commands) resetSession(c echo.Context) error {
	in, err := adminOrderForm.Read(c, cm.frameBytes)
	if err != nil {
		return err
	}
	user := access.Caller(c).User
	return cm.performOnSession(c, Action{Action: "session.reset", reason: in.Reason, needsOpen: true}, func(ctx context.Context, id wire.SessionID, act string) (string, error) {
		m := wire.Reset{MessageID: wire.MessageID(act)}
		return cm.hub.ActAsAdmin(ctx, id, user, m.MessageID, wire.Message{Session: id, ID: m.MessageID, Data: m})
	})
}

func (cm *commands) releaseSession(c echo.Context) error {
	in, err := adminOrderForm.Read(c, cm.frameBytes)
	if err != nil {
		return err
	}
	return cm.performOnSession(c, Action{Action: actionRelease, reason: in.Reason}, func(ctx context.Context, id wire.SessionID, _ string) (string, error) {
		info, err := cm.hub.Info(ctx, id)
		if err != nil {
			return "", err
		}
		// That is no error: a client that repeats the request after a crash must get the answer that it is
		// done.
		detail := "it was not quarantined"
		if info.Quarantined != "" {
			detail = "it was quarantined: " + info.Quarantined
		}
		return detail, cm.hub.LiftQuarantine(ctx, id)
	})
}

// removeSession deletes any user's session. The reason may be in the query, since not every client
// can send a body with DELETE.
func (cm *commands) removeSession(c echo.Context) error {
	in := adminOrder{Reason: c.QueryParam("reason")}
	if in.Reason == "" {
		var err error
		if in, err = adminOrderForm.Read(c, cm.frameBytes); err != nil {
			return err
		}
	}
	return cm.performOnSession(c, Action{Action: ActionDelete, reason: in.Reason, DoneIfGone: true}, func(ctx context.Context, id wire.SessionID, _ string) (string, error) {
		err := cm.sessions.Remove(ctx, id)
		if errors.Is(err, store.ErrQuarantined) || errors.Is(err, store.ErrCorrupt) {
			err = cm.hub.Discard(ctx, id)
		}
		return "", err
	})
}
