package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/gateway/rest"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/wire"
)

// startModel starts a model server that requires a key, and returns its URL.
func startModel(t *testing.T, key string) string {
	t.Helper()
	fake := fakemodel.New()
	fake.Key = key
	url, err := fake.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	return url
}

// A user connects a model with REST requests only, as the page does: lists models, tests, stores the key
// and the profile, and talks.
func TestConnectAModel(t *testing.T) {
	t.Parallel()
	const key = "sk-canary-connect-0815"
	url := startModel(t, key)
	var log record
	h := startHubLogging(t, &log, "--store", "file:"+t.TempDir(), "--rate-limits", "off", "--log-level", "debug",
		"--provider-hosts", strings.TrimPrefix(url, "http://"), "--ollama-url", url+"/v1")
	_, token, _ := strings.Cut(h.invitation, "token=")
	me := visitor{t, h.url, http.Header{"Authorization": {"Bearer " + token}}}

	var list struct{ Backends []rest.Backend }
	me.do(http.MethodGet, "/api/backends", "", http.StatusOK, &list)
	found := map[string]rest.Backend{}
	for _, b := range list.Backends {
		found[b.Backend] = b
	}
	if len(found) != 4 || !found["anthropic"].NeedsKey || found["anthropic"].Found || found["openai-compatible"].Kind != rest.KindServer || !found["ollama"].Found {
		t.Errorf("the backends are %+v, want four, of which only the Ollama is found", list.Backends)
	}

	models := func(backend, body string) (names []string, class string) {
		t.Helper()
		var got struct {
			Models  []rest.Model
			Failure *rest.ModelFailure
		}
		me.do(http.MethodPost, "/api/backends/"+backend+"/models", body, http.StatusOK, &got)
		for _, m := range got.Models {
			names = append(names, m.ID)
		}
		if got.Failure != nil {
			class = got.Failure.Class
			if strings.Contains(got.Failure.Detail, "canary") {
				t.Errorf("the failure %q has the key", got.Failure.Detail)
			}
		}
		return names, class
	}
	for _, tt := range []struct{ backend, body, names, class string }{
		{"openai-compatible", `{"baseUrl":"` + url + `/v1","key":"` + key + `"}`, "fake", ""},
		{"anthropic", `{"baseUrl":"` + url + `","key":"` + key + `"}`, "fake", ""},
		{"ollama", `{}`, "fake", ""},
		{"openai-compatible", `{"baseUrl":"` + url + `/v1","key":"sk-canary-wrong"}`, "", "auth"},
		{"openai-compatible", `{"baseUrl":"http://127.0.0.1:1/v1"}`, "", "address"},
		{"openai-compatible", `{"baseUrl":"http://169.254.169.254/v1"}`, "", "address"},
		{"openai-compatible", `{"baseUrl":"http://localhost:1/v1"}`, "", "address"},
		{"openai-compatible", `{}`, "", "invalid"},
		{"openai", `{"baseUrl":"` + url + `/v1","secret":"nothing"}`, "", "secret"},
		{"demo", `{}`, "", "invalid"},
	} {
		if names, class := models(tt.backend, tt.body); strings.Join(names, " ") != tt.names || class != tt.class {
			t.Errorf("%s with %s lists %q and fails with %q, want %q and %q", tt.backend, tt.body, names, class, tt.names, tt.class)
		}
	}

	test := func(profile, key string) (result rest.ModelTest) {
		t.Helper()
		body, err := json.Marshal(map[string]any{"profile": json.RawMessage(profile), "key": key})
		if err != nil {
			t.Fatal(err)
		}
		me.do(http.MethodPost, "/api/model-profiles/test", string(body), http.StatusOK, &result)
		return result
	}
	profile := `{"name":"Mine","backend":"openai-compatible","baseUrl":"` + url + `/v1","model":"fake"`
	if got := test(profile+"}", key); got.Failure != nil || !strings.Contains(got.Answer, "hello") || got.OutputTokens == 0 || !got.CostUnknown || got.CostUSD != 0 {
		t.Errorf("the test gives %+v, want an answer with its tokens and an unknown cost", got)
	}
	if got := test(profile+"}", "sk-canary-wrong"); got.Failure == nil || got.Failure.Class != "auth" || strings.Contains(got.Failure.Detail, "canary") {
		t.Errorf("the test with a wrong key gives %+v, want a failure of the class auth without the key", got.Failure)
	}
	if got := test(`{"name":"Local","backend":"ollama","model":"fake"}`, key); got.Failure != nil || got.CostUnknown || got.CostUSD != 0 {
		t.Errorf("the test of Ollama gives %+v and %+v, want an answer that costs nothing", got, got.Failure)
	}

	me.do(http.MethodPut, "/api/secrets/mine", `{"value":"`+key+`"}`, http.StatusNoContent, nil)
	if got := test(profile+`,"secret":"mine"}`, ""); got.Failure != nil {
		t.Errorf("the test with the stored key fails: %+v, want an answer", got.Failure)
	}
	me.do(http.MethodPut, "/api/model-profiles/mine", profile+`,"secret":"mine"}`, http.StatusOK, nil)
	me.do(http.MethodPut, "/api/model-profiles/roles", `{"roles":{"main":"mine"}}`, http.StatusOK, nil)
	var made struct {
		SessionID wire.SessionID `json:"sessionId"`
	}
	me.do(http.MethodPost, "/api/sessions", `{}`, http.StatusCreated, &made)
	watch(t, client.Config{URL: h.url, Session: made.SessionID, Token: token}, "/say connected", wire.SetProvider{Provider: "mine"})
	h.stop()
	if strings.Contains(log.String(), "canary") {
		t.Error("the log has a key, want none")
	}
}
