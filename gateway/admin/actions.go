package admin

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// PerformWithoutReason executes and audits an admin's action on an endpoint that asks for no
// reason. The method and path of the endpoint become the reason.
func (a *Actions) PerformWithoutReason(c echo.Context, action Action) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), httpio.AnswerTimeout)
	defer cancel()
	if !a.audited() {
		_, err := action.Execute(ctx, "")
		return err
	}
	action.reason = "at " + c.Request().Method + " " + c.Path()
	action.check = func(context.Context) error { return nil }
	known, err := a.performAction(ctx, action, a.newAuditRecord(c, action, "act-"+rand.Text()))
	if err == nil && known.Result == audit.Begun {
		return ctx.Err() // the action goes on
	}
	return err
}

// newAuditRecord returns the audit record of an action.
func (a *Actions) newAuditRecord(c echo.Context, action Action, id string) audit.Record {
	return audit.Record{
		ID: id, Time: time.Now(), Who: access.Caller(c).User, Address: access.Address(c).String(),
		Action: action.Action, Target: action.Target, Reason: action.reason, Replica: string(a.members.Card().ID),
	}
}

// performAction executes an action once and returns its audit record.
func (a *Actions) performAction(ctx context.Context, action Action, r audit.Record) (audit.Record, error) {
	key := adminActionKey{id: r.ID, who: r.Who, action: r.Action, target: r.Target, reason: r.Reason}
	ra := a.running.start(ctx, key, func(ctx context.Context, ra *runningAction) { ra.finish(a.runAction(ctx, ra, action, r)) })
	if ra == nil {
		return audit.Record{}, problem.New(wire.CodeConnectionFailed, "Too much is under way at this hub; try again, or through another.")
	}
	return ra.wait(ctx)
}

// ChangeAsOwner executes a change that owners of a session may make. If an admin makes it in
// another user's session, it is audited.
func (a *Actions) ChangeAsOwner(c echo.Context, info session.Info, action Action) error {
	if me := access.Caller(c); info.User == me.User || !me.Has(auth.RoleAdmin) {
		_, err := action.Execute(c.Request().Context(), "")
		return err
	}
	action.Target = string(info.ID) + action.Target
	return a.PerformWithoutReason(c, action)
}

// RecordEntry audits that an admin changes something in a session that is neither theirs nor
// shared with them.
func (a *Actions) RecordEntry(c echo.Context, info session.Info) error {
	me := access.Caller(c)
	if info.User == me.User || info.Shares[me.User] == session.ShareOperator || !me.Has(auth.RoleAdmin) {
		return nil
	}
	return a.PerformWithoutReason(c, Action{
		Action: "session.enter", Target: string(info.ID),
		Execute: func(context.Context, string) (string, error) { return "", nil },
	})
}
