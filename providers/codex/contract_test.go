package codex_test

import (
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/agent/agenttest"
	"github.com/everdesk/everdesk/providers/codex"
	"github.com/everdesk/everdesk/providers/providertest"
)

// newProvider returns a provider of stand-ins that store their conversations in home.
func newProvider(home string) (providers.Provider, error) {
	return codex.New(codex.Config{Path: os.Args[0], Home: home, Key: agenttest.Key, Env: []string{standInHome + "=" + home, "GORACE=atexit_sleep_ms=0"}})
}

// TestContract runs the contract twice: with conversations that the program has stored, and with a
// program that has none, as on another replica.
func TestContract(t *testing.T) {
	t.Parallel()
	var homes agenttest.Homes
	for name, home := range map[string]func(t *testing.T) string{
		"same home": homes.Of,
		"new home":  func(t *testing.T) string { t.Helper(); return t.TempDir() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			providertest.Run(t, providertest.Bench{
				Around: func(t *testing.T, fn func(*testing.T)) { t.Helper(); fn(t) },
				New: func(t *testing.T) providers.Provider {
					t.Helper()
					p, err := newProvider(home(t))
					if err != nil {
						t.Fatal(err)
					}
					return p
				},
				Prompt: agenttest.Prompt,
				Usage:  true,
				Asks:   true,
				Started: func(p providers.Provider) int {
					return p.(*agent.Provider).Started() //nolint:forcetypeassert // newProvider returns one
				},
				Fails: []providers.Class{
					providers.Auth, providers.Rate, providers.Overloaded, providers.Transport, providers.ContextLength, providers.Invalid, providers.Refused,
				},
			})
		})
	}
}

func TestKilledInEveryState(t *testing.T) {
	t.Parallel()
	agenttest.Killed(t, newProvider)
}

func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	agenttest.NothingIsLeft(t, `/ask Bash {"command":"touch a.txt"}`)
}

func TestKeyStaysSecret(t *testing.T) {
	t.Parallel()
	agenttest.KeyStaysSecret(t, newProvider)
}

// Programs with the same home cannot start at the same time.
func TestSessionsBeginAtOnce(t *testing.T) {
	t.Parallel()
	p, err := newProvider(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	errs := make([]error, 10)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = p.Open(t.Context(), providers.Spec{}) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Errorf("open %d sessions at once: %v", len(errs), err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// newWriting returns a provider of stand-ins whose commands may write.
func newWriting(home string) (providers.Provider, error) {
	return codex.New(codex.Config{
		Path: os.Args[0], Home: home, Key: agenttest.Key, Write: true, Env: []string{standInHome + "=" + home, "GORACE=atexit_sleep_ms=0"},
	})
}

func TestApproval(t *testing.T) {
	t.Parallel()
	says := func(text string) func(string) string { return func(string) string { return text } }
	for name, tt := range map[string]struct {
		new  agenttest.NewProvider
		call agenttest.Asked
	}{
		"command": {newWriting, agenttest.Asked{
			Directive: says(`/ask Bash {"command":"touch a.txt"}`), Tool: "shell", Text: `{"command":"touch a.txt","cwd":"."}`, File: "a.txt",
		}},
		"command in the read-only sandbox": {newProvider, agenttest.Asked{
			Directive: says(`/ask Bash {"command":"touch a.txt"}`), Tool: "shell", Text: "touch a.txt", File: "a.txt", Refused: true,
		}},
		"command with a reason": {newWriting, agenttest.Asked{
			Directive: says(`/ask Bash {"command":"touch a.txt","reason":"to leave the sandbox"}`), Tool: "shell",
			Text: `{"command":"touch a.txt","cwd":".","reason":"to leave the sandbox"}`, File: "a.txt",
		}},
		"patch": {newProvider, agenttest.Asked{
			Directive: says(`/ask apply_patch {"file_path":"b.txt","content":"hello\n<b>\n"}`), Tool: "apply_patch",
			Text: `{"patch":"+++ b.txt\n+hello\n+<b>\n"}`, File: "b.txt",
		}},
		"tool of an MCP server": {newProvider, agenttest.Asked{
			Directive: says(`/ask mcp {"server":"files","tool":"write","arguments":{"path":"c.txt","n":1}}`), Tool: "mcp__files__write",
			Text: `{"path":"c.txt","n":1}`, File: "c.txt", Refused: true, // there is no server
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agenttest.Approval(t, tt.new, tt.call)
		})
	}
}
