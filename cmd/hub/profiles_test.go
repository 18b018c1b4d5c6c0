package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/providers/demo"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/providers/openai"
	"github.com/everdesk/everdesk/wire"
)

// newTestOpener returns an opener for a hub with the demo provider and a key of its own.
func newTestOpener(t *testing.T, url string) *modelOpener {
	t.Helper()
	c := agentConfig{
		provider: "demo", dialect: "auto", anthropic: modelConfig{url: url, key: "sk-of-the-hub", model: "m"},
		openai: modelConfig{url: openai.DefaultBaseURL, stored: "sk-of-the-hub"}, ollama: modelConfig{url: "http://127.0.0.1:11434/v1"},
	}
	table, _, err := openProviders(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	o := newModelOpener(c, table, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		o.client.Close()
		table.Close()
	})
	return o
}

func TestCheckProfilesOfUsers(t *testing.T) {
	t.Parallel()
	o := newTestOpener(t, "http://127.0.0.1:1")
	for name, tt := range map[string]struct {
		p    profiles.Profile
		want string // the wrong field
	}{
		"key of the hub":         {profiles.Profile{Backend: "anthropic"}, ""},
		"public server":          {profiles.Profile{Backend: "openai-compatible", BaseURL: "https://models.example.org/v1", Model: "m"}, ""},
		"Ollama of the operator": {profiles.Profile{Backend: "ollama", BaseURL: "http://127.0.0.1:11434/v1", Model: "m"}, ""},
		"loopback":               {profiles.Profile{Backend: "openai", BaseURL: "http://127.0.0.1:8080/v1"}, "baseUrl"},
		"private network":        {profiles.Profile{Backend: "anthropic", BaseURL: "http://10.0.0.1"}, "baseUrl"},
		"metadata":               {profiles.Profile{Backend: "anthropic", BaseURL: "http://169.254.169.254"}, "baseUrl"},
		"no URL":                 {profiles.Profile{Backend: "openai-compatible", Model: "m"}, "baseUrl"},
		"no model":               {profiles.Profile{Backend: "ollama"}, "model"},
		"URL of demo":            {profiles.Profile{Backend: demo.Name, BaseURL: "https://models.example.org"}, "baseUrl"},
		"key of demo":            {profiles.Profile{Backend: demo.Name, Secret: "k"}, "secret"},
		"key of a program":       {profiles.Profile{Backend: "claude", Secret: "k"}, ""},
		"URL of a program":       {profiles.Profile{Backend: "claude", BaseURL: "https://models.example.org"}, "baseUrl"},
	} {
		got := ""
		if f, ok := errors.AsType[*profiles.FieldError](o.check(tt.p)); ok {
			got = f.Field
		}
		if got != tt.want {
			t.Errorf("%s: the wrong field is %q, want %q", name, got, tt.want)
		}
	}
	for _, name := range []string{"claude", "codex"} {
		if _, _, err := o.open(profiles.Profile{Backend: name}, "k"); err == nil {
			t.Errorf("%s can be opened although it is not enabled", name)
		}
	}
}

// profileRequest is what a model server received.
type profileRequest struct {
	model, key string
	thinking   bool
}

func lastRequest(t *testing.T, m *fakemodel.Server) profileRequest {
	t.Helper()
	all := m.Requests()
	if len(all) == 0 {
		t.Fatal("the model server got no request")
	}
	var body struct {
		Model    string
		Thinking json.RawMessage
	}
	if err := json.Unmarshal(all[len(all)-1].Body, &body); err != nil {
		t.Fatal(err)
	}
	return profileRequest{body.Model, all[len(all)-1].Header.Get("X-Api-Key"), len(body.Thinking) > 0}
}

// A session that has chosen a profile uses its model, URL, key and effort, also after a restart. A key of
// the hub does not go to a URL of a user.
func TestSessionsUseModelProfiles(t *testing.T) {
	t.Parallel()
	model := fakemodel.New()
	url, err := model.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	folder := t.TempDir()
	start := func() (hubRun, visitor, string) {
		h := startHub(t, "--store", "file:"+folder, "--anthropic-key", "sk-of-the-hub", "--provider-hosts", "127.0.0.1", "--rate-limits", "off", "--titles", "off")
		_, token, _ := strings.Cut(h.invitation, "token=")
		return h, visitor{t, h.url, http.Header{"Authorization": {"Bearer " + token}}}, token
	}
	h, ada, token := start()
	pipeSecret(t, h, "sk-of-ada", "set", "mine")
	put := func(id, body string) { ada.do(http.MethodPut, "/api/model-profiles/"+id, body, http.StatusOK, nil) }
	put("opus", `{"name":"My Opus","backend":"anthropic","model":"opus-1","baseUrl":"`+url+`","secret":"mine","effort":"high"}`)
	put("bare", `{"name":"Bare","backend":"anthropic","model":"bare-1","baseUrl":"`+url+`"}`)
	var made struct {
		SessionID wire.SessionID `json:"sessionId"`
	}
	ada.do(http.MethodPost, "/api/sessions", `{}`, http.StatusCreated, &made)
	say := func(text string, before ...wire.ClientPayload) {
		watch(t, client.Config{URL: h.url, Session: made.SessionID, Token: token}, text, before...)
	}
	say("/say one", wire.SetProvider{Provider: "my opus"})
	want := profileRequest{"opus-1", "sk-of-ada", true}
	if got := lastRequest(t, model); got != want {
		t.Errorf("the model server got %+v, want %+v", got, want)
	}
	if code := h.stop(); code != command.ExitOK {
		t.Fatalf("exit code %d", code)
	}
	h, ada, token = start()
	say("/say two")
	if got := lastRequest(t, model); got != want || len(model.Requests()) != 2 {
		t.Errorf("after a restart the model server got %+v, %d requests; want %+v", got, len(model.Requests()), want)
	}
	// A changed profile counts from the next turn on.
	put("opus", `{"name":"My Opus","backend":"anthropic","model":"opus-2","baseUrl":"`+url+`","secret":"mine"}`)
	say("/say three")
	if got, want := lastRequest(t, model), (profileRequest{"opus-2", "sk-of-ada", false}); got != want {
		t.Errorf("after a change the model server got %+v, want %+v", got, want)
	}
	say("/say four", wire.SetProvider{Provider: "bare"})
	if got, want := lastRequest(t, model), (profileRequest{"bare-1", "", false}); got != want {
		t.Errorf("without a secret the model server got %+v, want %+v", got, want)
	}
	// A deleted profile is not used any more.
	ada.do(http.MethodDelete, "/api/model-profiles/bare", "", http.StatusOK, nil)
	say("/say five")
	if n := len(model.Requests()); n != 4 {
		t.Errorf("the model server got %d requests, want no fifth one for a deleted profile", n)
	}
}

// A key that is changed on one replica counts on the others at once, also for an agent whose session with
// the old key is open and idle.
func TestReplicasNoticeChangedKeys(t *testing.T) {
	t.Parallel()
	model := fakemodel.New()
	url, err := model.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	folder, redis := t.TempDir(), redistest.Standalone(t)
	keys := filepath.Join(folder, "keys")
	if err := os.WriteFile(keys, []byte("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() hubRun {
		return startHub(t, "--store", redis.URL(), "--auth", "none", "--secret-key-file", keys, "--provider-hosts", "127.0.0.1", "--rate-limits", "off")
	}
	h, other := start(), start()
	ada, there := visitor{t, h.url, http.Header{}}, visitor{t, other.url, http.Header{}}
	ada.do(http.MethodPut, "/api/secrets/mine", `{"value":"sk-1"}`, http.StatusNoContent, nil)
	ada.do(http.MethodPut, "/api/model-profiles/opus", `{"name":"Opus","backend":"anthropic","model":"opus-1","baseUrl":"`+url+`","secret":"mine"}`, http.StatusOK, nil)
	var made struct {
		SessionID wire.SessionID `json:"sessionId"`
	}
	ada.do(http.MethodPost, "/api/sessions", `{}`, http.StatusCreated, &made)
	say := func(text string, before ...wire.ClientPayload) string {
		watch(t, client.Config{URL: h.url, Session: made.SessionID}, text, before...)
		return lastRequest(t, model).key
	}
	if got := say("/say one", wire.SetProvider{Provider: "opus"}); got != "sk-1" {
		t.Fatalf("the model server got the key %q, want sk-1", got)
	}
	noticed := make(chan struct{}, 10)
	c, err := client.New(client.Config{URL: h.url, Session: made.SessionID, OnEvent: func(_ context.Context, e client.Event) {
		if changed, ok := e.Data.(wire.SettingsChanged); ok && slices.Contains(changed.Names, "marker") {
			noticed <- struct{}{}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	<-c.Ready()
	there.do(http.MethodPut, "/api/secrets/mine", `{"value":"sk-2"}`, http.StatusNoContent, nil)
	there.do(http.MethodPut, "/api/secrets/marker", `{"value":"x"}`, http.StatusNoContent, nil)
	<-noticed // tabs get the notice of the second change after the hub has got both
	if got := say("/say two"); got != "sk-2" {
		t.Errorf("after the change on another replica the model server got the key %q, want sk-2", got)
	}
}
