package providers

import "time"

// Event is something that happens in a session.
type Event struct {
	Kind EventKind
	// Message is the id of the message it is about: for EventTaken the one that
	// was taken, else the one that began the turn.
	Message string
	// Text is what is new, for EventText and EventThinking, or a note.
	Text string
	// Entries are what to remember, for EventRemember.
	Entries []Entry
	// Took are the ids of the messages that the entries bring into the
	// conversation, for EventRemember. EventTaken tells of each of them, too; but
	// who keeps the entries has to know at once that they are not to come again.
	Took []string
	// Thread is the backend's own name of the conversation, for EventRemember.
	Thread string
	// Usage is of EventUsage: what one call of the model took.
	Usage Usage
	// Approval, Tool are of EventApproval; Approval also of EventApprovalGone.
	Approval string
	Tool     ToolCall
	// Shrunk is of EventShrunk: what is left out from now on.
	Shrunk Shrunk
	// Wait is how long until the next try, for EventRetry.
	Wait time.Duration
	// Outcome and Err are of EventTurnEnd; Err is a [*Failure] when the turn
	// failed.
	Outcome Outcome
	Err     error
}

// EventKind is what happens.
type EventKind string

// What happens.
const (
	// EventTurnStart comes first in every turn.
	EventTurnStart EventKind = "turn_start"
	// EventTaken says that a message is part of what the model reads.
	EventTaken EventKind = "taken"
	// EventText and EventThinking bring a piece of what the model says and
	// thinks.
	EventText     EventKind = "text"
	EventThinking EventKind = "thinking"
	// EventRemember brings what the hub has to keep: what follows the entries of
	// [Spec.From] and those told so far. It comes before any tool is called that
	// the entries ask for, and before EventTurnEnd. When a turn ends, however it
	// does, each call it remembered has a result, so that any backend can go on.
	EventRemember EventKind = "remember"
	EventUsage    EventKind = "usage"
	// EventApproval asks whether something may be done; EventApprovalGone
	// says that nobody needs the answer any more.
	EventApproval     EventKind = "approval"
	EventApprovalGone EventKind = "approval_gone"
	// EventShrunk says that the conversation was too long for the model, which
	// is not given its older parts any more.
	EventShrunk EventKind = "shrunk"
	// EventRetry says that a call failed and is tried again.
	EventRetry EventKind = "retry"
	// EventTurnEnd comes last in every turn, exactly once.
	EventTurnEnd EventKind = "turn_end"
	// EventExit says that the session ended by itself. Nothing follows.
	EventExit EventKind = "exit"
)

// Outcome is how a turn ended.
type Outcome string

// How turns end.
const (
	Completed   Outcome = "completed"
	Failed      Outcome = "failed"
	Interrupted Outcome = "interrupted"
)

// Shrunk is how a conversation became shorter.
type Shrunk struct {
	// Left is how many entries are left out, and Before and After about how many
	// tokens there were and are.
	Left, Before, After int
}

// Usage is what a model took.
type Usage struct {
	// Input counts the tokens that were read anew, CacheRead and CacheWrite
	// those of the cache, which are not part of Input.
	Input      int     `json:"input,omitempty"`
	Output     int     `json:"output,omitempty"`
	CacheRead  int     `json:"cacheRead,omitempty"`
	CacheWrite int     `json:"cacheWrite,omitempty"`
	USD        float64 `json:"usd,omitempty"`
}

// Add sums up.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.USD + v.USD,
	}
}
