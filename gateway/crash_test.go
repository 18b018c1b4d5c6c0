package gateway_test

import (
	"net/http"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// Only an admin of a supervised hub with the demo provider can kill it, and the page knows before it asks.
func TestCrashOfTheDemo(t *testing.T) {
	t.Parallel()
	killed := func() { t.Error("the process was killed, want a refusal") }
	for name, c := range map[string]struct {
		provider string
		crash    func()
		role     string
		canCrash bool
		status   int
		code     wire.Code
	}{
		"a user":           {"demo", killed, "user", false, http.StatusForbidden, wire.CodeForbidden},
		"an admin reader":  {"demo", killed, "admin:read", false, http.StatusForbidden, wire.CodeForbidden},
		"no supervisor":    {"demo", nil, "admin", false, http.StatusConflict, wire.CodeSessionInvalidState},
		"another provider": {"anthropic", killed, "admin", false, http.StatusConflict, wire.CodeSessionInvalidState},
		"just started":     {"demo", killed, "admin", true, http.StatusTooManyRequests, wire.CodeRateLimited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestHub(t, func(p *hubOptions) { p.provider, p.crash = c.provider, c.crash })
			token := h.userToken("ada", c.role)
			var hub struct{ CanCrash bool }
			h.get("/api/hub", token).wantStatus(http.StatusOK).decode(&hub)
			if hub.CanCrash != c.canCrash {
				t.Errorf("canCrash is %v, want %v", hub.CanCrash, c.canCrash)
			}
			h.post("/api/demo/crash", token, "").wantProblem(c.status, c.code)
		})
	}
}
