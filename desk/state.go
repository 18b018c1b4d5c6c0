package desk

import (
	"github.com/everdesk/everdesk/wire"
)

// State is a desktop at one position of its log. Make it with [New] or
// [Restore].
type State struct {
	session wire.SessionID
	at      wire.Position
}

// New is the desktop of a session whose log is empty: monitor-0 and nothing
// else.
func New(session wire.SessionID) *State { return &State{session: session} }

// Restore is the desktop that was kept as [Change]s, at the position of the
// last event that was applied to it.
func Restore(session wire.SessionID, at wire.Position, tables map[string]map[string][]byte) (*State, error) {
	panic("not built yet")
}

// At is the position of the newest event applied.
func (s *State) At() wire.Position { return s.at }

// Apply folds an event in. Events must come in the order of the log; one that is
// not newer than [State.At] changes nothing. A session_state in mode snapshot
// replaces everything. Types that mean nothing to the desktop only move the
// position.
func (s *State) Apply(e wire.Event) { panic("not built yet") }

// Check says why an action may not be done now, or nil. Only actions that pass
// may become events.
func (s *State) Check(monitor wire.MonitorID, a wire.Action) *Refusal { panic("not built yet") }

// Refusal is why an action may not be done.
type Refusal struct {
	Code   wire.Code
	Reason string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Reason }

// Snapshot is the whole state in the order everybody agrees on, for all
// monitors or for some. Mode, LastMessageID and what the log says are filled in;
// Reason and HeartbeatMS are the caller's.
func (s *State) Snapshot(monitors ...wire.MonitorID) wire.SessionState { panic("not built yet") }

// Hash is the same for everybody who has seen the same log: a digest of the
// snapshot without what differs between connections.
func (s *State) Hash() string { panic("not built yet") }

// Change is one field of a table that has to be written; no value means that it
// goes.
type Change struct {
	Table, Field string
	Value        []byte
}

// Changes are what has to be written to keep the state, since the last call.
func (s *State) Changes() []Change { panic("not built yet") }

// All is the whole state as changes.
func (s *State) All() []Change { panic("not built yet") }
