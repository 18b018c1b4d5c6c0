//go:build agents

package acp_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/acp"
	"github.com/everdesk/everdesk/providers/agent/agenttest"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/providers/providertest"
)

// newReal returns a function that returns providers of OpenCode, with a model on loopback.
func newReal(t *testing.T) agenttest.NewProvider {
	t.Helper()
	model := fakemodel.New()
	url, err := model.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	config, err := json.Marshal(map[string]any{
		"model": "loopback/m", "small_model": "loopback/m", "autoupdate": false, "share": "disabled",
		"provider": map[string]any{"loopback": map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "loopback",
			"options": map[string]any{"baseURL": url + "/v1", "apiKey": "{env:AGENT_KEY}"},
			"models":  map[string]any{"m": map[string]any{"name": "m", "limit": map[string]any{"context": 200_000, "output": 8000}}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(home string) (providers.Provider, error) {
		p, err := acp.New(acp.Config{
			Name: "opencode", Path: os.Getenv("OPENCODE_BIN"), Args: []string{"acp"}, Home: home, Secrets: []string{agenttest.Key},
			Env: []string{
				"AGENT_KEY=" + agenttest.Key, "OPENCODE_CONFIG_CONTENT=" + string(config),
				`OPENCODE_PERMISSION={"edit":"ask","bash":"ask","webfetch":"ask","external_directory":"ask"}`,
				"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
			},
		})
		return &served{Provider: p}, err
	}
}

// TestRealProgram runs the contract with the program OPENCODE_BIN and a model on loopback, see `make
// test-agents`. The model understands directives only in the newest message, so that turns that
// continue are left out. OpenCode does not report the errors of its model over the protocol.
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
			return strings.ReplaceAll(agenttest.Prompt(steps...), "/call ", "/call everdesk_")
		},
		Started: func(p providers.Provider) int { return p.(*served).Started() },
	})
}

func TestRealKeyStaysSecret(t *testing.T) {
	t.Parallel()
	agenttest.KeyStaysSecret(t, newReal(t))
}

func TestRealApproval(t *testing.T) {
	t.Parallel()
	agenttest.Approval(t, newReal(t), func(string) string {
		return `/call bash {"command":"touch a.txt","description":"creates a file"}`
	}, "shell", "touch a.txt")
}
