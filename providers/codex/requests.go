package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/jsonrpc"
)

// approval is a request for approval of a command or of changes of files.
type approval struct {
	ItemID  string `json:"itemId"`
	Command string `json:"command"`
	Dir     string `json:"cwd"`
	Reason  string `json:"reason"`
}

// elicitation is a question of an MCP server, or the program's own question whether it may call a tool of
// one.
type elicitation struct {
	Server  string `json:"serverName"`
	Message string `json:"message"`
	Meta    struct {
		Kind string          `json:"codex_approval_kind"`
		Tool string          `json:"tool_name"`
		Args json.RawMessage `json:"tool_params"`
	} `json:"_meta"`
}

// mcpApproval is the kind of the questions whether a tool of an MCP server may be called.
const mcpApproval = "mcp_tool_call"

// handleRequest executes a request of the program, on a goroutine of its own.
func (b *backend) handleRequest(ctx context.Context, c jsonrpc.Served) (any, error) {
	b.mu.Lock()
	session := b.session
	b.mu.Unlock()
	if session == nil {
		return nil, errors.New("there is no session yet")
	}
	switch c.Method {
	case "item/commandExecution/requestApproval":
		a := decode[approval](c.Params)
		return b.decide(ctx, session, c.ID, providers.ToolCall{ID: a.ItemID, Name: "shell", Input: b.shellInput(a.Command, a.Dir, a.Reason)})
	case "item/fileChange/requestApproval":
		return b.decide(ctx, session, c.ID, b.changeAsked(decode[approval](c.Params)))
	case "mcpServer/elicitation/request":
		return b.elicited(ctx, session, c.ID, decode[elicitation](c.Params))
	case "item/tool/call":
		call := decode[struct {
			CallID    string          `json:"callId"`
			Tool      string          `json:"tool"`
			Arguments json.RawMessage `json:"arguments"`
		}](c.Params)
		r := session.Call(ctx, providers.ToolCall{ID: call.CallID, Name: call.Tool, Input: call.Arguments})
		items := []map[string]any{{"type": "inputText", "text": r.Text}}
		for _, i := range r.Images {
			items = append(items, map[string]any{"type": "inputImage", "imageUrl": dataURL(i)})
		}
		return map[string]any{"contentItems": items, "success": !r.IsError}, nil
	default:
		return nil, jsonrpc.NoMethod(c.Method)
	}
}

// changeAsked returns the changes of files that a request is about.
func (b *backend) changeAsked(a approval) providers.ToolCall {
	b.mu.Lock()
	c, ok := b.calls[a.ItemID]
	b.mu.Unlock()
	in := decode[map[string]string](c.Input)
	if !ok || in == nil { // no rule allows a change that names no file
		in = map[string]string{"patch": ""}
	}
	if a.Reason != "" {
		in["reason"] = a.Reason
	}
	return providers.ToolCall{ID: a.ItemID, Name: "apply_patch", Input: encode(in)}
}

// elicited asks whether a tool of an MCP server may be called. Questions of the servers themselves are
// declined: their forms are not shown.
func (b *backend) elicited(ctx context.Context, session *agent.Session, question string, e elicitation) (any, error) {
	if e.Meta.Kind != mcpApproval {
		return map[string]any{"action": "decline", "content": nil}, nil
	}
	d, err := b.askUsers(ctx, session, question, b.mcpCall(e))
	switch {
	case err != nil:
		return nil, err
	case d.Allow:
		return map[string]any{"action": "accept", "content": map[string]any{}}, nil
	case d.Stop:
		return map[string]any{"action": "cancel", "content": nil}, nil
	}
	return map[string]any{"action": "decline", "content": nil}, nil
}

// mcpCall returns the call that a question is about: the request has the arguments and, in some versions, the
// name of the tool. The running call with these arguments has the name in any case. A call that cannot be
// identified has a name that no rule for a single tool allows.
func (b *backend) mcpCall(e elicitation) providers.ToolCall {
	b.mu.Lock()
	defer b.mu.Unlock()
	prefix := mcpTool(e.Server, "")
	names := map[string]providers.ToolCall{}
	for _, c := range b.calls {
		if tool := mcpTool(e.Server, e.Meta.Tool); (c.Name == tool || e.Meta.Tool == "" && len(c.Name) > len(prefix) && c.Name[:len(prefix)] == prefix) && sameJSON(c.Input, e.Meta.Args) {
			names[c.Name] = c
		}
	}
	if len(names) == 1 {
		return slices.Collect(maps.Values(names))[0]
	}
	return providers.ToolCall{Name: mcpTool(e.Server, "unknown tool"), Input: encode(map[string]any{"question": e.Message, "arguments": orNull(e.Meta.Args)})}
}

// orNull returns valid JSON for absent arguments.
func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// sameJSON reports whether two values are equal but for the order of members. Absent arguments are an empty
// object.
func sameJSON(a, b json.RawMessage) bool {
	normal := func(raw json.RawMessage) []byte {
		v := decode[any](raw)
		if v == nil {
			v = map[string]any{}
		}
		return encode(v)
	}
	return bytes.Equal(normal(a), normal(b))
}

// decide asks the users and returns the decision about a command or a change of files.
func (b *backend) decide(ctx context.Context, session *agent.Session, question string, c providers.ToolCall) (any, error) {
	d, err := b.askUsers(ctx, session, question, c)
	if err != nil {
		return nil, err
	}
	decision := "decline"
	switch {
	case d.Allow:
		decision = "accept"
	case d.Stop:
		decision = "cancel"
	}
	return map[string]any{"decision": decision}, nil
}

// askUsers asks the users and waits for the decision.
func (b *backend) askUsers(ctx context.Context, session *agent.Session, question string, c providers.ToolCall) (providers.Decision, error) {
	decided := make(chan providers.Decision, 1)
	b.mu.Lock()
	b.asked[question] = decided
	b.mu.Unlock()
	session.Ask(question, c)
	select {
	case d, ok := <-decided:
		if !ok {
			return d, errors.New("the question was withdrawn")
		}
		return d, nil
	case <-ctx.Done():
		return providers.Decision{}, context.Cause(ctx)
	}
}

// withdraw ends a question that needs no answer any more.
func (b *backend) withdraw(session *agent.Session, question string) {
	b.mu.Lock()
	decided := b.asked[question]
	delete(b.asked, question)
	b.mu.Unlock()
	if decided != nil {
		close(decided)
		session.Withdraw(question)
	}
}
