package admin

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/session"
)

// The views of admins that have texts of users and agents, as the audit log names them.
const (
	viewSessions = "sessions.titles"
	viewDetail   = "session.detail"
	viewLog      = "session.log"
	viewFilm     = "session.film"
	// viewRead is any view of users, opened by an admin. The route tells them apart.
	viewRead = "session.read"
)

const (
	// openFor is how long a view counts as open after a request: pages, polls and reconnections of
	// that time are not recorded again.
	openFor = 10 * time.Minute
	// maxOpenings bounds the openings that are kept. One that was dropped is recorded again.
	maxOpenings = 10_000
)

// opening identifies a view that an admin has opened.
type opening struct{ who, action, target, route string }

// openings are the views that admins have open on this replica.
type openings struct {
	now func() time.Time

	mu   sync.Mutex // guards open
	open map[opening]*openView
}

type openView struct {
	mu   sync.Mutex // held while the audit log records the opening; other reads of the admin wait for the record
	last time.Time
}

// find returns the record of an opening, which it creates if necessary.
func (o *openings) find(k opening) *openView {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v := o.open[k]; v != nil {
		return v
	}
	if len(o.open) >= maxOpenings {
		clear(o.open)
	}
	v := &openView{}
	o.open[k] = v
	return v
}

// once calls record unless the view was open within openFor.
func (o *openings) once(k opening, record func() error) error {
	v := o.find(k)
	v.mu.Lock()
	defer v.mu.Unlock()
	now := o.now()
	if v.last.IsZero() || now.Sub(v.last) >= openFor {
		if err := record(); err != nil {
			return err
		}
	}
	v.last = now
	return nil
}

// markOpen makes a view count as open, because another record covers it.
func (o *openings) markOpen(k opening) {
	_ = o.once(k, func() error { return nil }) // cannot fail
}

// recordOpening audits that the caller opens a view of an admin that has texts of users and agents.
// It does nothing for callers who do not see them.
func (a *Actions) recordOpening(c echo.Context, action, target string) error {
	if !seesContent(c) {
		return nil
	}
	return a.openOnce(c.Request().Context(), access.Caller(c).User, access.Address(c).String(), routeOf(c), opening{
		who: access.Caller(c).User, action: action, target: target,
	})
}

func routeOf(c echo.Context) string { return c.Request().Method + " " + c.Path() }

// RecordRead audits that an admin reads a session that is neither theirs nor shared with them.
func (a *Actions) RecordRead(c echo.Context, info session.Info) error {
	return a.RecordConnection(c.Request().Context(), access.Caller(c), access.Address(c).String(), routeOf(c), info)
}

// RecordConnection is [Actions.RecordRead] for a connection, which is authenticated and has a route.
func (a *Actions) RecordConnection(ctx context.Context, who auth.Identity, address, route string, info session.Info) error {
	if info.User == who.User || info.Shares[who.User] != "" || !who.Has(auth.RoleAdmin) {
		return nil
	}
	return a.openOnce(ctx, who.User, address, route, opening{who: who.User, action: viewRead, target: string(info.ID), route: route})
}

// RecordList audits that an admin lists the titles of sessions of a user, or of all.
func (a *Actions) RecordList(c echo.Context, user string) error {
	who := access.Caller(c).User
	return a.openOnce(c.Request().Context(), who, access.Address(c).String(), routeOf(c), opening{who: who, action: viewSessions, target: user})
}

// openOnce records an opening before anything is read.
func (a *Actions) openOnce(ctx context.Context, who, address, route string, k opening) error {
	if !a.audited() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, httpio.AnswerTimeout)
	defer cancel()
	return a.openings.once(k, func() error {
		action := Action{
			Action: k.action, Target: k.target, reason: "at " + route,
			check:   func(context.Context) error { return nil },
			Execute: func(context.Context, string) (string, error) { return "", nil },
		}
		known, err := a.performAction(ctx, action, audit.Record{
			ID: "act-" + rand.Text(), Time: time.Now(), Who: who, Address: address,
			Action: k.action, Target: k.target, Reason: action.reason, Replica: string(a.members.Card().ID),
		})
		if err == nil && known.Result == audit.Begun {
			return ctx.Err() // it is recorded; only the end is not yet
		}
		return err
	})
}
