package desktop

import (
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// Title returns the title of the session.
func (s *State) Title() string { return s.info.get().Title }

// Monitors returns all monitors, monitor-0 first.
func (s *State) Monitors() []wire.MonitorStatus { return s.surface.monitors.all.sorted(nil, byMonitor) }

// Monitor returns the monitor with the id, if it exists.
func (s *State) Monitor(id wire.MonitorID) (wire.MonitorStatus, bool) {
	return s.surface.monitors.all.value(id)
}

// MonitorCount returns the number of monitors.
func (s *State) MonitorCount() int { return s.surface.monitors.all.len() }

// HasMonitor reports whether a monitor exists.
func (s *State) HasMonitor(id wire.MonitorID) bool {
	return id == firstMonitor || s.surface.monitors.all.get(id) != nil
}

// WindowCount returns the number of open windows on all monitors.
func (s *State) WindowCount() int { return s.surface.windows.all.len() }

// Windows returns the windows of a monitor, from back to front.
func (s *State) Windows(monitor wire.MonitorID) []wire.WindowState {
	return s.surface.windows.list(func(m wire.MonitorID) bool { return m == monitor })
}

// Window returns the window that an id denotes for an action on a monitor.
func (s *State) Window(monitor wire.MonitorID, id wire.WindowID) (wire.WindowState, bool) {
	if _, r := s.surface.windows.find(monitor, id); r != nil {
		return s.surface.windows.withContent(&r.value), true
	}
	return wire.WindowState{}, false
}

// FindWindow returns the window that an id denotes for a client that names no monitor: the
// one on the preferred monitor, or else the only one with the id in the session.
func (s *State) FindWindow(id wire.WindowID, prefer wire.MonitorID) (wire.WindowState, bool) {
	if w, ok := s.Window(prefer, id); ok {
		return w, true
	}
	var found *wire.WindowState
	for k, r := range s.surface.windows.all.items {
		if k.id != id {
			continue
		}
		if found != nil {
			return wire.WindowState{}, false
		}
		found = &r.value
	}
	if found == nil {
		return wire.WindowState{}, false
	}
	return s.surface.windows.withContent(found), true
}

// Focused returns the focused window of a monitor: the frontmost standard window that is
// not minimized.
func (s *State) Focused(monitor wire.MonitorID) (wire.WindowState, bool) {
	var front *wire.WindowState
	for k, r := range s.surface.windows.all.items {
		w := &r.value
		if k.monitor == monitor && standard(w) && !w.Minimized && (front == nil || w.Z > front.Z) {
			front = w
		}
	}
	if front == nil {
		return wire.WindowState{}, false
	}
	return s.surface.windows.withContent(front), true
}

// AgentText returns the text of an agent's running turn so far.
func (s *State) AgentText(role wire.AgentID) string {
	return s.agents.texts.text(streamKey{role, false})
}

// AgentThinking returns the thinking of the running turn of an agent.
func (s *State) AgentThinking(role wire.AgentID) string {
	return s.agents.texts.text(streamKey{role, true})
}

// Agents returns all agents, without their texts.
func (s *State) Agents() []wire.AgentState { return s.agents.all.sorted(nil, byRole) }

// Owner returns the owner of the session according to the log.
func (s *State) Owner() wire.ReplicaID { return s.info.get().Owner }

// Provider returns the provider that the session uses, if an event named one.
func (s *State) Provider() string { return s.info.get().Provider }

// AutoApproval returns the auto-approval rules of the session, and whether it has rules of its own.
func (s *State) AutoApproval() (wire.AutoApproval, bool) { return s.info.approval.value(only{}) }

// Mode returns the mode of agents; its id is empty if there is none.
func (s *State) Mode() wire.AgentMode {
	m, _ := s.info.mode.value(only{})
	return m
}

// Instructions returns the custom instructions of the session.
func (s *State) Instructions() string {
	i, _ := s.info.instructions.value(only{})
	return i.Text
}

// Notices returns the open questions, the notifications and the toasts.
func (s *State) Notices() *Notices { return &s.surface.notices }

// Rows returns the newest rows of the conversation.
func (s *State) Rows() *Rows { return &s.rows }

// LastRow returns the highest id and the highest TS that any row ever had, including
// dropped rows.
func (s *State) LastRow() (wire.RowID, wire.Millis) {
	a := s.info.get()
	for _, r := range s.rows.all.items { // for states stored before the two were tracked
		a.LastRow, a.LastTS = max(a.LastRow, r.value.ID), max(a.LastTS, r.value.TS)
	}
	return a.LastRow, a.LastTS
}

// Shortcuts returns the shortcuts in the order in which they were made.
func (s *State) Shortcuts() []wire.Shortcut { return s.surface.icons.shortcuts.sorted(nil, byCreation) }

// HasConnection reports whether a connection is among the listed ones of the last PRESENCE.
func (s *State) HasConnection(id wire.ConnectionID) bool {
	presence, _ := s.info.presence.value(only{})
	return slices.ContainsFunc(presence.Connections, func(c wire.Connection) bool { return c.ConnectionID == id })
}
