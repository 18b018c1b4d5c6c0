package agui

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// A frontend may have tools of its own. The hub asks for their results with prompts. A run ends with the
// call of such a tool, and the next request brings the result as the last message.

// frontendPrefix begins the hub's names of these tools.
const frontendPrefix = "client:"

// results returns the results of tools at the end of the client's messages, before a new message of the
// user. The hub knows all others.
func (in *Input) results() []Message {
	rest := in.Messages
	if n := len(rest); n > 0 && rest[n-1].Role == roleUser {
		rest = rest[:n-1]
	}
	first := len(rest)
	for first > 0 && rest[first-1].Role == roleTool && rest[first-1].ToolCallID != "" {
		first--
	}
	return rest[first:]
}

// resultText returns the result of a tool as JSON text.
func (m *Message) resultText() json.RawMessage {
	var result struct {
		Content json.RawMessage `json:"content"`
		Error   string          `json:"error"`
	}
	_ = json.Unmarshal(m.raw, &result) // it was decoded before
	var text string
	if json.Unmarshal(result.Content, &text) != nil {
		text = string(result.Content) // parts, or a value of an older client
	}
	if result.Error != "" {
		text = strings.TrimSpace("The tool failed: " + result.Error + "\n" + text)
	}
	data, err := json.Marshal(cmp.Or(text, "(no result)"))
	if err != nil {
		panic(err) // cannot fail: a text
	}
	return data
}

// callID returns the id under which clients know the call of a frontend's tool.
func (q *question) callID(s *wire.SessionState) string {
	return callID(cmp.Or(q.turn, turnOfAgent(s, q.agent)), q.call.ToolUseID)
}

// turnOfCall returns the turn of a tool call, by its id, or "".
func turnOfCall(id string) wire.MessageID {
	return wire.MessageID(id[:max(0, strings.LastIndexByte(id, '.'))])
}

// frontendTools are the names of the tools that the client executes.
type frontendTools []string

// execute reports whether the client executes the tool of a question.
func (f frontendTools) execute(q *question) bool {
	return q.call != nil && slices.Contains(f, q.call.Name)
}

// include reports whether a tool, by the hub's name, is one that the client executes.
func (f frontendTools) include(tool string) bool {
	name, ok := strings.CutPrefix(tool, frontendPrefix)
	return ok && slices.Contains(f, name)
}

// requestCall sends the call of a frontend's tool. It has no result: the frontend adds that.
func (r *Run) requestCall(q *question) (id string) {
	id = callID(r.turn, q.call.ToolUseID)
	r.closeReasoning()
	r.closeText()
	r.emit(event{Type: typeCallStart, ToolCallID: id, ToolCallName: q.call.Name})
	r.emit(event{Type: typeCallArgs, ToolCallID: id, Delta: arguments(q.call.Input)})
	r.emit(event{Type: typeCallEnd, ToolCallID: id})
	return id
}
