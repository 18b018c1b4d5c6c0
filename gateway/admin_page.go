package gateway

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
)

// serveAdminPage serves the admin page. Unauthenticated browsers get the sign-in page, and users
// without an admin role get 404 with an explanation.
func (g *pages) serveAdminPage(c echo.Context) error {
	if token := c.QueryParam("token"); token != "" {
		return g.signInByLink(c, token)
	}
	name := strings.TrimPrefix(strings.TrimPrefix(c.Request().URL.Path, pathAdmin), "/")
	if name != indexFile && g.adminPage.Has(name) { // assets are public
		return g.adminPage.Serve(c.Response(), c.Request(), name)
	}
	if strings.HasPrefix(name, "assets/") {
		return echo.ErrNotFound
	}
	c.Response().Header().Add(echo.HeaderVary, echo.HeaderCookie)
	switch who, err := g.authenticator.Identify(c); {
	case err != nil && !isCrossSite(c.Request()):
		return g.signInPage(c)
	case err == nil && (!who.Has(auth.RoleAdminRead) || who.Session != ""):
		return g.renderSignInPage(c, http.StatusNotFound, textsFor(c.Request()).notForYou)
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentSecurityPolicy, adminPolicy)
	h.Set("Permissions-Policy", permissions)
	return g.adminPage.Serve(c.Response(), c.Request(), indexFile)
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
func (s *Server) adminPageRoutes() []route {
	const tag = "admin"
	var all []route
	if s.metrics != nil {
		all = append(all, route{
			method: http.MethodGet, path: pathMetrics, guard: guardRead, handler: echo.WrapHandler(s.metrics), tag: tag,
			summary: "Prometheus metrics", detail: "Needs no credential on a separate admin listener.",
			answers: success(http.StatusOK, "The metrics.", bytesOf(echo.MIMETextPlain)),
		})
	}
	if s.pages.adminPage == nil || !s.pages.adminPage.Has(indexFile) {
		return all
	}
	html := success(http.StatusOK, "A page.", bytesOf(echo.MIMETextHTML))
	led := answer{status: http.StatusSeeOther, doc: "Signed in; redirects to /admin.", headers: []param{{name: "Set-Cookie", doc: "The cookie."}}}
	return append(all,
		route{
			method: http.MethodGet, path: pathAdmin, handler: s.pages.serveAdminPage, tag: tag, summary: "The admin page",
			query: []param{{name: "token", doc: "The token of the URL that the hub prints."}}, answers: append(html, led),
		},
		route{
			method: http.MethodPost, path: pathAdmin, handler: s.pages.submitLogin, tag: tag, summary: "Sign in with a form, for the admin page",
			body: bytesOf(echo.MIMEApplicationForm), answers: []answer{led},
		},
		route{
			method: http.MethodGet, path: pathAdmin + "/*", handler: s.pages.serveAdminPage, tag: tag, summary: "The files of the admin page", answers: html,
		},
	)
}
