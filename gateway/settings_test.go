package gateway_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/wire"
)

// settingValues is the answer to requests for values of settings.
type settingValues struct {
	Scope    string
	Settings []struct {
		Name, Source, Pinned string
		Value                json.RawMessage
	}
	Refused []struct{ Name, Code, Detail string }
}

// of returns the value and the source of a setting.
func (v settingValues) of(name string) string {
	for _, s := range v.Settings {
		if s.Name == name {
			return string(s.Value) + " " + s.Source
		}
	}
	return ""
}

// codes returns the refused settings with their codes.
func (v settingValues) codes() []string {
	var all []string
	for _, r := range v.Refused {
		all = append(all, r.Name+" "+r.Code)
	}
	slices.Sort(all)
	return all
}

func (h *testHub) patchValues(token, query, body string) (v settingValues) {
	h.t.Helper()
	h.rest(http.MethodPatch, "/api/settings/values"+query, request{token: token, body: body}).wantStatus(http.StatusOK).decode(&v)
	return v
}

// Each value is taken or refused on its own; what desktops of the desktop dialect see is the same.
func TestSettingValues(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) {
		p.pins = []settings.Pin{{Name: "iconSize", Value: json.RawMessage(`"large"`), Where: "file pins.yaml"}}
	})
	ada := h.userToken("ada")
	got := h.patchValues(ada, "", `{"values":{"language":"ko","userName":7,"iconSize":"small","nothing":1,"wallpaper":"x"},"was":{"wallpaper":"y"}}`)
	if want := []string{"iconSize pinned", "nothing unknown", "userName type", "wallpaper conflict"}; !slices.Equal(got.codes(), want) {
		t.Errorf("refused %v, want %v", got.codes(), want)
	}
	h.get("/api/settings/values", ada).wantStatus(http.StatusOK).decode(&got)
	for name, want := range map[string]string{"language": `"ko" user`, "userName": `"" default`, "iconSize": `"large" pinned`, "wallpaper": `"" default`} {
		if got.of(name) != want {
			t.Errorf("%s is %s, want %s", name, got.of(name), want)
		}
	}
	if got := h.get("/api/settings", ada); string(got.body) != `{"language":"ko","onboardingCompleted":true,"iconSize":"large"}` {
		t.Errorf("the desktop dialect has %s", got.body)
	}
	pinned := h.rest(http.MethodPatch, "/api/settings", request{token: ada, body: `{"iconSize":"small"}`}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	if pinned.Field != "iconSize" {
		t.Errorf("the refused field is %q, want iconSize", pinned.Field)
	}
}

// The scope hub is for admins, and its changes are in the audit log without the values.
func TestSettingValuesOfTheHub(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, root := h.userToken("ada"), h.userToken("root", "admin")
	const body = `{"values":{"language":"ko","wallpaper":"canary-wallpaper"}}`
	h.rest(http.MethodPatch, "/api/settings/values?scope=hub", request{token: ada, body: body}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.rest(http.MethodPatch, "/api/settings/values?scope=moon", request{token: root, body: body}).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	h.rest(http.MethodPatch, "/api/settings/values", request{token: h.userToken("vera", "viewer"), body: body}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.rest(http.MethodPatch, "/api/settings/values", request{token: ada, body: `{"values":{}}`}).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	if got := h.patchValues(root, "?scope=hub", body); got.of("language") != `"ko" hub` {
		t.Errorf("the language of the hub is %s, want \"ko\" hub", got.of("language"))
	}
	var mine settingValues
	h.get("/api/settings/values", ada).wantStatus(http.StatusOK).decode(&mine)
	if mine.of("language") != `"ko" hub` {
		t.Errorf("the language of a user is %s, want \"ko\" hub", mine.of("language"))
	}
	log := h.get("/api/admin/audit", root).wantStatus(http.StatusOK)
	if !contains(log.body, "settings.change") || contains(log.body, "canary-wallpaper") {
		t.Errorf("the audit log is %s, want the change without its values", log.body)
	}
}

// A change reaches the tabs of its user on every replica, and no other tabs.
func TestSettingsChangedReachesTabs(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	other := otherReplica(t, h)
	ada, bob := h.userToken("ada"), h.userToken("bob")
	id, foreign := h.newSession("ada"), h.newSession("bob")
	tabs := []*tab{h.mustDial("/ws/"+string(id), as(ada)), other.mustDial("/ws/"+string(id), as(other.userToken("ada")))}
	stranger := other.mustDial("/ws/"+string(foreign), as(other.userToken("bob")))
	for _, x := range append(tabs, stranger) {
		next[wire.SessionState](x)
	}
	h.patchValues(ada, "", `{"values":{"language":"ko"}}`)
	for i, x := range tabs {
		if got := next[wire.SettingsChanged](x); got.Scope != wire.SettingScopeUser || !slices.Equal(got.Names, []string{"language"}) {
			t.Errorf("tab %d got %+v, want language of the scope user", i, got)
		}
	}
	h.patchValues(bob, "", `{"values":{"userName":"Bob"}}`)
	if got := next[wire.SettingsChanged](stranger); !slices.Equal(got.Names, []string{"userName"}) {
		t.Errorf("another user's tab got %+v first, want its own userName", got)
	}
}

// Without a key nothing can be stored, and the answer says why. With one, the secret cannot be read
// back, and the tabs of the user learn of it.
func TestSecretsOverREST(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	put := func(h *testHub, token, path, body string) reply {
		return h.rest(http.MethodPut, path, request{token: token, body: body})
	}
	const body = `{"value":"sk-canary-4711-ABCD"}`
	if got := put(h, ada, "/api/secrets/mine", body).wantProblem(http.StatusConflict, wire.CodeInvalidMessage); !strings.Contains(got.Detail, "--secret-key-file") {
		t.Errorf("without a key: %q, want what to do", got.Detail)
	}
	if got := h.get("/api/secrets", ada).wantStatus(http.StatusOK); !contains(got.body, `"refusal":"secrets cannot be stored`) {
		t.Errorf("without a key the list is %s", got.body)
	}
	ring, err := secrets.ParseKeys(base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))))
	if err != nil {
		t.Fatal(err)
	}
	h = newTestHub(t, func(p *hubOptions) { p.keys = ring })
	ada, root := h.userToken("ada"), h.userToken("root", "admin")
	x := h.mustDial("/ws/"+string(h.newSession("ada")), as(ada))
	next[wire.SessionState](x)
	put(h, ada, "/api/secrets/mine", body).wantStatus(http.StatusNoContent)
	if got := next[wire.SettingsChanged](x); !slices.Equal(got.Names, []string{"mine"}) {
		t.Errorf("the tab got %+v, want mine", got)
	}
	put(h, ada, "/api/secrets/a%20b", body).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	put(h, ada, "/api/secrets/anthropicKey?scope=hub", body).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	put(h, h.userToken("vera", "viewer"), "/api/secrets/mine", body).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.get("/api/secrets?scope=hub", ada).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.rest(http.MethodPost, "/api/secrets/rotate", request{token: ada}).wantStatus(http.StatusNotFound)
	put(h, root, "/api/secrets/anthropicKey?scope=hub", body).wantStatus(http.StatusNoContent)
	if got := h.get("/api/secrets?scope=hub", root).wantStatus(http.StatusOK); !contains(got.body, `"set":true,"lastFour":"ABCD"`) || !contains(got.body, `"name":"openaiKey"`) {
		t.Errorf("the secrets of the hub are %s, want one that is set and one that is not", got.body)
	}
	if got := h.rest(http.MethodPost, "/api/secrets/rotate", request{token: root}).wantStatus(http.StatusOK); !contains(got.body, `"sealed":0,"unreadable":0`) {
		t.Errorf("a rotation without a new key: %s", got.body)
	}
	if got := h.get("/api/secrets", h.userToken("bob")).wantStatus(http.StatusOK); contains(got.body, "mine") {
		t.Errorf("another user sees %s", got.body)
	}
	for where, text := range map[string]string{
		"log": h.log.String(), "audit": string(h.get("/api/admin/audit", root).body), "list": string(h.get("/api/secrets", ada).body),
	} {
		if strings.Contains(text, "canary") {
			t.Errorf("the %s has the secret", where)
		}
	}
}
