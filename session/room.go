package session

import (
	"context"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Sender is who sends a command. The door has checked that it may.
type Sender struct {
	Connection wire.ConnectionID
	User       string
	// Monitor is the one the connection subscribed to last; window ids of
	// messages without a monitor are looked for there first.
	Monitor wire.MonitorID
}

// Command is a client's message on its way to the owner of the session.
type Command struct {
	From    Sender
	Message wire.Message
}

// Answer is the event that answers a command.
type Answer struct {
	At   wire.Position
	Data wire.ServerPayload
}

// Room is a door's hold on one session: to watch it, to say something in it. It
// works the same whether this replica owns the session or follows it.
type Room struct{}

// Session is the session's id.
func (r *Room) Session() wire.SessionID { panic("not built yet") }

// Attach adds a tab, see [broadcast.Center.Attach], and tells the others.
func (r *Room) Attach(ctx context.Context, cfg broadcast.TabConfig) (*broadcast.Tab, error) {
	panic("not built yet")
}

// Leave takes a tab away again and tells the others.
func (r *Room) Leave(t *broadcast.Tab) { panic("not built yet") }

// Deliver gives the owner a command: into its mailbox when it is here, else into
// the store's inbox. It waits while the owner has too much to do. What becomes of
// the command is told by the log.
func (r *Room) Deliver(ctx context.Context, c Command) error { panic("not built yet") }

// Ask delivers a command that has an id and waits for what the log says about it.
func (r *Room) Ask(ctx context.Context, c Command) (Answer, error) { panic("not built yet") }

// Snapshot is the state of some or all monitors.
func (r *Room) Snapshot(ctx context.Context, monitors []wire.MonitorID) (wire.SessionState, error) {
	panic("not built yet")
}

// Read is a page of the log.
func (r *Room) Read(ctx context.Context, after wire.Position, limit int) ([]store.Event, error) {
	panic("not built yet")
}

// Close gives the hold back. The session stays loaded for a while.
func (r *Room) Close() { panic("not built yet") }

// Error is a refusal with a code for the client.
type Error struct {
	Code   wire.Code
	Reason string
	Err    error // what the store said, if it did
}

// Error implements error.
func (e *Error) Error() string { return e.Reason }

// Unwrap returns what the store said.
func (e *Error) Unwrap() error { return e.Err }
