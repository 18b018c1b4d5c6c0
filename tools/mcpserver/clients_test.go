package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/tools/mcpserver"
)

// clients admits one stored token.
type clients struct {
	mu     sync.Mutex
	err    error
	client mcpserver.Client
	ends   []end // answers of Expires
}

// end says how long a token is valid from when it is asked, so that a slow test finds it valid too.
type end struct {
	left time.Duration
	err  error
}

func (c *clients) ID(token string) (string, bool) { return token, strings.HasPrefix(token, "stored") }

func (c *clients) Admit(_ context.Context, token string) (mcpserver.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && token != "stored" {
		return mcpserver.Client{}, mcpserver.ErrRefused
	}
	return c.client, c.err
}

func (c *clients) Expires(context.Context, string) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ends) == 0 {
		return time.Time{}, mcpserver.ErrRefused
	}
	end := c.ends[0]
	c.ends = c.ends[1:]
	return time.Now().Add(end.left), end.err
}

func (c *clients) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func TestStoredTokens(t *testing.T) {
	t.Parallel()
	c := &clients{client: mcpserver.Client{Caller: tools.Caller{Profile: tools.ProfileDefault}}}
	h := setUp(t, mcpserver.Config{Clients: c})
	began := make(chan struct{})
	c.client.Execute = func(ctx context.Context, call providers.ToolCall) providers.ToolResult {
		if call.Name != "user_request" {
			return providers.ToolResult{Text: `[{"windowId":"a","title":"A","renderer":"text","bounds":{"x":1,"y":2,"w":3,"h":4}}]`}
		}
		began <- struct{}{}
		<-ctx.Done()
		return providers.ToolResult{Text: context.Cause(ctx).Error(), IsError: true}
	}
	s := h.connect(providers.Endpoint{URL: h.url + "/mcp", Token: "stored"})
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "window_list"})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(r.StructuredContent); !strings.Contains(string(got), `{"windows":[{"`) || r.IsError {
		t.Errorf("window_list gives %s, want an object with windows", got)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if text, isError := call(t, s, "user_request", map[string]any{"title": "T", "message": "M"}); !isError || !strings.Contains(text, "revoked") {
			t.Errorf("the call ended with %q, error %v, want an error that it was revoked", text, isError)
		}
	})
	<-began
	h.endpoint.Revoke("other")
	h.endpoint.Revoke("stored")
	wg.Wait()
	for _, tt := range []struct {
		token  string
		err    error
		status int
	}{{"stored", nil, http.StatusOK}, {"stored-2", nil, http.StatusUnauthorized}, {"stored", errors.New("away"), http.StatusServiceUnavailable}} {
		c.fail(tt.err)
		status, header, _ := h.post("Bearer "+tt.token, http.MethodPost, listRequest)
		if challenge := header.Get("WWW-Authenticate"); status != tt.status || (status == http.StatusUnauthorized) != strings.Contains(challenge, "invalid_token") {
			t.Errorf("%s with error %v is answered with %d and challenge %q, want %d", tt.token, tt.err, status, challenge, tt.status)
		}
	}
}

// A call ends when its token expires: not while the token is renewed, nor because it cannot be checked for
// a moment.
func TestStoredTokenExpires(t *testing.T) {
	t.Parallel()
	ends := []end{{left: time.Second}, {err: errors.New("away")}, {left: time.Second}, {}}
	c := &clients{ends: ends, client: mcpserver.Client{
		Caller: tools.Caller{Profile: tools.ProfileDefault}, Expires: time.Now(),
		Execute: func(ctx context.Context, _ providers.ToolCall) providers.ToolResult {
			<-ctx.Done()
			return providers.ToolResult{Text: context.Cause(ctx).Error(), IsError: true}
		},
	}}
	h := setUp(t, mcpserver.Config{Clients: c})
	s := h.connect(providers.Endpoint{URL: h.url + "/mcp", Token: "stored"})
	if text, isError := call(t, s, "user_request", map[string]any{"title": "T", "message": "M"}); !isError || !strings.Contains(text, "expired") {
		t.Errorf("the call ended with %q, error %v, want an error that the token expired", text, isError)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ends) > 0 {
		t.Errorf("%d answers about the end are left, want the call to wait for all", len(c.ends))
	}
}
