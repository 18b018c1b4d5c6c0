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

// auditOwnerAction does what an admin does at a door where nobody is asked for a reason, and
// writes it down: the door is the reason.
func (s *Server) auditOwnerAction(c echo.Context, d adminAction) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), answerTimeout)
	defer cancel()
	if s.members == nil || s.audit == nil {
		_, err := d.do(ctx, "")
		return err
	}
	d.reason = "at " + c.Request().Method + " " + c.Path()
	d.check = func(context.Context) error { return nil }
	known, err := s.performAction(ctx, d, s.recordOf(c, d, "act-"+rand.Text()))
	if err == nil && known.Result == audit.Begun {
		return ctx.Err() // it goes on
	}
	return err
}

// recordOf is what is written down of a action.
func (s *Server) recordOf(c echo.Context, d adminAction, id string) audit.Record {
	return audit.Record{
		ID: id, Time: time.Now(), Who: caller(c).User, Address: address(c).String(),
		Action: d.action, Target: d.target, Reason: d.reason, Replica: string(s.members.Card().ID),
	}
}

// performAction has a action done and waits for its record.
func (s *Server) performAction(ctx context.Context, d adminAction, r audit.Record) (audit.Record, error) {
	key := adminActionKey{id: r.ID, who: r.Who, action: r.Action, target: r.Target, reason: r.Reason}
	u := s.actions.start(ctx, key, func(ctx context.Context, u *runningAction) { u.finish(s.runAction(ctx, u, d, r)) })
	if u == nil {
		return audit.Record{}, problem(wire.CodeConnectionFailed, "Too much is under way at this hub; try again, or through another.")
	}
	return u.wait(ctx)
}

// asOwner changes a session as its owner can. When it is an admin who does so, in a
// session that is not theirs, it is written down.
func (s *Server) asOwner(c echo.Context, info session.Info, d adminAction) error {
	if me := caller(c); info.User == me.User || !me.Has(auth.RoleAdmin) {
		_, err := d.do(c.Request().Context(), "")
		return err
	}
	d.target = string(info.ID) + d.target
	return s.auditOwnerAction(c, d)
}

// auditEntry writes down that an admin changes something in a session that is neither
// theirs nor shared with them.
func (s *Server) auditEntry(c echo.Context, info session.Info) error {
	me := caller(c)
	if info.User == me.User || info.Shares[me.User] == session.ShareOperator || !me.Has(auth.RoleAdmin) {
		return nil
	}
	return s.auditOwnerAction(c, adminAction{
		action: "session.enter", target: string(info.ID),
		do: func(context.Context, string) (string, error) { return "", nil },
	})
}
