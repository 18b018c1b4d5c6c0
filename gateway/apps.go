package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/web"
)

// framePolicy is the content security policy of the frames for html windows, apps and diagrams.
// Their documents have no origin and no network access, and cannot navigate. Inline scripts run
// only in stageFile, which hosts the code that agents write.
const (
	framePolicy = "sandbox allow-scripts; default-src 'none'; script-src 'self'%s; style-src 'unsafe-inline' 'self'; img-src data: blob:; " +
		"font-src data:; media-src data: blob:; connect-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors %s"
	stageFile = "stage.html"
	// framedScript is the script of pages of apps in the frames of desktops of the desktop dialect.
	framedScript = "framed.js"

	// connectionAllowlist is the Connection-Allowlist of a frame: only its own origin. It covers
	// requests that framePolicy does not control, such as WebRTC and the connections that a browser
	// opens for a navigation before it refuses it.
	connectionAllowlist = "(response-origin)"
)

// appsServer is the server of the apps' own origin, which has files only.
type appsServer struct {
	hosts   *access.Hosts
	refused *access.RefusalCounts
	hubPort atomic.Int32 // port of the main listener, for the frame-ancestors policy

	site *web.Site
	echo *echo.Echo
	http *http.Server
	// url is the apps' origin behind a proxy; nil when they have a port of their own.
	url *url.URL
	// dedicatedHost says that the host of url is no name of the hub itself.
	dedicatedHost bool
	ln            net.Listener
	port          int // of ln
}

// initApps sets the apps' server up, if there are files for it.
func (s *Server) initApps(site *web.Site) {
	if site == nil || len(site.Names()) == 0 {
		return
	}
	a := &s.apps
	a.site, a.echo = site, echo.New()
	if u, err := url.Parse(s.cfg.AppsURL); err == nil && u.Host != "" {
		a.url = u
		name := access.HostName(u.Host)
		a.dedicatedHost = !s.hosts.Has(name) && !access.IsLoopbackName(name)
	}
	a.echo.HTTPErrorHandler = s.writeProblem
	a.echo.Use(s.logRequests, s.apps.setHeaders)
	for _, name := range site.Names() {
		serve := func(c echo.Context) error { return site.Serve(c.Response(), c.Request(), name) }
		a.echo.GET("/"+name, serve)
		a.echo.HEAD("/"+name, serve)
	}
	a.http = s.newHTTP(a.echo)
}

// appScript returns the script for the pages of apps in frames, or nil if there is none.
func appScript(site *web.Site) []byte {
	if site == nil || !site.Has(framedScript) {
		return nil
	}
	return site.Content(framedScript)
}

// setHeaders sets the headers of every response of the apps' origin, and refuses requests to
// unknown hosts. Frames without an origin load their scripts from here, so every page may; cookies
// are ignored.
func (a *appsServer) setHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		inline := ""
		if r.URL.Path == "/"+stageFile {
			inline = " 'unsafe-inline'"
		}
		h := c.Response().Header()
		h.Set(echo.HeaderCacheControl, "no-store")
		policy, connections := fmt.Sprintf(framePolicy, inline, a.ancestors(r)), connectionAllowlist
		var refused error
		if query := r.URL.Query(); inline != "" && query.Has(viewParam) {
			if p, c, err := viewHeaders(query, a.ancestors(r)); err == nil {
				policy, connections = p, c
			} else {
				refused = err
			}
		}
		h.Set(echo.HeaderContentSecurityPolicy, policy)
		h.Set("Connection-Allowlist", connections)
		h.Set("Permissions-Policy", framePermissions)
		h.Set(echo.HeaderReferrerPolicy, "no-referrer")
		h.Set(echo.HeaderXContentTypeOptions, "nosniff")
		h.Set("X-DNS-Prefetch-Control", "off")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		if !a.hosts.Known(r) && (a.url == nil || access.HostName(r.Host) != access.HostName(a.url.Host)) {
			a.refused.Hosts.Add(1)
			return problem.Status(http.StatusMisdirectedRequest, "This hub is not known by that name; see the setting hosts.")
		}
		if refused != nil {
			return refused
		}
		return next(c)
	}
}

// framePermissions are the permissions of the desktop without writing to the clipboard.
var framePermissions = strings.Replace(permissions, "clipboard-write=(self)", "clipboard-write=()", 1)

// owns reports whether a request to the main listener is for the apps' host.
func (a *appsServer) owns(r *http.Request) bool {
	u := a.url
	return u != nil && access.HostName(r.Host) == access.HostName(u.Host) && (a.dedicatedHost || access.PortOf(r.Host, u.Scheme) == access.PortOf(u.Host, u.Scheme))
}

// origin returns the origin of the apps for the sender of a request, or "" if there is none.
// Under a host that a content security policy cannot contain, such as an IPv6 address, only AppsURL
// works.
func (a *appsServer) origin(r *http.Request) string {
	switch {
	case a.site == nil:
		return ""
	case a.url != nil:
		return a.url.Scheme + "://" + strings.ToLower(a.url.Host)
	case a.port != 0 && isHostSource(access.HostName(r.Host)):
		return a.hosts.Scheme(r) + "://" + net.JoinHostPort(access.HostName(r.Host), strconv.Itoa(a.port))
	default:
		return ""
	}
}

// ancestors returns the pages that may frame the apps: those of the hub, under each of its names.
func (a *appsServer) ancestors(r *http.Request) string {
	own := strconv.Itoa(int(a.hubPort.Load()))
	var pages []string
	if u := a.url; u == nil {
		pages = append(pages, originSource(a.hosts.Scheme(r)+"://"+net.JoinHostPort(access.HostName(r.Host), own)))
	} else {
		pages = append(pages, "http://localhost:"+own, "http://127.0.0.1:"+own)
		for _, name := range a.hosts.Names() {
			addr, err := netip.ParseAddr(name)
			switch {
			case name == "*":
				pages = append(pages, u.Scheme+":")
			case isHostSource(name) && (err != nil || !addr.IsUnspecified()):
				pages = append(pages, u.Scheme+"://"+name+":*")
			}
		}
	}
	return strings.Join(append(pages, a.hosts.Foreign()...), " ")
}

// SetAppsListener gives the apps a listener of their own, which [Server.Serve] serves and closes.
// Call it before Serve, at most once. Without apps it closes ln.
func (s *Server) SetAppsListener(ln net.Listener) {
	if s.apps.site == nil {
		_ = ln.Close() // no client has connected yet
		return
	}
	s.apps.ln, s.apps.port = ln, portNumber(ln.Addr())
}

// serveAll serves all listeners until one of them fails or all are closed.
func (s *Server) serveAll(ln net.Listener) error {
	endpoints := []endpoint{httpEndpoint(s.http, ln)}
	if s.apps.ln != nil {
		endpoints = append(endpoints, httpEndpoint(s.apps.http, s.apps.ln))
	}
	if s.adminListener.ln != nil {
		endpoints = append(endpoints, httpEndpoint(s.adminListener.http, s.adminListener.ln))
	}
	if s.ipcListener != nil {
		endpoints = append(endpoints, endpoint{
			serve: func() error { return s.ipc.Serve(s.ipcListener) },
			close: func() { s.ipc.Close(context.Background()) },
		})
	}
	broken := make([]error, len(endpoints))
	var wg sync.WaitGroup
	for i, d := range endpoints {
		wg.Go(func() {
			if broken[i] = d.serve(); broken[i] == nil {
				return
			}
			for _, other := range endpoints { // a hub without one of its listeners must not run
				other.close()
			}
		})
	}
	wg.Wait()
	return errors.Join(broken...)
}

// endpoint is a listener and its server. serve returns nil after close.
type endpoint struct {
	serve func() error
	close func()
}

func httpEndpoint(server *http.Server, ln net.Listener) endpoint {
	return endpoint{serve: func() error { return serveOne(server, ln) }, close: func() { _ = server.Close() }}
}

func serveOne(server *http.Server, ln net.Listener) error {
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %v: %w", ln.Addr(), err)
	}
	return nil
}
