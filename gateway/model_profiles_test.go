package gateway_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/wire"
)

// modelProfiles is the answer to requests for model profiles.
type modelProfiles struct {
	Profiles []struct {
		ID, Name, Backend, Model, BaseURL, Secret, Effort, Pinned string
		ContextWindow                                             int
		Prices                                                    *struct {
			Input, Output  *float64
			Currency, AsOf string
		}
	}
	Roles    map[string]string
	Version  int
	Conflict string
}

func (m modelProfiles) ids() string {
	var all []string
	for _, p := range m.Profiles {
		all = append(all, p.ID)
	}
	return strings.Join(all, " ")
}

func TestModelProfilesOverREST(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	x := h.mustDial("/ws/"+string(h.newSession("ada")), as(ada))
	next[wire.SessionState](x)
	send := func(method, path, body string) reply { return h.rest(method, path, request{token: ada, body: body}) }
	var got modelProfiles
	send(http.MethodGet, "/api/model-profiles", "").wantStatus(http.StatusOK).decode(&got)
	if got.ids() != "demo" || got.Profiles[0].Pinned != "the hub" || got.Version != 0 {
		t.Errorf("at first there are %+v, want only demo, pinned", got)
	}
	const sonnet = `{"name":"Sonnet","backend":"anthropic","model":"claude-sonnet-4-5","baseUrl":"https://models.example.org","secret":"k",` +
		`"contextWindow":1000,"effort":"high","prices":{"input":3,"output":null,"currency":"USD","asOf":"2026-11-17"},"version":0}`
	send(http.MethodPut, "/api/model-profiles/sonnet", sonnet).wantStatus(http.StatusOK).decode(&got)
	if p := got.Profiles[0]; got.ids() != "sonnet demo" || p.Model != "claude-sonnet-4-5" || p.ContextWindow != 1000 || p.Effort != "high" || p.Secret != "k" ||
		p.Prices == nil || *p.Prices.Input != 3 || p.Prices.Output != nil || p.Prices.AsOf != "2026-11-17" {
		t.Errorf("the profiles are %+v, want sonnet as it was sent", got)
	}
	if e := next[wire.SettingsChanged](x); !slices.Equal(e.Names, []string{profiles.SettingName}) {
		t.Errorf("the tab got %+v, want %s", e, profiles.SettingName)
	}
	send(http.MethodPut, "/api/model-profiles/roles", `{"roles":{"main":"sonnet","title":"demo"},"version":1}`).wantStatus(http.StatusOK).decode(&got)
	if got.Roles["main"] != "sonnet" || got.Roles["title"] != "demo" || got.Version != 2 {
		t.Errorf("the roles are %v of version %d, want sonnet and demo, version 2", got.Roles, got.Version)
	}
	// A change of another tab comes first: this one gets what is stored.
	send(http.MethodPut, "/api/model-profiles/sonnet", sonnet).wantStatus(http.StatusConflict).decode(&got)
	if got.Conflict == "" || got.Version != 2 || got.ids() != "sonnet demo" {
		t.Errorf("the answer to a conflict is %+v, want what is stored", got)
	}
	send(http.MethodDelete, "/api/model-profiles/sonnet?version=1", "").wantStatus(http.StatusConflict)
	for path, body := range map[string]string{
		"backend": `{"name":"A","backend":"gemini"}`, "name": `{"name":" ","backend":"demo"}`, "effort": `{"name":"A","backend":"demo","effort":"x"}`,
		"prices.currency": `{"name":"A","backend":"demo","prices":{"currency":"EUR"}}`,
	} {
		if p := send(http.MethodPut, "/api/model-profiles/a", body).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != path {
			t.Errorf("%s: the refused field is %q, want %q", body, p.Field, path)
		}
	}
	send(http.MethodPut, "/api/model-profiles/demo", `{"name":"A","backend":"demo"}`).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	send(http.MethodDelete, "/api/model-profiles/none", "").wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.rest(http.MethodPut, "/api/model-profiles/a", request{token: h.userToken("vera", "viewer"), body: `{"name":"A","backend":"demo"}`}).
		wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.get("/api/model-profiles", h.userToken("bob")).wantStatus(http.StatusOK).decode(&got)
	if got.ids() != "demo" {
		t.Errorf("another user has %s, want demo", got.ids())
	}
	got = modelProfiles{}
	send(http.MethodDelete, "/api/model-profiles/sonnet", "").wantStatus(http.StatusOK).decode(&got)
	if got.ids() != "demo" || got.Roles["main"] != "" {
		t.Errorf("after the removal there are %s with the roles %v, want demo and no main", got.ids(), got.Roles)
	}
}
