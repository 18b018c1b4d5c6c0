package acp_test

import (
	"context"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/acp"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/agent/agenttest"
	"github.com/everdesk/everdesk/providers/providertest"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/tools/mcpserver"
)

// newProvider returns a function that returns providers of stand-ins with some abilities, which store
// their conversations in home.
func newProvider(abilities string) agenttest.NewProvider {
	return func(home string) (providers.Provider, error) {
		p, err := acp.New(acp.Config{
			Name: "stand-in", Path: os.Args[0], Args: []string{"acp"}, Home: home, Secrets: []string{agenttest.Key},
			Env: []string{"AGENT_KEY=" + agenttest.Key, standInHome + "=" + home, standInAbilities + "=" + abilities, "GORACE=atexit_sleep_ms=0"},
		})
		return &served{Provider: p}, err
	}
}

// served adds the hub's MCP endpoint to a provider, one on loopback for each session.
type served struct {
	*agent.Provider
	mu      sync.Mutex
	servers []*httptest.Server
}

// Open implements [providers.Provider].
func (s *served) Open(ctx context.Context, spec providers.Spec) (providers.Session, error) {
	spec.MCP = func(execute func(context.Context, providers.ToolCall) providers.ToolResult) providers.Endpoint {
		hub := mcpserver.New(toolList(spec.Tools), mcpserver.Config{})
		server := httptest.NewServer(hub)
		s.mu.Lock()
		s.servers = append(s.servers, server)
		s.mu.Unlock()
		hub.SetURL(server.URL)
		e, _ := hub.Issue(tools.Caller{}, execute)
		return e
	}
	return s.Provider.Open(ctx, spec)
}

// Close implements [providers.Provider].
func (s *served) Close() error {
	err := s.Provider.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range s.servers {
		server.Close()
	}
	s.servers = nil
	return err
}

// toolList are the tools of a session.
type toolList []providers.Tool

// Tools implements [mcpserver.Tools].
func (l toolList) Tools(tools.Caller) []providers.Tool { return l }

// TestContract runs the contract with agents of several abilities, and with one that has lost its
// conversations, as on another replica.
func TestContract(t *testing.T) {
	t.Parallel()
	var homes agenttest.Homes
	for name, tt := range map[string]struct {
		abilities string
		home      func(t *testing.T) string
	}{
		"able":     {"load,fork,steer,image", homes.Of},
		"plain":    {"", homes.Of},
		"loads":    {"load", homes.Of},
		"clumsy":   {"load,clumsy", homes.Of},
		"new home": {"load,fork", func(t *testing.T) string { t.Helper(); return t.TempDir() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			providertest.Run(t, providertest.Bench{
				Around: func(t *testing.T, fn func(*testing.T)) { t.Helper(); fn(t) },
				New: func(t *testing.T) providers.Provider {
					t.Helper()
					p, err := newProvider(tt.abilities)(tt.home(t))
					if err != nil {
						t.Fatal(err)
					}
					return p
				},
				Prompt: agenttest.Prompt,
				Usage:  true,
				Asks:   true,
				Started: func(p providers.Provider) int {
					return p.(*served).Started() //nolint:forcetypeassert // newProvider returns one
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
	agenttest.Killed(t, newProvider("load"))
}

func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	agenttest.NothingIsLeft(t, `/ask Bash {"command":"touch a.txt"}`)
}

func TestKeyStaysSecret(t *testing.T) {
	t.Parallel()
	agenttest.KeyStaysSecret(t, newProvider("load"))
}

// Agents ask, also those that begin in a mode in which they do not.
func TestApproval(t *testing.T) {
	t.Parallel()
	for _, abilities := range []string{"", "auto"} {
		agenttest.Approval(t, newProvider(abilities), agenttest.Asked{
			Directive: func(string) string { return `/ask Bash {"command":"touch a.txt"}` }, Tool: "shell", Text: `"touch a.txt"`, File: "a.txt",
		})
	}
}
