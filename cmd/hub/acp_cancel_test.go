package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/wire"
)

// tab is a client of the desktop whose events a test waits for.
type tab struct {
	*client.Client
	t      *testing.T
	events chan wire.ServerPayload
}

// openTab opens a session as a tab does.
func openTab(t *testing.T, url, token string, session wire.SessionID) *tab {
	t.Helper()
	x := &tab{t: t, events: make(chan wire.ServerPayload, 100_000)}
	var err error
	x.Client, err = client.New(client.Config{URL: url, Session: session, Token: token, OnEvent: func(_ context.Context, e client.Event) { x.events <- e.Data }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	select {
	case <-x.Ready():
	case err := <-done:
		t.Fatalf("got the end of the client (%v), want it ready", err)
	}
	return x
}

// say sends a message.
func (x *tab) say(text string) {
	x.t.Helper()
	if _, err := x.Send(x.t.Context(), wire.UserMessage{Content: text}); err != nil {
		x.t.Fatal(err)
	}
}

// next waits for an event of a type that fits.
func next[T wire.ServerPayload](x *tab, what string, fits func(T) bool) T {
	x.t.Helper()
	for {
		select {
		case data := <-x.events:
			if e, ok := data.(T); ok && fits(e) {
				return e
			}
		case <-x.t.Context().Done():
			x.t.Fatalf("the test ended before %s", what)
		}
	}
}

// approve waits until an agent asks for a permission, and gives it.
func (x *tab) approve() {
	x.t.Helper()
	ask := next(x, "the permission is asked for", func(wire.ApprovalRequest) bool { return true })
	if _, err := x.Send(x.t.Context(), wire.DialogFeedback{DialogID: ask.DialogID, MonitorID: ask.MonitorID, Confirmed: true}); err != nil {
		x.t.Fatal(err)
	}
}

// begin sends a prompt and returns a function that waits for the reason why it stopped.
func (e *editor) begin(id wire.SessionID, text string) (wait func() string) {
	e.t.Helper()
	pending, err := e.conn.Begin(e.t.Context(), "session/prompt", map[string]any{"sessionId": id, "prompt": []map[string]string{{"type": "text", "text": text}}}, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	return func() string {
		e.t.Helper()
		var end struct {
			StopReason string `json:"stopReason"`
		}
		if err := pending.Wait(e.t.Context(), &end); err != nil {
			e.t.Fatal(err)
		}
		return end.StopReason
	}
}

func (e *editor) cancel(id wire.SessionID) {
	e.t.Helper()
	if err := e.conn.Notify(e.t.Context(), "session/cancel", map[string]any{"sessionId": id}); err != nil {
		e.t.Fatal(err)
	}
}

// A cancel ends the prompts of the editor, whatever has become of them, and nothing that others began.
func TestEditorCancelsItsOwnPromptsOnly(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--store", "file:"+t.TempDir(), "--rate-limits", "off", "--max-agents", "1")
	_, token, _ := strings.Cut(h.invitation, "token=")
	e := startEditor(t, h, nil)
	id := e.open()
	x := openTab(t, h.url, token, id)
	want := func(what, want, got string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: stopped with %q, want %q", what, got, want)
		}
	}
	waits := func(wire.MessageQueued) bool { return true }
	// turnEnds waits for the end of the turn that the tab began, which nothing may have ended before.
	turnEnds := func() {
		t.Helper()
		if err := x.Post(t.Context(), wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: "monitor-0"}); err != nil {
			t.Fatal(err)
		}
		next(x, "the tab's turn has ended", func(r wire.AgentResponse) bool { return r.IsComplete && r.Joined == "" })
	}
	busy := func() {
		t.Helper()
		if !slices.ContainsFunc(x.State().Agents, func(a wire.AgentState) bool { return a.Status != wire.AgentStatusIdle }) {
			t.Error("the turn of the tab has ended, want it to go on")
		}
	}

	stopped := e.begin(id, "/hang")
	e.cancel(id) // perhaps before the hub has the prompt
	want("a prompt that was just sent", "cancelled", stopped())

	x.say("/nosteer\n/hang")
	stopped = e.begin(id, "/say Never.")
	next(x, "the prompt waits", waits)
	e.cancel(id)
	want("a prompt that waits", "cancelled", stopped())
	busy()

	stopped = e.begin(id, "/say Never.")
	queued := next(x, "the prompt waits", waits)
	if err := x.Post(t.Context(), wire.DeleteQueuedMessage{Target: queued.MessageID, MonitorID: "monitor-0"}); err != nil {
		t.Fatal(err)
	}
	want("a prompt that a tab removed", "cancelled", stopped())
	busy()
	turnEnds()

	x.say("/stream 100000 100")
	next(x, "the tab's message is answered", func(r wire.AgentResponse) bool { return r.Delta != "" })
	stopped = e.begin(id, "/stream 100000 100")
	next(x, "the prompt has joined the turn of the tab", func(a wire.MessageAccepted) bool { return a.How == wire.TakenSteered })
	e.cancel(id)
	want("a prompt that joined a turn of the tab", "cancelled", stopped())
	busy()
	turnEnds()

	first := e.begin(id, "/stream 100000 100")
	next(x, "the first prompt is answered", func(r wire.AgentResponse) bool { return r.Delta != "" })
	second := e.begin(id, "/stream 100000 100")
	next(x, "the second prompt has joined the first", func(a wire.MessageAccepted) bool { return a.How == wire.TakenSteered })
	e.cancel(id)
	want("the first of two prompts", "cancelled", first())
	want("the second of two prompts", "cancelled", second())
	if why, err := e.prompt(id, "/say After."); why != "end_turn" || err != nil {
		t.Errorf("after all that a prompt stops with %q and %v, want end_turn", why, err)
	}
}

// An editor in the mode plan reviews the plan and answers its questions, and sees its todos.
func TestEditorReviewsAPlan(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--store", "file:"+t.TempDir(), "--rate-limits", "off")
	e := startEditor(t, h, func(options []string) string {
		return options[max(0, slices.IndexFunc(options, func(o string) bool { return o == "approve" || o == "blue" || o == "true" }))]
	})
	id := e.open()
	e.call("session/set_mode", map[string]any{"sessionId": id, "modeId": "plan"}, nil)
	why, err := e.prompt(id, `/plan {"todos":[{"id":"one","task":"/input colour choice Which colour? | red | blue"},`+
		`{"id":"two","task":"/say Painted.","requires_approval":true,"depends_on":["one"]},{"id":"three","task":"/input sure confirm Sure?","depends_on":["two"]}]}`)
	if why != "end_turn" || err != nil {
		t.Errorf("stopped with %q and %v, want end_turn", why, err)
	}
	e.mu.Lock()
	if want := []string{"May this plan run?", "Which colour?", "/say Painted.", "Sure?"}; !slices.Equal(e.asked, want) {
		t.Errorf("asked %q, want %q", e.asked, want)
	}
	var plans []string
	for _, u := range e.updates {
		if u.Kind == "plan" {
			plans = append(plans, "")
			for _, entry := range u.Entries {
				plans[len(plans)-1] += entry.Status + " "
			}
		}
	}
	e.mu.Unlock()
	if len(plans) == 0 || plans[len(plans)-1] != "completed completed completed " || !slices.Contains(plans, "in_progress pending pending ") {
		t.Errorf("plans %q, want todos that begin one after the other and are completed", plans)
	}

	lazy := startEditor(t, h, nil)
	lazy.call("session/load", map[string]any{"sessionId": id, "cwd": "/", "mcpServers": []any{}}, nil)
	lazy.call("session/set_mode", map[string]any{"sessionId": id, "modeId": "plan"}, nil)
	e.call("session/close", map[string]any{"sessionId": id}, nil) // it would answer
	stopped := lazy.begin(id, `/plan {"todos":[{"id":"one","task":"/say 1"}]}`)
	lazy.await("the plan is to be reviewed", func() bool {
		lazy.mu.Lock()
		defer lazy.mu.Unlock()
		return slices.Contains(lazy.asked, "May this plan run?")
	})
	lazy.cancel(id)
	if why := stopped(); why != "cancelled" {
		t.Errorf("a cancelled plan stops with %q, want cancelled", why)
	}
}

// A call that reads or writes a file of the session has a link to the file in the hub.
func TestEditorGetsLinksToFiles(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--store", "file:"+t.TempDir(), "--rate-limits", "off")
	_, token, _ := strings.Cut(h.invitation, "token=")
	e := startEditor(t, h, nil)
	id := e.open()
	fetch := func(method, url, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(data)
	}
	if status, text := fetch(http.MethodPut, h.url+"/api/sessions/"+string(id)+"/files/notes/a%20b.md", "hello"); status != http.StatusCreated {
		t.Fatalf("storing a file: status %d %s, want 201", status, text)
	}
	if why, err := e.prompt(id, `/call storage:read {"path":"notes/a b.md"}`); why != "end_turn" || err != nil {
		t.Fatalf("stopped with %q and %v, want end_turn", why, err)
	}
	var link string
	e.mu.Lock()
	for _, u := range e.updates {
		var content []struct {
			Content struct{ Type, URI, Name string } `json:"content"`
		}
		if u.Kind == "tool_call_update" && json.Unmarshal(u.Content, &content) == nil {
			for _, c := range content {
				if c.Content.Type == "resource_link" && c.Content.Name == "notes/a b.md" {
					link = c.Content.URI
				}
			}
		}
	}
	e.mu.Unlock()
	if status, text := fetch(http.MethodGet, link, ""); status != http.StatusOK || text != "hello" {
		t.Errorf("the link %q gives %d %q, want the file", link, status, text)
	}
}

// Lines that are no messages are answered as JSON-RPC wants it, and what follows is executed.
func TestBadLinesOfAnEditorAreAnswered(t *testing.T) {
	t.Parallel()
	c, err := commandNamed("acp")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	in := "nonsense\n[]\n{\"jsonrpc\":\"2.0\"}\n{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"x\"}}\n" +
		`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":1}}` + "\n"
	err = c.Run(t.Context(), command.Call{Args: []string{"--server", "http://127.0.0.1:1", "--token", "x"}, Stdin: strings.NewReader(in), Stdout: &out, Stderr: t.Output(), Local: localHub})
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for line := range strings.Lines(out.String()) {
		var m struct {
			ID    json.RawMessage `json:"id"`
			Error struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("hub acp wrote %q: %v", line, err)
		}
		if m.Error.Code != 0 && (string(m.ID) != "null" || m.Error.Message == "") {
			t.Errorf("answer %s, want a reason and no id", line)
		}
		got = append(got, m.Error.Code)
	}
	if want := []int{-32700, -32600, -32600, 0}; !slices.Equal(got, want) {
		t.Errorf("codes %v, want %v, the last for the good line; output %s", got, want, out.String())
	}
}
