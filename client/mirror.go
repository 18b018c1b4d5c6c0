package client

import (
	"sync"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// Event is an event as a client sees it.
type Event struct {
	// Event is the event decoded. Its Data is nil when that was not possible,
	// as with a type that only a newer hub knows.
	wire.Event
	Type string
	// Raw is the native frame, one line without its end. It may be kept and
	// must not be changed.
	Raw []byte
	// Replayed says that the event happened before the connection was made.
	Replayed bool
}

// Stats are counts over all connections.
type Stats struct {
	// Connections is how often the session's state or a replay began.
	Connections int
	// Snapshots is how often a state replaced what was known.
	Snapshots int
	// Events are the durable events that were new, Duplicates those that were
	// not and were dropped.
	Events     int
	Duplicates int
	// Unreadable are the lines that were no events at all.
	Unreadable int
}

// mirror is the cursor and the state that belongs to it.
type mirror struct {
	mu    sync.Mutex
	state *desktop.State
	at    wire.Position
	stats Stats
}

func (m *mirror) init(session wire.SessionID) { m.state = desktop.New(session) }

func (m *mirror) snapshot() wire.SessionState {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state.Snapshot()
	s.LastMessageID = m.at
	return s
}

func (m *mirror) hash() (string, wire.Position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.Hash(), m.at
}

func (m *mirror) position() wire.Position {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

func (m *mirror) counts() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stats
}

// applyState takes the first event of a connection, and every later one of its type
// that is not in the log:
// a snapshot replaces what was known, even by something older, since the hub may
// have lost what we saw.
func (m *mirror) applyState(e wire.Event, s wire.SessionState, first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if first {
		m.stats.Connections++
	}
	if s.Mode == wire.StateSnapshot {
		m.stats.Snapshots++
		m.state.Apply(e)
		m.at = s.LastMessageID
	}
}

// apply moves the cursor over a durable event. It reports false when the event is
// not new.
func (m *mirror) apply(e wire.Event) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.At.Compare(m.at) <= 0 {
		m.stats.Duplicates++
		return false
	}
	m.stats.Events++
	if _, ok := e.Data.(wire.SessionState); ok {
		m.stats.Snapshots++
	}
	m.state.Apply(e)
	m.at = e.At
	return true
}

func (m *mirror) unreadable() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.Unreadable++
}
