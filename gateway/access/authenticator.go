package access

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/wire"
)

// Authenticator finds out who sends a request, by its credential, and applies the rate limits of users
// and addresses.
type Authenticator struct {
	auth        *auth.Authority
	limits      *ratelimit.Limiter
	hosts       *Hosts
	sessions    *Sessions
	refused     *RefusalCounts
	queryTokens bool
}

// NewAuthenticator returns an Authenticator that counts refused requests in refused. With queryTokens
// it accepts tokens in the query of requests to which browsers cannot add a header.
func NewAuthenticator(people *auth.Authority, limits *ratelimit.Limiter, hosts *Hosts, sessions *Sessions, refused *RefusalCounts, queryTokens bool) *Authenticator {
	return &Authenticator{auth: people, limits: limits, hosts: hosts, sessions: sessions, refused: refused, queryTokens: queryTokens}
}

// Guard returns handler behind an access check.
func (a *Authenticator) Guard(g openapi.Guard, handler echo.HandlerFunc) echo.HandlerFunc {
	switch g {
	case openapi.GuardAdmin:
		return a.requireIdentity(requireAdmin(handler))
	case openapi.GuardRead:
		return a.requireIdentity(requireAdminRead(handler))
	case openapi.GuardAct:
		return a.requireIdentity(requireAdminRead(requireAdminAct(handler)))
	case openapi.GuardIdentity:
		return a.requireIdentity(handler)
	case openapi.GuardAppPage:
		return a.requireAppPage(handler)
	default:
		return handler
	}
}

// HeaderAPIKey is the header with an API key.
const HeaderAPIKey = "X-API-Key" //nolint:gosec // the name of a header

// Identify authenticates a request by its Authorization header, its API key, its query (where that
// is enabled and browsers cannot send a header) or its cookie, and prolongs the cookie. The error
// is an [*auth.Error] or the store's.
func (a *Authenticator) Identify(c echo.Context) (auth.Identity, error) {
	who, err := a.Authenticate(c.Request().Context(), c)
	if who.Prolonged {
		a.SetCookie(c, a.Cookie(c), who.Expires) // else the browser would delete it
	}
	return who, err
}

// Authenticate is Identify without a change of the response.
func (a *Authenticator) Authenticate(ctx context.Context, c echo.Context) (auth.Identity, error) {
	r := c.Request()
	if who, ok := a.auth.Anonymous(); ok {
		return who, nil
	}
	if token := a.linkToken(c); token != "" && !hasHeaderCredential(r) {
		if who, ok := a.signedInUser(ctx, c); ok {
			return who, nil
		}
		who, err := a.identifyLink(ctx, c, token)
		if err == nil || a.Cookie(c) == "" {
			return who, err
		}
		// The link has ended, does not open this route, or the store failed. The user who is signed in may have access.
	}
	if header := r.Header.Get(echo.HeaderAuthorization); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return auth.Identity{}, &auth.Error{Code: wire.CodeAuthFailed, Reason: "Only the scheme Bearer is understood."}
		}
		return a.auth.Bearer(ctx, strings.TrimSpace(token))
	}
	if key := r.Header.Get(HeaderAPIKey); key != "" {
		return a.auth.APIKey(ctx, key)
	}
	if a.queryTokens && cannotSendHeaders(c) {
		if token := c.QueryParam("token"); token != "" {
			return a.auth.Bearer(ctx, token)
		}
	}
	if value := a.Cookie(c); value != "" {
		return a.auth.Cookie(ctx, value)
	}
	return auth.Identity{}, &auth.Error{Code: wire.CodeAuthRequired, Reason: "Sign in first."}
}

// cannotSendHeaders reports whether a request opens a WebSocket or an event stream, or fetches a
// file that a page of the desktop dialect displays: browsers cannot add a header to those.
func cannotSendHeaders(c echo.Context) bool {
	switch c.Path() {
	case PathStorage:
		return c.Request().Method == http.MethodGet || c.Request().Method == http.MethodHead
	case PathNative, PathDesktop:
		return IsUpgrade(c.Request())
	case PathEvents:
		return WantsStream(c.Request())
	}
	return false
}

// The routes that accept tokens in the query.
const (
	PathNative  = "/ws/:session"
	PathDesktop = "/ws"
	PathEvents  = "/api/sessions/:session/events"
	PathStorage = "/api/storage/*"
)

// identityKey is the key of the identity in the request context.
const identityKey = "everdesk.who"

// Caller returns the identity of a request that passed [Authenticator.Guard].
func Caller(c echo.Context) auth.Identity {
	id, _ := c.Get(identityKey).(auth.Identity)
	return id
}

// requireIdentity authenticates a request and applies the user's rate limit.
func (a *Authenticator) requireIdentity(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id, err := a.Identify(c)
		if err != nil {
			return a.Failure(c, err)
		}
		return a.limited(c, id, next)
	}
}

// limited handles the request of an authenticated caller unless the caller's rate limit is exceeded.
func (a *Authenticator) limited(c echo.Context, id auth.Identity, next echo.HandlerFunc) error {
	count := a.limits.Read
	if IsMutating(c.Request()) {
		count = a.limits.Request
	}
	if wait := count(c.Request().Context(), id.User); wait > 0 {
		return a.RateLimited(c, wait)
	}
	c.Set(identityKey, id)
	return next(c)
}

// requireAdmin returns 404 to callers without the role admin.
func requireAdmin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !Caller(c).Has(auth.RoleAdmin) || Caller(c).Session != "" {
			return echo.ErrNotFound
		}
		return next(c)
	}
}

// requireAdminRead returns 404 to callers that may not use the admin API.
func requireAdminRead(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !Caller(c).Has(auth.RoleAdminRead) || Caller(c).Session != "" {
			return echo.ErrNotFound
		}
		return next(c)
	}
}

// requireAdminAct refuses callers that may use the admin API but not act.
func requireAdminAct(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !Caller(c).Has(auth.RoleAdminAct) {
			return problem.New(wire.CodeForbidden, "Looking is allowed, acting is not: it takes the role admin:act.")
		}
		return next(c)
	}
}

// Failure returns the response to a request with a missing or wrong credential. An address that
// sends many of them gets 429 instead.
func (a *Authenticator) Failure(c echo.Context, err error) error {
	refusal, ok := errors.AsType[*auth.Error](err)
	if !ok {
		return err // the store's error
	}
	a.refused.Credentials.Add(1)
	if wait := a.limits.Address(Address(c)); wait > 0 {
		return a.RateLimited(c, wait)
	}
	challenge := `Bearer realm="everdesk"`
	if refusal.Code != wire.CodeAuthRequired {
		challenge += `, error="invalid_token"`
	}
	c.Response().Header().Set(echo.HeaderWWWAuthenticate, challenge)
	return err
}

// RateLimited returns the response to a request over a rate limit.
func (a *Authenticator) RateLimited(c echo.Context, wait time.Duration) error {
	a.refused.Rates.Add(1)
	c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	p := problem.New(wire.CodeRateLimited, "Too many requests.")
	p.RetryAfterMS = int(wait.Milliseconds())
	return p
}

// cookieName returns the name of the session cookie. Browsers accept the prefix __Host- only over
// TLS and from the very host.
func cookieName(secure bool) string {
	if secure {
		return "__Host-everdesk"
	}
	return "everdesk"
}

// CredentialNames returns the names of the headers and cookies with which requests authenticate.
func CredentialNames() openapi.Credentials {
	return openapi.Credentials{APIKeyHeader: HeaderAPIKey, Cookie: cookieName(true), CookieWithoutTLS: cookieName(false)}
}

// Cookie returns the value of the request's session cookie, or "".
func (a *Authenticator) Cookie(c echo.Context) string {
	found, err := c.Cookie(cookieName(a.hosts.Secure(c.Request())))
	if err != nil {
		return ""
	}
	return found.Value
}

// SetCookie sets the session cookie; an empty value deletes it.
func (a *Authenticator) SetCookie(c echo.Context, value string, until time.Time) {
	secure := a.hosts.Secure(c.Request())
	cookie := &http.Cookie{ //nolint:gosec // Secure over TLS; the loopback has none
		Name: cookieName(secure), Value: value, Path: "/", Expires: until,
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode,
	}
	if value == "" {
		cookie.MaxAge, cookie.Expires = -1, time.Time{}
	}
	c.SetCookie(cookie)
}

// Token is Authenticate for a token that is not in a header.
func (a *Authenticator) Token(ctx context.Context, token string) (auth.Identity, error) {
	if id, ok := a.auth.Anonymous(); ok {
		return id, nil
	}
	return a.auth.Bearer(ctx, token)
}

// SignIn exchanges a token for a cookie.
func (a *Authenticator) SignIn(c echo.Context, token string) (auth.Identity, error) {
	ctx := c.Request().Context()
	id, err := a.Token(ctx, token)
	if err != nil {
		return auth.Identity{}, a.Failure(c, err)
	}
	if id.Session != "" {
		// A cookie would be valid for all sessions.
		return auth.Identity{}, problem.New(wire.CodeForbidden, "A credential for one session cannot sign in.")
	}
	if id.Key != "" {
		// A cookie would outlive the key.
		return auth.Identity{}, problem.New(wire.CodeAuthFailed, "An API key cannot sign in; send it with each request.").WithStatus(http.StatusForbidden)
	}
	if wait := a.limits.Request(ctx, id.User); wait > 0 {
		return auth.Identity{}, a.RateLimited(c, wait)
	}
	value, until, err := a.auth.NewCookie(ctx, id)
	if err != nil {
		return auth.Identity{}, err
	}
	a.SetCookie(c, value, until)
	return id, nil
}

// hasHeaderCredential reports whether a request authenticates with a header.
func hasHeaderCredential(r *http.Request) bool {
	return r.Header.Get(echo.HeaderAuthorization) != "" || r.Header.Get(HeaderAPIKey) != ""
}

// UsesCookie reports whether a cookie is the only credential of a request.
func (a *Authenticator) UsesCookie(c echo.Context) bool {
	return !hasHeaderCredential(c.Request()) && (a.Cookie(c) != "" || a.linkToken(c) != "")
}

// WantsStream reports whether a client prefers Server-Sent Events.
func WantsStream(r *http.Request) bool {
	return strings.Contains(r.Header.Get(echo.HeaderAccept), "text/event-stream")
}
