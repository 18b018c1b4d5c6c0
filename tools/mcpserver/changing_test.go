package mcpserver_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/tools/mcpserver"
)

// changingTools are tools that differ between users and grow.
type changingTools struct{ revision atomic.Int32 }

func (c *changingTools) Prepare(context.Context, tools.Caller) {}

func (c *changingTools) Revision(of tools.Caller) string {
	if of.User == "bob" {
		return "" // none of MCP servers
	}
	return strconv.Itoa(int(c.revision.Load()))
}

func (c *changingTools) Tools(of tools.Caller) []providers.Tool {
	schema := json.RawMessage(`{"type":"object"}`)
	all := []providers.Tool{{Name: "common", Schema: schema}}
	if of.User == "bob" {
		return all
	}
	all = append(all, providers.Tool{Name: "mcp__" + of.User + "__one", Schema: schema})
	if c.revision.Load() > 0 {
		all = append(all, providers.Tool{Name: "mcp__" + of.User + "__two", Schema: schema})
	}
	// A schema that the library refuses must not affect the others.
	return append(all, providers.Tool{Name: "mcp__" + of.User + "__bad", Schema: json.RawMessage(`{"type":"string"}`)})
}

// Callers get the tools of their own user, as they are at the time of the request.
func TestToolsDifferBetweenUsersAndChange(t *testing.T) {
	t.Parallel()
	all := &changingTools{}
	endpoint := mcpserver.New(all, mcpserver.Config{Logger: slog.New(slog.DiscardHandler)})
	server := httptest.NewServer(endpoint)
	t.Cleanup(server.Close)
	endpoint.SetURL(server.URL)
	h := &testServer{t: t, endpoint: endpoint, http: server.Client()}
	want := func(user string, names ...string) {
		t.Helper()
		e, revoke := endpoint.Issue(tools.Caller{User: user, Profile: tools.ProfileMain}, nil)
		defer revoke()
		if got := list(t, h.connect(e)); !slices.Equal(got, names) {
			t.Errorf("%s has %v, want %v", user, got, names)
		}
	}
	want("ann", "common", "mcp__ann__one")
	want("eve", "common", "mcp__eve__one")
	want("bob", "common")
	all.revision.Store(1)
	want("ann", "common", "mcp__ann__one", "mcp__ann__two")
	want("bob", "common")
}
