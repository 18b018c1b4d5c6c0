package client

import (
	"sync"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// Event is an event that a client received.
type Event struct {
	// Event is the decoded event. Its Data is nil for an event that could not be decoded, as of a
	// type that only a newer hub has.
	wire.Event
	Type string
	// Raw is the native frame, one line without its end. It may be retained and must not be
	// changed.
	Raw []byte
	// Replayed says that the event is older than the connection.
	Replayed bool
}

// Stats are counts over all connections.
type Stats struct {
	// Connections counts the received session_state events that began a connection.
	Connections int
	// Snapshots counts the states that replaced the mirror.
	Snapshots int
	// Events counts new durable events, Duplicates those that were dropped because they were not
	// new.
	Events     int
	Duplicates int
	// Unreadable counts lines that were no events.
	Unreadable int
}

// mirror is the cursor and the desktop state at the cursor.
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

// applyState handles a session_state that is not in the log, such as the first event of a
// connection. A snapshot replaces the mirror, even by an older state, since the hub may have lost
// events that the client has seen.
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

// apply applies a durable event and moves the cursor. It reports false if the event is not new.
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
