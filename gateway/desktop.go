package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"
)

// permissions turns off what a desktop does not use, also for what is framed in
// it.
const permissions = "accelerometer=(), autoplay=(), browsing-topics=(), camera=(), clipboard-read=(), clipboard-write=(self), " +
	"display-capture=(), encrypted-media=(), fullscreen=(), gamepad=(), geolocation=(), gyroscope=(), hid=(), idle-detection=(), local-fonts=(), " +
	"magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-create=(), publickey-credentials-get=(), " +
	"screen-wake-lock=(), serial=(), storage-access=(), sync-xhr=(), usb=(), window-management=(), xr-spatial-tracking=()"

const indexFile = "index.html"

// home is what the printed URL shows: it signs in if there is a token, and then
// is the desktop.
func (s *Server) home(c echo.Context) error {
	token := c.QueryParam("token")
	switch {
	case s.dev != nil && isUpgrade(c.Request()): // the tool's own socket, whose token is another
		return s.develop(c)
	case token != "":
		return s.welcomeByLink(c, token)
	case s.cfg.DesktopDir != "":
		return s.static(c)
	case s.hasDesktop():
		return s.front(c)
	default:
		return s.page(c)
	}
}

// hasDesktop reports whether there is a desktop of ours to show.
func (s *Server) hasDesktop() bool {
	return s.dev != nil || s.desktop != nil && s.desktop.Has(indexFile)
}

// front is the desktop for those who are signed in, and for others a page to do
// so. Browsers show no cookie when a link on another site led here, so that
// nobody knows yet; then it is the desktop, which asks again by itself.
func (s *Server) front(c echo.Context) error {
	c.Response().Header().Add(echo.HeaderVary, echo.HeaderCookie)
	if _, err := s.identify(c); err != nil && !isFromElsewhere(c.Request()) {
		return s.page(c)
	}
	return s.shell(c)
}

// join is where another device comes in. What lets it in is behind the # of its
// address, which only the page sees; so the page is for everybody.
func (s *Server) join(c echo.Context) error {
	switch {
	case s.cfg.DesktopDir != "":
		return s.static(c)
	case s.hasDesktop():
		return s.shell(c)
	default:
		return echo.ErrNotFound
	}
}

// shell is the page of our desktop. There is nothing of anybody in it.
func (s *Server) shell(c echo.Context) error {
	if s.dev != nil {
		return s.develop(c)
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentSecurityPolicy, s.shellPolicy(c.Request()))
	h.Set("Permissions-Policy", permissions)
	return s.desktop.Serve(c.Response(), c.Request(), indexFile)
}

// shellPolicy is the content security policy of our desktop: nothing runs but our
// own files, and texts become elements only through the sanitiser. Sockets to this
// host are named because not all browsers count them as 'self'.
func (s *Server) shellPolicy(r *http.Request) string {
	connect, frames := "'self'", "'none'"
	name, port := hostName(r.Host), portOf(r.Host, s.schemeOf(r))
	if isHostSource(name) && isPort(port) {
		host := name + ":" + port
		connect += " ws://" + host + " wss://" + host
	}
	if apps := s.appsOrigin(r); apps != "" {
		frames = originSource(apps)
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; connect-src " + connect +
		"; frame-src " + frames + "; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'; " +
		"require-trusted-types-for 'script'; trusted-types dompurify"
}

// asset serves a file of our desktop, which is nobody's secret.
func (s *Server) asset(name string) echo.HandlerFunc {
	return func(c echo.Context) error { return s.desktop.Serve(c.Response(), c.Request(), name) }
}

// schemeOf is how the browser reaches us.
func (s *Server) schemeOf(r *http.Request) string {
	if s.isSecure(r) {
		return "https"
	}
	return "http"
}

// originOf is the origin that a request was sent to.
func (s *Server) originOf(r *http.Request) string { return s.schemeOf(r) + "://" + r.Host }

var (
	hostSource = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)
	portForm   = regexp.MustCompile(`^[0-9]{1,5}$`)
)

// isHostSource reports whether a policy can contain a name. It cannot contain
// addresses of IPv6, nor whatever else somebody calls us.
func isHostSource(name string) bool { return hostSource.MatchString(name) }

func isPort(port string) bool { return portForm.MatchString(port) }

// originSource is an origin as policies write it. Where they cannot name the
// host, it is nobody.
func originSource(origin string) string {
	if _, host, _ := strings.Cut(origin, "://"); isHostSource(hostName(host)) {
		return origin
	}
	return "'none'"
}

// isLoopbackName reports whether only this very machine knows itself by that name.
func isLoopbackName(name string) bool {
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}

// portNumber is the port that a listener has.
func portNumber(addr net.Addr) int {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.Port
	}
	return 0
}
