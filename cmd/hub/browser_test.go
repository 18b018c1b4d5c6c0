package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// An agent opens a page of an allowed domain, uses it and reads it, and people see it in a window.
func TestAgentsUseWebPages(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<title>Shop</title><form><input name="q"></form><p>Results for `+r.URL.Query().Get("q")+`.</p>`)
	}))
	t.Cleanup(site.Close)
	h := startHub(t, "--store", "file:"+t.TempDir(), "--web-hosts", "127.0.0.1", "--browser-sandbox", "off", "--rate-limits", "off", "--titles", "off")
	_, token, _ := strings.Cut(h.invitation, "token=")
	ada := visitor{t, h.url, http.Header{"Authorization": {"Bearer " + token}}}
	var made struct {
		SessionID wire.SessionID `json:"sessionId"`
	}
	ada.do(http.MethodPost, "/api/sessions", `{}`, http.StatusCreated, &made)
	task := func(calls ...string) string {
		t.Helper()
		return toolResults(t, client.Config{URL: h.url, Session: made.SessionID, Token: token}, "/task web /call "+strings.Join(calls, "; /call "))
	}
	open := `browser_open {"url":"` + site.URL + `"}`
	if got := task(open); !strings.Contains(got, "not allowed the domain 127.0.0.1") {
		t.Errorf("a page of another domain gives %q, want a refusal", got)
	}
	ada.do(http.MethodPatch, "/api/domains", `{"allow":["127.0.0.1"]}`, http.StatusOK, nil)
	got := task(open, `browser_type {"selector":"[name=q]","text":"tea"}`, `browser_press {"key":"Enter"}`, `browser_extract {}`, `browser_screenshot {}`)
	if !strings.Contains(got, "Results for tea.") || !strings.Contains(got, "<outside_data") {
		t.Errorf("the agent reads %q, want the page after the form was sent, marked as data of others", got)
	}
	var seen struct {
		Windows []struct {
			WindowID string
			Content  struct{ Data string }
		}
	}
	here := "/api/sessions/" + string(made.SessionID)
	ada.do(http.MethodGet, here+"/snapshot", "", http.StatusOK, &seen)
	if len(seen.Windows) != 1 || seen.Windows[0].WindowID != "browser" || !strings.Contains(seen.Windows[0].Content.Data, "?q=tea") {
		t.Fatalf("the windows are %+v, want one with the page", seen.Windows)
	}
	file := regexp.MustCompile(`\(/files/([^)]+)\)`).FindStringSubmatch(seen.Windows[0].Content.Data)
	if file == nil {
		t.Fatalf("the window has %q, want a picture", seen.Windows[0].Content.Data)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+here+"/files/"+file[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = ada.header
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if data, err := io.ReadAll(res.Body); err != nil || !bytes.HasPrefix(data, []byte("\xff\xd8\xff")) {
		t.Errorf("the picture begins with %.20q (%v), want a JPEG", data, err)
	}
	if got := task(`browser_close {}`, `browser_extract {}`); !strings.Contains(got, "no page is open") && !strings.Contains(got, "No page is open") {
		t.Errorf("after the end the agent reads %q, want that no page is open", got)
	}
}

// toolResults sends a message and returns the results of the tools that are called until its turn has ended.
func toolResults(t *testing.T, cfg client.Config, text string) string {
	t.Helper()
	const id = "m"
	var results strings.Builder
	ended := make(chan string, 1)
	cfg.OnEvent = func(_ context.Context, e client.Event) {
		switch d := e.Data.(type) {
		case wire.ToolProgress:
			if d.Status != wire.ToolRunning {
				results.WriteString(d.Message + "\n")
			}
		case wire.AgentResponse:
			if d.IsComplete && strings.HasPrefix(string(d.MessageID), id) {
				ended <- results.String()
			}
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
	<-c.Ready()
	if _, err := c.Send(ctx, wire.UserMessage{MessageID: wire.MessageID(id + rand.Text()), Content: text}); err != nil {
		t.Fatal(err)
	}
	return <-ended
}

func TestBrowserIsFound(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cfg  agentConfig
		want string // in the reason; empty if there is one
	}{
		"off":          {agentConfig{browser: "off", browserSandbox: true}, "off"},
		"missing":      {agentConfig{browser: "/no/such/browser"}, "no such file"},
		"installed":    {agentConfig{browser: "auto"}, ""},
		"with sandbox": {agentConfig{browser: "auto", browserSandbox: true}, map[bool]string{true: "root"}[os.Geteuid() == 0]},
	} {
		if path, err := findBrowser(tt.cfg); (path != "") != (tt.want == "") || !strings.Contains(errorText(err), tt.want) {
			t.Errorf("%s: got %q and %v, want %q", name, path, err, tt.want)
		}
	}
}
