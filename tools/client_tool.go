package tools

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// clientPrefix begins the names of tools that the program which sent the turn's message executes.
const clientPrefix = "client:"

// maxClientInput bounds the input of such a tool in bytes: it is in a prompt that every tab gets.
const maxClientInput = 32 << 10

// clientTools returns the tools that the sender of the turn's message executes.
func clientTools(c Caller) []*tool {
	out := make([]*tool, len(c.ClientTools))
	for i, t := range c.ClientTools {
		out[i] = clientTool(t)
	}
	return out
}

// findClientTool returns the sender's tool with a name of the registry or for models, or nil.
func findClientTool(c Caller, name string) *tool {
	i := slices.IndexFunc(c.ClientTools, func(t wire.ClientTool) bool {
		return clientPrefix+t.Name == name || modelName(clientPrefix+t.Name) == name
	})
	if i < 0 {
		return nil
	}
	return clientTool(c.ClientTools[i])
}

// clientTool returns a tool of the sender as a row of the table of tools. It leaves the hub, so agents
// that have read outside data ask before they call it.
func clientTool(t wire.ClientTool) *tool {
	schema := t.Parameters
	if len(schema) == 0 || string(schema) == "null" {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	return &tool{
		name: clientPrefix + t.Name, about: strings.TrimSpace("[The user's program executes this.] " + t.Description), in: everyone,
		asks: true, repeatable: true, leaves: true,
		use: handler{
			schema: func() inputSchema { return inputSchema{text: schema, resolved: anyInput} },
			decode: objectInput,
			do: func(ctx context.Context, u *use, in any) providers.ToolResult {
				return u.callClient(ctx, t.Name, in.(json.RawMessage)) //nolint:forcetypeassert // it is what objectInput returns
			},
		},
	}
}

// callClient asks the program for the result of a call. People see the prompt too, because the program
// may be gone.
func (u *use) callClient(ctx context.Context, name string, input json.RawMessage) providers.ToolResult {
	if len(input) > maxClientInput {
		return u.refuse(ctx, "The input has %d bytes; client_%s takes at most %d.", len(input), name, maxClientInput)
	}
	return u.askFor(ctx, wire.Prompt{
		Title:      name,
		Message:    "The program that sent the message executes this and sends the result. If it is gone, answer in its place or dismiss this.",
		InputField: &wire.PromptInput{Type: wire.PromptTextarea},
		ClientTool: &wire.ClientToolCall{Name: name, ToolUseID: u.call.ID, Input: input},
	}, "The program did not answer. It is not known whether it did anything.", func(r wire.UserPromptResponse) providers.ToolResult {
		return text(r.Text)
	})
}

// appendClientTools appends the sender's tools to a list for models.
func appendClientTools(list []providers.Tool, c Caller) []providers.Tool {
	for _, t := range clientTools(c) {
		list = append(list, t.forModel())
	}
	return list
}
