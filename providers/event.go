package providers

import "time"

// Event is an event of a session.
type Event struct {
	Kind EventKind
	// Message is the id of the message that the event is about: for EventTaken the taken
	// message, otherwise the message that began the turn.
	Message string
	// Text is the new text of EventText and EventThinking, or a note.
	Text string
	// Entries are the new entries of EventEntries.
	Entries []Entry
	// EntryMessages are the ids of the messages that the entries contain, for EventEntries. EventTaken
	// is sent for each of them, too; but the hub must know when it stores the entries that
	// these messages must not be sent again.
	EntryMessages []string
	// Thread is the backend's own id of the conversation, for EventEntries.
	Thread string
	// Usage is the usage of one model call, for EventUsage.
	Usage Usage
	// Approval and Tool belong to EventApproval; Approval also to EventApprovalGone.
	Approval string
	Tool     ToolCall
	// Truncation says how much is left out from now on, for EventTruncated.
	Truncation Truncation
	// Wait is the time until the next attempt, for EventRetry.
	Wait time.Duration
	// Outcome and Err belong to EventTurnEnd; Err is a [*Failure] if the turn failed.
	Outcome Outcome
	Err     error
}

// EventKind is the kind of an event.
type EventKind string

// Kinds of events.
const (
	// EventTurnStart is the first event of every turn.
	EventTurnStart EventKind = "turn_start"
	// EventTaken means that a message is part of the model's input.
	EventTaken EventKind = "taken"
	// EventText and EventThinking carry a piece of the model's text and thinking.
	EventText     EventKind = "text"
	EventThinking EventKind = "thinking"
	// EventEntries carries entries that the hub must store, after the entries of [Spec.From]
	// and those sent before. It is sent before any tool call in the entries is executed, and
	// before EventTurnEnd. When a turn ends, in whatever way, each tool call in its entries has
	// a result, so that any backend can continue the conversation.
	EventEntries EventKind = "remember"
	EventUsage   EventKind = "usage"
	// EventApproval asks whether something may be done; EventApprovalGone means that the answer
	// is no longer needed.
	EventApproval     EventKind = "approval"
	EventApprovalGone EventKind = "approval_gone"
	// EventTruncated means that the conversation was too long for the model and its older parts
	// are no longer sent.
	EventTruncated EventKind = "shrunk"
	// EventRetry means that a model call failed and is retried, or continued where its reply broke
	// off; then Wait is 0.
	EventRetry EventKind = "retry"
	// EventTurnEnd is the last event of every turn, sent exactly once.
	EventTurnEnd EventKind = "turn_end"
	// EventExit means that the backend ended the session. Nothing follows.
	EventExit EventKind = "exit"
)

// Outcome says how a turn ended.
type Outcome string

// Outcomes of turns.
const (
	Completed   Outcome = "completed"
	Failed      Outcome = "failed"
	Interrupted Outcome = "interrupted"
)

// Truncation describes how a conversation was shortened.
type Truncation struct {
	// Left is the number of entries left out; Before and After are the approximate sizes in
	// tokens.
	Left, Before, After int
}

// Usage is the usage of a model.
type Usage struct {
	// Input counts the input tokens that are not cached; CacheRead and CacheWrite count those
	// read from and written to the cache and are not part of Input.
	Input      int     `json:"input,omitempty"`
	Output     int     `json:"output,omitempty"`
	CacheRead  int     `json:"cacheRead,omitempty"`
	CacheWrite int     `json:"cacheWrite,omitempty"`
	USD        float64 `json:"usd,omitempty"`
	// Unpriced says that the cost of a part of the usage is unknown; USD is the cost of the rest.
	Unpriced bool `json:"unpriced,omitempty"`
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.USD + v.USD,
		u.Unpriced || v.Unpriced,
	}
}
