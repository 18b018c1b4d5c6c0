//go:build agents

package claude_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/agent/agenttest"
	"github.com/everdesk/everdesk/providers/claude"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/providers/providertest"
)

// newReal returns a function that returns providers of the real program, with a model on loopback.
func newReal(t *testing.T) agenttest.NewProvider {
	t.Helper()
	return realAt(fakemodel.Start(t))
}

// realAt returns a function that returns providers of the real program, with the model at a URL.
func realAt(url string) agenttest.NewProvider {
	return func(home string) (providers.Provider, error) {
		return claude.New(claude.Config{
			Path: os.Getenv("CLAUDE_BIN"), Home: home, Key: agenttest.Key, URL: url, Model: "claude-sonnet-4-5",
			Env: []string{"CLAUDE_CODE_MAX_RETRIES=0"},
		})
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
	agenttest.NothingIsLeft(t, `/call Bash {"command":"touch a.txt","description":"a test"}`, realModel+"="+fakemodel.Start(t))
}

// TestRealProgram runs the contract with the program CLAUDE_BIN and a model on loopback, see `make
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
		Prompt: func(steps ...providertest.Step) string {
			return strings.ReplaceAll(agenttest.Prompt(steps...), "/call ", "/call mcp__hub__")
		},
		Usage: true, Limit: 2 * time.Minute,
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
	for tool, call := range map[string]string{
		"Write": `/call Write {"file_path":"DIR/a.txt","content":"hello"}`,
		"Bash":  `/call Bash {"command":"touch a.txt","description":"a test"}`,
	} {
		agenttest.Approval(t, newReal(t), agenttest.Asked{
			Directive: func(dir string) string { return strings.ReplaceAll(call, "DIR", dir) }, Tool: tool, Text: "a.txt", File: "a.txt",
		})
	}
}

func TestRealShellHasNoKey(t *testing.T) {
	t.Parallel()
	agenttest.ShellHasNoKey(t, newReal(t), func(command string) string {
		return `/call Bash {"command":` + strconv.Quote(command) + `,"description":"prints variables"}`
	})
}
