package gateway

import (
	"net"
	"net/http"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
)

// permissions is the Permissions-Policy that disables all browser features that the desktop does
// not use, also for its frames.
const permissions = "accelerometer=(), autoplay=(), browsing-topics=(), camera=(), clipboard-read=(), clipboard-write=(self), " +
	"display-capture=(), encrypted-media=(), fullscreen=(), gamepad=(), geolocation=(), gyroscope=(), hid=(), idle-detection=(), local-fonts=(), " +
	"magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-create=(), publickey-credentials-get=(), " +
	"screen-wake-lock=(), serial=(), storage-access=(), sync-xhr=(), usb=(), window-management=(), xr-spatial-tracking=()"

const indexFile = "index.html"

// homePage serves /: it signs in with the token of the URL that the hub printed, or serves the desktop.
func (pg *pages) homePage(c echo.Context) error {
	token := c.QueryParam("token")
	switch {
	case pg.dev != nil && access.IsUpgrade(c.Request()): // the development server's own socket, with a token of its own
		return pg.proxyDev(c)
	case token != "":
		return pg.signInByLink(c, token)
	case pg.dir != "":
		return pg.staticDesktop(c)
	case pg.hasDesktop():
		return pg.desktopOrSignIn(c)
	default:
		return pg.signInPage(c)
	}
}

// hasDesktop reports whether there is an embedded or development desktop to serve.
func (pg *pages) hasDesktop() bool {
	return pg.dev != nil || pg.desktop != nil && pg.desktop.Has(indexFile)
}

// desktopOrSignIn serves the desktop to authenticated users, and the sign-in page to others. Browsers
// withhold the cookie when a link on another site led here, so such a request gets the desktop,
// which authenticates with requests of its own.
func (pg *pages) desktopOrSignIn(c echo.Context) error {
	c.Response().Header().Add(echo.HeaderVary, echo.HeaderCookie)
	if _, err := pg.authenticator.Identify(c); err != nil && !access.IsCrossSite(c.Request()) {
		return pg.signInPage(c)
	}
	return pg.shell(c)
}

// joinPage serves the page for invited devices and for read-only links. The ticket or the link is in the fragment of
// its URL, which only the page sees; so the page needs no authentication.
func (pg *pages) joinPage(c echo.Context) error {
	switch {
	case pg.dir != "":
		return pg.staticDesktop(c)
	case pg.hasDesktop():
		return pg.shell(c)
	default:
		return echo.ErrNotFound
	}
}

// shell serves the page of the desktop. It contains no user data.
func (pg *pages) shell(c echo.Context) error {
	if pg.dev != nil {
		return pg.proxyDev(c)
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentSecurityPolicy, pg.shellPolicy(c.Request()))
	h.Set("Permissions-Policy", permissions)
	return pg.desktop.Serve(c.Response(), c.Request(), indexFile)
}

// shellPolicy returns the content security policy of the desktop: only the hub's own scripts run,
// and text becomes elements only through the sanitiser. WebSocket URLs of this host are listed
// because not all browsers count them as 'self'.
func (pg *pages) shellPolicy(r *http.Request) string {
	connect, frames := "'self'", "'none'"
	name, port := access.HostName(r.Host), access.PortOf(r.Host, pg.hosts.Scheme(r))
	if isHostSource(name) && isPort(port) {
		host := name + ":" + port
		connect += " ws://" + host + " wss://" + host
	}
	if apps := pg.apps.origin(r); apps != "" {
		frames = originSource(apps)
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self'; font-src 'self'; connect-src " + connect +
		"; frame-src " + frames + "; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'; " +
		"require-trusted-types-for 'script'; trusted-types dompurify"
}

// asset serves a file of the embedded desktop; these are public.
func (pg *pages) asset(name string) echo.HandlerFunc {
	return func(c echo.Context) error { return pg.desktop.Serve(c.Response(), c.Request(), name) }
}

var (
	hostSource = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)
	portForm   = regexp.MustCompile(`^[0-9]{1,5}$`)
)

// isHostSource reports whether a content security policy can contain a host. It cannot contain IPv6
// addresses.
func isHostSource(name string) bool { return hostSource.MatchString(name) }

func isPort(port string) bool { return portForm.MatchString(port) }

// originSource returns an origin in the form of a content security policy, or 'none' if a policy
// cannot contain its host.
func originSource(origin string) string {
	if _, host, _ := strings.Cut(origin, "://"); isHostSource(access.HostName(host)) {
		return origin
	}
	return "'none'"
}

// portNumber returns the port of a TCP address, or 0.
func portNumber(addr net.Addr) int {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.Port
	}
	return 0
}
