package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/apps/build"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// testApp returns an app with a page and an icon.
func testApp(page string) apps.Bundle {
	return apps.Bundle{Files: map[string][]byte{
		"app.json":   []byte(`{"name":"Counter","icon":"icon.svg","appProtocol":true,"width":300,"windowStyle":{"opacity":0.9}}`),
		"index.html": []byte(page), "icon.svg": []byte("<svg/>"), "SKILL.md": []byte("# use"), "src/main.ts": []byte("secret()"),
	}}
}

func TestAppsOfTheCallerAreListedAndServed(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, bob := h.userToken("ada"), h.userToken("bob")
	if err := h.userApps.Deploy(t.Context(), "ada", "counter", testApp("<p>hi</p>")); err != nil {
		t.Fatal(err)
	}
	got := h.get("/api/apps", ada).wantStatus(http.StatusOK)
	var list struct {
		Apps []map[string]any `json:"apps"`
	}
	if err := json.Unmarshal(got.body, &list); err != nil || len(list.Apps) != 1 {
		t.Fatalf("apps: got %s, %v, want one", got.body, err)
	}
	icon, _ := list.Apps[0]["icon"].(string)
	for field, want := range map[string]any{
		"id": "counter", "name": "Counter", "iconType": "image", "hasSkill": true, "hasCredentials": false, "isCompiled": true, "appProtocol": true, "url": "/api/apps/counter/index.html",
	} {
		if list.Apps[0][field] != want {
			t.Errorf("%s: got %v, want %v", field, list.Apps[0][field], want)
		}
	}
	picture := h.get(icon, ada).wantStatus(http.StatusOK)
	if string(picture.body) != "<svg/>" || picture.header.Get("Content-Type") != "image/svg+xml" || !strings.HasPrefix(picture.header.Get("Content-Security-Policy"), "sandbox;") {
		t.Errorf("icon: got %s with %v, want the picture in a sandbox", picture.body, picture.header)
	}
	frame := request{token: ada, header: header("Sec-Fetch-Dest", "iframe")}
	for _, path := range []string{"/api/apps/counter/index.html", "/api/apps/counter/dist/index.html", "/api/apps/counter/static/index.html"} {
		page := h.rest(http.MethodGet, path, frame).wantStatus(http.StatusOK)
		policy := page.header.Get("Content-Security-Policy")
		if string(page.body) != "<p>hi</p>" || page.header.Get("Content-Type") != "text/html; charset=utf-8" ||
			!strings.HasPrefix(policy, "sandbox allow-scripts;") || strings.Contains(policy, "allow-same-origin") || !strings.Contains(policy, "connect-src 'none'") {
			t.Errorf("%s: got %s with %v, want the page without an origin and network", path, page.body, page.header)
		}
	}
	for _, path := range []string{"/api/apps/counter/index.html", "/api/apps/counter/src/main.ts"} {
		if plain := h.get(path, ada).wantStatus(http.StatusOK); plain.header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(plain.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%s outside a frame: got %v, want an attachment", path, plain.header)
		}
	}
	if got := h.get("/api/apps", bob); !contains(got.body, `"apps":[]`) {
		t.Errorf("apps of another user: got %s, want none", got.body)
	}
	h.get("/api/apps/counter/index.html", bob).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.get("/api/apps/Counter/index.html", ada).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	h.get("/api/apps/counter/..%2fcurrent", ada).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	h.get("/api/apps/counter/none.png", ada).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.get("/api/apps/counter/index.html", "").wantStatus(http.StatusUnauthorized)
}

func TestASessionHasTheAppsAndSandboxesOfItsOwner(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, bob := h.userToken("ada"), h.userToken("bob")
	id := h.newSession("ada")
	if err := h.userApps.Deploy(t.Context(), "ada", "counter", testApp("<p>hi</p>")); err != nil {
		t.Fatal(err)
	}
	sandbox, err := h.userApps.Sandboxes().Create(t.Context(), "ada", map[string][]byte{"dist/index.html": []byte("preview")})
	if err != nil {
		t.Fatal(err)
	}
	if got := h.get(sessionPath(id, "/apps"), ada).wantStatus(http.StatusOK); !contains(got.body, `"id":"counter"`) {
		t.Errorf("apps: got %s, want counter", got.body)
	}
	for path, want := range map[string]string{"/apps/counter/index.html": "<p>hi</p>", "/sandboxes/" + sandbox + "/dist/index.html": "preview"} {
		if got := h.get(sessionPath(id, path), ada).wantStatus(http.StatusOK); string(got.body) != want {
			t.Errorf("%s: got %s, want %s", path, got.body, want)
		}
		h.get(sessionPath(id, path), bob).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	}
	if err := h.hub.Share(t.Context(), id, "eve", session.ShareOperator); err != nil {
		t.Fatal(err)
	}
	eve := h.userToken("eve")
	for path, status := range map[string]int{
		"/apps": http.StatusOK, "/apps/counter/index.html": http.StatusOK, "/apps/counter/icon": http.StatusOK, "/sandboxes/" + sandbox + "/dist/index.html": http.StatusOK,
		"/apps/counter/src/main.ts": http.StatusNotFound, "/sandboxes/" + sandbox + "/src/main.ts": http.StatusNotFound, "/app-data/counter": http.StatusForbidden,
	} {
		h.get(sessionPath(id, path), eve).wantStatus(status)
	}
	if got := h.get("/api/sandbox/"+sandbox+"/dist/index.html", ada).wantStatus(http.StatusOK); string(got.body) != "preview" {
		t.Errorf("sandbox: got %s, want preview", got.body)
	}
	h.get("/api/sandbox/"+sandbox+"/dist/index.html", bob).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.get("/api/sandbox/..%2f..%2fapps/dist/index.html", ada).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.get("/api/sandbox/"+sandbox+"/..%2f1%2fx", ada).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
}

func TestDataOfAnAppIsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, admin := h.userToken("ada"), h.userToken("root", "admin")
	id, other := h.newSession("ada"), h.newSession("ada")
	if err := h.userApps.Deploy(t.Context(), "ada", "counter", testApp("")); err != nil {
		t.Fatal(err)
	}
	put := func(token, path, body string) reply {
		return h.rest(http.MethodPut, sessionPath(id, "/app-data/counter/"+path), request{token: token, body: body, header: header("Content-Type", "application/octet-stream")})
	}
	put(ada, "count.json", "3").wantStatus(http.StatusNoContent)
	for _, s := range []wire.SessionID{id, other} {
		if got := h.get(sessionPath(s, "/app-data/counter/count.json"), ada).wantStatus(http.StatusOK); string(got.body) != "3" || got.header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("data in %s: got %s with %v, want 3 as an attachment", s, got.body, got.header)
		}
	}
	if got := h.get(sessionPath(id, "/app-data/counter"), ada).wantStatus(http.StatusOK); string(got.body) != `{"files":["count.json"]}` {
		t.Errorf("list: got %s, want count.json", got.body)
	}
	h.get(sessionPath(id, "/app-data/counter/count.json"), admin).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	put(admin, "count.json", "4").wantProblem(http.StatusForbidden, wire.CodeForbidden)
	put(ada, "..%2fx", "4").wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	put(ada, "big", strings.Repeat("x", apps.MaxDataFile+1)).wantStatus(http.StatusRequestEntityTooLarge)
	h.get(sessionPath(id, "/app-data/counter/none.json"), ada).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.get(sessionPath(id, "/app-data/counter/none.json?optional=true"), ada).wantStatus(http.StatusNoContent)
	h.get(sessionPath(id, "/app-data/none"), ada).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.rest(http.MethodDelete, sessionPath(id, "/app-data/counter/count.json"), request{token: ada}).wantStatus(http.StatusNoContent)
	h.rest(http.MethodDelete, sessionPath(id, "/app-data/counter/count.json"), request{token: ada}).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
}

// A writer that has not seen the present data of an app is refused, and all tabs of the owner learn of changes, in every
// session.
func TestDataOfAnAppHasVersions(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, bob := h.userToken("ada"), h.userToken("bob")
	id, other := h.newSession("ada"), h.newSession("ada")
	if err := h.userApps.Deploy(t.Context(), "ada", "counter", testApp("")); err != nil {
		t.Fatal(err)
	}
	x, stranger := h.mustDial("/ws/"+string(other), as(ada)), h.mustDial("/ws/"+string(h.newSession("bob")), as(bob))
	path := sessionPath(id, "/app-data/counter/count.json")
	put := func(body string, condition ...string) reply {
		return h.rest(http.MethodPut, path, request{token: ada, body: body, header: header(append(condition, "Content-Type", "application/octet-stream")...)})
	}
	first := put("1", "If-None-Match", "*").wantStatus(http.StatusNoContent).header.Get("ETag")
	if got := h.get(path, ada).wantStatus(http.StatusOK).header.Get("ETag"); got != first || first == "" {
		t.Errorf("the version is %q when it is read and %q when it was written, want the same", got, first)
	}
	if e := next[wire.SettingsChanged](x); !slices.Equal(e.Names, []string{"appData/counter/count.json"}) {
		t.Errorf("the tab of another session got %+v, want the file", e)
	}
	put("1", "If-None-Match", "*").wantStatus(http.StatusPreconditionFailed)
	second := put("2", "If-Match", first).wantStatus(http.StatusNoContent).header.Get("ETag")
	put("3", "If-Match", first).wantProblem(http.StatusPreconditionFailed, wire.CodeSessionInvalidState)
	if got := h.get(path, ada).wantStatus(http.StatusOK); string(got.body) != "2" || got.header.Get("ETag") != second {
		t.Errorf("after a refused write: got %s, %s, want 2, %s", got.body, got.header.Get("ETag"), second)
	}
	put("4").wantStatus(http.StatusNoContent) // without a condition
	h.rest(http.MethodDelete, path, request{token: ada}).wantStatus(http.StatusNoContent)
	put("5", "If-Match", second).wantStatus(http.StatusPreconditionFailed)
	// What the other user gets next is their own change.
	h.rest(http.MethodPatch, "/api/settings", request{token: bob, body: `{"language":"ko"}`}).wantStatus(http.StatusOK)
	if e := next[wire.SettingsChanged](stranger); slices.ContainsFunc(e.Names, func(n string) bool { return strings.HasPrefix(n, "appData/") }) {
		t.Errorf("another user got %+v, want nothing of it", e)
	}
}

// A user installs apps of the market; data that an app has stored outlives its new version.
func TestAppsOfTheMarketCanBeInstalled(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, vera := h.userToken("ada"), h.userToken("vera", "viewer")
	type app struct {
		ID, Name, URL string
		Installed     bool
	}
	installed := func() map[string]bool {
		var list struct{ Apps []app }
		h.get("/api/market", ada).wantStatus(http.StatusOK).decode(&list)
		out := map[string]bool{}
		for _, a := range list.Apps {
			out[a.ID] = a.Installed
		}
		return out
	}
	if got := installed(); len(got) < 10 || got["notes"] {
		t.Errorf("the market has %v, want the apps of the hub, none installed", got)
	}
	var notes app
	h.rest(http.MethodPut, "/api/apps/notes", request{token: ada}).wantStatus(http.StatusOK).decode(&notes)
	if notes.ID != "notes" || notes.Name != "Notes" || notes.URL != "/api/apps/notes/index.html" {
		t.Errorf("installed %+v, want the notes", notes)
	}
	if got := installed(); !got["notes"] || got["todo"] {
		t.Errorf("the market has %v, want that only notes is installed", got)
	}
	if err := h.userApps.WriteData(t.Context(), "ada", "notes", "a.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	h.rest(http.MethodPut, "/api/apps/notes", request{token: ada}).wantStatus(http.StatusOK)
	if data, err := h.userApps.ReadData(t.Context(), "ada", "notes", "a.json"); err != nil || string(data) != "{}" {
		t.Errorf("data after installing again: got %q, %v, want {}", data, err)
	}
	h.rest(http.MethodPut, "/api/apps/nothing", request{token: ada}).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.rest(http.MethodPut, "/api/apps/..%2fx", request{token: ada}).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	h.rest(http.MethodPut, "/api/apps/notes", request{token: vera}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.get("/api/market", vera).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.get("/api/market", "").wantStatus(http.StatusUnauthorized)
}

// Every app of the hub has a picture of its own before it is installed.
func TestAppsOfTheMarketHavePictures(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, vera := h.userToken("ada"), h.userToken("vera", "viewer")
	var list struct {
		Apps []struct{ ID, Icon, IconType string }
	}
	h.get("/api/market", ada).wantStatus(http.StatusOK).decode(&list)
	owners := map[string]string{}
	for _, a := range list.Apps {
		if want := "/api/market/" + a.ID + "/icon"; a.Icon != want || a.IconType != "image" {
			t.Errorf("icon of %s: got %q of type %q, want the image %s", a.ID, a.Icon, a.IconType, want)
			continue
		}
		answer := h.get(a.Icon, ada).wantStatus(http.StatusOK)
		if got := answer.header.Get("Content-Type"); got != "image/svg+xml" {
			t.Errorf("icon of %s: got the type %q, want image/svg+xml", a.ID, got)
		}
		if got := answer.header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "sandbox; default-src 'none'") {
			t.Errorf("icon of %s: got the policy %q, want a sandbox without sources", a.ID, got)
		}
		if other := owners[string(answer.body)]; other != "" {
			t.Errorf("%s and %s have the same picture", a.ID, other)
		}
		owners[string(answer.body)] = a.ID
	}
	if len(owners) < 10 {
		t.Errorf("the market has %d pictures, want one for each app of the hub", len(owners))
	}
	h.get("/api/market/nothing/icon", ada).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.get("/api/market/..%2fx/icon", ada).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	h.get("/api/market/notes/icon", vera).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.get("/api/market/notes/icon", "").wantStatus(http.StatusUnauthorized)
}

// inProcess compiles apps without a process of its own.
type inProcess struct{}

func (inProcess) Compile(_ context.Context, s build.Source) ([]byte, error) { return build.Compile(s) }

// An app in the folder of the operator that has a source and no page is compiled when it is installed.
func TestAppsOfTheMarketAreCompiled(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"hello/app.json": `{"name":"Hello"}`, "hello/src/main.ts": `const name: string = "compiled page"; document.title = name;`,
		"broken/app.json": `{"name":"Broken"}`, "broken/src/main.ts": `const = 1;`, "empty/app.json": `{"name":"Empty"}`,
	} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	h := newTestHub(t, func(o *hubOptions) { o.market = folder })
	ada := h.userToken("ada")
	h.rest(http.MethodPut, "/api/apps/hello", request{token: ada}).wantStatus(http.StatusOK)
	if b, err := h.userApps.Get(t.Context(), "ada", "hello"); err != nil || !strings.Contains(string(b.Page()), "compiled page") {
		t.Errorf("the page is %.200q (%v), want the compiled source", b.Page(), err)
	}
	for app, want := range map[string]string{"broken": "src/main.ts", "empty": "no file to begin with"} {
		p := h.rest(http.MethodPut, "/api/apps/"+app, request{token: ada}).wantProblem(http.StatusUnprocessableEntity, wire.CodeInvalidMessage)
		if !strings.Contains(p.Detail, want) {
			t.Errorf("%s: the detail is %q, want %q in it", app, p.Detail, want)
		}
	}
}

// All open desktops of a user show an app that was installed on one of them.
func TestInstalledAppsAreAnnounced(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, bob := h.userToken("ada"), h.userToken("bob")
	x, stranger := h.mustDial("/ws/"+string(h.newSession("ada")), as(ada)), h.mustDial("/ws/"+string(h.newSession("bob")), as(bob))
	h.rest(http.MethodPut, "/api/apps/notes", request{token: ada}).wantStatus(http.StatusOK)
	if e := next[wire.SettingsChanged](x); !slices.Equal(e.Names, []string{"appData/notes/"}) {
		t.Errorf("the tab of a session got %+v, want the app", e)
	}
	h.rest(http.MethodPatch, "/api/settings", request{token: bob, body: `{"language":"ko"}`}).wantStatus(http.StatusOK)
	if e := next[wire.SettingsChanged](stranger); slices.Contains(e.Names, "appData/notes/") {
		t.Errorf("another user got %+v, want nothing of it", e)
	}
}
