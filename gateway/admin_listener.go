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

// The paths of those who look after the hub, besides the API.
const (
	pathAdmin   = "/admin"
	pathMetrics = "/metrics"
	pathPprof   = "/debug/pprof"
	adminAPI    = "/api/admin/"
)

// adminPolicy is the content security policy of their page: nothing runs but our own
// files, no text becomes an element, and nothing is reached but the hub.
const adminPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// adminListener is the door of those who look after the hub, when that is another than
// everybody's.
type adminListener struct {
	echo *echo.Echo // nil when it is the same
	http *http.Server
	ln   net.Listener
}

// isAdmins reports whether a route is there for those who look after the hub.
func (r route) isAdmins() bool {
	return strings.HasPrefix(r.path, adminAPI) || r.path == pathMetrics || r.path == pathAdmin || strings.HasPrefix(r.path, pathAdmin+"/")
}

// initAdmin makes the door of those who look after the hub, if they have their own.
func (s *Server) initAdmin() {
	if !s.cfg.SeparateAdmin {
		return
	}
	a := &s.admin
	a.echo = s.newEcho()
	var all []route
	for _, r := range s.routes() {
		switch {
		case r.path == pathMetrics: // who gets here is taken for a friend
			r.guard = guardNone
			all = append(all, r)
		case r.isAdmins(), slices.Contains(adminToo, r.path):
			all = append(all, r)
		}
	}
	s.register(a.echo, all)
	get(a.echo, "/", func(c echo.Context) error {
		if c.QueryParam("token") != "" {
			return s.adminHome(c)
		}
		return c.Redirect(http.StatusSeeOther, pathAdmin+restOfQuery(c))
	})
	// The command line is not among them: flags may have secrets.
	for name, handler := range map[string]http.HandlerFunc{
		"/": pprof.Index, "/profile": pprof.Profile, "/symbol": pprof.Symbol, "/trace": pprof.Trace, "/*": pprof.Index,
	} {
		get(a.echo, pathPprof+name, s.requireIdentity(requireAdminRead(requireAdminAct(s.measure(handler)))))
	}
	a.http = s.newHTTP(a.echo)
}

// adminToo are everybody's paths that are at the door of those who look after the
// hub too.
var adminToo = []string{"/login", "/api/login", "/api/logout", "/api/me", "/health", "/healthz", "/readyz", "/api/openapi.json"}

// measureMost is how many seconds a measurement of the runtime may take.
const measureMost = 300

// measure has the runtime answer, which takes as long as it is told to, but not longer
// than the hub is there. It counts as one who watches.
func (s *Server) measure(next http.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if text := c.QueryParam("seconds"); text != "" {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil || !(n > 0 && n <= measureMost) {
				return queryProblem("seconds", fmt.Sprintf("Want a number of seconds up to %d.", measureMost))
			}
		}
		leave, ok := s.adminStreams.add(caller(c))
		if !ok {
			return s.full(c)
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

// SetAdminListener gives those who look after the hub a listener of their own, which
// [Server.Serve] then serves and closes too. It is called before Serve, at most once,
// and only with [Config].SeparateAdmin.
func (s *Server) SetAdminListener(ln net.Listener) { s.admin.ln = ln }

// adminHome is the page of those who look after the hub. To strangers it is a page to
// sign in, to all others it is not there, which that page tells them.
func (s *Server) adminHome(c echo.Context) error {
	if token := c.QueryParam("token"); token != "" {
		return s.welcomeByLink(c, token)
	}
	name := strings.TrimPrefix(strings.TrimPrefix(c.Request().URL.Path, pathAdmin), "/")
	if name != indexFile && s.adminPage.Has(name) { // nobody's secret
		return s.adminPage.Serve(c.Response(), c.Request(), name)
	}
	if strings.HasPrefix(name, "assets/") {
		return echo.ErrNotFound
	}
	c.Response().Header().Add(echo.HeaderVary, echo.HeaderCookie)
	switch who, err := s.identify(c); {
	case err != nil && !isCrossSite(c.Request()):
		return s.page(c)
	case err == nil && (!who.Has(auth.RoleAdminRead) || who.Session != ""):
		return s.show(c, http.StatusNotFound, wordsFor(c.Request()).notForYou)
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentSecurityPolicy, adminPolicy)
	h.Set("Permissions-Policy", permissions)
	return s.adminPage.Serve(c.Response(), c.Request(), indexFile)
}

// frontOf is the page that somebody wants to see when they sign in.
func frontOf(c echo.Context) string {
	if path := c.Request().URL.Path; path == pathAdmin || strings.HasPrefix(path, pathAdmin+"/") {
		return pathAdmin
	}
	return "/"
}
