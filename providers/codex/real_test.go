//go:build agents

package codex_test

import (
	"os"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/agent/agenttest"
	"github.com/everdesk/everdesk/providers/codex"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/providers/providertest"
)

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
			model := fakemodel.New()
			url, err := model.Listen(t.Context(), "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(model.Close)
			p, err := codex.New(codex.Config{Path: os.Getenv("CODEX_BIN"), Home: homes.Of(t), Key: "canary", URL: url + "/v1", Model: "gpt-5.1"})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		Prompt:  agenttest.Prompt,
		Usage:   true,
		Started: func(p providers.Provider) int { return p.(*agent.Provider).Started() },
	})
}
