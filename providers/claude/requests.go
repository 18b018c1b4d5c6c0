package claude

import (
	"context"
	"encoding/json"

	"github.com/everdesk/everdesk/providers"
)

// serverName is the name of the hub's tools, and toolPrefix what the program puts before their
// names.
const (
	serverName = "hub"
	toolPrefix = "mcp__" + serverName + "__"
)

// request handles a control request of the program, on a goroutine of its own if it takes time. A
// request that is not known is refused, or the turn would wait for it.
func (b *backend) request(id string, r *controlRequest) {
	if r.Subtype == "can_use_tool" {
		b.mu.Lock()
		b.asked[id] = providers.WholeInput(r.Input)
		b.mu.Unlock()
		b.session.Ask(id, providers.ToolCall{ID: r.ToolUseID, Name: r.ToolName, Input: providers.WholeInput(r.Input)})
		return
	}
	var m rpcMessage
	isMCP := r.Subtype == "mcp_message" && r.Server == serverName && json.Unmarshal(r.Message, &m) == nil
	if isMCP && m.Method == "notifications/cancelled" {
		b.cancelCall(m)
	}
	b.mu.Lock()
	b.serving++
	tooMany := b.serving > maxRequests
	b.mu.Unlock()
	b.wg.Go(func() {
		defer func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.serving--
		}()
		var err error
		switch {
		case tooMany:
			err = b.reply(b.ctx, id, nil, "too many requests at once")
		case isMCP:
			err = b.reply(b.ctx, id, map[string]any{"mcp_response": b.answerMCP(m)}, "")
		default:
			err = b.reply(b.ctx, id, nil, "the hub does not support "+r.Subtype)
		}
		_ = err // the program has ended
	})
}

// rpcMessage is a message of MCP.
type rpcMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Version   string          `json:"protocolVersion"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			ToolUseID string `json:"claudecode/toolUseId"`
		} `json:"_meta"`
	} `json:"params"`
}

// answerMCP answers a message of MCP.
func (b *backend) answerMCP(m rpcMessage) map[string]any {
	answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
	switch {
	case len(m.ID) == 0: // a notification; the control request still wants an answer
		answer["id"], answer["result"] = 0, map[string]any{}
	case m.Method == "initialize":
		answer["result"] = map[string]any{
			"protocolVersion": m.Params.Version, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": serverName, "version": "1"},
		}
	case m.Method == "tools/list":
		answer["result"] = map[string]any{"tools": b.toolList()}
	case m.Method == "tools/call":
		answer["result"] = b.callTool(m)
	case m.Method == "ping":
		answer["result"] = map[string]any{}
	default:
		answer["error"] = map[string]any{"code": -32601, "message": "there is no method " + m.Method}
	}
	return answer
}

// toolList describes the hub's tools. The program runs tools at once that only read, so that is
// what parallel tools are called.
func (b *backend) toolList() []map[string]any {
	list := []map[string]any{}
	for _, t := range b.tools {
		list = append(list, map[string]any{
			"name": t.Name, "description": t.Description, "inputSchema": t.Schema,
			"annotations": map[string]any{"readOnlyHint": t.Parallel},
			"_meta":       map[string]any{"anthropic/alwaysLoad": true},
		})
	}
	return list
}

// callTool executes a tool.
func (b *backend) callTool(m rpcMessage) map[string]any {
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	key := string(m.ID)
	b.mu.Lock()
	b.calls[key] = cancel
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.calls, key)
	}()
	id := m.Params.Meta.ToolUseID
	if id == "" {
		id = newUUID()
	}
	r := b.session.Call(ctx, providers.ToolCall{ID: id, Name: m.Params.Name, Input: m.Params.Arguments})
	blocks := []map[string]any{{"type": "text", "text": r.Text}}
	for _, i := range r.Images {
		blocks = append(blocks, map[string]any{"type": "image", "mimeType": i.MediaType, "data": i.Data})
	}
	return map[string]any{"content": blocks, "isError": r.IsError}
}

// cancelCall ends a call that the program does not wait for any more.
func (b *backend) cancelCall(m rpcMessage) {
	b.mu.Lock()
	cancel := b.calls[string(m.Params.RequestID)]
	b.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
