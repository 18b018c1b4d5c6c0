package agentpool

import (
	"context"
	"time"

	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Run describes one execution of a turn.
type Run struct {
	// ID is unique in the session, also among the attempts of one turn. Reports carry it, so
	// that late reports can be recognized.
	ID string
	// Agent names the agent that owns the conversation: main-{monitor}, window-{key}, or the
	// role of an agent that exists for one turn.
	Agent string
	Role  wire.AgentID
	Kind  wire.AgentKind
	// Turn is the message that began the turn.
	Turn    wire.MessageID
	Monitor wire.MonitorID
	Window  wire.WindowID
	Profile string
	// ViewOf is the MCP server whose view makes the call of the run; empty for other runs.
	ViewOf string
	// Mode is the mode of the turn; nil for none. Instructions are those of the session.
	Mode         *modes.Mode
	Instructions string
	// Guest says that someone other than the session's owner began the turn.
	Guest bool
	// ContextWindow is the size of the model's context window in tokens; 0 means that of the
	// provider.
	ContextWindow int
	// Viewer describes the screen of that person; nil if unknown.
	Viewer *wire.Viewer
	// ClientTools are those that the program which sent the message executes.
	ClientTools []wire.ClientTool
	// Provider is the name of the backend, or the id of a model profile that names one.
	Provider string
	// Prompt and Images are the input of the turn. With Continue the run continues a turn that
	// was cut off; Done holds the results of its ended tool calls.
	Prompt   string
	Images   []providers.Image
	Continue bool
	Done     map[string]providers.ToolResult
	// From is the conversation to continue, unless the session runner has it open. With Fork
	// the run works on a copy that is discarded.
	From providers.Thread
	Fork bool
	// Lasting keeps the provider session open for the agent's next turn. The context pool
	// shortens such a conversation when it becomes too long.
	Lasting bool
	// System, unless empty, replaces the system prompt. Such a run has no tools.
	System string
	// NoTools says that the run uses no tools. Its requests name them all the same, so that they
	// begin like the others of the session; calls are refused.
	NoTools bool
	// Job is the name of the plan's job that the run executes, if any, and Todo the plan's todo
	// that the job is for.
	Job  string
	Todo wire.TodoID
	// Call, unless nil, is the tool call of a program that the run executes instead of a turn with a
	// backend. Such a run needs no slot.
	Call *providers.ToolCall
	// Slot is a reserved slot; without it the run waits for one.
	Slot *Slot
	// Attempt counts the runs of the turn from 1. Waited is the time that the message was
	// queued before the turn began.
	Attempt int
	Waited  time.Duration
}

// Steering is a message for a running turn.
type Steering struct {
	Run     string
	Message wire.MessageID
	Text    string
	Images  []providers.Image
}

// Report is sent by a session runner to its session. It is one of the types below.
type Report interface {
	// RunID returns the id of the run, which is never empty.
	RunID() string
}

// RunRef identifies the run of a report.
type RunRef struct{ Run string }

// RunID returns the id of the run.
func (o RunRef) RunID() string { return o.Run }

type (
	// Began means that the run has its slot, if it needs one. A provider session that it has to open is opened
	// afterwards.
	Began struct{ RunRef }
	// Output carries text and thinking since the last report.
	Output struct {
		RunRef
		Text     string
		Thinking string
	}
	// SteerAccepted means that the model has received a steered message.
	SteerAccepted struct {
		RunRef
		Message wire.MessageID
	}
	// SteerRefused means that the model will not receive a message in this turn. It comes
	// before Ended, unless Ended was reported before the message was steered.
	SteerRefused struct {
		RunRef
		Message wire.MessageID
		// Ending says that the turn is over and Ended follows.
		Ending bool
	}
	// NewEntries carries new entries of the conversation, which follow the earlier ones. Messages are
	// the ids of the messages contained in them; Thread is the backend's id of the conversation.
	NewEntries struct {
		RunRef
		Thread   string
		Entries  []providers.Entry
		Messages []wire.MessageID
	}
	// ModelUsage carries the usage of a model call.
	ModelUsage struct {
		RunRef
		Usage providers.Usage
	}
	// InputTruncated means that the conversation was too long for the model, and carries how much of it
	// is no longer sent.
	InputTruncated struct {
		RunRef
		providers.Truncation
	}
	// FilesFull means that programs have written more files than the session may have, and carries the limits.
	FilesFull struct {
		RunRef
		Why string
	}
	// Retrying means that a model call failed and is retried.
	Retrying struct {
		RunRef
		Why  string
		Wait time.Duration
	}
	// Ended is the last report of a run. Every started run has exactly one, unless the session
	// runner is closed.
	Ended struct {
		RunRef
		Outcome providers.Outcome
		// Failure is the reason of a failed run.
		Failure *providers.Failure
		// Reason is the reason of an interrupted run.
		Reason string
		// Result is the result of [Run.Call]; nil if it was not called.
		Result *providers.ToolResult
		// Duration is the time since the run began; 0 if it did not begin.
		Duration time.Duration
	}
)

// Sink receives reports.
type Sink interface {
	// Report enqueues r. It blocks while the session's mailbox is full, and for [Began] until
	// the report is committed. It fails when the session is lost.
	Report(ctx context.Context, r Report) error
}
