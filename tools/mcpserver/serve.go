package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
)

// instructions are sent to the model behind a program.
const instructions = "You act on a desktop that you share with its user and with other agents. " +
	"Show results in windows; update a window that is there instead of opening another like it."

// newServer returns an MCP server with the tools of a caller. All callers with the same tools share
// it: each call is executed for the agent of the MCP token in its request.
func (d *Server) newServer(c tools.Caller) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "everdesk", Title: "Everdesk", Version: d.cfg.Version}, &mcp.ServerOptions{
		Instructions: instructions, Logger: d.cfg.Logger,
		// Logs and list changes are never sent.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		PageSize:     1000,
	})
	for _, t := range d.tools.Tools(c) {
		d.addTool(s, t)
	}
	return s
}

// addTool adds a tool. One with a schema that the library refuses, which only tools of MCP servers can have, is
// left out.
func (d *Server) addTool(s *mcp.Server, t providers.Tool) {
	defer func() {
		if v := recover(); v != nil {
			d.cfg.Logger.Warn("tool cannot be offered over MCP", "tool", t.Name, "reason", v)
		}
	}()
	s.AddTool(describe(t), func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return withStructure(t, d.call(ctx, t.Name, r.Params.Arguments)), nil
	})
}

// describe returns the description of a tool.
func describe(t providers.Tool) *mcp.Tool {
	out := &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Schema,
		Annotations: &mcp.ToolAnnotations{
			Title: t.Title, ReadOnlyHint: t.Hints.ReadOnly, DestructiveHint: &t.Hints.Destructive,
			IdempotentHint: t.Hints.Idempotent, OpenWorldHint: &t.Hints.OpenWorld,
		},
		// Ask clients that load tools on demand to load these always.
		Meta: mcp.Meta{"anthropic/alwaysLoad": true},
	}
	if t.Output != nil {
		out.OutputSchema = t.Output.Schema
	}
	return out
}

// withStructure adds the structured form to the result of a tool that has one: the JSON value that its
// text begins with. A result that is cut off has none and becomes an error, because clients expect one.
func withStructure(t providers.Tool, r *mcp.CallToolResult) *mcp.CallToolResult {
	if t.Output == nil || r.IsError {
		return r
	}
	text, _ := r.Content[0].(*mcp.TextContent)
	var value json.RawMessage
	if text == nil || json.NewDecoder(strings.NewReader(text.Text)).Decode(&value) != nil {
		r.IsError = true
		return r
	}
	if t.Output.Key != "" {
		r.StructuredContent = map[string]json.RawMessage{t.Output.Key: value}
	} else {
		r.StructuredContent = value
	}
	return r
}

// call executes a tool on behalf of the MCP token's agent.
func (d *Server) call(ctx context.Context, tool string, input json.RawMessage) *mcp.CallToolResult {
	b, ok := ticketOf(ctx)
	if !ok {
		return result(providers.ToolResult{Text: "There is no MCP token.", IsError: true})
	}
	if !b.calls {
		return result(providers.ToolResult{Text: "Too many calls run at once; wait for some of them to end.", IsError: true})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(b.revoked, func() { cancel(context.Cause(b.revoked)) })()
	if !b.expires.IsZero() {
		var watch sync.WaitGroup
		watched, stop := context.WithCancel(ctx)
		defer watch.Wait()
		defer stop()
		watch.Go(func() {
			if b.awaitExpiry(watched) {
				cancel(errExpired)
			}
		})
	}
	if b.revoked.Err() != nil { // revoked since the request was admitted
		return result(providers.ToolResult{Text: "This MCP token was revoked.", IsError: true})
	}
	// The request id of MCP is not used, because it is unique only within a connection.
	call := providers.ToolCall{ID: "mcp-" + rand.Text(), Name: tool, Input: input}
	return result(b.execute(ctx, call))
}

// result converts a tool result to MCP.
func result(r providers.ToolResult) *mcp.CallToolResult {
	out := &mcp.CallToolResult{IsError: r.IsError, Content: []mcp.Content{&mcp.TextContent{Text: r.Text}}}
	for _, img := range r.Images {
		out.Content = append(out.Content, &mcp.ImageContent{MIMEType: img.MediaType, Data: img.Data})
	}
	return out
}
