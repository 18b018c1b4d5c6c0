package gateway_test

import (
	"io"
	"net/http"
	"testing"
)

// mcpHandler is an MCP endpoint without stored tokens.
type mcpHandler func(http.ResponseWriter, *http.Request)

func (h mcpHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h(w, r) }

func (mcpHandler) Revoke(string) {}

// The MCP endpoint checks its own tokens. A request without one counts as a failed authentication,
// and gets 429 when there are many.
func TestMCPCountsFailedAuthentication(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) {
		p.limits.Off, p.limits.Strangers = false, 8
		p.mcp = mcpHandler(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer badge" {
				http.Error(w, "a badge is needed", http.StatusUnauthorized)
				return
			}
			_, _ = io.WriteString(w, "welcome")
		})
	})
	got := h.post("/mcp", "wrong", "{}").wantStatus(http.StatusUnauthorized)
	for range 20 {
		if got = h.post("/mcp", "wrong", "{}"); got.status != http.StatusUnauthorized {
			break
		}
	}
	if wait := got.header.Get("Retry-After"); got.status != http.StatusTooManyRequests || wait == "" || wait == "0" {
		t.Errorf("too many requests: got %d %v, want %d with a time to wait", got.status, got.header, http.StatusTooManyRequests)
	}
	h.post("/mcp", "badge", "{}").wantStatus(http.StatusOK) // requests with a token are not affected
	if got := h.server.Refusals(); got.Credentials < 2 || got.Rates != 1 {
		t.Errorf("counted refusals: got %+v, want at least two of credentials and one of rates", got)
	}
}
