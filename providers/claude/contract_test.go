package claude_test

import (
	"os"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/agent/agenttest"
	"github.com/everdesk/everdesk/providers/claude"
	"github.com/everdesk/everdesk/providers/providertest"
)

// newProvider returns a provider of stand-ins that store their conversations in home.
func newProvider(home string) (providers.Provider, error) {
	return claude.New(claude.Config{Path: os.Args[0], Home: home, Key: agenttest.Key, Env: []string{standInHome + "=" + home, "GORACE=atexit_sleep_ms=0"}})
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

func TestApproval(t *testing.T) {
	t.Parallel()
	for tool, input := range map[string]string{
		"Bash":  `{"command":"touch a.txt"}`,
		"Write": `{"file_path":"a.txt","content":"hello"}`,
	} {
		agenttest.Approval(t, newProvider, agenttest.Asked{
			Directive: func(string) string { return "/ask " + tool + " " + input }, Tool: tool, Text: "a.txt", File: "a.txt",
		})
	}
}
