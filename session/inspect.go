package session

import (
	"context"
	"errors"
	"iter"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Inspection is all that the owner of a session knows of it, as far as people who
// look after sessions want to see it.
type Inspection struct {
	Status   Status
	Monitors []MonitorView
	Agents   []AgentView
	Windows  []wire.WindowState // without their content
	Dialogs  []wire.ApprovalRequest
	Prompts  []wire.OpenPrompt
	// Messages are the newest of the ledger, the newest first.
	Messages []MessageView
}

// MonitorView is a monitor with what waits there.
type MonitorView struct {
	wire.MonitorStatus
	Queue []QueuedView
	// Bounded says that it has a budget, and Used how much of it is used, in per
	// cent.
	Bounded bool
	Used    int
}

// QueuedView is a message that waits.
type QueuedView struct {
	ID     wire.MessageID
	Place  int // from 1
	Since  wire.Millis
	Window wire.WindowID
	Text   string
}

// AgentView is an agent that runs or lasts.
type AgentView struct {
	wire.AgentState // without its text
	Parent          wire.AgentID
	Provider        string
	Attempt         int
}

// MessageView is what the ledger says of a message.
type MessageView struct {
	ID      wire.MessageID
	Time    wire.Millis
	Verdict string
	Code    wire.Code
	Agent   wire.AgentID
}

// Inspect asks a session that is owned here for everything.
func (h *Hub) Inspect(context.Context, wire.SessionID) (Inspection, error) {
	return Inspection{}, errors.New("a session cannot be inspected yet")
}

// Audience are the tabs of a session at this replica.
func (h *Hub) Audience(wire.SessionID) []broadcast.Viewer { return nil }

// Tail is the log of a session after a position, and then what is added to it. It
// does not open the session. The errors are those of the store.
func (h *Hub) Tail(ctx context.Context, id wire.SessionID, after wire.Position) iter.Seq2[store.News, error] {
	return h.store.Tail(ctx, id, after)
}
