package mcpclient_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everdesk/everdesk/mcpclient"
)

// The stream of a server with the older HTTP transport is made by the start, and outlives the limit of it.
func TestStreamOutlivesTheLimitOfTheStart(t *testing.T) {
	t.Parallel()
	const limit = 3 * time.Second // an idle machine needs a hundredth of it
	server := mcp.NewServer(&mcp.Implementation{Name: "stream", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "later"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		passed, cancel := context.WithTimeout(ctx, limit) // the start began before this call
		defer cancel()
		<-passed.Done()
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "answered"}}}, nil, ctx.Err()
	})
	remote := httptest.NewServer(mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(remote.Close)
	b := setUp(t, []mcpclient.Server{{Name: "test", Type: mcpclient.SSE, URL: remote.URL}}, func(c *mcpclient.Config) { c.StartTimeout = limit })
	if got, err := b.call(ann, "test", "later", `{}`); err != nil || got != "answered" {
		t.Errorf("a call that ends after the limit of the start: got %q, %v, want answered", got, err)
	}
	if got := b.status(); got.State != mcpclient.Ready || got.Error != "" {
		t.Errorf("after the limit of the start the server is %s with the error %q, want %s without one", got.State, got.Error, mcpclient.Ready)
	}
}
