package gateway

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/openapi"
)

// serveAdminPage serves the admin page, and the films of sessions below it.
func (pg *pages) serveAdminPage(c echo.Context) error {
	if token := c.QueryParam("token"); token != "" {
		return pg.signInByLink(c, token)
	}
	name := strings.TrimPrefix(strings.TrimPrefix(c.Request().URL.Path, pathAdmin), "/")
	if strings.HasPrefix(name, filmPrefix) && pg.hasDesktop() && pg.dir == "" {
		return pg.serveToAdmins(c, pg.serveAdminFilm)
	}
	if name != indexFile && pg.adminPage.Has(name) { // assets are public
		return pg.adminPage.Serve(c.Response(), c.Request(), name)
	}
	if strings.HasPrefix(name, "assets/") {
		return echo.ErrNotFound
	}
	return pg.serveToAdmins(c, func(c echo.Context) error {
		h := c.Response().Header()
		h.Set(echo.HeaderContentSecurityPolicy, adminPolicy)
		h.Set("Permissions-Policy", permissions)
		return pg.adminPage.Serve(c.Response(), c.Request(), indexFile)
	})
}

// serveToAdmins serves a page to admins. Unauthenticated browsers get the sign-in page, and users
// without an admin role get 404 with an explanation.
func (pg *pages) serveToAdmins(c echo.Context, serve echo.HandlerFunc) error {
	c.Response().Header().Add(echo.HeaderVary, echo.HeaderCookie)
	switch who, err := pg.authenticator.Identify(c); {
	case err != nil && !access.IsCrossSite(c.Request()):
		return pg.signInPage(c)
	case err == nil && (!who.Has(auth.RoleAdminRead) || who.Session != ""):
		return pg.renderSignInPage(c, http.StatusNotFound, textsFor(c.Request()).notForYou)
	}
	return serve(c)
}

// filmPrefix is the path below /admin of the films of sessions.
const filmPrefix = "film/"

// filmPolicy is the content security policy of the film of a session for admins. Compared with the
// policy of the desktop, there are no frames: nothing that a user has written runs for an admin.
const filmPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; connect-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types dompurify"

// serveAdminFilm serves the page of the desktop, which draws the film of a session at this path. It
// is not part of the admin page: that one makes no elements from texts of users, and its policy says so.
func (pg *pages) serveAdminFilm(c echo.Context) error {
	if pg.dev != nil {
		return pg.proxyDev(c)
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentSecurityPolicy, filmPolicy)
	h.Set("Permissions-Policy", permissions)
	return pg.desktop.Serve(c.Response(), c.Request(), indexFile)
}

// signInTarget returns the path to which signing in redirects.
func signInTarget(c echo.Context) string {
	if path := c.Request().URL.Path; path == pathAdmin || strings.HasPrefix(path, pathAdmin+"/") {
		return pathAdmin
	}
	return "/"
}

// adminPolicy is the content security policy of the admin page: only the hub's own scripts run, no
// text becomes an element, and only the hub is reachable.
const adminPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// adminPageRoutes are the routes of /metrics and of the admin page.
func (s *Server) adminPageRoutes() []openapi.Route {
	const tag = "admin"
	var all []openapi.Route
	if s.metrics != nil {
		all = append(all, openapi.Route{
			Method: http.MethodGet, Path: pathMetrics, Guard: openapi.GuardRead, Handler: echo.WrapHandler(s.metrics), Tag: tag,
			Summary: "Prometheus metrics", Detail: "Needs no credential on a separate admin listener.",
			Answers: openapi.Success(http.StatusOK, "The metrics.", openapi.Bytes(echo.MIMETextPlain)),
		})
	}
	if s.pages.adminPage == nil || !s.pages.adminPage.Has(indexFile) {
		return all
	}
	html := openapi.Success(http.StatusOK, "A page.", openapi.Bytes(echo.MIMETextHTML))
	led := openapi.Answer{Status: http.StatusSeeOther, Doc: "Signed in; redirects to /admin.", Headers: []openapi.Param{{Name: "Set-Cookie", Doc: "The cookie."}}}
	return append(all,
		openapi.Route{
			Method: http.MethodGet, Path: pathAdmin, Handler: s.pages.serveAdminPage, Tag: tag, Summary: "The admin page",
			Query: []openapi.Param{{Name: "token", Doc: "The token of the URL that the hub prints."}}, Answers: append(html, led),
		},
		openapi.Route{
			Method: http.MethodPost, Path: pathAdmin, Handler: s.pages.submitLogin, Tag: tag, Summary: "Sign in with a form, for the admin page",
			Body: openapi.Bytes(echo.MIMEApplicationForm), Answers: []openapi.Answer{led},
		},
		openapi.Route{
			Method: http.MethodGet, Path: pathAdmin + "/*", Handler: s.pages.serveAdminPage, Tag: tag, Summary: "The files of the admin page", Answers: html,
		},
	)
}
