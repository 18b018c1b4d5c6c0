package access

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

// linkPaths are the routes that a read-only link opens, all of them with GET: the connection, what the desktop and the
// conversation contain, and the files that windows show. Every other route is closed: those of users, since the caller
// is none, and those that the page of a link does not use, such as exports, the film, tasks and the trash.
var linkPaths = []string{
	PathNative, PathEvents,
	"/api/sessions/:session", "/api/sessions/:session/snapshot", "/api/sessions/:session/messages", "/api/sessions/:session/rows",
	"/api/sessions/:session/plan", "/api/sessions/:session/files", "/api/sessions/:session/files/*",
}

// momentPath is the only route that a link to one moment opens, with GET.
const momentPath = "/api/sessions/:session/moment"

// linkOpens reports whether a read-only link, to the session or to one moment of it, opens the route of a request. Of
// apps it opens the icons: the page of a link draws no apps.
func linkOpens(c echo.Context, moment wire.Position) bool {
	if m := c.Request().Method; m != http.MethodGet && m != http.MethodHead {
		return false
	}
	if !moment.IsZero() || c.Path() == momentPath {
		return !moment.IsZero() && c.Path() == momentPath
	}
	return slices.Contains(linkPaths, c.Path()) || c.Path() == "/api/sessions/:session/apps/:app/*" && c.Param("*") == "icon"
}

// identifyLink authenticates the token of a read-only link.
func (a *Authenticator) identifyLink(ctx context.Context, c echo.Context, token string) (auth.Identity, error) {
	who, err := a.auth.Links.Authenticate(ctx, token)
	if err == nil && !linkOpens(c, who.Moment) {
		return auth.Identity{}, problem.New(wire.CodeForbidden, "A read-only link shows one session, or one moment of it, and changes nothing.")
	}
	return who, err
}

// signedInUser returns the user who is signed in, if that user sees the session of the request without a link. The
// cookie of a link that was opened before must not take the user's rights away.
func (a *Authenticator) signedInUser(ctx context.Context, c echo.Context) (auth.Identity, bool) {
	who, err := a.auth.Cookie(ctx, a.Cookie(c))
	if err != nil {
		return auth.Identity{}, false
	}
	granted, _, _ := a.sessions.Access(ctx, who, wire.SessionID(c.Param("session")))
	return who, granted != None
}

// linkCookieName returns the name of the cookie with the token of a link. Its path is that of one session, so it
// cannot have the prefix __Host-.
func linkCookieName(secure bool) string {
	if secure {
		return "__Secure-everdesk-link"
	}
	return "everdesk-link"
}

// linkToken returns the token of a link in the request's cookie, or "".
func (a *Authenticator) linkToken(c echo.Context) string {
	found, err := c.Cookie(linkCookieName(a.hosts.Secure(c.Request())))
	if err != nil {
		return ""
	}
	return found.Value
}

// SetLinkCookie sets the cookie with the token of a link; an empty token deletes it. Browsers send it only with
// requests to that session, and that of a moment only with the request for the moment. So it replaces neither the cookie
// of a user who is signed in nor those of other links, except for links of the same kind to the same session.
func (a *Authenticator) SetLinkCookie(c echo.Context, link auth.Link, token string, until time.Time) {
	secure := a.hosts.Secure(c.Request())
	session := url.PathEscape(string(link.Session))
	paths := []string{"/api/sessions/" + session, "/ws/" + session}
	if !link.At.IsZero() {
		paths = []string{strings.ReplaceAll(momentPath, ":session", session)}
	}
	for _, path := range paths {
		cookie := &http.Cookie{ //nolint:gosec // Secure over TLS; the loopback has none
			Name: linkCookieName(secure), Value: token, Path: path, Expires: until,
			HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode,
		}
		if token == "" {
			cookie.MaxAge, cookie.Expires = -1, time.Time{}
		}
		c.SetCookie(cookie)
	}
}
