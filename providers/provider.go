package providers

import (
	"context"
	"encoding/json"
	"time"
)

// Provider is a model backend.
type Provider interface {
	// Name is the name that users choose, such as demo or anthropic.
	Name() string
	// Caps returns what the backend can do. It is the same for all sessions and never blocks.
	Caps() Caps
	// Open begins, continues or forks a conversation, see [Spec.From]. The context bounds only
	// the opening.
	Open(ctx context.Context, s Spec) (Session, error)
	// Close closes all sessions.
	Close() error
}

// Caps lists the capabilities of a backend.
type Caps struct {
	// Steer says that a running turn accepts further messages.
	Steer bool
	// Fork and Resume say that a conversation can continue from a [Thread].
	Fork   bool
	Resume bool
	// Inject says that a message can be added without a turn.
	Inject bool
	Images bool
	// Window is the size of the model's context window in tokens; 0 means unknown.
	Window int
	// Process says that an open session is a process of its own, which counts as an agent even
	// while it is idle.
	Process bool
	// Prefix says that each request to the model contains the whole conversation, and that model
	// servers cache the beginning that requests share: the system prompt and the tools should be
	// the same for all agents of a session.
	Prefix bool
	// MCP says that the backend calls tools over MCP, see [Spec.MCP].
	MCP bool
	// Scripted says that the backend calls no model, so that it is of no use for a request that no
	// script expects.
	Scripted bool
}

// Spec describes a session to open.
type Spec struct {
	// Agent identifies the conversation in logs.
	Agent string
	// System is the system prompt. Model selects the model; empty means the backend's default.
	System string
	Model  string
	// Effort is the reasoning effort: minimal, low, medium or high; empty means the default of the model.
	// A backend without such a setting ignores it.
	Effort string
	// Tools are the tools that the model may use, and Call executes one. Call is safe for
	// concurrent use; it ends when its context does.
	Tools []Tool
	Call  func(ctx context.Context, c ToolCall) ToolResult
	// MCP returns the endpoint with the same tools for a backend whose program calls them itself.
	// It is valid as long as the session. execute executes a call, usually by Call; it may be
	// called concurrently. Nil means that there is no endpoint.
	MCP func(execute func(context.Context, ToolCall) ToolResult) Endpoint
	// Dir is the working directory of a backend that is a program; empty means a temporary one.
	Dir string
	// From is the conversation to continue; the zero value begins a new one. With Fork the
	// original stays unchanged.
	From Thread
	Fork bool
	// Whole says that the hub shortens the conversation itself: when it is too long for the
	// model, the turn fails with [ContextLength]. Otherwise the backend leaves out older parts
	// and sends [EventTruncated].
	Whole bool
	// OnEvent receives the events, in order.
	OnEvent func(Event)
	// OnModelCall, unless nil, is called after each model call by backends that make such calls
	// themselves. It must not block.
	OnModelCall func(ModelCall)
}

// ModelCall describes a completed model call.
type ModelCall struct {
	// Model is the called model.
	Model string
	// Began and Ended are the times of the request and of the complete reply or the failure.
	// First is the time of the first piece of the reply, zero if there was none.
	Began, First, Ended time.Time
	Usage               Usage
	// Err is the failure, if any. It may contain parts of the request.
	Err error
}

// Endpoint is an MCP server over HTTP.
type Endpoint struct {
	URL   string
	Token string
}

// Session is one conversation with a backend.
type Session interface {
	// ID returns the backend's own id of the conversation; empty if it has none.
	ID() string
	// Send returns when the backend has the message; [EventTaken] reports that the model has it.
	// Errors: [ErrBusy] if a turn runs and the mode is start or continue, [ErrIdle] if none
	// runs and the mode is steer or queue, [ErrNoSteer] if the running turn accepts no
	// messages. A steered or queued message that was not taken when the turn ends is not part
	// of the conversation. The context bounds only the sending. Send may be called concurrently
	// with OnEvent and from within it; the other methods may not be called from within OnEvent.
	Send(ctx context.Context, m Message) error
	// Interrupt ends the running turn and returns after [EventTurnEnd] was delivered, or with
	// the error of the context if that ends first. Without a turn it does nothing.
	Interrupt(ctx context.Context) error
	// Answer answers an [EventApproval]. An approval that is gone is no error.
	Answer(ctx context.Context, approval string, d Decision) error
	// Close closes the session and interrupts its turn. After it has returned, no event is
	// delivered and no tool is called. Closing again is no error.
	Close() error
}

// Mode says how a message is processed.
type Mode string

// Modes of messages.
const (
	// Start begins a turn with the message.
	Start Mode = "start"
	// Steer gives the message to the running turn, as soon as possible.
	Steer Mode = "steer"
	// Queue gives the message to the running turn when that has nothing else to do.
	Queue Mode = "queue"
	// Inject adds the message to the conversation without a turn.
	Inject Mode = "inject"
	// Continue continues the unfinished turn at the end of [Spec.From]: calls without a result
	// are executed, unless Done has their result, and the model is called for the next reply.
	// If nothing is left to do, the turn ends at once; if there is no turn at all, it is an
	// error. Only the message's ID and Done are used.
	Continue Mode = "continue"
)

// Message is a message for the model.
type Message struct {
	// ID is the hub's id of the message; events about it carry it.
	ID     string
	Text   string
	Images []Image
	Mode   Mode
	// Done holds the results of tool calls that the unfinished turn already has, by call id,
	// for mode continue: these calls must not run again.
	Done map[string]ToolResult
}

// Origin returns the [Block.Origin] of the message's blocks. An injected message has none,
// because no turn answers it.
func (m Message) Origin() string {
	if m.Mode == Inject {
		return ""
	}
	return m.ID
}

// Image is an encoded image.
type Image struct {
	// MediaType is such as image/png.
	MediaType string `json:"mediaType"`
	Data      []byte `json:"data"`
}

// Tool is a tool that the model can call.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON Schema of the input, an object.
	Schema json.RawMessage
	// Parallel says that several calls may run concurrently.
	Parallel bool
	// Title, Hints and Output describe the tool to programs outside the hub and to their users.
	Title string
	Hints ToolHints
	// Output is the form of the result; nil if it is a text.
	Output *ToolOutput
}

// ToolHints says what a tool does to its environment, for programs that ask their users before they
// call some tools.
type ToolHints struct {
	// ReadOnly tools change nothing. Destructive tools may replace or delete something.
	ReadOnly, Destructive bool
	// Idempotent tools have no further effect when they are called again with the same input.
	Idempotent bool
	// OpenWorld tools may reach systems outside the hub.
	OpenWorld bool
}

// ToolOutput is the form of a result whose text is JSON.
type ToolOutput struct {
	// Schema is a JSON Schema of an object.
	Schema json.RawMessage
	// Key, unless empty, is the field of that object that holds the result, which is no object itself.
	Key string
}

// ToolCall is one call of a tool.
type ToolCall struct {
	// ID is unique in the conversation.
	ID    string
	Name  string
	Input json.RawMessage
}

// ToolResult is the result of a tool call.
type ToolResult struct {
	Text    string  `json:"text,omitempty"`
	Images  []Image `json:"images,omitempty"`
	IsError bool    `json:"isError,omitempty"`
	// Source names where the data in the result comes from, such as example.com, if that is outside the
	// hub. Text of others may be instructions, so from then on agents of the conversation ask before they
	// act outside the hub or delete something.
	Source string `json:"source,omitempty"`
}

// Decision is the answer to an approval.
type Decision struct {
	Allow  bool
	Reason string
	// Stop also ends the turn.
	Stop bool
}
