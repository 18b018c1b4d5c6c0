package providers

import (
	"context"
	"encoding/json"
	"time"
)

// Provider is a backend that thinks.
type Provider interface {
	// Name is what people choose it by, such as demo or anthropic.
	Name() string
	Caps() Caps
	// Open begins a conversation, goes on with one or forks one, see
	// [Spec.From]. The context bounds opening alone.
	Open(ctx context.Context, s Spec) (Session, error)
	// Close ends everything that was opened.
	Close() error
}

// Caps says what a backend can do.
type Caps struct {
	// Steer says that a running turn takes further messages.
	Steer bool
	// Fork and Resume say that a conversation can go on from a [Thread].
	Fork   bool
	Resume bool
	// Inject says that something can be added without a turn.
	Inject bool
	Images bool
	// Window is how many tokens the model reads; 0 means that nobody knows.
	Window int
	// Process says that an open session is a process of its own, which counts
	// as an agent even while it is idle.
	Process bool
	// MCP says that the backend calls tools through [Spec.MCP] and not through
	// [Spec.Call].
	MCP bool
}

// Spec is what a session is opened with.
type Spec struct {
	// Agent names the conversation in logs.
	Agent string
	// System is what the model is told about itself, Model which one it is;
	// empty means the backend's default.
	System string
	Model  string
	// Tools are those the model may use, and Call uses one. Call may be called
	// for several at once; it ends when its context does.
	Tools []Tool
	Call  func(ctx context.Context, c ToolCall) ToolResult
	// MCP is where a backend that runs elsewhere finds the same tools.
	MCP Endpoint
	// From is the conversation to go on with; the zero value begins a new one.
	// With Fork the original stays as it is.
	From Thread
	Fork bool
	// Whole says that the hub keeps the conversation as it is and makes it shorter
	// itself: when it becomes too long for the model, the turn fails with
	// [ContextLength]. Without it a backend leaves older parts out, and tells
	// [EventShrunk].
	Whole bool
	// Hear is told what happens, in order.
	Hear func(Event)
	// Asked, unless it is nil, is told of each call of the model when that is
	// over, by backends that make such calls themselves. It must not wait.
	Asked func(Asked)
}

// Asked is one call of a model that is over.
type Asked struct {
	// Model is the one that was asked.
	Model string
	// Began and Ended are when it was asked and when the reply was complete, or
	// had failed; First is when the first piece of it came, zero if none did.
	Began, First, Ended time.Time
	Usage               Usage
	// Err is why it failed. It may say what the model was asked.
	Err error
}

// Endpoint is an MCP server over HTTP.
type Endpoint struct {
	URL   string
	Token string
}

// Session is one conversation.
type Session interface {
	// ID is the backend's own name of the conversation; empty if it has none.
	ID() string
	// Send returns when the backend has the message; that the model has it is
	// told by [EventTaken]. [ErrBusy] when a turn runs and the mode is start or
	// continue, [ErrIdle] when none does and the mode is steer or queue,
	// [ErrNoSteer] when the one that runs takes no messages. A steer or queue
	// that was sent and not taken when the turn ends is not part of the
	// conversation. The context bounds sending alone. Send may be called while
	// Hear is, also from within it; the other methods may not be called from
	// within Hear.
	Send(ctx context.Context, m Message) error
	// Interrupt ends the turn, if one runs, and returns after [EventTurnEnd]
	// was heard, or with the error of the context when that ends first. With no
	// turn it does nothing.
	Interrupt(ctx context.Context) error
	// Answer decides an [EventApproval]. One that is gone is no error.
	Answer(ctx context.Context, approval string, d Decision) error
	// Close ends the conversation here, with its turn, which is interrupted.
	// After it has returned nothing is heard and no tool called any more.
	// Closing again is no error.
	Close() error
}

// Mode is what is to be made of a message.
type Mode string

// What is to be made of a message.
const (
	// Start begins a turn with it.
	Start Mode = "start"
	// Steer gives it to the running turn, as soon as possible.
	Steer Mode = "steer"
	// Queue gives it to the running turn when that has nothing else to do.
	Queue Mode = "queue"
	// Inject adds it to the conversation without a turn.
	Inject Mode = "inject"
	// Continue goes on with a turn that [Spec.From] shows to be unfinished: calls
	// that have no result yet are made, unless Done has it, and the model is
	// asked for what comes next. If nothing is left to do the turn ends at once;
	// if there is no turn at all it is an error. The message has an ID and Done,
	// nothing else.
	Continue Mode = "continue"
)

// Message is something for the model.
type Message struct {
	// ID is the hub's name of it; events about it carry it.
	ID     string
	Text   string
	Images []Image
	Mode   Mode
	// Done are results of tools that the unfinished turn has had already, by
	// the id of their call, for mode continue: they must not run again.
	Done map[string]ToolResult
}

// Origin is what [Block.Origin] of the message's blocks is. A message that is only
// added to the conversation has none, because no turn has to answer it.
func (m Message) Origin() string {
	if m.Mode == Inject {
		return ""
	}
	return m.ID
}

// Image is a picture.
type Image struct {
	// MediaType is such as image/png.
	MediaType string `json:"mediaType"`
	Data      []byte `json:"data"`
}

// Tool is something the model can do.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON Schema of its input, an object.
	Schema json.RawMessage
	// Parallel says that several calls may run at once.
	Parallel bool
}

// ToolCall is one use of a tool.
type ToolCall struct {
	// ID is unique in the conversation.
	ID    string
	Name  string
	Input json.RawMessage
}

// ToolResult is what came of it.
type ToolResult struct {
	Text    string  `json:"text,omitempty"`
	Images  []Image `json:"images,omitempty"`
	IsError bool    `json:"isError,omitempty"`
}

// Decision is the answer to an approval.
type Decision struct {
	Allow  bool
	Reason string
	// Stop ends the turn too.
	Stop bool
}
