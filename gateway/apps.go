package gateway

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/web"
)

// The policies of the frames in which html windows, apps and diagrams live. Their
// documents have no origin, reach nothing and go nowhere. What agents write is
// script too, but only in the stage, which is there for it.
const (
	framePolicy = "sandbox allow-scripts; default-src 'none'; script-src 'self'%s; style-src 'unsafe-inline' 'self'; img-src data: blob:; " +
		"font-src data:; media-src data: blob:; connect-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors %s"
	stageFile = "stage.html"

	// reachable is what a frame may reach in any way at all: where it came from.
	// It covers what framePolicy does not know, such as WebRTC, and the
	// connections a browser makes for a navigation before it refuses it.
	reachable = "(response-origin)"
)

// apps is the door of the apps' own origin: files and nothing else.
type apps struct {
	site *web.Site
	echo *echo.Echo
	http *http.Server
	// url is where the apps are when a proxy stands before them; nil when
	// they are at a port of their own.
	url *url.URL
	// alone says that its host is a name of the apps only.
	alone bool
	ln    net.Listener
	port  int // of ln
}

// initApps makes the apps' door. There is none without files.
func (s *Server) initApps(site *web.Site) {
	if site == nil || len(site.Names()) == 0 {
		return
	}
	a := &s.apps
	a.site, a.echo = site, echo.New()
	if u, err := url.Parse(s.cfg.AppsURL); err == nil && u.Host != "" {
		a.url = u
		name := hostName(u.Host)
		a.alone = !s.hosts[name] && !isLoopbackName(name)
	}
	a.echo.HTTPErrorHandler = s.writeProblem
	a.echo.Use(s.logRequests, s.enclose)
	for _, name := range site.Names() {
		serve := func(c echo.Context) error { return site.Serve(c.Response(), c.Request(), name) }
		a.echo.GET("/"+name, serve)
		a.echo.HEAD("/"+name, serve)
	}
	a.http = s.newHTTP(a.echo)
}

// enclose sets the headers of everything at the apps' origin, and refuses who
// looks for somebody else. Frames without an origin load their scripts from here,
// so that every page may; nothing looks at cookies.
func (s *Server) enclose(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		inline := ""
		if r.URL.Path == "/"+stageFile {
			inline = " 'unsafe-inline'"
		}
		h := c.Response().Header()
		h.Set(echo.HeaderCacheControl, "no-store")
		h.Set(echo.HeaderContentSecurityPolicy, fmt.Sprintf(framePolicy, inline, s.ancestors(r)))
		h.Set("Connection-Allowlist", reachable)
		h.Set("Permissions-Policy", framePermissions)
		h.Set(echo.HeaderReferrerPolicy, "no-referrer")
		h.Set(echo.HeaderXContentTypeOptions, "nosniff")
		h.Set("X-DNS-Prefetch-Control", "off")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		if !s.isKnownHost(r) && (s.apps.url == nil || hostName(r.Host) != hostName(s.apps.url.Host)) {
			s.refused.hosts.Add(1)
			return statusProblem(http.StatusMisdirectedRequest, "This hub is not known by that name; see the setting hosts.")
		}
		return next(c)
	}
}

// framePermissions are those of the desktop, without the one thing it may.
var framePermissions = strings.Replace(permissions, "clipboard-write=(self)", "clipboard-write=()", 1)

// isForApps reports whether a request came to the hub's own address under the
// name of the apps.
func (s *Server) isForApps(r *http.Request) bool {
	u := s.apps.url
	return u != nil && hostName(r.Host) == hostName(u.Host) && (s.apps.alone || portOf(r.Host, u.Scheme) == portOf(u.Host, u.Scheme))
}

// appsOrigin is where the apps are for who sends a request; empty when nowhere.
// Under a name that policies cannot contain, such as a bare address of IPv6, only a
// name of their own will do.
func (s *Server) appsOrigin(r *http.Request) string {
	switch {
	case s.apps.site == nil:
		return ""
	case s.apps.url != nil:
		return s.apps.url.Scheme + "://" + strings.ToLower(s.apps.url.Host)
	case s.apps.port != 0 && isHostSource(hostName(r.Host)):
		return s.schemeOf(r) + "://" + net.JoinHostPort(hostName(r.Host), strconv.Itoa(s.apps.port))
	default:
		return ""
	}
}

// ancestors are the pages that may frame the apps: the hub's own, under each of
// its names.
func (s *Server) ancestors(r *http.Request) string {
	own := strconv.Itoa(int(s.port.Load()))
	var pages []string
	if u := s.apps.url; u == nil {
		pages = append(pages, originSource(s.schemeOf(r)+"://"+net.JoinHostPort(hostName(r.Host), own)))
	} else {
		pages = append(pages, "http://localhost:"+own, "http://127.0.0.1:"+own)
		for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
			addr, err := netip.ParseAddr(name)
			switch {
			case name == "*":
				pages = append(pages, u.Scheme+":")
			case isHostSource(name) && (err != nil || !addr.IsUnspecified()):
				pages = append(pages, u.Scheme+"://"+name+":*")
			}
		}
	}
	return strings.Join(append(pages, s.origins...), " ")
}

// SetAppsListener gives the apps a listener of their own, which [Server.Serve] then serves
// and closes too. It is called before Serve, at most once. Without apps it is
// closed at once.
func (s *Server) SetAppsListener(ln net.Listener) {
	if s.apps.site == nil {
		_ = ln.Close() // nobody has been there yet
		return
	}
	s.apps.ln, s.apps.port = ln, portNumber(ln.Addr())
}

// serveAll serves all doors until one of them breaks or all are told to stop.
func (s *Server) serveAll(ln net.Listener) error {
	type door struct {
		http *http.Server
		ln   net.Listener
	}
	doors := []door{{s.http, ln}}
	if s.apps.ln != nil {
		doors = append(doors, door{s.apps.http, s.apps.ln})
	}
	if s.admin.ln != nil {
		doors = append(doors, door{s.admin.http, s.admin.ln})
	}
	broken := make([]error, len(doors))
	var wg sync.WaitGroup
	for i, d := range doors {
		wg.Go(func() {
			if broken[i] = serveOne(d.http, d.ln); broken[i] == nil {
				return
			}
			for _, other := range doors { // half a hub is none
				_ = other.http.Close()
			}
		})
	}
	wg.Wait()
	return errors.Join(broken...)
}

func serveOne(door *http.Server, ln net.Listener) error {
	if err := door.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %v: %w", ln.Addr(), err)
	}
	return nil
}
