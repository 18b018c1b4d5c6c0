package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

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
		Hosts: s.refused.Hosts.Load(), Origins: s.refused.Origins.Load(),
		Credentials: s.refused.Credentials.Load(), Rates: s.refused.Rates.Load(),
	}
}

// checkHostAndOrigin refuses requests with an unknown Host (DNS rebinding) or from a page of a
// foreign origin (CSRF), before anything is looked up.
func (s *Server) checkHostAndOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if !s.hosts.Known(r) {
			s.refused.Hosts.Add(1)
			return problem.Status(http.StatusMisdirectedRequest, "This hub is not known by that name; see the setting hosts.")
		}
		said, origin := r.Header.Values(echo.HeaderOrigin), r.Header.Get(echo.HeaderOrigin)
		page := access.IsOfAppPage(r)
		foreign := origin != "" && slices.Contains(s.hosts.Foreign(), strings.ToLower(origin))
		switch {
		case len(said) > 1 || len(said) == 1 && origin == "",
			origin != "" && !foreign && !page && !s.hosts.IsOwn(r, origin),
			origin == "" && access.IsMutating(r) && access.IsCrossSite(r),
			origin == "" && s.authenticator.UsesCookie(c) && needsOrigin(r):
			s.refused.Origins.Add(1)
			return problem.New(wire.CodeForbidden, "Requests from that origin are not allowed; see the setting origins.")
		}
		if foreign {
			c.Response().Header().Set(echo.HeaderAccessControlAllowCredentials, "true")
		}
		if foreign || page {
			if preflight := setCORS(c, origin); preflight {
				return c.NoContent(http.StatusNoContent)
			}
		}
		return next(c)
	}
}

// needsOrigin reports whether a request with a cookie must have an Origin, since browsers send
// cookies on their own. They never omit the origin of a WebSocket, and omit others only for
// requests of the same origin.
func needsOrigin(r *http.Request) bool {
	return access.IsUpgrade(r) || access.IsMutating(r) && r.Header.Get("Sec-Fetch-Site") != "same-origin"
}

// setCORS sets the headers for a page of an allowed foreign origin or of an app, and reports whether the request
// is a preflight.
func setCORS(c echo.Context, origin string) (preflight bool) {
	h := c.Response().Header()
	h.Set(echo.HeaderAccessControlAllowOrigin, origin)
	h.Set(echo.HeaderAccessControlExposeHeaders, "ETag, Location, Retry-After, X-State-Hash")
	h.Add(echo.HeaderVary, echo.HeaderOrigin)
	r := c.Request()
	if r.Method != http.MethodOptions || r.Header.Get(echo.HeaderAccessControlRequestMethod) == "" {
		return false
	}
	h.Set(echo.HeaderAccessControlAllowMethods, "GET, POST, PUT, PATCH, DELETE")
	h.Set(echo.HeaderAccessControlAllowHeaders, "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-API-Key")
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
