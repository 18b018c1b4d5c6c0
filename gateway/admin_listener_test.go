package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/wire"
)

// atAdmin sends a request to the admin listener.
func (h *testHub) atAdmin(method, path string, r request) reply {
	h.t.Helper()
	other := *h
	other.addr = h.admin
	return other.rest(method, path, r)
}

func withAdmin(p *hubOptions) {
	withFakeAdminView(p)
	withPages(p)
	p.admin = pages(map[string]string{"index.html": "the admin page", "assets/a-12345678.js": "script"})
	p.metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("up 1\n")) })
}

// With a separate admin listener, the main listener has no admin endpoints, and the admin listener
// has no others.
func TestAdminAtItsOwnAddress(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withAdmin, func(p *hubOptions) { p.ownAdmin = true })
	id := string(h.newSession("ann"))
	root := request{token: h.userToken("root", "admin")}
	for _, path := range append(adminGets(id), "live", "sessions/"+id+"/tail") {
		h.rest(http.MethodGet, "/api/admin/"+path, root).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
		method := http.MethodGet
		if path == "live" || strings.HasSuffix(path, "/tail") {
			method = http.MethodHead
		}
		h.atAdmin(method, "/api/admin/"+path, root).wantStatus(http.StatusOK)
	}
	for _, a := range adminActs(id) {
		h.rest(a.method, "/api/admin/"+a.path, root).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	}
	for _, path := range []string{"/metrics", "/admin", "/admin/", "/admin/assets/a-12345678.js", "/debug/pprof/", "/debug/pprof/heap"} {
		h.rest(http.MethodGet, path, root).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
		h.atAdmin(http.MethodGet, path, root).wantStatus(http.StatusOK)
	}
	for _, path := range []string{"/healthz", "/readyz", "/health", "/login", "/api/openapi.json", "/metrics"} {
		h.atAdmin(http.MethodGet, path, request{}).wantStatus(http.StatusOK)
	}
	for _, path := range []string{"/api/sessions", "/api/hub", sessionPath(wire.SessionID(id)), sessionPath(wire.SessionID(id), "/events"), "/api/tokens/keys", "/join", "/ws", "/mcp", "/app.js"} {
		h.atAdmin(http.MethodGet, path, root).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	}
	// Host and Origin are checked there too.
	named := root
	named.host = "evil.example"
	h.atAdmin(http.MethodGet, "/metrics", named).wantProblem(http.StatusMisdirectedRequest, wire.CodeInvalidMessage)
	foreign := root
	foreign.header = header("Origin", "https://evil.example")
	h.atAdmin(http.MethodGet, "/api/admin/me", foreign).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	if got := h.atAdmin(http.MethodGet, "/?x=1", request{}); got.status != http.StatusSeeOther || got.header.Get("Location") != "/admin?x=1" {
		t.Errorf("/ of the admin address: got %d %v, want %d to /admin?x=1", got.status, got.header, http.StatusSeeOther)
	}
}

// Runtime profiles are available only there, and only with admin:act.
func TestProfiles(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withAdmin, func(p *hubOptions) { p.ownAdmin = true })
	for roles, want := range map[string]int{
		"user": http.StatusNotFound, "viewer": http.StatusNotFound, "admin:content": http.StatusNotFound,
		"admin:read": http.StatusForbidden, "admin:read admin:content": http.StatusForbidden,
		"admin:act": http.StatusOK, "admin": http.StatusOK,
	} {
		for _, path := range []string{"", "symbol", "goroutine?debug=1", "heap", "profile?seconds=0.1"} {
			if path == "profile?seconds=0.1" && want == http.StatusOK {
				continue // one at a time per process, and other tests may run
			}
			got := h.atAdmin(http.MethodGet, "/debug/pprof/"+path, request{token: h.userToken("eve", strings.Fields(roles)...)})
			if got.status != want {
				t.Errorf("%s: %s: %d %.200s, want %d", roles, path, got.status, got.body, want)
			}
		}
	}
	root := request{token: h.userToken("root", "admin")}
	h.atAdmin(http.MethodGet, "/debug/pprof/", request{}).wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
	for _, seconds := range []string{"x", "-1", "0", "1e9", "NaN", "301"} {
		if p := h.atAdmin(http.MethodGet, "/debug/pprof/trace?seconds="+seconds, root).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != "seconds" {
			t.Errorf("trace of %s seconds: got %+v, want the field seconds", seconds, p)
		}
	}
	if got := h.atAdmin(http.MethodGet, "/debug/pprof/cmdline", root); got.status != http.StatusNotFound {
		t.Errorf("command line: got %d %q, want %d", got.status, got.body, http.StatusNotFound)
	}
	h.atAdmin(http.MethodPost, "/debug/pprof/symbol", root).wantProblem(http.StatusMethodNotAllowed, wire.CodeInvalidMessage)
	plain := newTestHub(t, withAdmin)
	plain.get("/debug/pprof/", plain.userToken("root", "admin")).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
}

// The admin page: unauthenticated browsers sign in, a link signs in and redirects back, its files
// are public, and only its own scripts run.
func TestAdminPage(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withAdmin, withAuthMode(auth.ModeToken))
	unauthenticated := h.get("/admin", "").wantStatus(http.StatusOK)
	if !contains(unauthenticated.body, `action="/admin"`) || contains(unauthenticated.body, "the admin page") {
		t.Errorf("page without a cookie: got %s, want the form of /admin", unauthenticated.body)
	}
	h.get("/admin/assets/a-12345678.js", "").wantStatus(http.StatusOK)
	h.get("/admin/assets/nothing.js", "").wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	token := h.auth.InstallationToken()
	linked := h.get("/admin?token="+token+"&view=all", "").wantStatus(http.StatusSeeOther)
	if got := linked.header.Get("Location"); got != "/admin?view=all" {
		t.Errorf("location after the link: got %q, want /admin?view=all", got)
	}
	cookie := cookieOf(t, linked)
	submitted := h.rest(http.MethodPost, "/admin", request{
		body: "token=" + token, header: header("Content-Type", "application/x-www-form-urlencoded", "Origin", "http://"+h.addr),
	}).wantStatus(http.StatusSeeOther)
	if got := submitted.header.Get("Location"); got != "/admin" {
		t.Errorf("location after the form: got %q, want /admin", got)
	}
	h.get("/admin?token=wrong", "").wantStatus(http.StatusUnauthorized)
	for _, path := range []string{"/admin", "/admin/", "/admin/sessions/ses-1", "/admin/index.html"} {
		page := h.rest(http.MethodGet, path, request{header: header("Cookie", cookie.String())}).wantStatus(http.StatusOK)
		policy := page.header.Get("Content-Security-Policy")
		if string(page.body) != "the admin page" || !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "script-src 'self';") ||
			strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") || page.header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: got %s %v, want the admin page with a strict policy and no-cache", path, page.body, page.header)
		}
	}
	// An authenticated user without the role sees that, in their language, and can sign in as
	// another.
	other := newTestHub(t, withAdmin)
	ada := other.signIn(t, other.userToken("ada <b>", "user"))
	for lang, words := range map[string]string{"en": "You are signed in as ada &lt;b&gt;, who may not see this page.", "ko": "이 페이지를 볼 수 없어요: ada"} {
		page := other.rest(http.MethodGet, "/admin/sessions/1?x=1", request{header: header("Cookie", ada.String(), "Accept-Language", lang)}).wantStatus(http.StatusNotFound)
		if !contains(page.body, words) || !contains(page.body, `action="/admin?x=1">`) || contains(page.body, "the admin page") {
			t.Errorf("page in %s: got %s, want %q, the form and not the page", lang, page.body, words)
		}
	}
	// The desktop is not affected.
	if got := h.get("/?token="+token, "").wantStatus(http.StatusSeeOther).header.Get("Location"); got != "/" {
		t.Errorf("location after the desktop's link: got %q, want /", got)
	}
}

// Both listeners close together, and admin streams do not keep them open.
func TestShutdownClosesTheAdminListener(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withAdmin, func(p *hubOptions) { p.ownAdmin = true })
	other := *h
	other.addr = h.admin
	x := other.openAdminStream("live", h.userToken("root", "admin:read"))
	profile := make(chan reply, 1)
	go func() { profile <- other.get("/debug/pprof/trace?seconds=200", h.userToken("root", "admin")) }()
	other.waitForBody("/debug/pprof/goroutine?debug=1", h.userToken("root", "admin"), "pprof.Trace")
	if err := h.server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	x.wantEnd(wire.CodeConnectionFailed)
	select {
	case got := <-profile:
		got.wantStatus(http.StatusOK)
	case <-time.After(h.wait):
		t.Errorf("got a profile that runs %v after the hub stopped, want its end", h.wait)
	}
}
