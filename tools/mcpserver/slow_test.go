package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/tools/mcpserver"
)

// The response to a client that does not read it ends at the write deadline, or soon after the MCP
// token is revoked.
func TestSlowReadersAreBounded(t *testing.T) {
	t.Parallel()
	logger := slog.New(slog.DiscardHandler)
	big := executor{strings.Repeat("x", 8<<20)}
	for name, tt := range map[string]struct {
		within time.Duration
		revoke bool
	}{"in time": {within: 50 * time.Millisecond}, "revoked": {within: time.Hour, revoke: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint := mcpserver.New(big, mcpserver.Config{MaxCalls: 1, WriteWithin: tt.within, Logger: logger})
			out := make(chan struct{}, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				endpoint.ServeHTTP(w, r)
				out <- struct{}{}
			}))
			t.Cleanup(server.Close)
			e, revoke := endpoint.Issue(agent(newSession("ses-1"), tools.ProfileMain, "a"), big.call)
			defer revoke()
			c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(server.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			body := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"big","arguments":{}}}`
			fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
				"Accept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", e.Token, len(body), body)
			// A deadline may pass before the first byte; a token is revoked after it.
			if tt.revoke {
				if _, err := c.Read(make([]byte, 1)); err != nil {
					t.Fatalf("the first byte of the answer: %v, want it before the token is revoked", err)
				}
				revoke()
			}
			select {
			case <-out:
			case <-time.After(2 * time.Minute):
				t.Error("the answer is written after 2m, want an end before")
			}
		})
	}
}

// executor has one tool, which returns a text.
type executor struct{ says string }

func (h executor) Tools(tools.Caller) []providers.Tool {
	return []providers.Tool{{Name: "big", Description: "b", Schema: json.RawMessage(`{"type":"object"}`)}}
}

func (h executor) call(context.Context, providers.ToolCall) providers.ToolResult {
	return providers.ToolResult{Text: h.says}
}

// Proceed implements [tools.Users]: there are no limits.
func (r *testSession) Proceed(context.Context, tools.Caller, providers.ToolCall) (tools.Verdict, error) {
	return tools.Verdict{Confirmed: true, Answered: true}, nil
}
