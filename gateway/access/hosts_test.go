package access_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/everdesk/everdesk/gateway/access"
)

// A hub that listens on all addresses accepts the local address of the connection as Host.
func TestAddressOfTheConnectionIsAKnownHost(t *testing.T) {
	t.Parallel()
	h := access.NewHosts(nil, nil, nil)
	for host, want := range map[string]bool{
		"192.0.2.7": true, "192.0.2.7:8080": true, "[::ffff:192.0.2.7]:8080": true, "192.0.2.8": false, "example.org": false, "": false,
	} {
		ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 8080})
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		r.Host = host
		if got := h.Known(r); got != want {
			t.Errorf("host %q: got known %v, want %v", host, got, want)
		}
	}
}

// A Host header is a name with an optional port.
func TestHostWithSomethingForAPort(t *testing.T) {
	t.Parallel()
	h := access.NewHosts([]string{"hub.example"}, nil, nil)
	for host, want := range map[string]bool{
		"hub.example": true, "hub.example:8080": true, "hub.example:": true, "localhost:1": true, "[::1]:8080": true, "HUB.example.:80": true,
		"hub.example:8080.evil": false, "hub.example:evil": false, "localhost:8080.evil": false, "127.0.0.1:80.evil": false,
		"[::1]:80.evil": false, "hub.example:-1": false, "hub.example:99999": false, "hub.example:+80": false, "hub.example:80:80": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Host = host
		if got := h.Known(r); got != want {
			t.Errorf("host %q is known: %v, want %v", host, got, want)
		}
	}
}

// Only trusted proxies may say that the browser uses TLS.
func TestForwardedProtoOfTrustedProxies(t *testing.T) {
	t.Parallel()
	h := access.NewHosts(nil, nil, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")})
	for peer, want := range map[string]bool{
		"10.1.2.3:99": true, "[2001:db8::1]:99": true, "[::ffff:10.1.2.3]:99": true, "192.0.2.1:99": false, "[2001:db9::1]:99": false, "@": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = peer
		r.Header.Set("X-Forwarded-Proto", "https")
		if got := h.Secure(r); got != want {
			t.Errorf("peer %s: got secure %v, want %v", peer, got, want)
		}
	}
}
