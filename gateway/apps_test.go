package gateway_test

import (
	"cmp"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// atApps sends a request to the apps' listener.
func (h *testHub) atApps(method, path string, r request) reply {
	h.t.Helper()
	there := *h
	there.addr = h.apps
	return there.rest(method, path, r)
}

func TestAppsHaveAnOriginOfTheirOwn(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPages)
	ada := h.userToken("ada")
	var hub struct{ AppsOrigin string }
	h.get("/api/hub", ada).wantStatus(http.StatusOK).decode(&hub)
	if hub.AppsOrigin != "http://"+h.apps || h.apps == h.addr {
		t.Errorf("origin of apps: got %q, want http://%s, another than the hub's %s", hub.AppsOrigin, h.apps, h.addr)
	}
	for path, inline := range map[string]bool{"/stage.html": true, "/diagram.html": false, "/stage.js": false} {
		got := h.atApps(http.MethodGet, path, request{header: header("Origin", "null", "Cookie", "everdesk=x")}).wantStatus(http.StatusOK)
		policy := got.header.Get("Content-Security-Policy")
		for _, part := range []string{
			"sandbox allow-scripts;", "default-src 'none';", "img-src data: blob:;", "connect-src 'none';", "form-action 'none';", "base-uri 'none';",
			"frame-ancestors http://" + h.addr,
		} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: got policy %q, want it to contain %q", path, policy, part)
			}
		}
		if strings.Contains(policy, "script-src 'self' 'unsafe-inline';") != inline || strings.Contains(policy, "allow-same-origin") {
			t.Errorf("%s: got policy %q, want inline scripts: %v, and no allow-same-origin", path, policy, inline)
		}
		if got.header.Get("Set-Cookie") != "" || got.header.Get("Cross-Origin-Resource-Policy") != "cross-origin" || !strings.Contains(got.header.Get("Permissions-Policy"), "clipboard-write=()") {
			t.Errorf("%s: got %v, want no cookie, a cross-origin resource and no clipboard", path, got.header)
		}
		if reach := got.header.Get("Connection-Allowlist"); reach != "(response-origin)" {
			t.Errorf("%s: got Connection-Allowlist %q, want (response-origin)", path, reach)
		}
		h.atApps(http.MethodHead, path, request{}).wantStatus(http.StatusOK)
		h.atApps(http.MethodPost, path, request{}).wantProblem(http.StatusMethodNotAllowed, wire.CodeInvalidMessage)
	}
}

func TestViewsMayUseTheirDeclaredOrigins(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPages)
	got := h.atApps(http.MethodGet, "/stage.html?view=1&connect=https://api.example.com&connect=wss://live.example.com&resource=https://*.cdn.example.com", request{}).wantStatus(http.StatusOK)
	policy := got.header.Get("Content-Security-Policy")
	for _, part := range []string{
		"sandbox allow-scripts;", "default-src 'none';", "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data: https://*.cdn.example.com;", "img-src data: blob: https://*.cdn.example.com;",
		"connect-src data: blob: https://api.example.com wss://live.example.com;", "form-action 'none';", "frame-ancestors http://" + h.addr,
	} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy is %q, want it to contain %q", policy, part)
		}
	}
	if reach, want := got.header.Get("Connection-Allowlist"), `(response-origin "https://*.cdn.example.com" "https://api.example.com" "wss://live.example.com")`; reach != want {
		t.Errorf("the Connection-Allowlist is %q, want %q", reach, want)
	}
	for _, query := range []string{"connect=https://10.0.0.1", "connect=https://localhost", "resource=https://a.example.com%3Bscript-src", "connect=*", "connect=", strings.Repeat("connect=https://a.example.com&", 33)} {
		got := h.atApps(http.MethodGet, "/stage.html?view=1&"+query, request{})
		got.wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
		if policy := got.header.Get("Content-Security-Policy"); !strings.Contains(policy, "connect-src 'none';") {
			t.Errorf("%s: the policy is %q, want that nothing is reached", query, policy)
		}
	}
	if policy := h.atApps(http.MethodGet, "/diagram.html?view=1&connect=https://api.example.com", request{}).header.Get("Content-Security-Policy"); strings.Contains(policy, "example.com") {
		t.Errorf("the policy of another page is %q, want no origins in it", policy)
	}
}

func TestNothingElseIsAtTheAppsOrigin(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPages)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	for _, path := range []string{
		"/", "/login", "/join", "/index.html", "/health", "/readyz", "/mcp", "/api/hub", "/api/me", "/api/openapi.json", "/api/sessions", sessionPath(id), "/ws/" + string(id), "/assets/index-abcd1234.js",
	} {
		got := h.atApps(http.MethodGet, path, request{token: ada})
		got.wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
		if !strings.HasPrefix(got.header.Get("Content-Security-Policy"), "sandbox allow-scripts;") {
			t.Errorf("%s: got %v, want the sandbox policy", path, got.header)
		}
	}
	h.atApps(http.MethodPost, "/api/sessions", request{token: ada}).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	got := h.atApps(http.MethodGet, "/stage.html", request{host: "evil.example"})
	got.wantProblem(http.StatusMisdirectedRequest, wire.CodeInvalidMessage)
	if h.server.Refusals().Hosts != 1 || contains(got.body, "stage") {
		t.Errorf("unknown host: got %d refusals and %s, want one and no stage", h.server.Refusals().Hosts, got.body)
	}
	// The hub's own origin does not serve the apps.
	h.get("/stage.html", ada).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
}

// The apps' origin follows the host under which the hub is reached.
func TestWhereAppsAre(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPages, func(p *hubOptions) { p.gateway.Hosts = []string{"desk.example.org", "::1"} })
	port := h.apps[strings.LastIndex(h.apps, ":"):]
	own := h.addr[strings.LastIndex(h.addr, ":"):]
	for host, want := range map[string]string{
		"desk.example.org" + own: "http://desk.example.org" + port, "DESK.example.org": "http://desk.example.org" + port,
		"localhost" + own: "http://localhost" + port, "[::1]" + own: "",
	} {
		got := h.rest(http.MethodGet, "/api/hub", request{token: h.userToken("ada"), host: host}).wantStatus(http.StatusOK)
		if !contains(got.body, `"appsOrigin":"`+want+`"`) {
			t.Errorf("%s: got %s, want the apps at %q", host, got.body, want)
		}
		page := h.rest(http.MethodGet, "/join", request{host: host}).wantStatus(http.StatusOK).header.Get("Content-Security-Policy")
		source := cmp.Or(want, "'none'") // policies cannot contain IPv6 addresses
		if !strings.Contains(page, "frame-src "+source+";") || strings.Contains(page, "[") {
			t.Errorf("%s: got policy %q, want frames from %s", host, page, source)
		}
	}
	for host, want := range map[string]string{"desk.example.org" + port: "http://desk.example.org" + own, "[::1]" + port: "'none'"} {
		got := h.atApps(http.MethodGet, "/stage.html", request{host: host}).wantStatus(http.StatusOK)
		if !strings.HasSuffix(got.header.Get("Content-Security-Policy"), "frame-ancestors "+want) {
			t.Errorf("%s: got %v, want frame-ancestors %s", host, got.header, want)
		}
	}
}

// Without a listener of their own the main listener serves the apps, under another host.
func TestAppsUnderAnotherName(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPages, func(p *hubOptions) {
		p.ownApps, p.gateway.Hosts, p.gateway.AppsURL = false, []string{"desk.example.org", "*"}, "https://apps.example.org"
	})
	ada := h.userToken("ada")
	for _, host := range []string{"apps.example.org", "Apps.Example.org:443", "apps.example.org:8080"} {
		got := h.rest(http.MethodGet, "/stage.html", request{host: host}).wantStatus(http.StatusOK)
		if policy := got.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "sandbox") || !strings.Contains(policy, " https://desk.example.org:*") {
			t.Errorf("%s: got %v, want the sandbox policy with https://desk.example.org:*", host, got.header)
		}
		for _, path := range []string{"/", "/api/hub", "/api/sessions", "/login"} {
			h.rest(http.MethodGet, path, request{token: ada, host: host}).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
		}
	}
	got := h.rest(http.MethodGet, "/api/hub", request{token: ada, host: "desk.example.org"}).wantStatus(http.StatusOK)
	if !contains(got.body, `"appsOrigin":"https://apps.example.org"`) {
		t.Errorf("hub: got %s, want the apps at https://apps.example.org", got.body)
	}
	h.rest(http.MethodGet, "/stage.html", request{host: "desk.example.org"}).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	none := newTestHub(t, withPages, func(p *hubOptions) { p.ownApps = false })
	if got := none.get("/api/hub", none.userToken("ada")).wantStatus(http.StatusOK); !contains(got.body, `"appsOrigin":""`) {
		t.Errorf("hub without apps: got %s, want no origin of apps", got.body)
	}
	if policy := none.get("/join", "").header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-src 'none';") {
		t.Errorf("policy without apps: got %q, want no frames", policy)
	}
}

// An unknown Host does not get into the policy.
func TestNamesInPolicies(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPages, func(p *hubOptions) { p.gateway.Hosts = []string{"*"} })
	for _, host := range []string{"a;script-src'*'", "a,b", "a:80;x", "*", "a b"} {
		got := h.rest(http.MethodGet, "/join", request{host: host})
		if policy := got.header.Get("Content-Security-Policy"); strings.Count(policy, ";") != 13 && got.status == http.StatusOK || strings.Contains(policy, "script-src'*'") {
			t.Errorf("host %q: got %d with policy %q, want it refused or the same directives", host, got.status, policy)
		}
	}
}

func TestShutdownClosesTheAppsToo(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPages)
	h.atApps(http.MethodGet, "/stage.html", request{}).wantStatus(http.StatusOK)
	if err := h.server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.apps+"/stage.html", nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req); err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		t.Errorf("apps after the shutdown: got %s, want an error", res.Status)
	}
}
