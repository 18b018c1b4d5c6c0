package ws

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Connected counts the connections to other replicas.
type Connected interface {
	// ConnectionsElsewhere returns the number of a user's connections to other replicas, as reported
	// a few seconds ago.
	ConnectionsElsewhere(user string) int
}

// EventStore is the part of the store that holds the logs of sessions.
type EventStore interface {
	// Read returns up to limit events of a session's log that follow the position after.
	Read(ctx context.Context, session wire.SessionID, after wire.Position, limit int) ([]store.Event, error)
}

// Reads audits what admins read.
type Reads interface {
	// RecordConnection audits that an admin connects to a session of another user, over a route.
	RecordConnection(ctx context.Context, who auth.Identity, address, route string, info session.Info) error
}

// limitConnections is the name of the limit on a user's connections.
const limitConnections = "connections"

// admission decides which clients may connect and to which session: it checks their credentials, the
// limits on connections, and their access.
type admission struct {
	log             *slog.Logger
	auth            *auth.Authority
	limits          *ratelimit.Limiter
	store           EventStore
	authenticator   *access.Authenticator
	sessions        *access.Sessions
	reads           Reads
	members         Connected // nil for the only replica
	observer        Observer
	refused         *access.RefusalCounts
	userConnections int // limit per user; negative means none
	registry        *registry
	rights          *rights
	gate            authGate
}

// refusalOf maps err to a refusal by the table of package problem. It logs an error that is not in
// the table and does not send its text to the client.
func (a *admission) refusalOf(ctx context.Context, err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	p := problem.OnConnection(err)
	_, bySession := errors.AsType[*session.Error](err)
	ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if !ended && (p.Code == wire.CodeExecutionFailed || p.Code == wire.CodeStoreUnavailable && !bySession) {
		a.log.ErrorContext(ctx, "connection failed", "err", err)
	}
	return &refusal{code: p.Code, detail: p.Detail}
}

// refusalProblem maps err to the HTTP response of a client whose connection is not upgraded yet.
func (a *admission) refusalProblem(c echo.Context, err error) error {
	r, ok := errors.AsType[*refusal](err)
	switch {
	case !ok:
		return err
	case r.retryAfter > 0:
		return a.authenticator.RateLimited(c, r.retryAfter)
	default:
		return problem.New(r.code, r.detail)
	}
}

// authenticateMessage returns the identity that the credentials of an auth message belong to.
func (a *admission) authenticateMessage(ctx context.Context, m wire.Auth) (auth.Identity, error) {
	if who, ok := a.auth.Anonymous(); ok {
		return who, nil
	}
	switch {
	case m.Ticket != "":
		return a.auth.Ticket(ctx, m.Ticket)
	case m.Token != "":
		return a.auth.Bearer(ctx, m.Token)
	case m.APIKey != "":
		return a.auth.APIKey(ctx, m.APIKey)
	default:
		return auth.Identity{}, &refusal{code: wire.CodeAuthRequired}
	}
}

func authResult(who auth.Identity) wire.AuthResult {
	roles := make([]string, len(who.Roles))
	for i, r := range who.Roles {
		roles[i] = string(r)
	}
	return wire.AuthResult{OK: true, User: who.User, Roles: roles}
}

// authorize returns the client's access to the session it asked for, and sets r.session to the id
// of that session. A missing session and one of another user give the same error. On success the
// client holds a slot of the [authGate] until it calls r.releaseGate.
func (a *admission) authorize(ctx context.Context, who auth.Identity, r *connectRequest) (access.Level, error) {
	mayReconnect := r.protocol != protocolDesktop && cmp.Or(r.resumeFrom, r.seenPosition) != ""
	if !a.registry.hasCapacity(who.User, a.connectionLimit(who.User, mayReconnect)) {
		return access.None, a.tooManyConnections(who.User)
	}
	release, err := a.gate.acquire(ctx)
	if err != nil {
		return access.None, err
	}
	granted, err := a.authorizeAdmitted(ctx, who, r)
	if err != nil {
		release()
	}
	r.releaseGate = release
	return granted, err
}

// authorizeAdmitted is authorize for a client that holds a slot of the authGate.
func (a *admission) authorizeAdmitted(ctx context.Context, who auth.Identity, r *connectRequest) (access.Level, error) {
	r.rightsVersion = a.rights.version.Load()
	if r.protocol != protocolDesktop {
		return a.authorizeNative(ctx, who, r)
	}
	// The desktop protocol has no resuming.
	if err := a.limitConnects(ctx, who, false); err != nil {
		return access.None, err
	}
	var err error
	if r.session, r.knownSession, err = a.sessions.ResolveDesktop(ctx, who, r.session); err != nil {
		return access.None, err
	}
	granted, info, err := a.sessions.Access(ctx, who, r.session)
	r.session = cmp.Or(info.ID, r.session)
	return a.recorded(ctx, who, r, granted, info, err)
}

// authorizeNative is authorizeAdmitted for clients that have their session in the path. A name that
// the user has not given to a session yet creates one, except over SSE, which only reads.
func (a *admission) authorizeNative(ctx context.Context, who auth.Identity, r *connectRequest) (access.Level, error) {
	granted, info, err := a.sessions.Access(ctx, who, r.session)
	called := r.session
	r.session = cmp.Or(info.ID, called)
	r.reconnects = err == nil && a.isReconnect(ctx, r, info.Top)
	if limited := a.limitConnects(ctx, who, r.reconnects); limited != nil {
		return access.None, limited
	}
	if access.IsNotFound(err) && r.protocol != protocolSSE && session.IsName(called) && access.MayNameSessions(who) {
		if info, _, err = a.sessions.OpenNamed(ctx, session.NewSession{User: who.User, Name: called}); err == nil {
			granted, info, err = a.sessions.Access(ctx, who, info.ID)
		}
		r.session = cmp.Or(info.ID, called)
	}
	if r.session != called {
		r.name = called
	}
	return a.recorded(ctx, who, r, granted, info, err)
}

// recorded returns the access to a session after it was audited, if it must be.
func (a *admission) recorded(ctx context.Context, who auth.Identity, r *connectRequest, granted access.Level, info session.Info, err error) (access.Level, error) {
	if err != nil || granted == access.None {
		return granted, err
	}
	if err := a.reads.RecordConnection(ctx, who, r.address, r.route, info); err != nil {
		return access.None, err
	}
	return granted, nil
}

// connectionLimitRetry is the retry delay of a user with too many connections to this replica, and
// remoteCountRetry the delay if the limit is reached only with the connections to other replicas:
// by then these have reported new numbers.
const (
	connectionLimitRetry = 30 * time.Second
	remoteCountRetry     = 3 * time.Second
)

func (a *admission) tooManyConnections(user string) *refusal {
	a.refused.Rates.Add(1)
	a.observer.Limited(limitConnections)
	r := &refusal{code: wire.CodeRateLimited, detail: "Too many connections are open.", retryAfter: connectionLimitRetry}
	if a.registry.hasCapacity(user, a.userConnections) {
		r.retryAfter = remoteCountRetry
	}
	return r
}

// limitConnects returns an error if the user connects too often.
func (a *admission) limitConnects(ctx context.Context, who auth.Identity, resume bool) error {
	wait := a.limits.Connect(ctx, who.User, resume)
	if wait == 0 {
		return nil
	}
	a.refused.Rates.Add(1)
	return &refusal{code: wire.CodeRateLimited, retryAfter: wait}
}

// isReconnect reports whether a client was connected before, for which there is a higher rate
// limit: all tabs reconnecting at once is no attack. A client can invent a position, so the
// position must be in the log. A position of the present owner's epoch that is not ahead of the log
// is accepted without reading the log: it cannot be guessed, since epochs are times in
// milliseconds, and most clients reconnect to the same owner.
func (a *admission) isReconnect(ctx context.Context, r *connectRequest, top wire.Position) bool {
	at, err := wire.ParsePosition(cmp.Or(r.resumeFrom, r.seenPosition))
	if err != nil || at.Epoch == 0 || at.Compare(top) > 0 {
		return false
	}
	if at.Epoch == top.Epoch {
		return true
	}
	_, err = a.store.Read(ctx, r.session, at, 1)
	return err == nil
}

// connectionLimit returns how many connections a user may have to this replica: the limit minus
// those to other replicas. Negative means no limit. Other replicas report every few seconds, so a
// user that connects fast may get some more. A client that reconnects may still be counted at the
// replica it comes from, so another full limit is added for it.
func (a *admission) connectionLimit(user string, back bool) int {
	most := a.userConnections
	if most < 0 || a.members == nil {
		return most
	}
	left := most - a.members.ConnectionsElsewhere(user)
	if back {
		left += most
	}
	return min(max(0, left), most)
}
