package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/mcpclient/mcptest"
)

// mcpFile writes a configuration with the test server under the name test, and returns its path.
func mcpFile(t *testing.T, flags ...string) string {
	t.Helper()
	path, args := mcptest.Command()
	return writeMCPFile(t, map[string]any{"test": map[string]any{"command": path, "args": append(args, flags...), "trusted": true}})
}

func writeMCPFile(t *testing.T, servers map[string]any) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Agents of every provider call tools of the operator's MCP servers: those that read at once, others after a
// question.
func TestAgentsCallToolsOfMCPServers(t *testing.T) {
	t.Parallel()
	file := mcpFile(t)
	for _, m := range testProviders(t)[:3] {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			lines := filepath.Join(t.TempDir(), "lines")
			_, _, x := openTerminal(t, m, "--mcp-servers", file)
			x.say(t, `/call mcp__test__echo {"text":"over MCP"}`)
			x.until(t, `main: uses mcp__test__echo `, `main: mcp__test__echo is done: .*over MCP`, `main: done in `)
			x.say(t, `/call mcp__test__write {"file":`+strconv.Quote(lines)+`}`)
			x.until(t, `\? Use write of the MCP server test\?: .*lines.* with :no`)
			x.say(t, ":yes")
			x.until(t, `main: mcp__test__write is done`, `main: done in `)
			x.say(t, `/call mcp__test__write {"file":`+strconv.Quote(lines)+`}`)
			x.until(t, `\? Use write of the MCP server test\?`)
			x.say(t, ":no")
			x.until(t, `main: done in `)
			if data, err := os.ReadFile(lines); err != nil || string(data) != "written\n" {
				t.Errorf("the tool wrote %q, %v, want one line: the second call was denied", data, err)
			}
		})
	}
}

// A server that is killed in a call: the call may or may not have run, is not repeated, and the next call starts the
// server again.
func TestKilledMCPServer(t *testing.T) {
	t.Parallel()
	lines := filepath.Join(t.TempDir(), "lines")
	_, _, x := openTerminal(t, testProviders(t)[0], "--mcp-servers", mcpFile(t))
	x.say(t, `/call mcp__test__die {"file":`+strconv.Quote(lines)+`}`)
	x.until(t, `\? Use die of the MCP server test\?`)
	x.say(t, ":yes")
	x.until(t, `which may or may not have run`, `main: done in `)
	x.say(t, `/call mcp__test__echo {"text":"again"}`)
	x.until(t, `main: mcp__test__echo is done`, `main: done in `)
	if data, err := os.ReadFile(lines); err != nil || string(data) != "begun\n" {
		t.Errorf("the call wrote %q, %v, want that it began once", data, err)
	}
}

// A hub that is killed in a call of an MCP server: the next owner reports that it may or may not have run, does not
// repeat it, and starts a server of its own.
func TestKilledHubInACallOfAnMCPServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines, starts := filepath.Join(dir, "lines"), filepath.Join(dir, "starts")
	s := serveProcess(t, testProviders(t)[0], "--lease", "2s", "--store", "file:"+filepath.Join(dir, "data"), "--mcp-servers", mcpFile(t, "starts="+starts))
	x := attachTo(t, s, createSession(t, s.url))
	x.until(t, "── session ses-", "1 here: local$")
	x.say(t, `/call mcp__test__hang {"file":`+strconv.Quote(lines)+`}`)
	x.until(t, `\? Use hang of the MCP server test\?`)
	x.say(t, ":yes")
	eventually(t, func() (string, bool) {
		data, _ := os.ReadFile(lines)
		return string(data), string(data) == "begun\n"
	})
	s.kill()
	s.again(t)
	x.until(t, `main: interrupted after .*: tool mcp__test__hang may or may not have run$`, `\? The turn was cut off: .* Go on\?`)
	x.say(t, ":no")
	x.until(t, `question #\d{4} answered$`)
	x.say(t, `/call mcp__test__echo {"text":"again"}`)
	x.until(t, `main: mcp__test__echo is done`)
	data, err := os.ReadFile(lines)
	if err != nil || strings.Count(string(data), "begun") != 1 {
		t.Errorf("the call wrote %q, %v, want that it began once", data, err)
	}
	if data, err = os.ReadFile(starts); err != nil || strings.Count(string(data), "\n") != 2 {
		t.Errorf("the servers that started are %q, %v, want one of each hub", data, err)
	}
}

// A file that is not valid keeps the hub from starting, with the field.
func TestInvalidMCPFile(t *testing.T) {
	t.Parallel()
	file := writeMCPFile(t, map[string]any{"a": map[string]any{"url": "ftp://x"}})
	_, err := newMCPServers(config{agents: agentConfig{mcpFile: file}}, process{}, nil, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "a.url") || !strings.Contains(err.Error(), "--mcp-servers") {
		t.Errorf("the error is %v, want the flag and the field", err)
	}
}
