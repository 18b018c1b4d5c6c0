package bridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/cmd/hub/internal/bridge"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// fakeHub answers like a hub: it makes tokens, and echoes requests at /mcp.
type fakeHub struct {
	t      *testing.T
	server *httptest.Server

	mu      sync.Mutex
	tokens  int
	revoked []string
	answers []int // statuses of the next requests at /mcp; 0 cuts the connection
	header  http.Header
	called  chan string // methods that wait until their request ends
	pinged  chan string // tokens that are renewed
	leases  []int
}

func newFakeHub(t *testing.T) *fakeHub {
	t.Helper()
	h := &fakeHub{t: t, called: make(chan string), pinged: make(chan string)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/sessions/ses-1/mcp-tokens", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Lease int }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.tokens++
		h.leases = append(h.leases, in.Lease)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]string{"id": strings.Repeat("i", h.tokens), "token": strings.Repeat("t", h.tokens)})
	})
	mux.HandleFunc("DELETE /api/sessions/ses-1/mcp-tokens/{id}", func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.revoked = append(h.revoked, r.PathValue("id"))
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /mcp", h.serve)
	h.server = httptest.NewServer(mux)
	t.Cleanup(h.server.Close)
	return h
}

func (h *fakeHub) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	status := http.StatusOK
	if len(h.answers) > 0 {
		status, h.answers = h.answers[0], h.answers[1:]
	}
	h.header = r.Header.Clone()
	h.mu.Unlock()
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		h.t.Error(err)
	}
	switch {
	case m.Method == "ping":
		select {
		case h.pinged <- r.Header.Get("Authorization"):
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusNoContent)
	case status == 0:
		panic(http.ErrAbortHandler)
	case status != http.StatusOK:
		w.WriteHeader(status)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case string(m.Params) == `{"name":"wait"}`:
		h.called <- m.Method
		<-r.Context().Done()
		h.called <- "ended"
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{
			"protocolVersion": "2025-11-25", "token": r.Header.Get("Authorization"), "method": m.Method, "params": m.Params,
		}})
	}
}

// session is a running bridge.
type session struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	stop context.CancelFunc
	end  chan error
}

func (h *fakeHub) start(args ...string) *session {
	h.t.Helper()
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	ctx, stop := context.WithCancel(h.t.Context())
	s := &session{t: h.t, in: stdin, out: bufio.NewReader(stdout), stop: stop, end: make(chan error, 1)}
	h.t.Cleanup(func() { _ = stdin.Close() })
	go func() {
		err := bridge.Command().Run(ctx, command.Call{
			Args: append([]string{"--server", h.server.URL}, args...), Stdin: in, Stdout: out, Stderr: h.t.Output(),
			Local: func(args, _ []string, _ *command.UsageErrors) (command.Local, []string) { return command.Local{}, args },
		})
		_ = out.Close()
		s.end <- err
	}()
	return s
}

func (s *session) send(line string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// want reads a line and checks that it is JSON with these parts.
func (s *session) want(parts ...string) {
	s.t.Helper()
	line, err := s.out.ReadString('\n')
	if err != nil || !json.Valid([]byte(line)) {
		s.t.Fatalf("the line is %q with error %v, want JSON", line, err)
	}
	for _, p := range parts {
		if !strings.Contains(line, p) {
			s.t.Errorf("the line is %s, want %s in it", line, p)
		}
	}
}

// wantEnd waits for the end of the bridge without further output.
func (s *session) wantEnd() {
	s.t.Helper()
	if rest, err := io.ReadAll(s.out); err != nil || len(rest) > 0 {
		s.t.Errorf("the rest is %q with error %v, want none", rest, err)
	}
	if err := <-s.end; err != nil {
		s.t.Errorf("the bridge ended with %v, want no error", err)
	}
}

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	callTool   = `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"x"}}`
	listTools  = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

// The bridge makes a token of its own, passes requests and answers, and revokes the token at the end of
// the input.
func TestBridge(t *testing.T) {
	t.Parallel()
	h := newFakeHub(t)
	s := h.start("ses-1")
	s.send(initialize)
	s.want(`"id":0`, `"Bearer t"`)
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	s.send("")
	s.send("not JSON")
	s.want(`"id":null`, "-32700")
	s.send(callTool)
	s.want(`"id":"c"`, `"tools/call"`)
	h.mu.Lock()
	if got := h.header.Get("Mcp-Protocol-Version"); got != "2025-11-25" {
		t.Errorf("the version in the header is %q, want the one of initialize", got)
	}
	h.mu.Unlock()
	if err := s.in.Close(); err != nil {
		t.Fatal(err)
	}
	s.wantEnd()
	if h.tokens != 1 || len(h.revoked) != 1 || h.revoked[0] != "i" {
		t.Errorf("%d tokens were made and %v revoked, want one and i", h.tokens, h.revoked)
	}
}

// The hub judges parameters, and every request is answered under its id.
func TestBridgeAnswersUnusualRequests(t *testing.T) {
	t.Parallel()
	h := newFakeHub(t)
	s := h.start("ses-1")
	for _, params := range []string{`{"name":7}`, `[1,"a"]`, `"x"`, `{"_meta":[]}`, `{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}`, `null`} {
		s.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":` + params + `}`)
		s.want(`"id":5`, `"result"`, `"params":`+params)
	}
	s.send(`{"jsonrpc":"2.0","id":6,"method":7}`)
	s.want(`"id":6`, "-32600")
	s.send(`[{"jsonrpc":"2.0","id":7,"method":"tools/list"}]`)
	s.want(`"id":null`, "-32600")
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[8]}`) // cancels nothing
	h.mu.Lock()
	h.answers = []int{http.StatusBadRequest} // which a repetition does not change
	h.mu.Unlock()
	s.send(listTools)
	s.want(`"id":2`, `"error"`, "400")
	if err := s.in.Close(); err != nil {
		t.Fatal(err)
	}
	s.wantEnd()
}

// While the hub restarts, requests wait for it. A call that may have reached it is answered with an
// error. A token that the hub does not accept any more is replaced.
func TestBridgeReconnects(t *testing.T) {
	t.Parallel()
	h := newFakeHub(t)
	s := h.start("ses-1")
	h.answers = []int{http.StatusServiceUnavailable, 0, http.StatusOK, 0, http.StatusServiceUnavailable, http.StatusOK, http.StatusUnauthorized, http.StatusOK}
	s.send(listTools) // refused for now, then cut off, then answered
	s.want(`"id":2`, `"result"`)
	s.send(callTool) // cut off
	s.want(`"id":"c"`, `"error"`, "not known")
	s.send(callTool) // refused for now, then answered
	s.want(`"id":"c"`, `"result"`)
	s.send(callTool) // the token is refused, another one is made
	s.want(`"Bearer tt"`)
	if err := s.in.Close(); err != nil {
		t.Fatal(err)
	}
	s.wantEnd()
}

// A given token is used as it is, and its refusal is final.
func TestBridgeWithToken(t *testing.T) {
	t.Parallel()
	h := newFakeHub(t)
	file := t.TempDir() + "/token"
	if err := os.WriteFile(file, []byte("given\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := h.start("--token-file", file, "ses-1")
	s.send(listTools)
	s.want(`"Bearer given"`)
	h.mu.Lock()
	h.answers = []int{http.StatusUnauthorized}
	h.mu.Unlock()
	s.send(listTools)
	s.want(`"error"`, "does not accept")
	if err := s.in.Close(); err != nil {
		t.Fatal(err)
	}
	s.wantEnd()
	if h.tokens != 0 || len(h.revoked) != 0 {
		t.Errorf("%d tokens were made and %v revoked, want none", h.tokens, h.revoked)
	}
}

// A cancelled request ends at the hub and has no answer. The end of the context, as by SIGTERM, ends
// the bridge while a call runs.
func TestBridgeCancels(t *testing.T) {
	t.Parallel()
	h := newFakeHub(t)
	s := h.start("ses-1")
	slow := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait"}}`
	s.send(slow)
	<-h.called
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	if got := <-h.called; got != "ended" {
		t.Errorf("got %s, want the request ended", got)
	}
	s.send(listTools)
	s.want(`"id":2`)
	s.send(slow)
	<-h.called
	s.stop()
	if got := <-h.called; got != "ended" {
		t.Errorf("got %s, want the request ended", got)
	}
	line, err := io.ReadAll(s.out)
	if err != nil || len(line) > 0 && !strings.Contains(string(line), `"error"`) {
		t.Errorf("the rest is %q with error %v, want at most an error", line, err)
	}
	if err := <-s.end; err != nil {
		t.Errorf("the bridge ended with %v, want no error", err)
	}
	if err := s.in.Close(); err != nil {
		t.Fatal(err)
	}
}

// The token that the bridge makes has a lease, which the bridge renews while the client is silent.
func TestBridgeRenewsItsToken(t *testing.T) {
	t.Parallel()
	h := newFakeHub(t)
	s := h.start("--lease", "1s", "ses-1")
	s.send(listTools)
	s.want(`"Bearer t"`)
	for range 2 {
		if got := <-h.pinged; got != "Bearer t" {
			t.Errorf("renewed %q, want the token", got)
		}
	}
	if err := s.in.Close(); err != nil {
		t.Fatal(err)
	}
	s.wantEnd()
	if len(h.leases) != 1 || h.leases[0] != 1 {
		t.Errorf("the leases are %v, want one of a second", h.leases)
	}
}
