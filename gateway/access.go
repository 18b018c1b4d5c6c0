package gateway

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const headerAPIKey = "X-API-Key" //nolint:gosec // the name of a header

// access is what somebody may do in a session.
type access uint8

const (
	accessNone     access = iota
	accessViewer          // looks
	accessOperator        // speaks, answers and acts
	accessOwner           // renames, shares and deletes too
)

// may reports whether the access suffices for a client's message.
func (a access) may(p wire.ClientPayload) bool {
	switch p.(type) {
	case wire.Auth, wire.Pong, wire.SubscribeMonitor:
		return a >= accessViewer
	default:
		return a >= accessOperator
	}
}

// identify says who sends a request, by its Authorization header, its cookie or,
// where that is enabled and browsers cannot send a header with it, its query. The error is an [*auth.Error] or the store's.
func (s *Server) identify(c echo.Context) (auth.Identity, error) {
	who, err := s.recognised(c.Request().Context(), c)
	if who.Prolonged {
		s.setCookie(c, s.cookie(c), who.Expires) // or the browser would forget it
	}
	return who, err
}

// recognised is identify without an answer to the browser.
func (s *Server) recognised(ctx context.Context, c echo.Context) (auth.Identity, error) {
	r := c.Request()
	if who, ok := s.auth.Anonymous(); ok {
		return who, nil
	}
	if header := r.Header.Get(echo.HeaderAuthorization); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return auth.Identity{}, &auth.Error{Code: wire.CodeAuthFailed, Reason: "Only the scheme Bearer is understood."}
		}
		return s.auth.Bearer(ctx, strings.TrimSpace(token))
	}
	if key := r.Header.Get(headerAPIKey); key != "" {
		return s.auth.APIKey(ctx, key)
	}
	if s.cfg.QueryTokens && hasNoHeaders(c) {
		if token := c.QueryParam("token"); token != "" {
			return s.auth.Bearer(ctx, token)
		}
	}
	if value := s.cookie(c); value != "" {
		return s.auth.Cookie(ctx, value)
	}
	return auth.Identity{}, &auth.Error{Code: wire.CodeAuthRequired, Reason: "Sign in first."}
}

// hasNoHeaders reports whether a request opens a socket or a stream of events, or
// fetches a file that a page of the other dialect shows: browsers cannot send a
// header with those.
func hasNoHeaders(c echo.Context) bool {
	switch c.Path() {
	case pathStorage:
		return c.Request().Method == http.MethodGet || c.Request().Method == http.MethodHead
	case pathNative, pathDesktop:
		return isUpgrade(c.Request())
	case pathEvents:
		return wantsStream(c.Request())
	}
	return false
}

// The routes that take tokens in the query.
const (
	pathNative  = "/ws/:session"
	pathDesktop = "/ws"
	pathEvents  = "/api/sessions/:session/events"
	pathStorage = "/api/storage/*"
)

// accessTo says what somebody may do in a session. A session that is not there
// and one they may not even see are the same error, [wire.CodeSessionNotFound].
// A name stands for the session that they gave it to. The error is a [*session.Error] or the store's.
func (s *Server) accessTo(ctx context.Context, who auth.Identity, id wire.SessionID) (access, session.Info, error) {
	// The text is the same for all, or it would tell them apart.
	hidden := &session.Error{Code: wire.CodeSessionNotFound, Reason: wire.CodeSessionNotFound.Info().Message}
	if session.IsName(id) {
		called, _, err := s.lookUp(ctx, who.User, id)
		if err != nil {
			return accessNone, session.Info{}, err
		}
		id = cmp.Or(called, id)
	}
	if id.Validate() != nil || who.Session != "" && who.Session != id {
		return accessNone, session.Info{}, hidden
	}
	info, err := s.hub.Info(ctx, id)
	if err != nil {
		if isNotFound(err) {
			err = hidden
		}
		return accessNone, session.Info{}, err
	}
	granted := accessFor(who, info)
	if granted == accessNone && info.Stale {
		return accessNone, session.Info{}, store.ErrUnavailable // it may be shared with them
	}
	if granted == accessNone || info.Importing {
		return accessNone, session.Info{}, hidden
	}
	if info.Quarantined != "" {
		return granted, info, &session.Error{
			Code: wire.CodeSessionInvalidState, Reason: "The session was set aside because its data cannot be read; an operator has to look at it.",
		}
	}
	return granted, info, nil
}

// accessFor is what a session's owner and shares, and the roles of somebody,
// come to.
func accessFor(who auth.Identity, info session.Info) access {
	granted := accessNone
	switch {
	case info.User == who.User || who.Has(auth.RoleAdmin):
		granted = accessOwner
	case info.Shares[who.User] == session.ShareOperator:
		granted = accessOperator
	case info.Shares[who.User] == session.ShareViewer:
		granted = accessViewer
	}
	if who.Session != "" { // a device that was let in does not share or delete what it was let into
		granted = min(granted, accessOperator)
	}
	if !hasDesk(who) {
		return accessNone
	}
	if !who.Has(auth.RoleUser) { // a viewer of the whole installation never touches
		granted = min(granted, accessViewer)
	}
	return granted
}

// hasDesk reports whether somebody can have or be shown sessions at all. Who only
// looks after the hub cannot.
func hasDesk(who auth.Identity) bool { return who.Has(auth.RoleUser) || who.Has(auth.RoleViewer) }

// whoKey is where a request's context has the identity.
const whoKey = "everdesk.who"

// who is who sends a request that came through [Server.known].
func who(c echo.Context) auth.Identity {
	id, _ := c.Get(whoKey).(auth.Identity)
	return id
}

// known lets only those in who say who they are, and not too often.
func (s *Server) known(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id, err := s.identify(c)
		if err != nil {
			return s.stranger(c, err)
		}
		count := s.limits.Read
		if changes(c.Request()) {
			count = s.limits.Request
		}
		if wait := count(c.Request().Context(), id.User); wait > 0 {
			return s.tooMany(c, wait)
		}
		c.Set(whoKey, id)
		return next(c)
	}
}

// admins lets only admins on. To others its routes are not there.
func admins(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !who(c).Has(auth.RoleAdmin) || who(c).Session != "" {
			return echo.ErrNotFound
		}
		return next(c)
	}
}

// lookers lets only those on who may look after the hub. To others its routes are
// not there.
func lookers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !who(c).Has(auth.RoleAdminRead) || who(c).Session != "" {
			return echo.ErrNotFound
		}
		return next(c)
	}
}

// doers lets only those of them on who may act.
func doers(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !who(c).Has(auth.RoleAdminAct) {
			return problem(wire.CodeForbidden, "Looking is allowed, acting is not: it takes the role admin:act.")
		}
		return next(c)
	}
}

// stranger is the answer to somebody whose credentials are missing or wrong. Who
// tries often is told to wait instead.
func (s *Server) stranger(c echo.Context, err error) error {
	refusal, ok := errors.AsType[*auth.Error](err)
	if !ok {
		return err // the store's: nobody's fault
	}
	s.refused.credentials.Add(1)
	if wait := s.limits.Address(address(c)); wait > 0 {
		return s.tooMany(c, wait)
	}
	challenge := `Bearer realm="everdesk"`
	if refusal.Code != wire.CodeAuthRequired {
		challenge += `, error="invalid_token"`
	}
	c.Response().Header().Set(echo.HeaderWWWAuthenticate, challenge)
	return err
}

// rejectRateLimited is the answer to what came too often.
func (s *Server) tooMany(c echo.Context, wait time.Duration) error {
	s.refused.rates.Add(1)
	c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	p := problem(wire.CodeRateLimited, "Too many requests.")
	p.RetryAfterMS = int(wait.Milliseconds())
	return p
}

// enter is what handlers about one session begin with: it refuses who may not
// do what the least access is for.
func (s *Server) enter(c echo.Context, least access) (session.Info, error) {
	granted, info, err := s.accessTo(c.Request().Context(), who(c), wire.SessionID(c.Param("session")))
	if err != nil {
		return session.Info{}, err
	}
	if granted < least {
		return session.Info{}, problem(wire.CodeForbidden, "")
	}
	if least == accessOperator { // who is let do what owners do is written down with that
		err = s.auditEntry(c, info)
	}
	return info, err
}

// cookieName is the cookie's. Names with that prefix can only be set over TLS
// and by the very host.
func cookieName(secure bool) string {
	if secure {
		return "__Host-everdesk"
	}
	return "everdesk"
}

// cookie is the value of the request's cookie.
func (s *Server) cookie(c echo.Context) string {
	found, err := c.Cookie(cookieName(s.isSecure(c.Request())))
	if err != nil {
		return ""
	}
	return found.Value
}

// setCookie gives the browser a cookie; an empty value takes it back.
func (s *Server) setCookie(c echo.Context, value string, until time.Time) {
	secure := s.isSecure(c.Request())
	cookie := &http.Cookie{ //nolint:gosec // Secure over TLS; the loopback has none
		Name: cookieName(secure), Value: value, Path: "/", Expires: until,
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode,
	}
	if value == "" {
		cookie.MaxAge, cookie.Expires = -1, time.Time{}
	}
	c.SetCookie(cookie)
}
