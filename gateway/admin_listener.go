package gateway

import (
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/openapi"
)

// The admin paths besides the API.
const (
	pathAdmin   = "/admin"
	pathMetrics = "/metrics"
	pathPprof   = "/debug/pprof"
)

// adminListener is the separate server of the admin endpoints, see [Config].SeparateAdmin.
type adminListener struct {
	echo *echo.Echo // nil without SeparateAdmin
	http *http.Server
	ln   net.Listener
}

// isAdminPath reports whether the path of a route belongs to the admin endpoints.
func isAdminPath(path string) bool {
	return strings.HasPrefix(path, "/api/admin/") || path == pathMetrics || path == pathAdmin || strings.HasPrefix(path, pathAdmin+"/")
}

// initAdmin sets the separate admin server up, if it is configured.
func (s *Server) initAdmin() {
	if !s.cfg.SeparateAdmin {
		return
	}
	a := &s.adminListener
	a.echo = s.newEcho()
	s.pages.adminEcho = a.echo
	var all []openapi.Route
	for _, r := range s.routes() {
		switch {
		case r.Path == pathMetrics: // clients of the admin listener need no credential for it
			r.Guard = openapi.GuardNone
			all = append(all, r)
		case isAdminPath(r.Path), slices.Contains(sharedPaths, r.Path):
			all = append(all, r)
		}
	}
	s.register(a.echo, all)
	if s.pages.desktop != nil { // the films of sessions are drawn by the desktop
		for _, name := range s.pages.desktop.Names() {
			if strings.HasPrefix(name, "assets/") {
				get(a.echo, "/"+name, s.pages.asset(name))
			}
		}
	}
	get(a.echo, "/", func(c echo.Context) error {
		if c.QueryParam("token") != "" {
			return s.pages.serveAdminPage(c)
		}
		return c.Redirect(http.StatusSeeOther, pathAdmin+queryWithoutToken(c))
	})
	// Without /cmdline: flags may contain secrets.
	for name, handler := range map[string]http.HandlerFunc{
		"/": pprof.Index, "/profile": pprof.Profile, "/symbol": pprof.Symbol, "/trace": pprof.Trace, "/*": pprof.Index,
	} {
		get(a.echo, pathPprof+name, s.authenticator.Guard(openapi.GuardAct, s.admin.Profile(handler)))
	}
	a.http = s.newHTTP(a.echo)
}

// sharedPaths are the paths that the admin listener serves as the main one does.
var sharedPaths = []string{"/login", "/api/login", "/api/logout", "/api/me", "/health", "/healthz", "/readyz", "/api/openapi.json"}

// SetAdminListener sets the listener of the admin endpoints, which [Server.Serve] serves and
// closes. Call it before Serve, at most once, and only with [Config].SeparateAdmin.
func (s *Server) SetAdminListener(ln net.Listener) { s.adminListener.ln = ln }
