package desktop

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// Snapshot returns the whole state in a canonical order, for all monitors or for the given
// ones. It sets Mode, LastMessageID and everything that the log says; the caller sets
// Reason, HeartbeatMS and Provider.
//
// The lists belong to the caller, but their items share values with the state and must not
// be modified.
func (s *State) Snapshot(monitors ...wire.MonitorID) wire.SessionState {
	shown := func(id wire.MonitorID) bool {
		return id == "" || len(monitors) == 0 || slices.Contains(monitors, id)
	}
	state := wire.SessionState{Mode: wire.StateSnapshot, Status: s.status(), LastMessageID: s.at}
	s.info.addTo(&state)
	s.surface.addTo(&state, shown)
	s.agents.addTo(&state, shown)
	state.RecentMessages = s.rows.all.sorted(func(r *wire.UIRow) bool { return shown(r.MonitorID) }, byTS)
	s.plan.addTo(&state)
	return state
}

// status derives the status of the session.
func (s *State) status() wire.SessionStatus {
	dialogs, prompts := s.surface.notices.Questions()
	switch {
	case s.plan.paused():
		return wire.SessionPaused
	case dialogs+prompts+s.plan.requests.len() > 0:
		return wire.SessionWaiting
	case s.plan.layer.len() > 0 || s.agents.anyRunning():
		return wire.SessionExecuting
	}
	return wire.SessionIdle
}

// Hash returns a digest of the snapshot without connection-specific fields. It is the same
// for all replicas and clients that have applied the same log.
func (s *State) Hash() string { return HashOf(s.Snapshot()) }

// HashOf returns the [State.Hash] of a snapshot's state. It leaves out the position as
// well, because the newest event may have been addressed to another connection only.
func HashOf(state wire.SessionState) string {
	state.Mode, state.Reason, state.ReplayUntil, state.HeartbeatMS = "", "", wire.Position{}, 0
	state.LastMessageID = wire.Position{}
	sum := sha256.Sum256(theSchema().snapshot.Append(nil, &state))
	return hex.EncodeToString(sum[:])
}

// load replaces the state by a snapshot.
func (s *State) load(p *wire.SessionState) {
	last, ts := s.LastRow() // never reused, whatever the snapshot contains
	for i := range p.RecentMessages {
		last, ts = max(last, p.RecentMessages[i].ID), max(ts, p.RecentMessages[i].TS)
	}
	for _, t := range s.tables() {
		t.empty()
	}
	s.info.load(p, last, ts)
	s.surface.load(p)
	s.agents.load(p)
	s.rows.load(p)
	s.plan.load(p)
}
