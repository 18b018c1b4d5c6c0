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

// access is the level of a user's rights in a session.
type access uint8

const (
	accessNone     access = iota
	accessViewer          // reads
	accessOperator        // also sends messages, answers and acts
	accessOwner           // also renames, shares and deletes
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

// identify authenticates a request by its Authorization header, its API key, its query (where that
// is enabled and browsers cannot send a header) or its cookie, and prolongs the cookie. The error
// is an [*auth.Error] or the store's.
func (s *Server) identify(c echo.Context) (auth.Identity, error) {
	who, err := s.authenticate(c.Request().Context(), c)
	if who.Prolonged {
		s.setCookie(c, s.cookie(c), who.Expires) // else the browser would delete it
	}
	return who, err
}

// authenticate is identify without a change of the response.
func (s *Server) authenticate(ctx context.Context, c echo.Context) (auth.Identity, error) {
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
	if s.cfg.QueryTokens && cannotSendHeaders(c) {
		if token := c.QueryParam("token"); token != "" {
			return s.auth.Bearer(ctx, token)
		}
	}
	if value := s.cookie(c); value != "" {
		return s.auth.Cookie(ctx, value)
	}
	return auth.Identity{}, &auth.Error{Code: wire.CodeAuthRequired, Reason: "Sign in first."}
}

// cannotSendHeaders reports whether a request opens a WebSocket or an event stream, or fetches a
// file that a page of the desktop dialect displays: browsers cannot add a header to those.
func cannotSendHeaders(c echo.Context) bool {
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

// The routes that accept tokens in the query.
const (
	pathNative  = "/ws/:session"
	pathDesktop = "/ws"
	pathEvents  = "/api/sessions/:session/events"
	pathStorage = "/api/storage/*"
)

// accessTo returns the access of a user to a session. A missing session and one that the user may
// not see give the same error, [wire.CodeSessionNotFound]. A name is resolved to the session that
// the user gave it to. The error is a [*session.Error] or the store's.
func (s *Server) accessTo(ctx context.Context, who auth.Identity, id wire.SessionID) (access, session.Info, error) {
	// The same text for both cases, or it would reveal which of them it is.
	hidden := &session.Error{Code: wire.CodeSessionNotFound, Reason: wire.CodeSessionNotFound.Info().Message}
	if session.IsName(id) {
		called, _, err := s.lookUpName(ctx, who.User, id)
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
		return accessNone, session.Info{}, store.ErrUnavailable // the session may be shared with the user
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

// accessFor returns the access that results from a session's owner and shares and from the roles of
// a user.
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
	if who.Session != "" { // an invited device must not share or delete the session
		granted = min(granted, accessOperator)
	}
	if !mayHaveSessions(who) {
		return accessNone
	}
	if !who.Has(auth.RoleUser) { // a viewer of the whole installation never changes anything
		granted = min(granted, accessViewer)
	}
	return granted
}

// mayHaveSessions reports whether a user can own or see sessions at all. One with admin roles only
// cannot.
func mayHaveSessions(who auth.Identity) bool {
	return who.Has(auth.RoleUser) || who.Has(auth.RoleViewer)
}

// identityKey is the key of the identity in the request context.
const identityKey = "everdesk.who"

// caller returns the identity of a request that passed [Server.requireIdentity].
func caller(c echo.Context) auth.Identity {
	id, _ := c.Get(identityKey).(auth.Identity)
	return id
}

// requireIdentity authenticates a request and applies the user's rate limit.
func (s *Server) requireIdentity(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id, err := s.identify(c)
		if err != nil {
			return s.authFailure(c, err)
		}
		count := s.limits.Read
		if isMutating(c.Request()) {
			count = s.limits.Request
		}
		if wait := count(c.Request().Context(), id.User); wait > 0 {
			return s.rateLimited(c, wait)
		}
		c.Set(identityKey, id)
		return next(c)
	}
}

// requireAdmin returns 404 to callers without the role admin.
func requireAdmin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !caller(c).Has(auth.RoleAdmin) || caller(c).Session != "" {
			return echo.ErrNotFound
		}
		return next(c)
	}
}

// requireAdminRead returns 404 to callers that may not use the admin API.
func requireAdminRead(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !caller(c).Has(auth.RoleAdminRead) || caller(c).Session != "" {
			return echo.ErrNotFound
		}
		return next(c)
	}
}

// requireAdminAct refuses callers that may use the admin API but not act.
func requireAdminAct(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !caller(c).Has(auth.RoleAdminAct) {
			return problem(wire.CodeForbidden, "Looking is allowed, acting is not: it takes the role admin:act.")
		}
		return next(c)
	}
}

// authFailure returns the response to a request with a missing or wrong credential. An address that
// sends many of them gets 429 instead.
func (s *Server) authFailure(c echo.Context, err error) error {
	refusal, ok := errors.AsType[*auth.Error](err)
	if !ok {
		return err // the store's error
	}
	s.refused.credentials.Add(1)
	if wait := s.limits.Address(address(c)); wait > 0 {
		return s.rateLimited(c, wait)
	}
	challenge := `Bearer realm="everdesk"`
	if refusal.Code != wire.CodeAuthRequired {
		challenge += `, error="invalid_token"`
	}
	c.Response().Header().Set(echo.HeaderWWWAuthenticate, challenge)
	return err
}

// rateLimited returns the response to a request over a rate limit.
func (s *Server) rateLimited(c echo.Context, wait time.Duration) error {
	s.refused.rates.Add(1)
	c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	p := problem(wire.CodeRateLimited, "Too many requests.")
	p.RetryAfterMS = int(wait.Milliseconds())
	return p
}

// requireAccess returns the session of the request's path, or an error if the caller has less than
// the least access.
func (s *Server) requireAccess(c echo.Context, least access) (session.Info, error) {
	granted, info, err := s.accessTo(c.Request().Context(), caller(c), wire.SessionID(c.Param("session")))
	if err != nil {
		return session.Info{}, err
	}
	if granted < least {
		return session.Info{}, problem(wire.CodeForbidden, "")
	}
	if least == accessOperator { // access as owner is audited with the action itself
		err = s.auditSessionAccess(c, info)
	}
	return info, err
}

// cookieName returns the name of the session cookie. Browsers accept the prefix __Host- only over
// TLS and from the very host.
func cookieName(secure bool) string {
	if secure {
		return "__Host-everdesk"
	}
	return "everdesk"
}

// cookie returns the value of the request's session cookie, or "".
func (s *Server) cookie(c echo.Context) string {
	found, err := c.Cookie(cookieName(s.isSecure(c.Request())))
	if err != nil {
		return ""
	}
	return found.Value
}

// setCookie sets the session cookie; an empty value deletes it.
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
