package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/tools/mcpserver"
	"github.com/everdesk/everdesk/wire"
)

// testSession is a session: a real desktop state that supports only plans and questions.
type testSession struct {
	tools.Steps
	tools.Users

	mu      sync.Mutex
	state   *desktop.State
	seq     uint64
	callers []tools.Caller
	asked   []wire.DialogConfirm
	// asks, if set, receives a signal when a question is asked, which then waits for ctx.
	asks chan struct{}
}

func newSession(id wire.SessionID) *testSession { return &testSession{state: desktop.New(id)} }

func (r *testSession) Act(_ context.Context, c tools.Caller, _ tools.Call, plan func(*desktop.State) tools.Plan) (providers.ToolResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.callers = append(r.callers, c)
	p := plan(r.state)
	if len(p.Actions) == 0 || p.Result.IsError {
		return p.Result, nil
	}
	if refusal := r.state.CheckAll(c.Monitor, p.Actions); refusal != nil {
		return providers.ToolResult{Text: refusal.Reason, IsError: true}, nil
	}
	r.seq++
	r.state.Apply(wire.Event{
		Session: c.Session, At: wire.Position{Epoch: 1, Seq: r.seq}, Time: time.UnixMilli(1),
		Data: wire.Actions{Actions: p.Actions, AgentID: c.Agent, MonitorID: c.Monitor},
	})
	return p.Result, nil
}

func (r *testSession) Begin(context.Context, tools.Caller, tools.Call) error { return nil }

func (r *testSession) End(context.Context, tools.Caller, tools.Call, providers.ToolResult) error {
	return nil
}

func (r *testSession) Confirm(_ context.Context, _ tools.Caller, q wire.DialogConfirm, _ providers.ToolCall, _ time.Duration) (tools.Verdict, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, q)
	return tools.Verdict{Confirmed: true, Answered: true}, nil
}

func (r *testSession) Ask(ctx context.Context, _ tools.Caller, _ wire.Prompt, _ time.Duration) (wire.UserPromptResponse, error) {
	r.asks <- struct{}{}
	<-ctx.Done()
	return wire.UserPromptResponse{}, context.Cause(ctx)
}

// windows returns the ids of the open windows.
func (r *testSession) windows() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []string
	for _, w := range r.state.Windows("monitor-0") {
		ids = append(ids, string(w.WindowID))
	}
	slices.Sort(ids)
	return ids
}

// testServer is a server with its dependencies, on a real socket.
type testServer struct {
	t        *testing.T
	endpoint *mcpserver.Server
	exec     *tools.Executor
	url      string
	http     *http.Client
}

func setUp(t *testing.T, cfg mcpserver.Config) *testServer {
	t.Helper()
	h := &testServer{t: t}
	logger := slog.New(slog.DiscardHandler)
	store, err := filestore.Open(t.TempDir(), filestore.Config{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	fileStore, err := files.Open(t.TempDir(), files.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fileStore.Close() })
	h.exec = tools.New(tools.Config{Files: fileStore, Documents: store.Documents, Version: "1.2.3", Logger: logger})
	cfg.Version, cfg.Logger = "1.2.3", logger
	h.endpoint = mcpserver.New(h.exec, cfg)
	mux := http.NewServeMux()
	mux.Handle(mcpserver.Path, h.endpoint)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	h.url, h.http = server.URL, server.Client()
	h.endpoint.SetURL(server.URL + "/")
	return h
}

// agent returns a caller in a session.
func agent(r *testSession, profile, name string) tools.Caller {
	return tools.Caller{
		Session: r.state.Session(), User: "ann", Monitor: "monitor-0", Agent: wire.AgentID(name), Turn: "m1",
		Kind: wire.AgentMain, Profile: profile, Provider: "test", Desktop: tools.Desktop{Steps: r, Users: r},
	}
}

// issue returns an endpoint for an agent whose calls the executor executes.
func (h *testServer) issue(c tools.Caller) (providers.Endpoint, func()) {
	return h.endpoint.Issue(c, func(ctx context.Context, call providers.ToolCall) providers.ToolResult {
		return h.exec.Call(ctx, c, call)
	})
}

// bearer adds a token to requests.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

// connect returns the SDK's own client with an MCP token.
func (h *testServer) connect(e providers.Endpoint) *mcp.ClientSession {
	h.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(h.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: e.URL, HTTPClient: &http.Client{Transport: bearer{e.Token, h.http.Transport}}, MaxRetries: -1,
	}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { s.Close() })
	return s
}

func list(t *testing.T, s *mcp.ClientSession) []string {
	t.Helper()
	all, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range all.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

func (h *testServer) toolsOf(profile string) []string {
	var names []string
	for _, t := range h.exec.Tools(tools.Caller{Profile: profile}) {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

func call(t *testing.T, s *mcp.ClientSession, tool string, args any) (string, bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Error(err)
		return "", true
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		t.Errorf("content %T, want a text", r.Content[0])
		return "", true
	}
	return text.Text, r.IsError
}

func note(id string) map[string]any {
	return map[string]any{"windowId": id, "title": id, "content": map[string]any{"renderer": "text", "content": "hi"}}
}

func TestListAndCall(t *testing.T) {
	t.Parallel()
	h := setUp(t, mcpserver.Config{})
	r := newSession("ses-1")
	e, revoke := h.issue(agent(r, tools.ProfileMain, "main-monitor-0-m1"))
	defer revoke()
	if e.URL != h.url+"/mcp" || len(e.Token) != 43 {
		t.Errorf("endpoint %+v, want the address %s/mcp and a token of 43 characters", e, h.url)
	}
	s := h.connect(e)
	if diff := cmp.Diff(h.toolsOf(tools.ProfileMain), list(t, s)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if text, isError := call(t, s, "window_create", note("w1")); isError || text != `Opened window "w1".` {
		t.Errorf("window_create gives %q, error %v, want window w1 opened", text, isError)
	}
	if diff := cmp.Diff([]string{"w1"}, r.windows()); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	if text, isError := call(t, s, "window_create", map[string]any{"windowId": 7}); !isError || !strings.Contains(text, "windowId") {
		t.Errorf("a wrong input gives %q, error %v, want an error about windowId", text, isError)
	}
	if text, isError := call(t, s, "window_list", nil); isError || !strings.Contains(text, "w1") {
		t.Errorf("window_list gives %q, error %v, want w1", text, isError)
	}
	for _, c := range r.callers {
		if c.Agent != "main-monitor-0-m1" || c.Turn != "m1" || c.Session != "ses-1" {
			t.Errorf("called as %+v, want main-monitor-0-m1 in turn m1 of ses-1", c)
		}
	}
}

// A dialog reaches only the session whose agent asks.
func TestDialogsReachTheSession(t *testing.T) {
	t.Parallel()
	h := setUp(t, mcpserver.Config{})
	mine, other := newSession("ses-1"), newSession("ses-2")
	e, revoke := h.issue(agent(mine, tools.ProfileMain, "a"))
	defer revoke()
	_, revokeOther := h.issue(agent(other, tools.ProfileMain, "b"))
	defer revokeOther()
	text, isError := call(t, h.connect(e), "system_set_config", map[string]any{
		"section": "hooks", "event": "launch", "action": map[string]any{"type": "interaction", "payload": "hello"},
	})
	if isError || text != "Added hook-1." || len(mine.asked) != 1 || len(other.asked) != 0 {
		t.Errorf("the result is %q, error %v; asked %d times, the other session %d times; want hook-1 added, once and never", text, isError, len(mine.asked), len(other.asked))
	}
}

// An MCP token shows the tools of its own profile, and others cannot be called.
func TestProfilesAreIsolated(t *testing.T) {
	t.Parallel()
	h := setUp(t, mcpserver.Config{})
	r := newSession("ses-1")
	e, revoke := h.issue(agent(r, tools.ProfileCode, "task-m1-1"))
	defer revoke()
	s := h.connect(e)
	got := list(t, s)
	if diff := cmp.Diff(h.toolsOf(tools.ProfileCode), got); diff != "" || slices.Contains(got, "task_run") {
		t.Errorf("the tools are %v, want no task_run and (-want +got):\n%s", got, diff)
	}
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "task_run", Arguments: map[string]any{"objective": "x"}}); err == nil {
		t.Error("a task agent delegates, want an error")
	}
}

// post sends a raw request.
func (h *testServer) post(token, method, body string) (status int, header http.Header, text string) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.url+"/mcp", strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	answer, err := h.http.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(data)
}

const (
	listRequest   = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	createRequest = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"window_create","arguments":{"windowId":"raw","title":"R","content":{"renderer":"text","content":"x"}}}}`
)

func TestRawRequests(t *testing.T) {
	t.Parallel()
	h := setUp(t, mcpserver.Config{MaxBody: 4096})
	r := newSession("ses-1")
	e, revoke := h.issue(agent(r, tools.ProfileDefault, "a"))
	good := "Bearer " + e.Token
	status, header, body := h.post(good, http.MethodPost, createRequest)
	var answer struct {
		Result struct {
			Content []struct{ Type, Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
		t.Fatalf("window_create is answered with %d %s: %v, want 200 with JSON", status, body, err)
	}
	if !strings.HasPrefix(header.Get("Content-Type"), "application/json") || header.Get("Mcp-Session-Id") != "" {
		t.Errorf("header %v, want JSON and no session id", header)
	}
	if len(answer.Result.Content) != 1 || answer.Result.Content[0].Text != `Opened window "raw".` || answer.Result.IsError {
		t.Errorf("answer %s, want window raw opened", body)
	}
	if status, _, body := h.post("bearer "+e.Token, http.MethodPost, listRequest); status != http.StatusOK || !strings.Contains(body, `"window_create"`) {
		t.Errorf("tools/list is answered with %d %.300s, want 200 with window_create", status, body)
	}
	for name, request := range map[string]string{
		"garbage":        `{`,
		"nothing":        ``,
		"no such method": `{"jsonrpc":"2.0","id":1,"method":"tools/steal"}`,
		"no such tool":   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task_run","arguments":{}}}`,
		"array":          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"window_create","arguments":[1]}}`,
	} {
		status, _, body := h.post(good, http.MethodPost, request)
		if status >= 500 || status == http.StatusOK && !strings.Contains(body, "rror") {
			t.Errorf("%s is answered with %d %s, want an error, but not of the server", name, status, body)
		}
	}
	if status, _, _ := h.post(good, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"`+strings.Repeat("x", 5000)+`"}`); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body is answered with %d, want %d", status, http.StatusRequestEntityTooLarge)
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
		if status, _, _ := h.post(good, method, ""); status != http.StatusMethodNotAllowed {
			t.Errorf("%s is answered with %d, want %d", method, status, http.StatusMethodNotAllowed)
		}
	}
	revoke()
	revoke() // revoking again does nothing
	if status, _, _ := h.post(good, http.MethodPost, createRequest); status != http.StatusUnauthorized {
		t.Errorf("a revoked token is answered with %d, want %d", status, http.StatusUnauthorized)
	}
	if diff := cmp.Diff([]string{"raw"}, r.windows()); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
}

// A request without a valid MCP token reveals nothing: neither the tools nor the reason.
func TestWithoutMCPToken(t *testing.T) {
	t.Parallel()
	h := setUp(t, mcpserver.Config{})
	r := newSession("ses-1")
	e, revoke := h.issue(agent(r, tools.ProfileMain, "a"))
	gone, revokeGone := h.issue(agent(r, tools.ProfileMain, "b"))
	defer revoke()
	revokeGone()
	first := ""
	for name, token := range map[string]string{
		"none": "", "wrong": "Bearer AAAA", "revoked": "Bearer " + gone.Token, "empty": "Bearer ", "no scheme": e.Token,
		"basic": "Basic " + e.Token, "shortened": "Bearer " + e.Token[:42], "extended": "Bearer " + e.Token + "A",
		"two": "Bearer " + e.Token + " " + e.Token,
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete, http.MethodOptions} {
			status, header, body := h.post(token, method, createRequest)
			if status != http.StatusUnauthorized || !strings.HasPrefix(header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s, %s: %d %v, want %d with a Bearer challenge", name, method, status, header, http.StatusUnauthorized)
			}
			if first == "" {
				first = body
			}
			if body != first || strings.Contains(body, "window") || strings.Contains(body, e.Token) {
				t.Errorf("%s, %s: %q, want always the same, %q, without a tool or the token", name, method, body, first)
			}
		}
	}
	if len(r.callers) != 0 {
		t.Errorf("%d calls were executed, want 0", len(r.callers))
	}
}

// Revoking an MCP token ends its running calls.
func TestRevokedWhileACallRuns(t *testing.T) {
	t.Parallel()
	h := setUp(t, mcpserver.Config{})
	r := newSession("ses-1")
	r.asks = make(chan struct{})
	e, revoke := h.issue(agent(r, tools.ProfileMain, "a"))
	type answer struct {
		text    string
		isError bool
	}
	s := h.connect(e)
	done := make(chan answer, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		text, isError := call(t, s, "user_request", map[string]any{"title": "T", "message": "M"})
		done <- answer{text, isError}
	})
	<-r.asks
	revoke()
	if got := <-done; !got.isError || !strings.Contains(got.text, "revoked") {
		t.Errorf("the call ended with %+v, want an error that it was revoked", got)
	}
	wg.Wait()
	if _, err := s.ListTools(t.Context(), nil); err == nil {
		t.Error("the revoked MCP token is still accepted, want an error")
	}
}

// Too many calls with one MCP token are refused; those of others continue.
func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	h := setUp(t, mcpserver.Config{MaxCalls: 2})
	r := newSession("ses-1")
	r.asks = make(chan struct{})
	e, revoke := h.issue(agent(r, tools.ProfileMain, "a"))
	other, revokeOther := h.issue(agent(r, tools.ProfileMain, "b"))
	defer revokeOther()
	s, o := h.connect(e), h.connect(other)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { call(t, s, "user_request", map[string]any{"title": "T", "message": "M"}) })
		<-r.asks
	}
	if text, isError := call(t, s, "window_list", nil); !isError || !strings.Contains(text, "at once") {
		t.Errorf("a third call gives %q, error %v, want an error about calls at once", text, isError)
	}
	if text, isError := call(t, o, "window_list", nil); isError {
		t.Errorf("a call of another agent gives the error %q, want none", text)
	}
	revoke()
	wg.Wait()
}

// Many agents in several sessions act concurrently without affecting each other.
func TestAgentsAreIsolated(t *testing.T) {
	t.Parallel()
	h := setUp(t, mcpserver.Config{})
	sessions := []*testSession{newSession("ses-0"), newSession("ses-1"), newSession("ses-2")}
	var wg sync.WaitGroup
	for i := range 9 {
		r := sessions[i%len(sessions)]
		profile := []string{tools.ProfileMain, tools.ProfileDefault}[i%2]
		e, revoke := h.issue(agent(r, profile, fmt.Sprintf("agent-%d", i)))
		t.Cleanup(revoke)
		s := h.connect(e)
		wg.Go(func() {
			for n := range 5 {
				text, isError := call(t, s, "window_create", note(fmt.Sprintf("w-%d-%d", i, n)))
				if isError {
					t.Errorf("agent %d: window_create gives the error %q, want none", i, text)
				}
			}
			text, _ := call(t, s, "system_get_info", nil)
			var info struct{ SessionID, AgentID, Profile string }
			if err := json.Unmarshal([]byte(text), &info); err != nil {
				t.Errorf("%s: %v", text, err)
			}
			if info.SessionID != string(r.state.Session()) || info.AgentID != fmt.Sprintf("agent-%d", i) || info.Profile != profile {
				t.Errorf("agent %d is taken for %+v, want its own session, agent-%d and %s", i, info, i, profile)
			}
		})
	}
	wg.Wait()
	for i, r := range sessions {
		ids := r.windows()
		if len(ids) != 15 {
			t.Errorf("%d windows in %s, want 15", len(ids), r.state.Session())
		}
		for _, id := range ids {
			var who, n int
			if _, err := fmt.Sscanf(id, "w-%d-%d", &who, &n); err != nil || who%len(sessions) != i {
				t.Errorf("window %s is in %s, want the session of its agent", id, r.state.Session())
			}
		}
		if len(r.callers) != 3*6 {
			t.Errorf("%s received %d calls, want 18", r.state.Session(), len(r.callers))
		}
		for _, c := range r.callers {
			if c.Session != r.state.Session() {
				t.Errorf("a call of %s reached %s, want only its own", c.Session, r.state.Session())
			}
		}
	}
}
