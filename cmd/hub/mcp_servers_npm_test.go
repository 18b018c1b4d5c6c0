//go:build npmservers

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packagesVariable names the folder with the servers from npm; see scripts/mcp-servers.sh.
const packagesVariable = "MCP_SERVER_PACKAGES"

// The servers that people use: their tools are listed and called.
func TestMCPServersFromNPM(t *testing.T) {
	t.Parallel()
	packages := os.Getenv(packagesVariable)
	if packages == "" {
		t.Fatal(packagesVariable + " is not set; run make test-mcp-servers")
	}
	files := t.TempDir()
	if err := os.WriteFile(filepath.Join(files, "a.txt"), []byte("text of a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	node := func(name string, args ...string) map[string]any {
		at := filepath.Join(packages, "node_modules", "@modelcontextprotocol", "server-"+name, "dist", "index.js")
		return map[string]any{"command": "node", "args": append([]string{at}, args...), "trusted": true}
	}
	memory := node("memory")
	memory["env"] = map[string]string{"MEMORY_FILE_PATH": filepath.Join(files, "memory.json")}
	file := writeMCPFile(t, map[string]any{"everything": node("everything"), "filesystem": node("filesystem", files), "memory": memory})
	_, _, x := openTerminal(t, testProviders(t)[0], "--mcp-servers", file)
	call := func(name, input, want string) {
		t.Helper()
		x.say(t, "/call mcp__"+name+" "+input)
		for {
			if m := x.until(t, `(\? .* with :yes|main: done in )`); strings.HasPrefix(m[0], "main: done") {
				break
			}
			x.say(t, ":yes")
		}
		if all := strings.Join(x.seen, "\n"); !strings.Contains(all, want) {
			t.Errorf("%s %s shows\n%s\nwant %q", name, input, all, want)
		}
	}
	call("everything__echo", `{"message":"hello of npm"}`, "Echo: hello of npm")
	call("everything__get-sum", `{"a":40,"b":2}`, "42")
	call("filesystem__read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(files, "a.txt")), "text of a file")
	call("filesystem__read_text_file", `{"path":"/etc/passwd"}`, "Access denied")
	call("filesystem__write_file", fmt.Sprintf(`{"path":%q,"content":"written"}`, filepath.Join(files, "b.txt")), "Successfully wrote")
	call("memory__create_entities", `{"entities":[{"name":"Ann","entityType":"person","observations":["likes tea"]}]}`, "likes tea")
	call("memory__read_graph", `{}`, "likes tea")
}
