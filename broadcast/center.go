package broadcast

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Form is how events become bytes on a socket.
type Form uint8

// The forms in use.
const (
	FormNative  Form = iota // one native envelope per WebSocket text frame
	FormBatch               // native envelopes, separated by newlines, several per frame
	FormDesktop             // frames of the desktop dialect
	FormSSE                 // native envelopes as Server-Sent Events
)

// Event is one committed event on its way to the tabs.
type Event struct {
	At wire.Position
	// Frame is the native frame, as it is in the log.
	Frame []byte
	// Data is the same event decoded. It is nil when it could not be, which
	// is how an event of a newer hub is shown all the same.
	Data wire.ServerPayload
	Time time.Time
}

// Source is where a [Center] gets what it does not hold. Its methods may be
// slow; the Center calls them outside its locks and only for the tab in need.
type Source interface {
	// Read is the store's.
	Read(ctx context.Context, after wire.Position, limit int) ([]store.Event, error)
	// Snapshot is the state of some or all monitors at a position that was,
	// or will at once be, published.
	Snapshot(ctx context.Context, monitors []wire.MonitorID) (wire.SessionState, error)
}

// Config tunes a [Center]. The zero value means the defaults.
type Config struct {
	// RingEvents and RingBytes bound the frames held per form. They default
	// to 1,024 events and 256 KiB.
	RingEvents int
	RingBytes  int
	// ReplayEvents and ReplayBytes bound what a resuming tab is sent instead
	// of a snapshot. They default to 1,000 events and 1 MiB.
	ReplayEvents int
	ReplayBytes  int
	// WriteTimeout is how long a socket may take nothing before its tab is
	// given up. It defaults to 10 s.
	WriteTimeout time.Duration
	// Heartbeat is what session_state announces. It defaults to 30 s.
	Heartbeat time.Duration
	Logger    *slog.Logger
}

// Center shows the log of one session to the tabs of this replica.
type Center struct{}

// NewCenter makes the Center of a session whose log is shown from after head on.
func NewCenter(cfg Config, session wire.SessionID, head wire.Position, src Source) *Center {
	panic("not built yet")
}

// Publish shows committed events, which continue the ones before without a gap.
// It never waits for a socket. One goroutine at a time may call it.
//
// An event that has a To (MESSAGE_REJECTED) is shown only to that connection, as
// an error; ACTIONS with By and MessageID are also answered with EMITTED to the
// connection By.
func (c *Center) Publish(events []Event) { panic("not built yet") }

// Head is the position of the newest event published.
func (c *Center) Head() wire.Position { panic("not built yet") }

// Restart says that the log goes on at head but not from where the Center was:
// the store has lost something. Every tab gets a fresh snapshot.
func (c *Center) Restart(head wire.Position) { panic("not built yet") }

// TabConfig is what a [Tab] is made of.
type TabConfig struct {
	// Conn is where the bytes go. The Center only writes to it.
	Conn net.Conn
	Form Form
	// Who is what others are shown of the connection.
	Who wire.Connection
	// Monitors filters the events; none means all.
	Monitors []wire.MonitorID
	// ResumeFrom is the last message_id the client saw, as it sent it.
	// Anything that is not a position in the log means a snapshot.
	ResumeFrom string
	// Closed is called once, from a goroutine of its own, when the Center
	// gives the tab up: too slow, position lost, session deleted.
	Closed func(code wire.CloseCode, reason string)
}

// Attach greets a new tab with session_state and shows it everything from there
// on. It waits for the store when the client has missed something.
func (c *Center) Attach(ctx context.Context, cfg TabConfig) (*Tab, error) { panic("not built yet") }

// Tabs is how many tabs there are; Connections lists the oldest of them.
func (c *Center) Tabs() int { panic("not built yet") }

// Close gives every tab up with a code.
func (c *Center) Close(code wire.CloseCode, reason string) { panic("not built yet") }

// Tab is one connection that watches a session.
type Tab struct{}

// Send shows the tab an event of its own, between the others. It never waits. A
// tab that does not take its own answers is given up.
func (t *Tab) Send(e wire.Event) { panic("not built yet") }

// WriteControl writes whole WebSocket frames of the library (pong, close)
// between two of ours. It waits as long as the write timeout allows.
func (t *Tab) WriteControl(frames []byte) (int, error) { panic("not built yet") }

// Watch adds a monitor to the filter of a tab that has one, and shows it a fresh
// snapshot then.
func (t *Tab) Watch(m wire.MonitorID) { panic("not built yet") }

// Detach forgets the tab. It returns after the last write to the connection.
func (t *Tab) Detach() { panic("not built yet") }
