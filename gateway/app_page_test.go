package gateway_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/wire"
)

func withAppScript(p *hubOptions) { p.apps = pages(map[string]string{"framed.js": "sdk()"}) }

// framedPage requests the page of the app counter for a frame and returns its token.
func framedPage(h *testHub, credential string) (page reply, token string) {
	page = h.rest(http.MethodGet, "/api/apps/counter/index.html?sessionId=x", request{token: credential, header: header("Sec-Fetch-Dest", "iframe")}).wantStatus(http.StatusOK)
	found := regexp.MustCompile(`^<!DOCTYPE html><script data-data="http://[^"]+/api/app-page/data" data-token="([^"]+)">sdk\(\)</script><p>hi</p>$`).FindSubmatch(page.body)
	if found == nil {
		h.t.Fatalf("page in a frame: got %s, want the script after the document type", page.body)
	}
	return page, string(found[1])
}

func newHubWithFramedApp(t *testing.T) *testHub {
	t.Helper()
	h := newTestHub(t, withAppScript)
	for _, app := range []string{"counter", "other"} {
		if err := h.userApps.Deploy(t.Context(), "ada", app, testApp(" \n<!DOCTYPE html><p>hi</p>")); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// A desktop of the desktop dialect shows apps in frames without an origin. Their pages have the API of apps, and a token for
// the data of their app.
func TestPageOfAnAppInAFrameUsesItsData(t *testing.T) {
	t.Parallel()
	h := newHubWithFramedApp(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	x := h.mustDial("/ws/"+string(id), as(ada))
	page, token := framedPage(h, ada)
	policy := page.header.Get("Content-Security-Policy")
	if own := "connect-src http://" + h.addr + "/api/app-page/data http://" + h.addr + "/api/app-page/data/;"; !strings.Contains(policy, own) ||
		!strings.HasPrefix(policy, "sandbox allow-scripts;") || strings.Contains(policy, "allow-same-origin") {
		t.Errorf("policy of the page: got %q, want a sandbox with %s", policy, own)
	}
	if got := page.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control of a page with a token: got %q, want no-store", got)
	}
	ask := func(method, name, body string, fields ...string) reply {
		return h.rest(method, "/api/app-page/data"+name, request{token: token, body: body, header: header(append(fields, "Origin", "null", "Content-Type", "application/octet-stream")...)})
	}
	etag := ask(http.MethodPut, "/n.json", "3", "If-None-Match", "*").wantStatus(http.StatusNoContent).header.Get("ETag")
	if e := next[wire.SettingsChanged](x); len(e.Names) != 1 || e.Names[0] != "appData/counter/n.json" {
		t.Errorf("event in a tab of the user: got %+v, want the file of counter", e)
	}
	got := ask(http.MethodGet, "/n.json", "").wantStatus(http.StatusOK)
	if string(got.body) != "3" || got.header.Get("ETag") != etag || got.header.Get("Access-Control-Allow-Origin") != "null" || got.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("data: got %s with %v, want 3 for the origin null without cookies", got.body, got.header)
	}
	ask(http.MethodPut, "/n.json", "4", "If-None-Match", "*").wantStatus(http.StatusPreconditionFailed)
	if got := ask(http.MethodGet, "", "").wantStatus(http.StatusOK); string(got.body) != `{"files":["n.json"]}` {
		t.Errorf("list: got %s, want n.json", got.body)
	}
	if got := h.get(sessionPath(id, "/app-data/other"), ada).wantStatus(http.StatusOK); string(got.body) != `{"files":[]}` {
		t.Errorf("data of the other app: got %s, want none", got.body)
	}
	ask(http.MethodDelete, "/n.json", "").wantStatus(http.StatusNoContent)
	preflight := h.rest(http.MethodOptions, "/api/app-page/data/n.json", request{header: header("Origin", "null", "Access-Control-Request-Method", "PUT")}).wantStatus(http.StatusNoContent)
	if allowed := preflight.header.Get("Access-Control-Allow-Headers"); !strings.Contains(allowed, "If-Match") || !strings.Contains(allowed, "Authorization") {
		t.Errorf("headers of a preflight: got %q, want If-Match and Authorization", allowed)
	}
}

func TestTokenOfAnAppPageOpensNothingElse(t *testing.T) {
	t.Parallel()
	h := newHubWithFramedApp(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	_, token := framedPage(h, ada)
	const data = "/api/app-page/data/n.json"
	for _, path := range []string{"/api/sessions", "/api/apps", sessionPath(id, ""), sessionPath(id, "/app-data/counter"), "/api/storage/n.json"} {
		h.get(path, token).wantStatus(http.StatusUnauthorized)
	}
	// The user's own credential is no token of a page.
	for _, wrong := range []string{ada, "", token[1:], token + "A", strings.Repeat("A", len(token)), strings.Repeat("A", 1<<14)} {
		h.rest(http.MethodGet, data, request{token: wrong, header: header("Origin", "null")}).wantStatus(http.StatusUnauthorized)
	}
	// Only these addresses take requests of pages without an origin.
	for _, path := range []string{"/api/sessions", "/api/app-page/database", "/api/app-page"} {
		h.rest(http.MethodGet, path, request{token: token, header: header("Origin", "null")}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	}
	h.rest(http.MethodGet, data, request{token: token, header: header("Origin", "https://evil.example")}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	for _, name := range []string{"/..%2f..%2fcurrent", "/%2fetc", "/a%00b"} {
		h.rest(http.MethodPut, "/api/app-page/data"+name, request{token: token, body: "x", header: header("Origin", "null")}).wantStatus(http.StatusBadRequest)
	}
	h.rest(http.MethodPut, data, request{token: token, body: strings.Repeat("x", apps.MaxDataFile+1), header: header("Origin", "null")}).wantStatus(http.StatusRequestEntityTooLarge)
	if err := h.auth.SignOut(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	h.rest(http.MethodGet, data, request{token: token, header: header("Origin", "null")}).wantStatus(http.StatusUnauthorized)
}

// An API key, which can be revoked, and another user, whose data is not for a page that the owner of a session wrote, get no
// token.
func TestPageOfAnAppForALimitedCallerHasNoToken(t *testing.T) {
	t.Parallel()
	h := newHubWithFramedApp(t)
	key, _ := h.newKey("ada")
	id := h.newSession("ada")
	h.rest(http.MethodPut, sessionPath(id, "/shares/eve"), request{token: h.userToken("ada"), body: `{"access":"operator"}`}).wantStatus(http.StatusOK)
	for who, path := range map[string]string{key: "/api/apps/counter/index.html", h.userToken("eve"): sessionPath(id, "/apps/counter/index.html")} {
		page := h.rest(http.MethodGet, path, request{token: who, header: header("Sec-Fetch-Dest", "iframe")}).wantStatus(http.StatusOK)
		if string(page.body) != "<!DOCTYPE html><script>sdk()</script><p>hi</p>" || !strings.Contains(page.header.Get("Content-Security-Policy"), "connect-src 'none';") {
			t.Errorf("page at %s: got %s with %v, want the script without a token", path, page.body, page.header)
		}
	}
}

// exerciseAppPage calls the routes for pages of apps, with the token of one.
func (c *checker) exerciseAppPage(t *testing.T, h *testHub) {
	t.Helper()
	token, err := h.auth.NewAppPageToken(t.Context(), auth.Identity{User: "root"}, "counter")
	if err != nil {
		t.Fatal(err)
	}
	const data = "/api/app-page/data"
	for _, r := range []struct {
		method, path, body string
		want               int
	}{
		{http.MethodPut, "/{path}", "x", http.StatusNoContent},
		{http.MethodGet, "/{path}", "", http.StatusOK},
		{http.MethodGet, "", "", http.StatusOK},
		{http.MethodDelete, "/{path}", "", http.StatusNoContent},
	} {
		got := h.rest(r.method, data+strings.ReplaceAll(r.path, "{path}", "a.txt"), request{token: token, body: r.body, header: header("Content-Type", "application/octet-stream")})
		c.answer(t, r.method, data+r.path, r.body, got.wantStatus(r.want))
	}
}
