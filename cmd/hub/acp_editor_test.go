package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/providers/jsonrpc"
	"github.com/everdesk/everdesk/wire"
)

// editor is a client of `hub acp`.
type editor struct {
	t    *testing.T
	conn *jsonrpc.Conn
	// choose answers questions with an option; nil leaves them open.
	choose func(options []string) string
	// fill answers forms; nil announces that there are none.
	fill func(schema json.RawMessage) (action string, content map[string]any)

	mu      sync.Mutex // guards the following
	updates []editorUpdate
	asked   []string // questions that were asked
	// withdrawn counts the questions that were answered elsewhere.
	withdrawn int
	changed   chan struct{}
}

// editorUpdate is an update of a session.
type editorUpdate struct {
	Kind    string          `json:"sessionUpdate"`
	Title   string          `json:"title"`
	Status  string          `json:"status"`
	Mode    string          `json:"currentModeId"`
	Content json.RawMessage `json:"content"`
	Entries []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"entries"`
}

func (u editorUpdate) text() string {
	var b struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(u.Content, &b) // a list has no text
	return b.Text
}

// startEditor starts `hub acp` for a hub.
func startEditor(t *testing.T, h hubRun, choose func([]string) string, args ...string) *editor {
	t.Helper()
	return (&editor{t: t, choose: choose, changed: make(chan struct{}, 1)}).start(h, args...)
}

func (e *editor) start(h hubRun, args ...string) *editor {
	t := e.t
	t.Helper()
	c, err := commandNamed("acp")
	if err != nil {
		t.Fatal(err)
	}
	_, token, _ := strings.Cut(h.invitation, "token=")
	in, toHub := io.Pipe()
	fromHub, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- c.Run(t.Context(), command.Call{
			Args: append([]string{"--server", h.url, "--token", token}, args...), Stdin: in, Stdout: out, Stderr: t.Output(), Local: localHub,
		})
		_ = out.Close()
	}()
	e.conn = jsonrpc.New(jsonrpc.Config{
		Write:    func(_ context.Context, line []byte) error { _, err := toHub.Write(append(line, '\n')); return err },
		Notified: e.notified, Serve: e.serve,
	})
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(fromHub); lines.Scan(); {
			if err := e.conn.Receive(lines.Bytes()); err != nil {
				t.Errorf("hub acp wrote %q: %v", lines.Text(), err)
			}
		}
	})
	t.Cleanup(func() {
		_ = toHub.Close()
		if err := <-ended; err != nil {
			t.Errorf("hub acp ended with %v, want nil at the end of its input", err)
		}
		reading.Wait()
		e.conn.Close(nil)
	})
	var hello struct {
		ProtocolVersion   int `json:"protocolVersion"`
		AgentCapabilities struct {
			LoadSession bool `json:"loadSession"`
		} `json:"agentCapabilities"`
	}
	can := map[string]any{}
	if e.fill != nil {
		can["elicitation"] = map[string]any{"form": map[string]any{}}
	}
	e.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": can}, &hello)
	if hello.ProtocolVersion != 1 || !hello.AgentCapabilities.LoadSession {
		t.Fatalf("initialize: %+v, want version 1 with loadSession", hello)
	}
	return e
}

func (e *editor) call(method string, params, result any) {
	e.t.Helper()
	if err := e.conn.Call(e.t.Context(), method, params, result); err != nil {
		e.t.Fatal(err)
	}
}

func (e *editor) notified(method string, params json.RawMessage) {
	var p struct {
		Update editorUpdate `json:"update"`
	}
	if method == "$/cancel_request" {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.withdrawn++
		e.signal()
		return
	}
	if err := json.Unmarshal(params, &p); err != nil || method != "session/update" {
		e.t.Errorf("notification %s %s: %v", method, params, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.updates = append(e.updates, p.Update)
	e.signal()
}

// signal wakes await.
func (e *editor) signal() {
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

func (e *editor) serve(ctx context.Context, c jsonrpc.Served) (any, error) {
	var p struct {
		ToolCall struct {
			Title string `json:"title"`
		} `json:"toolCall"`
		Options []struct {
			ID string `json:"optionId"`
		} `json:"options"`
		Schema json.RawMessage `json:"requestedSchema"`
	}
	if c.Method == "elicitation/create" && e.fill != nil && json.Unmarshal(c.Params, &p) == nil {
		action, content := e.fill(p.Schema)
		return map[string]any{"action": action, "content": content}, nil
	}
	if c.Method != "session/request_permission" || json.Unmarshal(c.Params, &p) != nil {
		return nil, jsonrpc.NoMethod(c.Method)
	}
	var options []string
	for _, o := range p.Options {
		options = append(options, o.ID)
	}
	e.mu.Lock()
	e.asked = append(e.asked, p.ToolCall.Title)
	e.signal()
	e.mu.Unlock()
	if e.choose == nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": e.choose(options)}}, nil
}

// open creates a session.
func (e *editor) open() wire.SessionID {
	e.t.Helper()
	var made struct {
		SessionID wire.SessionID `json:"sessionId"`
	}
	e.call("session/new", map[string]any{"cwd": "/work", "mcpServers": []any{}}, &made)
	return made.SessionID
}

// prompt sends a prompt and returns why it stopped.
func (e *editor) prompt(id wire.SessionID, text string) (string, error) {
	var end struct {
		StopReason string `json:"stopReason"`
	}
	err := e.conn.Call(e.t.Context(), "session/prompt", map[string]any{"sessionId": id, "prompt": []map[string]string{{"type": "text", "text": text}}}, &end)
	return end.StopReason, err
}

// texts returns the joined texts of the updates of a kind.
func (e *editor) texts(kind string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all strings.Builder
	for _, u := range e.updates {
		if u.Kind == kind {
			all.WriteString(u.text())
		}
	}
	return all.String()
}

// await waits until a condition holds.
func (e *editor) await(what string, holds func() bool) {
	e.t.Helper()
	for !holds() {
		select {
		case <-e.changed:
		case <-e.t.Context().Done():
			e.t.Fatalf("the test ended before %s", what)
		}
	}
}

func TestEditorPromptsASession(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--store", "file:"+t.TempDir(), "--rate-limits", "off")
	e := startEditor(t, h, func(options []string) string {
		return options[slices.IndexFunc(options, func(o string) bool { return o == "allow" || o == "blue" })]
	})
	id := e.open()
	if why, err := e.prompt(id, "/think Hm.\n/window w1 Notes | hi\n/stream 30 300"); why != "end_turn" || err != nil {
		t.Errorf("stopped with %q and %v, want end_turn", why, err)
	}
	if got := e.texts("agent_message_chunk"); !strings.HasSuffix(got, "w30") || strings.Count(got, "w30") != 1 || e.texts("agent_thought_chunk") != "Hm." {
		t.Errorf("text %q, thoughts %q, want all words once and the thinking", got, e.texts("agent_thought_chunk"))
	}
	var calls []string
	for _, u := range e.updates {
		if strings.HasPrefix(u.Kind, "tool_call") {
			calls = append(calls, u.Kind+" "+u.Title+" "+u.Status)
		}
	}
	if want := []string{"tool_call window:create in_progress", "tool_call_update  completed"}; !slices.Equal(calls, want) {
		t.Errorf("tool calls %q, want %q", calls, want)
	}
	if e.texts("user_message_chunk") != "" {
		t.Errorf("the client's own prompt is repeated: %q", e.texts("user_message_chunk"))
	}

	if why, err := e.prompt(id, "/ask Which? | red | blue\n/call shell {\"command\":\"git push\"}\n/say Over."); why != "end_turn" || err != nil {
		t.Errorf("stopped with %q and %v, want end_turn", why, err)
	}
	if got := e.texts("agent_message_chunk"); !strings.Contains(got, "blue") || !strings.Contains(got, "allowed it") || !strings.HasSuffix(got, "Over.") {
		t.Errorf("text %q, want both answers", got)
	}
	if _, err := e.prompt(id, "/fail It broke."); err == nil || !strings.Contains(err.Error(), "It broke.") {
		t.Errorf("a failed turn gives %v, want its reason", err)
	}
}

// An editor with forms can answer every question. An editor without forms gets a notice that names the
// desktop as the place to answer.
func TestEditorFillsForms(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--store", "file:"+t.TempDir(), "--rate-limits", "off")
	var mu sync.Mutex // guards schemas
	var schemas []string
	e := (&editor{t: t, changed: make(chan struct{}, 1), fill: func(schema json.RawMessage) (string, map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		schemas = append(schemas, string(schema))
		switch len(schemas) {
		case 1:
			return "accept", map[string]any{"text": "Busan"}
		case 2:
			return "decline", nil
		}
		return "cancel", nil
	}}).start(h)
	id := e.open()
	if why, err := e.prompt(id, "/ask Where to?\n/say Over."); why != "end_turn" || err != nil {
		t.Errorf("stopped with %q and %v, want end_turn", why, err)
	}
	if got := e.texts("agent_message_chunk"); !strings.Contains(got, "Busan") || !strings.HasSuffix(got, "Over.") {
		t.Errorf("text %q, want the answer of the form", got)
	}
	mu.Lock()
	if want := `{"type":"object","title":`; len(schemas) != 1 || !strings.HasPrefix(schemas[0], want) || !strings.Contains(schemas[0], `"required":["text"]`) {
		t.Errorf("schemas %q, want one with a required text", schemas)
	}
	mu.Unlock()
	if why, err := e.prompt(id, "/ask And when?\n/say Over again."); why != "end_turn" || err != nil {
		t.Errorf("after a declined form: stopped with %q and %v, want end_turn", why, err)
	}

	plain := startEditor(t, h, nil)
	plain.call("session/load", map[string]any{"sessionId": id, "cwd": "/", "mcpServers": []any{}}, nil)
	stopped := make(chan error, 1)
	go func() { _, err := plain.prompt(id, "/ask Who comes?"); stopped <- err }()
	plain.await("the notice about the question has come", func() bool {
		return strings.Contains(plain.texts("agent_thought_chunk"), "Answer this question in the desktop: Who comes?")
	})
	if err := plain.conn.Notify(t.Context(), "session/cancel", map[string]any{"sessionId": id}); err != nil {
		t.Fatal(err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestEditorSharesASession(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--store", "file:"+t.TempDir(), "--rate-limits", "off")
	_, token, _ := strings.Cut(h.invitation, "token=")
	e := startEditor(t, h, nil)
	id := e.open()
	tab := client.Config{URL: h.url, Session: id, Token: token}
	watch(t, tab, "/say From the tab.")
	e.await("the answer to the tab has come", func() bool { return strings.Contains(e.texts("agent_message_chunk"), "From the tab.") })
	if got := e.texts("user_message_chunk"); got != "/say From the tab." {
		t.Errorf("messages of others %q, want that of the tab", got)
	}

	// Only session/cancel interrupts, and only the turn of a prompt.
	stopped := make(chan string, 1)
	go func() {
		why, err := e.prompt(id, "/stream 100000 100")
		if err != nil {
			t.Error(err)
		}
		stopped <- why
	}()
	e.await("the answer streams", func() bool { return strings.Contains(e.texts("agent_message_chunk"), "w3 ") })
	if err := e.conn.Notify(t.Context(), "session/cancel", map[string]any{"sessionId": id}); err != nil {
		t.Fatal(err)
	}
	if why := <-stopped; why != "cancelled" {
		t.Errorf("stopped with %q, want cancelled", why)
	}

	other := startEditor(t, h, nil)
	var list struct {
		Sessions []struct {
			SessionID wire.SessionID `json:"sessionId"`
			Cwd       string         `json:"cwd"`
		} `json:"sessions"`
	}
	// The sessions are in the folder that the editor named, or else in the root.
	for _, c := range []struct {
		params map[string]any
		want   string
	}{{map[string]any{}, "/"}, {map[string]any{"cwd": "/project"}, "/project"}, {map[string]any{}, "/project"}} {
		other.call("session/list", c.params, &list)
		if len(list.Sessions) != 1 || list.Sessions[0].SessionID != id || list.Sessions[0].Cwd != c.want {
			t.Errorf("session/list %v: %+v, want one session in %s", c.params, list.Sessions, c.want)
		}
	}
	other.call("session/load", map[string]any{"sessionId": id, "cwd": "/", "mcpServers": []any{}}, nil)
	if got := other.texts("user_message_chunk"); got != "/say From the tab./stream 100000 100" {
		t.Errorf("loaded messages %q, want both before the response", got)
	}
	if got := other.texts("agent_message_chunk"); !strings.HasPrefix(got, "From the tab.w1 w2 ") {
		t.Errorf("loaded answers %q, want both", got)
	}
	other.call("session/close", map[string]any{"sessionId": id}, nil)
	if why, err := e.prompt(id, "/say Still here."); why != "end_turn" || err != nil {
		t.Errorf("after another client closed the session, a prompt stops with %q and %v, want end_turn", why, err)
	}
}

func TestEditorMistakes(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--store", "file:"+t.TempDir(), "--rate-limits", "off")
	e := startEditor(t, h, nil, "--session", "editor")
	id := e.open()
	for name, c := range map[string]struct {
		method string
		params any
		code   int
	}{
		"unknown method":  {"session/fly", map[string]any{"sessionId": id}, jsonrpc.CodeNoMethod},
		"unknown session": {"session/prompt", map[string]any{"sessionId": "ses-none"}, jsonrpc.CodeInvalidParams},
		"missing session": {"session/load", map[string]any{"sessionId": "ses-aaaaaaaaaaaaaaaaaaaaaaaaaa"}, jsonrpc.CodeInvalidParams},
		"wrong type":      {"session/prompt", map[string]any{"sessionId": 7}, jsonrpc.CodeInvalidParams},
		"empty prompt":    {"session/prompt", map[string]any{"sessionId": id, "prompt": []any{}}, jsonrpc.CodeInvalidParams},
		"audio":           {"session/prompt", map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "audio", "data": "AA==", "mimeType": "audio/wav"}}}, jsonrpc.CodeInvalidParams},
		"binary resource": {"session/prompt", map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///a", "blob": "AA=="}}}}, jsonrpc.CodeInvalidParams},
		"unknown mode":    {"session/set_mode", map[string]any{"sessionId": id, "modeId": "sleep"}, jsonrpc.CodeInvalidParams},
	} {
		err := e.conn.Call(t.Context(), c.method, c.params, nil)
		if got, ok := errors.AsType[*jsonrpc.Error](err); !ok || got.Code != c.code || got.Message == "" || strings.Contains(got.Message, "Go ") {
			t.Errorf("%s: error %v, want code %d", name, err, c.code)
		}
	}
	if again := e.open(); again != id {
		t.Errorf("with --session the second conversation is %s, want %s", again, id)
	}
	if why, err := e.prompt(id, "/say Fine."); why != "end_turn" || err != nil {
		t.Errorf("after mistakes a prompt stops with %q and %v, want end_turn", why, err)
	}
}
