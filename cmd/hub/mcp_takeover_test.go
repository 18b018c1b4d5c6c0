package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/internal/redistest"
)

// mcpReplicas are two hubs on one Redis, each with a configuration of its own for the same MCP server.
type mcpReplicas struct {
	one, two *server
	starts   [2]string // files with a line for each start of the server by one and by two
	lines    string    // the file that the tools of the server write to
}

func startMCPReplicas(t *testing.T) *mcpReplicas {
	t.Helper()
	dir := t.TempDir()
	m := &mcpReplicas{starts: [2]string{filepath.Join(dir, "one"), filepath.Join(dir, "two")}, lines: filepath.Join(dir, "lines")}
	demo, redis, files := testProviders(t)[0], redistest.Standalone(t).URL(), t.TempDir()
	start := func(id, starts string) *server {
		return serveProcess(t, demo, "--store", redis, "--replica-id", id, "--files-dir", files, "--lease", "2s", "--titles", "off", "--mcp-servers", mcpFile(t, "starts="+starts))
	}
	m.one, m.two = start("one", m.starts[0]), start("two", m.starts[1])
	return m
}

// begun waits until the tool hang has begun.
func (m *mcpReplicas) begun(t *testing.T) {
	t.Helper()
	eventually(t, func() (string, bool) {
		data, _ := os.ReadFile(m.lines)
		return string(data), string(data) == "begun\n"
	})
}

// check checks that each hub has started one server, and that the tool has begun once.
func (m *mcpReplicas) check(t *testing.T) {
	t.Helper()
	if data, err := os.ReadFile(m.lines); err != nil || strings.Count(string(data), "begun") != 1 {
		t.Errorf("the call wrote %q, %v, want that it began once", data, err)
	}
	for i, file := range m.starts {
		if data, err := os.ReadFile(file); err != nil || strings.Count(string(data), "\n") != 1 {
			t.Errorf("hub %d has started %q, %v, want one server", i+1, data, err)
		}
	}
}

// A replica that takes a session over during a call of an MCP server reports that the call may or may not have run, does
// not repeat it, and starts a server of its own.
func TestTakeOverInACallOfAnMCPServer(t *testing.T) {
	t.Parallel()
	m := startMCPReplicas(t)
	id, x := openSession(t, m.one)
	x.say(t, `/call mcp__test__hang {"file":`+strconv.Quote(m.lines)+`}`)
	x.until(t, `\? Use hang of the MCP server test\?`)
	x.say(t, ":yes")
	m.begun(t)
	m.one.kill()
	y := attachTo(t, m.two, id)
	y.until(t, `tool mcp__test__hang may or may not have run`, `\? The turn was cut off: .* Go on\?`)
	y.say(t, ":no")
	y.until(t, `question #\d{4} answered$`)
	y.say(t, `/call mcp__test__echo {"text":"again"}`)
	y.until(t, `main: mcp__test__echo is done`)
	m.check(t)
}

// A call by a view ends with the hub that makes it, and is not repeated by the replica that takes over. The view is still
// there and uses the server of the new owner.
func TestTakeOverInACallOfAView(t *testing.T) {
	t.Parallel()
	m := startMCPReplicas(t)
	id, x := openSession(t, m.one)
	x.say(t, `/call mcp__test__view {}`)
	x.until(t, `\? Use view of the MCP server test\?`)
	x.say(t, ":yes")
	x.until(t, `main: mcp__test__view is done`, `main: done in `)
	var s struct {
		Windows []struct{ MonitorID, WindowID string }
	}
	base := "/api/sessions/" + string(id)
	visitor{t, m.one.url, http.Header{}}.do(http.MethodGet, base+"/snapshot", "", http.StatusOK, &s)
	if len(s.Windows) != 1 {
		t.Fatalf("the windows are %+v, want that of the view", s.Windows)
	}
	call := base + "/views/" + s.Windows[0].MonitorID + "/" + s.Windows[0].WindowID + "/call"
	ended := make(chan string, 1)
	go func() {
		ended <- m.one.request(t, http.MethodPost, call, "application/json", strings.NewReader(`{"tool":"hang","pressed":true,"input":{"file":`+strconv.Quote(m.lines)+`}}`))
	}()
	x.until(t, `\? .*hang`)
	x.say(t, ":yes")
	m.begun(t)
	m.one.kill()
	if got := <-ended; got != "" {
		t.Errorf("the call that was cut off got %q, want no answer", got)
	}
	y := attachTo(t, m.two, id)
	y.say(t, `/call mcp__test__echo {"text":"here"}`)
	y.until(t, `main: mcp__test__echo is done`)
	if got := m.two.request(t, http.MethodPost, call, "application/json", strings.NewReader(`{"tool":"echo","input":{"text":"again"}}`)); !strings.Contains(got, "again") {
		t.Errorf("the view got %q from the new owner, want its text", got)
	}
	m.check(t)
}
