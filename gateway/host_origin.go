package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/wire"
)

// refusals counts refused requests, for metrics.
type refusals struct {
	hosts, origins, credentials, rates atomic.Uint64
}

// Refusals are the numbers of requests refused since the start, by reason.
type Refusals struct {
	// Hosts counts requests with an unknown Host.
	Hosts uint64
	// Origins counts requests from a page of a foreign or missing origin.
	Origins uint64
	// Credentials counts missing and wrong credentials.
	Credentials uint64
	// Rates counts requests over a rate limit.
	Rates uint64
}

// Refusals returns the numbers of refused requests.
func (s *Server) Refusals() Refusals {
	return Refusals{
		Hosts: s.refused.hosts.Load(), Origins: s.refused.origins.Load(),
		Credentials: s.refused.credentials.Load(), Rates: s.refused.rates.Load(),
	}
}

// checkHostAndOrigin refuses requests with an unknown Host (DNS rebinding) or from a page of a
// foreign origin (CSRF), before anything is looked up.
func (s *Server) checkHostAndOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if !s.isKnownHost(r) {
			s.refused.hosts.Add(1)
			return statusProblem(http.StatusMisdirectedRequest, "This hub is not known by that name; see the setting hosts.")
		}
		said, origin := r.Header.Values(echo.HeaderOrigin), r.Header.Get(echo.HeaderOrigin)
		foreign := origin != "" && slices.Contains(s.origins, strings.ToLower(origin))
		switch {
		case len(said) > 1 || len(said) == 1 && origin == "",
			origin != "" && !foreign && !s.isOwnOrigin(r, origin),
			origin == "" && isMutating(r) && isCrossSite(r),
			origin == "" && s.usesCookie(c) && needsOrigin(r):
			s.refused.origins.Add(1)
			return problem(wire.CodeForbidden, "Requests from that origin are not allowed; see the setting origins.")
		}
		if foreign {
			if preflight := setCORS(c, origin); preflight {
				return c.NoContent(http.StatusNoContent)
			}
		}
		return next(c)
	}
}

// isKnownHost reports whether a request was sent to one of the hub's names: those of the loopback,
// the address of the connection's local end, or a configured one.
func (s *Server) isKnownHost(r *http.Request) bool {
	name := hostName(r.Host)
	if name == "localhost" || strings.HasSuffix(name, ".localhost") || s.hosts[name] || s.hosts["*"] {
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

// hostName returns the name or address in a Host header, without port, case and final dot. It is
// empty if the port is invalid.
func hostName(host string) string {
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

// isOwnOrigin reports whether origin is that of the hub as the request addresses it.
func (s *Server) isOwnOrigin(r *http.Request, origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != origin { // a user or a path is refused
		return false
	}
	scheme := "http"
	if s.isSecure(r) {
		scheme = "https"
	}
	return u.Scheme == scheme && hostName(u.Host) == hostName(r.Host) && portOf(u.Host, scheme) == portOf(r.Host, scheme)
}

func portOf(host, scheme string) string {
	if _, port, err := net.SplitHostPort(host); err == nil {
		return port
	}
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// isSecure reports whether the browser uses TLS, with the hub or with a trusted proxy.
func (s *Server) isSecure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !slices.ContainsFunc(s.cfg.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(peer.Addr().Unmap()) }) {
		return false
	}
	return strings.EqualFold(r.Header.Get(echo.HeaderXForwardedProto), "https")
}

// isMutating reports whether a request can change something.
func isMutating(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return isUpgrade(r)
	default:
		return true
	}
}

func isUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get(echo.HeaderUpgrade), "websocket")
}

// isCrossSite reports whether the browser says that another site caused the request. Programs other
// than browsers send no Sec-Fetch-Site.
func isCrossSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}

// needsOrigin reports whether a request with a cookie must have an Origin, since browsers send
// cookies on their own. They never omit the origin of a WebSocket, and omit others only for
// requests of the same origin.
func needsOrigin(r *http.Request) bool {
	return isUpgrade(r) || isMutating(r) && r.Header.Get("Sec-Fetch-Site") != "same-origin"
}

// usesCookie reports whether the cookie is the only credential of a request.
func (s *Server) usesCookie(c echo.Context) bool {
	h := c.Request().Header
	return h.Get(echo.HeaderAuthorization) == "" && h.Get(headerAPIKey) == "" && s.cookie(c) != ""
}

// setCORS sets the headers for a page of an allowed foreign origin, and reports whether the request
// is a preflight.
func setCORS(c echo.Context, origin string) (preflight bool) {
	h := c.Response().Header()
	h.Set(echo.HeaderAccessControlAllowOrigin, origin)
	h.Set(echo.HeaderAccessControlAllowCredentials, "true")
	h.Set(echo.HeaderAccessControlExposeHeaders, "ETag, Location, Retry-After, X-State-Hash")
	h.Add(echo.HeaderVary, echo.HeaderOrigin)
	r := c.Request()
	if r.Method != http.MethodOptions || r.Header.Get(echo.HeaderAccessControlRequestMethod) == "" {
		return false
	}
	h.Set(echo.HeaderAccessControlAllowMethods, "GET, POST, PUT, PATCH, DELETE")
	h.Set(echo.HeaderAccessControlAllowHeaders, "Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, X-API-Key")
	h.Set(echo.HeaderAccessControlMaxAge, "600")
	return true
}

// ipExtractor returns the function that finds a client's address: that of the connection, or of
// X-Forwarded-For if proxies are trusted.
func ipExtractor(proxies []netip.Prefix) echo.IPExtractor {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range proxies {
		ip := p.Masked().Addr()
		trust = append(trust, echo.TrustIPRange(&net.IPNet{
			IP: ip.AsSlice(), Mask: net.CIDRMask(p.Bits(), ip.BitLen()),
		}))
	}
	return echo.ExtractIPFromXFFHeader(trust...)
}

// address returns the client's address, or the zero value if it is unknown.
func address(c echo.Context) netip.Addr {
	addr, err := netip.ParseAddr(c.RealIP())
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}
