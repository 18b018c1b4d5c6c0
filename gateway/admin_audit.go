package gateway

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// PerformWithoutReason executes and audits an admin's action on an endpoint that asks for no
// reason. The method and path of the endpoint become the reason.
func (a *Actions) PerformWithoutReason(c echo.Context, d adminAction) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), answerTimeout)
	defer cancel()
	if !a.audited() {
		_, err := d.execute(ctx, "")
		return err
	}
	d.reason = "at " + c.Request().Method + " " + c.Path()
	d.check = func(context.Context) error { return nil }
	known, err := a.performAction(ctx, d, a.newAuditRecord(c, d, "act-"+rand.Text()))
	if err == nil && known.Result == audit.Begun {
		return ctx.Err() // the action goes on
	}
	return err
}

// newAuditRecord returns the audit record of an action.
func (a *Actions) newAuditRecord(c echo.Context, d adminAction, id string) audit.Record {
	return audit.Record{
		ID: id, Time: time.Now(), Who: caller(c).User, Address: address(c).String(),
		Action: d.action, Target: d.target, Reason: d.reason, Replica: string(a.members.Card().ID),
	}
}

// performAction executes an action once and returns its audit record.
func (a *Actions) performAction(ctx context.Context, d adminAction, r audit.Record) (audit.Record, error) {
	key := adminActionKey{id: r.ID, who: r.Who, action: r.Action, target: r.Target, reason: r.Reason}
	u := a.running.start(ctx, key, func(ctx context.Context, u *runningAction) { u.finish(a.runAction(ctx, u, d, r)) })
	if u == nil {
		return audit.Record{}, problem(wire.CodeConnectionFailed, "Too much is under way at this hub; try again, or through another.")
	}
	return u.wait(ctx)
}

// ChangeAsOwner executes a change that owners of a session may make. If an admin makes it in
// another user's session, it is audited.
func (a *Actions) ChangeAsOwner(c echo.Context, info session.Info, d adminAction) error {
	if me := caller(c); info.User == me.User || !me.Has(auth.RoleAdmin) {
		_, err := d.execute(c.Request().Context(), "")
		return err
	}
	d.target = string(info.ID) + d.target
	return a.PerformWithoutReason(c, d)
}

// RecordEntry audits that an admin changes something in a session that is neither theirs nor
// shared with them.
func (a *Actions) RecordEntry(c echo.Context, info session.Info) error {
	me := caller(c)
	if info.User == me.User || info.Shares[me.User] == session.ShareOperator || !me.Has(auth.RoleAdmin) {
		return nil
	}
	return a.PerformWithoutReason(c, adminAction{
		action: "session.enter", target: string(info.ID),
		execute: func(context.Context, string) (string, error) { return "", nil },
	})
}
