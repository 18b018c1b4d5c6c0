//go:build agents

package codex_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/mcpclient/mcptest"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/agent/agenttest"
	"github.com/everdesk/everdesk/providers/codex"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/providers/providertest"
)

// newReal returns a function that returns providers of the real program, with a model on loopback.
func newReal(t *testing.T) agenttest.NewProvider {
	t.Helper()
	return realAt(fakemodel.Start(t))
}

// realAt returns a function that returns providers of the real program, with the model at a URL.
func realAt(url string) agenttest.NewProvider { return realSandbox(url, false) }

// realSandbox returns such a function for a sandbox in which commands may write, or may not.
func realSandbox(url string, write bool) agenttest.NewProvider {
	return func(home string) (providers.Provider, error) {
		return codex.New(codex.Config{Path: os.Getenv("CODEX_BIN"), Home: home, Key: agenttest.Key, URL: url + "/v1", Model: "gpt-5.1", Write: write})
	}
}

// realServer returns such a function for a program whose settings have an MCP server.
func realServer(url string) agenttest.NewProvider {
	return func(home string) (providers.Provider, error) {
		path, args := mcptest.Command()
		settings := fmt.Sprintf("[mcp_servers.files]\ncommand = %q\nargs = [%q]\n", path, args[0])
		if err := os.MkdirAll(filepath.Join(home, "home"), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(home, "home", "config.toml"), []byte(settings), 0o600); err != nil {
			return nil, err
		}
		return realAt(url)(home)
	}
}

// leaking returns the provider of which the leaks are counted: the real program in
// TestRealNothingIsLeft, whose model is in the process that started this one.
func leaking() agenttest.NewProvider {
	if url := os.Getenv(realModel); url != "" {
		return realAt(url)
	}
	return newProvider
}

// realModel is the variable with the URL of the model.
const realModel = "REAL_AGENT_MODEL"

func TestRealNothingIsLeft(t *testing.T) {
	t.Parallel()
	agenttest.NothingIsLeft(t, `/call exec_command {"cmd":"touch a.txt"}`, realModel+"="+fakemodel.Start(t))
}

// TestRealProgram runs the contract with the program CODEX_BIN and a model on loopback, see `make
// test-agents`. The model understands directives only in the newest message, so that turns that
// continue are left out.
func TestRealProgram(t *testing.T) {
	t.Parallel()
	var homes agenttest.Homes
	providertest.Run(t, providertest.Bench{
		Around: func(t *testing.T, fn func(*testing.T)) { t.Helper(); fn(t) },
		New: func(t *testing.T) providers.Provider {
			t.Helper()
			p, err := newReal(t)(homes.Of(t))
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		Prompt: agenttest.Prompt,
		Usage:  true, Limit: 2 * time.Minute,
		Fails:   []providers.Class{providers.Auth, providers.Rate, providers.Overloaded, providers.ContextLength, providers.Invalid},
		Started: func(p providers.Provider) int { return p.(*agent.Provider).Started() },
	})
}

func TestRealKeyStaysSecret(t *testing.T) {
	t.Parallel()
	agenttest.KeyStaysSecret(t, newReal(t))
}

func TestRealApproval(t *testing.T) {
	t.Parallel()
	url := fakemodel.Start(t)
	says := func(text string) func(string) string { return func(string) string { return text } }
	command := agenttest.Asked{Directive: says(`/call exec_command {"cmd":"touch a.txt"}`), Tool: "shell", Text: `{"command":"touch a.txt","cwd":"."}`, File: "a.txt"}
	refused := command
	refused.Refused = true
	escalated := agenttest.Asked{
		Directive: says(`/call exec_command {"cmd":"touch a.txt","sandbox_permissions":"require_escalated","justification":"a test"}`),
		Tool:      "shell", Text: `{"command":"touch a.txt","cwd":".","reason":"a test"}`, File: "a.txt",
	}
	patch := agenttest.Asked{
		Directive: says(`/call exec_command {"cmd":"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: b.txt\n+hello\n*** End Patch\nEOF\n"}`),
		Tool:      "apply_patch", Text: `{"patch":"+++ b.txt\n+hello\n"}`, File: "b.txt",
	}
	for name, tt := range map[string]struct {
		write bool
		call  agenttest.Asked
	}{
		"command": {true, command}, "command in the read-only sandbox": {false, refused}, "patch": {true, patch},
		"patch in the read-only sandbox": {false, patch}, "command that is to leave the sandbox": {false, escalated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agenttest.Approval(t, realSandbox(url, tt.write), tt.call)
		})
	}
	t.Run("tool of an MCP server", func(t *testing.T) {
		t.Parallel()
		agenttest.Approval(t, realServer(url), agenttest.Asked{
			Directive: func(dir string) string { return `/call mcp__files.write {"file":"` + dir + `/c.txt"}` },
			Tool:      "mcp__files__write", Text: "c.txt", File: "c.txt",
		})
	})
}

func TestRealShellHasNoKey(t *testing.T) {
	t.Parallel()
	agenttest.ShellHasNoKey(t, newReal(t), func(command string) string {
		return `/call exec_command {"cmd":` + strconv.Quote(command) + `}`
	})
}

// Commands cannot read what Codex stores about the sessions of the hub: conversations, and databases with their messages.
func TestRealConversationsAreHidden(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	stored := strconv.Quote(home)
	got := agenttest.ShellOutput(t, newReal(t), home, `/call exec_command {"cmd":`+strconv.Quote(
		"grep -rl -e 'SQLite format' -e hidden-marker "+stored+" 2>/dev/null; echo the end")+"}")
	if !strings.Contains(got, "the end") || strings.Contains(got, home+"/") {
		t.Errorf("a command of the agent reads %q, want no conversations and no databases", got)
	}
	databases, err := filepath.Glob(filepath.Join(home, "home", "*", "*.sqlite"))
	if err != nil || len(databases) == 0 {
		t.Errorf("databases: got %q (%v), want those of Codex", databases, err)
	}
}
