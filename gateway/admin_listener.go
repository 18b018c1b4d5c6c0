package gateway

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
)

// The admin paths besides the API.
const (
	pathAdmin   = "/admin"
	pathMetrics = "/metrics"
	pathPprof   = "/debug/pprof"
	adminAPI    = "/api/admin/"
)

// adminPolicy is the content security policy of the admin page: only the hub's own scripts run, no
// text becomes an element, and only the hub is reachable.
const adminPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// adminListener is the separate server of the admin endpoints, see [Config].SeparateAdmin.
type adminListener struct {
	echo *echo.Echo // nil without SeparateAdmin
	http *http.Server
	ln   net.Listener
}

// isAdminRoute reports whether a route belongs to the admin endpoints.
func (r route) isAdminRoute() bool {
	return strings.HasPrefix(r.path, adminAPI) || r.path == pathMetrics || r.path == pathAdmin || strings.HasPrefix(r.path, pathAdmin+"/")
}

// initAdmin sets the separate admin server up, if it is configured.
func (s *Server) initAdmin() {
	if !s.cfg.SeparateAdmin {
		return
	}
	a := &s.admin
	a.echo = s.newEcho()
	var all []route
	for _, r := range s.routes() {
		switch {
		case r.path == pathMetrics: // clients of the admin listener need no credential for it
			r.guard = guardNone
			all = append(all, r)
		case r.isAdminRoute(), slices.Contains(sharedPaths, r.path):
			all = append(all, r)
		}
	}
	s.register(a.echo, all)
	get(a.echo, "/", func(c echo.Context) error {
		if c.QueryParam("token") != "" {
			return s.serveAdminPage(c)
		}
		return c.Redirect(http.StatusSeeOther, pathAdmin+queryWithoutToken(c))
	})
	// Without /cmdline: flags may contain secrets.
	for name, handler := range map[string]http.HandlerFunc{
		"/": pprof.Index, "/profile": pprof.Profile, "/symbol": pprof.Symbol, "/trace": pprof.Trace, "/*": pprof.Index,
	} {
		get(a.echo, pathPprof+name, s.requireIdentity(requireAdminRead(requireAdminAct(s.serveProfile(handler)))))
	}
	a.http = s.newHTTP(a.echo)
}

// sharedPaths are the paths that the admin listener serves as the main one does.
var sharedPaths = []string{"/login", "/api/login", "/api/logout", "/api/me", "/health", "/healthz", "/readyz", "/api/openapi.json"}

// maxProfileSeconds bounds the duration of a runtime profile.
const maxProfileSeconds = 300

// serveProfile serves a runtime profile, which ends early when the hub stops. It counts as an admin
// stream.
func (s *Server) serveProfile(next http.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if text := c.QueryParam("seconds"); text != "" {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil || !(n > 0 && n <= maxProfileSeconds) {
				return queryProblem("seconds", fmt.Sprintf("Want a number of seconds up to %d.", maxProfileSeconds))
			}
		}
		leave, ok := s.adminStreams.add(caller(c))
		if !ok {
			return s.tooManyStreams(c)
		}
		defer s.adminStreams.remove(caller(c))
		ctx, cancel := context.WithCancel(c.Request().Context())
		defer cancel()
		done := make(chan struct{})
		defer close(done)
		go func() { // ends with the request
			select {
			case <-leave:
				cancel()
			case <-done:
			}
		}()
		next(c.Response(), c.Request().WithContext(ctx))
		return nil
	}
}

// SetAdminListener sets the listener of the admin endpoints, which [Server.Serve] serves and
// closes. Call it before Serve, at most once, and only with [Config].SeparateAdmin.
func (s *Server) SetAdminListener(ln net.Listener) { s.admin.ln = ln }

// serveAdminPage serves the admin page. Unauthenticated browsers get the sign-in page, and users
// without an admin role get 404 with an explanation.
func (s *Server) serveAdminPage(c echo.Context) error {
	if token := c.QueryParam("token"); token != "" {
		return s.signInByLink(c, token)
	}
	name := strings.TrimPrefix(strings.TrimPrefix(c.Request().URL.Path, pathAdmin), "/")
	if name != indexFile && s.adminPage.Has(name) { // assets are public
		return s.adminPage.Serve(c.Response(), c.Request(), name)
	}
	if strings.HasPrefix(name, "assets/") {
		return echo.ErrNotFound
	}
	c.Response().Header().Add(echo.HeaderVary, echo.HeaderCookie)
	switch who, err := s.identify(c); {
	case err != nil && !isCrossSite(c.Request()):
		return s.signInPage(c)
	case err == nil && (!who.Has(auth.RoleAdminRead) || who.Session != ""):
		return s.renderSignInPage(c, http.StatusNotFound, textsFor(c.Request()).notForYou)
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentSecurityPolicy, adminPolicy)
	h.Set("Permissions-Policy", permissions)
	return s.adminPage.Serve(c.Response(), c.Request(), indexFile)
}

// signInTarget returns the path to which signing in redirects.
func signInTarget(c echo.Context) string {
	if path := c.Request().URL.Path; path == pathAdmin || strings.HasPrefix(path, pathAdmin+"/") {
		return pathAdmin
	}
	return "/"
}
