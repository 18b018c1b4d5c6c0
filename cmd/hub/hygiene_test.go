package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/wire"
)

// marked is part of all content of the test, and must not be logged.
const marked = "PLUGH-7731"

// echoModel is a model server whose error contains the request and the API key.
func echoModel(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, _ := io.ReadAll(r.Body) // a part is enough
		text, err := json.Marshal(fmt.Sprintf("cannot answer %s with %s", asked, r.Header.Get("X-Api-Key")))
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%s}}`, text)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// visitor sends requests to the hub with a credential.
type visitor struct {
	t      *testing.T
	url    string
	header http.Header
}

// do sends a request, checks the status and returns the cookies of the answer.
func (v visitor) do(method, path, body string, want int, into any) []*http.Cookie {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.url+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header = v.header.Clone()
	if req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	c := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := c.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, _ := io.ReadAll(res.Body) // an incomplete answer fails below
	if res.StatusCode != want {
		v.t.Fatalf("%s %s: got %d %s, want %d", method, path, res.StatusCode, answer, want)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			v.t.Fatalf("%s %s: got error %v, want JSON in %s", method, path, err, answer)
		}
	}
	return res.Cookies()
}

// watch opens a WebSocket with a credential, sends text, after the messages of before, and waits
// until its turn has ended. It returns the end.
func watch(t *testing.T, cfg client.Config, text string, before ...wire.ClientPayload) wire.AgentResponse {
	t.Helper()
	ended := make(chan wire.AgentResponse, 100)
	cfg.OnEvent = func(_ context.Context, e client.Event) {
		if r, ok := e.Data.(wire.AgentResponse); ok && r.IsComplete {
			ended <- r
		}
	}
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	defer func() {
		cancel()
		<-done
	}()
	select {
	case <-c.Ready():
	case err := <-done:
		t.Fatalf("got the end of the client (%v), want it ready", err)
	}
	for _, p := range before {
		if err := c.Post(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Send(ctx, wire.UserMessage{Content: text}); err != nil {
		t.Fatal(err)
	}
	return <-ended
}

// Even at level debug the log contains no messages, no files, no output of models and tools, and no
// credentials.
func TestLogHasNoContentAndNoCredentials(t *testing.T) {
	t.Parallel()
	var log record
	const modelKey = "sk-model-key-4711"
	h := startHubLogging(t, &log, "--store", "file:"+t.TempDir(), "--log-level", "debug", "--log-format", "json",
		"--anthropic-key", modelKey, "--anthropic-url", echoModel(t), "--rate-limits", "off")
	_, token, _ := strings.Cut(h.invitation, "token=")
	secrets := map[string]string{"text": marked, "token": token, "model key": modelKey}

	stranger := visitor{t, h.url, http.Header{}}
	stranger.do(http.MethodPost, "/api/login", `{"token":"wrong-`+marked+`"}`, http.StatusUnauthorized, nil)
	stranger.do(http.MethodGet, "/?token=wrong-"+marked, "", http.StatusUnauthorized, nil)
	signed := stranger.do(http.MethodGet, "/?token="+token, "", http.StatusSeeOther, nil)
	secrets["cookie"] = signed[0].Value

	admin := visitor{t, h.url, http.Header{"Authorization": {"Bearer " + token}}}
	var made struct {
		SessionID wire.SessionID `json:"sessionId"`
		Key       string         `json:"key"`
		Ticket    string         `json:"ticket"`
	}
	admin.do(http.MethodPost, "/api/tokens/keys", `{"user":"local","roles":["user","admin"]}`, http.StatusCreated, &made)
	secrets["API key"] = made.Key
	keyed := visitor{t, h.url, http.Header{"Authorization": {"Bearer " + made.Key}}}
	keyed.do(http.MethodPost, "/api/sessions", `{"title":"`+marked+`"}`, http.StatusCreated, &made)
	here := "/api/sessions/" + string(made.SessionID)
	cookie := visitor{t, h.url, http.Header{"Cookie": {signed[0].Name + "=" + signed[0].Value}, "Origin": {h.url}}}
	cookie.do(http.MethodGet, "/api/me", "", http.StatusOK, nil)
	keyed.do(http.MethodPost, "/api/ws-ticket", `{}`, http.StatusOK, &made)
	secrets["ticket"] = made.Ticket

	// Messages: with a tool call of the demo, with an error of the model, and invalid ones.
	watch(t, client.Config{URL: h.url, Session: made.SessionID, Ticket: made.Ticket}, "/window w "+marked+" | "+marked)
	watch(t, client.Config{URL: h.url, Session: made.SessionID, Token: made.Key}, "/say "+marked)
	watch(t, client.Config{URL: h.url, Session: made.SessionID, Token: made.Key}, "tell me "+marked, wire.SetProvider{Provider: "anthropic"})
	keyed.do(http.MethodPost, here+"/messages", `{"content":"`+marked+`"`, http.StatusBadRequest, nil)
	keyed.do(http.MethodPost, here+"/actions", `{"actions":[{"type":"window.setContent","windowId":"none","content":{"renderer":"text","content":"`+marked+`"}}]}`, http.StatusBadRequest, nil)

	// Files.
	upload := visitor{t, h.url, keyed.header.Clone()}
	upload.header.Set("Content-Type", "text/plain")
	upload.do(http.MethodPut, here+"/files/note.txt", marked, http.StatusCreated, nil)
	upload.do(http.MethodGet, here+"/files/note.txt", "", http.StatusOK, nil)

	if code := h.stop(); code != command.ExitOK {
		t.Errorf("exit code: got %d, want %d", code, command.ExitOK)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) < 20 {
		t.Errorf("lines of the log: got %d, want at least 20", len(lines))
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("line of the log: got %s, want JSON", line)
		}
		for what, secret := range secrets {
			if secret == "" {
				t.Fatalf("%s: got none, want one to look for in the log", what)
			}
			if strings.Contains(line, secret) {
				t.Errorf("line of the log: got %s, want it without the %s", line, what)
			}
		}
	}
}
