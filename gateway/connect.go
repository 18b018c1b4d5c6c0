package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

const (
	// strangerBytes bounds the first frame of a client that has not said who
	// it is.
	strangerBytes = 4 << 10
	// greetTimeout is how long the store may take to open a session.
	greetTimeout = 30 * time.Second
	// mostMonitors bounds the filter of a connection; a session has fewer.
	mostMonitors = 16
	// mostResume bounds what is taken for a position.
	mostResume = 64
)

// connectRequest is what a client asks for when it connects.
type connectRequest struct {
	door    protocol
	session wire.SessionID // at the desktop's door only a order, see resolveDesktopSession
	name    wire.SessionID // what the client calls the session, unless that is its id
	client  wire.ClientID
	resume  string
	// seen is a position that a client has seen and cannot go on from, such as a
	// page that was loaded again: it gets a snapshot and counts as one that is
	// back.
	seen string
	// back says that the client was here before, see isBack.
	back bool
	// returning says that a desktop of the other dialect named its session, which it
	// learned from an earlier connection: it may still show what it saw then.
	returning bool
	watch     []wire.MonitorID
	// numbered says that watch had numbers instead of names.
	numbered bool
	// known is from when on the client's credentials were looked at, and
	// rights which rights were looked at; see [doors.rights].
	known  time.Time
	rights uint64
	// leave gives the place in the turnstile back.
	leave func()
}

// nativeConnectRequest reads the orders of clients that name their session in the path.
func nativeConnectRequest(c echo.Context, d protocol) (connectRequest, error) {
	q := c.QueryParams()
	w := connectRequest{door: d, session: wire.SessionID(c.Param("session")), resume: shortened(q.Get("resume_from"))}
	if err := w.session.Validate(); err != nil {
		return w, problem(wire.CodeInvalidMessage, err.Error())
	}
	w.client, w.seen = clientID(q.Get("client_id")), shortened(q.Get("seen"))
	return w, w.setMonitors(q["monitor"])
}

// desktopConnectRequest reads the orders of desktops written for YAAR. They know sessionId,
// monitorId and token; what else they send is theirs. A sessionId that cannot be
// one is refused: no hub gave it to them.
func desktopConnectRequest(c echo.Context) (connectRequest, error) {
	q := c.QueryParams()
	w := connectRequest{door: doorDesktop, session: wire.SessionID(q.Get("sessionId")), resume: shortened(q.Get("resume_from"))}
	if w.session != "" {
		if err := w.session.Validate(); err != nil {
			return w, problem(wire.CodeInvalidMessage, err.Error())
		}
	}
	w.client = clientID(q.Get("client_id"))
	err := w.setMonitors(q["monitorId"])
	for i, id := range w.watch {
		w.numbered = w.numbered || wire.IsMonitorNumber(id)
		w.watch[i] = wire.NamedMonitor(id)
	}
	return w, err
}

// clientID is only shown to others, so that a bad one is no reason to refuse.
func clientID(s string) wire.ClientID {
	if id := wire.ClientID(s); id.Validate() == nil {
		return id
	}
	return ""
}

// shortened keeps a position as it is; what is longer is none.
func shortened(resume string) string { return resume[:min(len(resume), mostResume)] }

func (w *connectRequest) setMonitors(monitors []string) error {
	if len(monitors) > mostMonitors {
		return problem(wire.CodeInvalidMessage, "There are too many monitors in the query.")
	}
	for _, m := range monitors {
		id := wire.MonitorID(m)
		if err := id.Validate(); err != nil {
			return problem(wire.CodeInvalidMessage, err.Error())
		}
		w.watch = append(w.watch, id)
	}
	return nil
}

// refusal is why somebody is not let in, or not listened to. It becomes a problem
// document before the connection is upgraded and an error event after.
type refusal struct {
	code   wire.Code
	detail string // empty means the table's
	retry  time.Duration
}

// Error implements error.
func (r *refusal) Error() string { return r.code.String() + ": " + r.detail }

func (r *refusal) notice() wire.ErrorNotice {
	n := r.code.Notice(r.detail)
	n.RetryAfterMS = int((r.retry + time.Millisecond - 1) / time.Millisecond)
	return n
}

// close is how a connection ends that is refused for it.
func (r *refusal) close() (wire.CloseCode, string) {
	info := r.code.Info()
	switch info.Close {
	case 0:
		return wire.CloseInternal, info.Name
	case wire.CloseRateLimited:
		return info.Close, retryReason(r.retry)
	default:
		return info.Close, info.Name
	}
}

// refusalOf is what a client of a socket reads of err, by the table of [problemOf].
// An error outside the table is logged and stays in the log. Who did not get an
// answer in time may wait for the store.
func (s *Server) refusalOf(ctx context.Context, err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &refusal{code: wire.CodeStoreUnavailable}
	}
	p := problemOf(err, &http.Request{})
	_, bySession := errors.AsType[*session.Error](err)
	if p.Code == wire.CodeExecutionFailed || p.Code == wire.CodeStoreUnavailable && !bySession {
		s.log.ErrorContext(ctx, "a connection failed", "err", err)
	}
	return &refusal{code: p.Code, detail: p.Detail}
}

// deny is refusalOf for somebody who can still be answered over HTTP.
func (s *Server) deny(c echo.Context, err error) error {
	r, ok := errors.AsType[*refusal](err)
	switch {
	case !ok:
		return err
	case r.retry > 0:
		return s.tooMany(c, r.retry)
	default:
		return problem(r.code, r.detail)
	}
}

// authenticateMessage says who an auth message is from.
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

// authorize decides whether somebody gets what they order, and which session that
// is. Sessions that are not there and those of others get the same answer. Who does
// has a place in the turnstile until they were greeted.
func (s *Server) authorize(ctx context.Context, who auth.Identity, w *connectRequest) (access, error) {
	mayBeBack := w.door != doorDesktop && cmp.Or(w.resume, w.seen) != ""
	if !s.connections.hasCapacity(who.User, s.connectionLimit(who.User, mayBeBack)) {
		return accessNone, s.tooManyConnections(who.User)
	}
	leave, err := s.turnstile.enter(ctx)
	if err != nil {
		return accessNone, err
	}
	granted, err := s.allow(ctx, who, w)
	if err != nil {
		leave()
	}
	w.leave = leave
	return granted, err
}

// allow is settle for whoever has a place.
func (s *Server) allow(ctx context.Context, who auth.Identity, w *connectRequest) (access, error) {
	w.rights = s.connections.rights.Load()
	if w.door != doorDesktop {
		return s.allowNative(ctx, who, w)
	}
	// There is nothing to resume in the other dialect.
	if err := s.count(ctx, who, false); err != nil {
		return accessNone, err
	}
	if err := s.resolveDesktopSession(ctx, who, w); err != nil {
		return accessNone, err
	}
	granted, info, err := s.accessTo(ctx, who, w.session)
	w.session = cmp.Or(info.ID, w.session)
	return granted, err
}

// allowNative is allow for clients that name their session in the path. A name that
// the user has not given to a session yet makes one, but not for those who only watch.
func (s *Server) allowNative(ctx context.Context, who auth.Identity, w *connectRequest) (access, error) {
	granted, info, err := s.accessTo(ctx, who, w.session)
	called := w.session
	w.session = cmp.Or(info.ID, called)
	w.back = err == nil && s.isBack(ctx, w, info.Top)
	if limited := s.count(ctx, who, w.back); limited != nil {
		return accessNone, limited
	}
	if isNotFound(err) && w.door != doorSSE && session.IsName(called) && mayName(who) {
		if info, _, err = s.openNamed(ctx, session.NewSession{User: who.User, Name: called}); err == nil {
			granted, info, err = s.accessTo(ctx, who, info.ID)
		}
		w.session = cmp.Or(info.ID, called)
	}
	if w.session != called {
		w.name = called
	}
	return granted, err
}

// crowdedRetry is when somebody may try again who has too many connections, and
// hearsayRetry when it is other replicas who said so: by then they have said it anew.
const (
	crowdedRetry = 30 * time.Second
	hearsayRetry = 3 * time.Second
)

func (s *Server) tooManyConnections(user string) *refusal {
	s.refused.rates.Add(1)
	s.observer.Limited(limitConnections)
	r := &refusal{code: wire.CodeRateLimited, detail: "Too many connections are open.", retry: crowdedRetry}
	if s.connections.hasCapacity(user, s.cfg.UserConnections) {
		r.retry = hearsayRetry
	}
	return r
}

// count refuses who comes too often.
func (s *Server) count(ctx context.Context, who auth.Identity, resume bool) error {
	wait := s.limits.Connect(ctx, who.User, resume)
	if wait == 0 {
		return nil
	}
	s.refused.rates.Add(1)
	return &refusal{code: wire.CodeRateLimited, retry: wait}
}

// isBack reports whether a client was here before and comes back, for which
// there is a higher limit: that all tabs come back at once is no attack. Anybody
// can make a position up, so that it must be in the log. One of the present owner
// that is not ahead is taken for that without a look; it cannot be guessed, since
// epochs are times to the millisecond, and most come back to the same owner.
func (s *Server) isBack(ctx context.Context, w *connectRequest, top wire.Position) bool {
	at, err := wire.ParsePosition(cmp.Or(w.resume, w.seen))
	if err != nil || at.Epoch == 0 || at.Compare(top) > 0 {
		return false
	}
	if at.Epoch == top.Epoch {
		return true
	}
	_, err = s.store.Read(ctx, w.session, at, 1)
	return err == nil
}

// authenticate waits for the client to say who it is. Nothing is looked up for
// it, or told to it, before.
func (c *conn) authenticate(ctx context.Context, w *connectRequest) bool {
	c.patient(time.Now().Add(c.s.cfg.Timeouts.Auth))
	var m wire.Message
	var bad error
	err := c.hear(strangerBytes, func(frame []byte) {
		m, bad = c.decode(frame)
	})
	if c.ended.Load() != nil {
		return false
	}
	hello, ok := m.Data.(wire.Auth)
	switch {
	case errors.Is(err, errFrameTooBig):
		// No credential is as long as that.
		c.refuse(ctx, &refusal{code: wire.CodeAuthFailed})
		return false
	case isTimeout(err), err == nil && (bad != nil || !ok):
		c.refuse(ctx, &refusal{code: wire.CodeAuthRequired})
		return false
	case err != nil:
		return false
	}
	c.patient(time.Time{})
	return c.admit(ctx, hello, w)
}

// admit lets a client in that has said who it is.
func (c *conn) admit(ctx context.Context, hello wire.Auth, w *connectRequest) bool {
	limited, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	w.known = time.Now()
	who, err := c.s.authenticateMessage(limited, hello)
	if err != nil {
		c.s.refused.credentials.Add(1)
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
	c.who.Store(&who)
	c.tell(ctx, authResult(who))
	return true
}

// sendWelcome opens the session and shows it to the client.
func (c *conn) sendWelcome(ctx context.Context, w *connectRequest) bool {
	defer func() { w.leave() }()
	if c.door == doorDesktop && !c.learnNaming(ctx, w) {
		return false
	}
	if c.ended.Load() != nil {
		return false
	}
	if c.s.connections.revokedSince(c.who.Load(), w.known) {
		c.drop(signedOut())
		return false
	}
	if user := c.who.Load().User; !c.s.connections.reserve(c, c.s.connectionLimit(user, w.back)) {
		c.refuse(ctx, c.s.tooManyConnections(user))
		return false
	}
	limited, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	room, err := c.s.hub.Open(limited, c.session)
	if err != nil {
		c.refuse(ctx, c.s.refusalOf(ctx, err))
		return false
	}
	c.room = room
	c.limits = c.s.limits.NewConnection(c.who.Load().User)
	c.from.User, c.from.Invited = c.who.Load().User, c.who.Load().Session != ""
	if len(w.watch) > 0 {
		c.from.Monitor = w.watch[len(w.watch)-1]
	}
	cfg := broadcast.TabConfig{
		Conn: &c.Socket, Form: c.form(), Monitors: w.watch, ResumeFrom: w.resume,
		Name: c.name, Plain: c.door == doorPlain, Returning: w.returning, Closed: c.drop,
		Who: wire.Connection{
			ConnectionID: c.from.Connection, ClientID: w.client, User: c.who.Load().User,
			Monitors: w.watch, Since: wire.Millis(time.Now().UnixMilli()),
		},
	}
	tab, err := room.Attach(limited, cfg)
	if err != nil {
		c.refuse(ctx, c.s.refusalOf(ctx, err))
		return false
	}
	c.tab.Store(tab)
	if c.s.connections.rights.Load() != w.rights {
		c.s.recheck([]*conn{c}) // it was on its way in when something changed
	}
	return true
}

func newConnectionID() wire.ConnectionID {
	return wire.ConnectionID("conn-" + strings.ToLower(rand.Text()[:16]))
}

// isTimeout reports whether a deadline of the connection has passed.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
