package gateway

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

const (
	// maxAuthFrameBytes bounds the first frame of an unauthenticated client.
	maxAuthFrameBytes = 4 << 10
	// maxMonitors bounds the monitor filter of a connection; a session has fewer monitors.
	maxMonitors = 16
	// maxResumeBytes is the length to which a position in the query is cut.
	maxResumeBytes = 64
)

// connectRequest holds the parameters of a streaming connection.
type connectRequest struct {
	protocol   protocol
	session    wire.SessionID // for the desktop protocol only a preference, see resolveDesktopSession
	name       wire.SessionID // the session's name as the client sent it; empty if it sent the id
	client     wire.ClientID
	resumeFrom string
	// seenPosition is a position that the client has seen but cannot resume from, as when a page
	// was reloaded: the client gets a snapshot and counts as one that reconnects.
	seenPosition string
	// reconnects says that the client was connected before, see isReconnect.
	reconnects bool
	// knownSession says that a desktop client sent the id of an existing session, which it has from
	// an earlier connection: it may still show the state of that time.
	knownSession bool
	monitors     []wire.MonitorID
	// numbered says that the query had monitor numbers instead of ids.
	numbered bool
	// credentialsChecked is a time before the client's credentials were checked, and rightsVersion
	// the [connections.rightsVersion] before its access was checked.
	credentialsChecked time.Time
	rightsVersion      uint64
	// releaseGate releases the client's slot in the [authGate]; it may be called more than once.
	releaseGate func()
}

// nativeConnectRequest parses the request of a client that has its session in the path.
func nativeConnectRequest(c echo.Context, d protocol) (connectRequest, error) {
	q := c.QueryParams()
	w := connectRequest{protocol: d, session: wire.SessionID(c.Param("session")), resumeFrom: truncatePosition(q.Get("resume_from"))}
	if err := w.session.Validate(); err != nil {
		return w, problem.New(wire.CodeInvalidMessage, err.Error())
	}
	w.client, w.seenPosition = clientID(q.Get("client_id")), truncatePosition(q.Get("seen"))
	return w, w.setMonitors(q["monitor"])
}

// desktopConnectRequest parses the request of a desktop written for YAAR. Such clients send
// sessionId, monitorId and token; other parameters are ignored. An invalid sessionId is refused: no
// hub has issued it.
func desktopConnectRequest(c echo.Context) (connectRequest, error) {
	q := c.QueryParams()
	w := connectRequest{protocol: protocolDesktop, session: wire.SessionID(q.Get("sessionId")), resumeFrom: truncatePosition(q.Get("resume_from"))}
	if w.session != "" {
		if err := w.session.Validate(); err != nil {
			return w, problem.New(wire.CodeInvalidMessage, err.Error())
		}
	}
	w.client = clientID(q.Get("client_id"))
	err := w.setMonitors(q["monitorId"])
	for i, id := range w.monitors {
		w.numbered = w.numbered || wire.IsMonitorNumber(id)
		w.monitors[i] = wire.NamedMonitor(id)
	}
	return w, err
}

// clientID returns s as a client id, or "" if it is invalid: the id is only displayed, so a bad one
// is no reason to refuse the connection.
func clientID(s string) wire.ClientID {
	if id := wire.ClientID(s); id.Validate() == nil {
		return id
	}
	return ""
}

// truncatePosition cuts a position to maxResumeBytes; a longer text is no valid position anyway.
func truncatePosition(resume string) string { return resume[:min(len(resume), maxResumeBytes)] }

func (w *connectRequest) setMonitors(monitors []string) error {
	if len(monitors) > maxMonitors {
		return problem.New(wire.CodeInvalidMessage, "There are too many monitors in the query.")
	}
	for _, m := range monitors {
		id := wire.MonitorID(m)
		if err := id.Validate(); err != nil {
			return problem.New(wire.CodeInvalidMessage, err.Error())
		}
		w.monitors = append(w.monitors, id)
	}
	return nil
}

// refusal is the reason why a client or a message is refused. It becomes a problem document before
// the connection is upgraded and an error event after.
type refusal struct {
	code       wire.Code
	detail     string // empty means the default text of code
	retryAfter time.Duration
}

// Error implements error.
func (r *refusal) Error() string { return r.code.String() + ": " + r.detail }

func (r *refusal) notice() wire.ErrorNotice {
	n := r.code.Notice(r.detail)
	n.RetryAfterMS = int((r.retryAfter + time.Millisecond - 1) / time.Millisecond)
	return n
}

// closeCode returns the close code and reason for a connection that is closed because of r.
func (r *refusal) closeCode() (wire.CloseCode, string) {
	info := r.code.Info()
	switch info.Close {
	case 0:
		return wire.CloseInternal, info.Name
	case wire.CloseRateLimited:
		return info.Close, retryReason(r.retryAfter)
	default:
		return info.Close, info.Name
	}
}

// refusalOf maps err to a refusal by the table of package problem. It logs an error that is not in
// the table and does not send its text to the client.
func (s *Server) refusalOf(ctx context.Context, err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	p := problem.OnConnection(err)
	_, bySession := errors.AsType[*session.Error](err)
	ended := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	if !ended && (p.Code == wire.CodeExecutionFailed || p.Code == wire.CodeStoreUnavailable && !bySession) {
		s.log.ErrorContext(ctx, "connection failed", "err", err)
	}
	return &refusal{code: p.Code, detail: p.Detail}
}

// refusalProblem maps err to the HTTP response of a client whose connection is not upgraded yet.
func (s *Server) refusalProblem(c echo.Context, err error) error {
	r, ok := errors.AsType[*refusal](err)
	switch {
	case !ok:
		return err
	case r.retryAfter > 0:
		return s.authenticator.RateLimited(c, r.retryAfter)
	default:
		return problem.New(r.code, r.detail)
	}
}

// authenticateMessage returns the identity that the credentials of an auth message belong to.
func (s *Server) authenticateMessage(ctx context.Context, a wire.Auth) (auth.Identity, error) {
	if who, ok := s.auth.Anonymous(); ok {
		return who, nil
	}
	switch {
	case a.Ticket != "":
		return s.auth.Ticket(ctx, a.Ticket)
	case a.Token != "":
		return s.auth.Bearer(ctx, a.Token)
	case a.APIKey != "":
		return s.auth.APIKey(ctx, a.APIKey)
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

// authorize returns the client's access to the session it asked for, and sets w.session to the id
// of that session. A missing session and one of another user give the same error. On success the
// client holds a slot of the [authGate] until it calls w.releaseGate.
func (s *Server) authorize(ctx context.Context, who auth.Identity, w *connectRequest) (access.Level, error) {
	mayReconnect := w.protocol != protocolDesktop && cmp.Or(w.resumeFrom, w.seenPosition) != ""
	if !s.connections.hasCapacity(who.User, s.connectionLimit(who.User, mayReconnect)) {
		return access.None, s.tooManyConnections(who.User)
	}
	release, err := s.authGate.acquire(ctx)
	if err != nil {
		return access.None, err
	}
	granted, err := s.authorizeAdmitted(ctx, who, w)
	if err != nil {
		release()
	}
	w.releaseGate = release
	return granted, err
}

// authorizeAdmitted is authorize for a client that holds a slot of the authGate.
func (s *Server) authorizeAdmitted(ctx context.Context, who auth.Identity, w *connectRequest) (access.Level, error) {
	w.rightsVersion = s.connections.rightsVersion.Load()
	if w.protocol != protocolDesktop {
		return s.authorizeNative(ctx, who, w)
	}
	// The desktop protocol has no resuming.
	if err := s.limitConnects(ctx, who, false); err != nil {
		return access.None, err
	}
	var err error
	if w.session, w.knownSession, err = s.sessions.ResolveDesktop(ctx, who, w.session); err != nil {
		return access.None, err
	}
	granted, info, err := s.sessions.Access(ctx, who, w.session)
	w.session = cmp.Or(info.ID, w.session)
	return granted, err
}

// authorizeNative is authorizeAdmitted for clients that have their session in the path. A name that
// the user has not given to a session yet creates one, except over SSE, which only reads.
func (s *Server) authorizeNative(ctx context.Context, who auth.Identity, w *connectRequest) (access.Level, error) {
	granted, info, err := s.sessions.Access(ctx, who, w.session)
	called := w.session
	w.session = cmp.Or(info.ID, called)
	w.reconnects = err == nil && s.isReconnect(ctx, w, info.Top)
	if limited := s.limitConnects(ctx, who, w.reconnects); limited != nil {
		return access.None, limited
	}
	if access.IsNotFound(err) && w.protocol != protocolSSE && session.IsName(called) && access.MayNameSessions(who) {
		if info, _, err = s.sessions.OpenNamed(ctx, session.NewSession{User: who.User, Name: called}); err == nil {
			granted, info, err = s.sessions.Access(ctx, who, info.ID)
		}
		w.session = cmp.Or(info.ID, called)
	}
	if w.session != called {
		w.name = called
	}
	return granted, err
}

// connectionLimitRetry is the retry delay of a user with too many connections to this replica, and
// remoteCountRetry the delay if the limit is reached only with the connections to other replicas:
// by then these have reported new numbers.
const (
	connectionLimitRetry = 30 * time.Second
	remoteCountRetry     = 3 * time.Second
)

func (s *Server) tooManyConnections(user string) *refusal {
	s.refused.Rates.Add(1)
	s.observer.Limited(limitConnections)
	r := &refusal{code: wire.CodeRateLimited, detail: "Too many connections are open.", retryAfter: connectionLimitRetry}
	if s.connections.hasCapacity(user, s.cfg.UserConnections) {
		r.retryAfter = remoteCountRetry
	}
	return r
}

// limitConnects returns an error if the user connects too often.
func (s *Server) limitConnects(ctx context.Context, who auth.Identity, resume bool) error {
	wait := s.limits.Connect(ctx, who.User, resume)
	if wait == 0 {
		return nil
	}
	s.refused.Rates.Add(1)
	return &refusal{code: wire.CodeRateLimited, retryAfter: wait}
}

// isReconnect reports whether a client was connected before, for which there is a higher rate
// limit: all tabs reconnecting at once is no attack. A client can invent a position, so the
// position must be in the log. A position of the present owner's epoch that is not ahead of the log
// is accepted without reading the log: it cannot be guessed, since epochs are times in
// milliseconds, and most clients reconnect to the same owner.
func (s *Server) isReconnect(ctx context.Context, w *connectRequest, top wire.Position) bool {
	at, err := wire.ParsePosition(cmp.Or(w.resumeFrom, w.seenPosition))
	if err != nil || at.Epoch == 0 || at.Compare(top) > 0 {
		return false
	}
	if at.Epoch == top.Epoch {
		return true
	}
	_, err = s.events.Read(ctx, w.session, at, 1)
	return err == nil
}

// awaitAuth waits for the auth message of an unauthenticated client. The server looks nothing up
// for the client and sends nothing to it before.
func (c *conn) awaitAuth(ctx context.Context, w *connectRequest) bool {
	c.limitRead(time.Now().Add(c.s.cfg.Timeouts.Auth))
	var m wire.Message
	var bad error
	err := c.readFrame(maxAuthFrameBytes, func(frame []byte) {
		m, bad = c.decode(frame)
	})
	if c.closeRequested.Load() != nil {
		return false
	}
	message, ok := m.Data.(wire.Auth)
	switch {
	case errors.Is(err, errFrameTooBig):
		// No valid credential is that long.
		c.refuse(ctx, &refusal{code: wire.CodeAuthFailed})
		return false
	case httpio.IsTimeout(err), err == nil && (bad != nil || !ok):
		c.refuse(ctx, &refusal{code: wire.CodeAuthRequired})
		return false
	case err != nil:
		return false
	}
	c.limitRead(time.Time{})
	return c.acceptAuth(ctx, message, w)
}

// acceptAuth checks the credentials of an auth message and the client's access.
func (c *conn) acceptAuth(ctx context.Context, message wire.Auth, w *connectRequest) bool {
	limited, cancel := context.WithTimeout(ctx, access.OpenTimeout)
	defer cancel()
	w.credentialsChecked = time.Now()
	who, err := c.s.authenticateMessage(limited, message)
	if err != nil {
		c.s.refused.Credentials.Add(1)
		c.refuse(ctx, c.s.refusalOf(ctx, err))
		return false
	}
	granted, err := c.s.authorize(limited, who, w)
	if err != nil {
		c.refuse(ctx, c.s.refusalOf(ctx, err))
		return false
	}
	c.session, c.name = w.session, w.name
	c.access.Store(uint32(granted))
	c.identity.Store(&who)
	c.send(ctx, authResult(who))
	return true
}

// attachSession opens the session and attaches the connection to it, which sends the snapshot.
func (c *conn) attachSession(ctx context.Context, w *connectRequest) bool {
	defer func() { w.releaseGate() }()
	if c.protocol == protocolDesktop && !c.detectMonitorNaming(ctx, w) {
		return false
	}
	if c.closeRequested.Load() != nil {
		return false
	}
	if c.s.connections.revokedSince(c.identity.Load(), w.credentialsChecked) {
		c.closeWith(signedOut())
		return false
	}
	if user := c.identity.Load().User; !c.s.connections.reserve(c, c.s.connectionLimit(user, w.reconnects)) {
		c.refuse(ctx, c.s.tooManyConnections(user))
		return false
	}
	limited, cancel := context.WithTimeout(ctx, access.OpenTimeout)
	defer cancel()
	handle, err := c.s.hub.Open(limited, c.session)
	if err != nil {
		c.refuse(ctx, c.s.refusalOf(ctx, err))
		return false
	}
	c.handle = handle
	c.limits = c.s.limits.NewConnection(c.identity.Load().User)
	c.from.User, c.from.Invited = c.identity.Load().User, c.identity.Load().Session != ""
	if len(w.monitors) > 0 {
		c.from.Monitor = w.monitors[len(w.monitors)-1]
	}
	cfg := broadcast.TabConfig{
		Conn: &c.Socket, Form: c.form(), Monitors: w.monitors, ResumeFrom: w.resumeFrom,
		Name: c.name, Plain: c.protocol == protocolPlain, Returning: w.knownSession, Closed: c.closeWith,
		Who: wire.Connection{
			ConnectionID: c.from.Connection, ClientID: w.client, User: c.identity.Load().User,
			Monitors: w.monitors, Since: wire.Millis(time.Now().UnixMilli()),
		},
	}
	tab, err := handle.Attach(limited, cfg)
	if err != nil {
		c.refuse(ctx, c.s.refusalOf(ctx, err))
		return false
	}
	c.tab.Store(tab)
	if c.s.connections.rightsVersion.Load() != w.rightsVersion {
		c.s.recheck([]*conn{c}) // its access changed while it connected
	}
	return true
}
