package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/wire"
)

// A session gets a title from the model of the role title after its first answer, and tabs see it. A title
// of a person stays.
func TestSessionGetsTitle(t *testing.T) {
	t.Parallel()
	model := fakemodel.New()
	url, err := model.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	h := startHub(t, "--store", "file:"+t.TempDir(), "--provider-hosts", "127.0.0.1", "--rate-limits", "off", "--anthropic-key", "sk-of-the-hub")
	_, token, _ := strings.Cut(h.invitation, "token=")
	ada := visitor{t, h.url, http.Header{"Authorization": {"Bearer " + token}}}
	for _, id := range []string{"large", "small"} {
		ada.do(http.MethodPut, "/api/model-profiles/"+id, `{"name":"`+id+`","backend":"anthropic","model":"`+id+`-1","baseUrl":"`+url+`"}`, http.StatusOK, nil)
	}
	ada.do(http.MethodPut, "/api/model-profiles/roles", `{"roles":{"main":"large","title":"small"}}`, http.StatusOK, nil)

	var made struct {
		SessionID wire.SessionID `json:"sessionId"`
	}
	ada.do(http.MethodPost, "/api/sessions", `{}`, http.StatusCreated, &made)
	renamed := make(chan string, 10)
	c, err := client.New(client.Config{URL: h.url, Session: made.SessionID, Token: token, OnEvent: func(_ context.Context, e client.Event) {
		if r, ok := e.Data.(wire.SessionRenamed); ok {
			renamed <- r.Title
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
	if err := c.Post(ctx, wire.UserMessage{Content: "/say A garden"}); err != nil {
		t.Fatal(err)
	}
	const want = "A title by the model" // what the fake model answers when it is asked for a title
	if got := <-renamed; got != want {
		t.Errorf("the session is called %q, want %q", got, want)
	}
	models := map[string]int{}
	for _, r := range model.Requests() {
		var body struct{ Model string }
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		models[body.Model]++
	}
	if models["large-1"] != 1 || models["small-1"] != 1 {
		t.Errorf("the models got %v requests, want one for the answer and one for the title", models)
	}

	// The model of the role title is not asked about a session that a person has named.
	ada.do(http.MethodPost, "/api/sessions", `{"title":"Mine"}`, http.StatusCreated, &made)
	watch(t, client.Config{URL: h.url, Session: made.SessionID, Token: token}, "/say A pond")
	watch(t, client.Config{URL: h.url, Session: made.SessionID, Token: token}, "/say A tree")
	if got := len(model.Requests()); got != 4 {
		t.Errorf("the model server got %d requests, want 4: none for a title of a session that has one", got)
	}
}
