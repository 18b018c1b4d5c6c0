package access

import (
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/labstack/echo/v4"
)

// Hosts knows the names and origins of the hub, and how browsers reach it.
type Hosts struct {
	names   map[string]bool // in lower case, without ports
	origins []string        // in lower case
	proxies []netip.Prefix
}

// NewHosts returns the Hosts for names and addresses of the hub, origins of pages on other hosts that
// may use it, and the proxies whose X-Forwarded-Proto header is used.
func NewHosts(names, origins []string, proxies []netip.Prefix) *Hosts {
	h := &Hosts{names: map[string]bool{}, proxies: proxies}
	for _, n := range names {
		h.names[HostName(n)] = true
	}
	for _, o := range origins {
		h.origins = append(h.origins, strings.ToLower(strings.TrimSuffix(o, "/")))
	}
	return h
}

// Names returns the configured names, sorted; "*" is among them if every host is allowed.
func (h *Hosts) Names() []string { return slices.Sorted(maps.Keys(h.names)) }

// Has reports whether a name is configured.
func (h *Hosts) Has(name string) bool { return h.names[name] }

// Foreign returns the origins of pages on other hosts that may use the hub, in lower case.
func (h *Hosts) Foreign() []string { return h.origins }

// Known reports whether a request was sent to one of the hub's names: those of the loopback,
// the address of the connection's local end, or a configured one.
func (h *Hosts) Known(r *http.Request) bool {
	name := HostName(r.Host)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") || h.names[name] || h.names["*"] {
		return name != ""
	}
	addr, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	if addr.IsLoopback() {
		return true
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return local != nil && local.AddrPort().Addr().Unmap().WithZone("") == addr
}

// HostName returns the name or address in a Host header, without port, case and final dot. It is
// empty if the port is invalid.
func HostName(host string) string {
	if name, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil && port != "" {
			return ""
		}
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().WithZone("").String()
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// IsOwn reports whether origin is that of the hub as the request addresses it.
func (h *Hosts) IsOwn(r *http.Request, origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin { // a user or a path is refused
		return false
	}
	scheme := "http"
	if h.Secure(r) {
		scheme = "https"
	}
	return u.Scheme == scheme && HostName(u.Host) == HostName(r.Host) && PortOf(u.Host, scheme) == PortOf(r.Host, scheme)
}

// PortOf returns the port of a host, which is that of the scheme if it has none.
func PortOf(host, scheme string) string {
	if _, port, err := net.SplitHostPort(host); err == nil {
		return port
	}
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// Secure reports whether the browser uses TLS, with the hub or with a trusted proxy.
func (h *Hosts) Secure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !slices.ContainsFunc(h.proxies, func(p netip.Prefix) bool { return p.Contains(peer.Addr().Unmap()) }) {
		return false
	}
	return strings.EqualFold(r.Header.Get(echo.HeaderXForwardedProto), "https")
}

// IsMutating reports whether a request can change something.
func IsMutating(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return IsUpgrade(r)
	default:
		return true
	}
}

// IsUpgrade reports whether a request opens a WebSocket.
func IsUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get(echo.HeaderUpgrade), "websocket")
}

// IsCrossSite reports whether the browser says that another site caused the request. Programs other
// than browsers send no Sec-Fetch-Site.
func IsCrossSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}

// Address returns the client's address, or the zero value if it is unknown.
func Address(c echo.Context) netip.Addr {
	addr, err := netip.ParseAddr(c.RealIP())
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}

// RefusalCounts counts the requests refused since the start, by reason, for metrics.
type RefusalCounts struct {
	// Hosts counts requests with an unknown Host.
	Hosts atomic.Uint64
	// Origins counts requests from a page of a foreign or missing origin.
	Origins atomic.Uint64
	// Credentials counts missing and wrong credentials.
	Credentials atomic.Uint64
	// Rates counts requests over a rate limit.
	Rates atomic.Uint64
}

// Scheme returns the scheme under which the browser reaches the hub.
func (h *Hosts) Scheme(r *http.Request) string {
	if h.Secure(r) {
		return "https"
	}
	return "http"
}

// Origin returns the origin that a request was sent to.
func (h *Hosts) Origin(r *http.Request) string { return h.Scheme(r) + "://" + r.Host }

// IsLoopbackName reports whether a name means the loopback.
func IsLoopbackName(name string) bool {
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}
