package desktop

import "github.com/everdesk/everdesk/wire"

// Title returns the title of the session.
func (s *State) Title() string {
	a, _ := s.about.value(only{})
	return a.Title
}

// Monitors returns all monitors, monitor-0 first.
func (s *State) Monitors() []wire.MonitorStatus { return s.monitors.sorted(nil, byMonitor) }

// Monitor returns the monitor with the id, if it exists.
func (s *State) Monitor(id wire.MonitorID) (wire.MonitorStatus, bool) { return s.monitors.value(id) }

// MonitorCount returns the number of monitors.
func (s *State) MonitorCount() int { return s.monitors.len() }

// HasMonitor reports whether a monitor exists.
func (s *State) HasMonitor(id wire.MonitorID) bool {
	return id == firstMonitor || s.monitors.get(id) != nil
}

// WindowCount returns the number of open windows on all monitors.
func (s *State) WindowCount() int { return s.windows.len() }

// Windows returns the windows of a monitor, from back to front.
func (s *State) Windows(monitor wire.MonitorID) []wire.WindowState {
	return s.windowsWithContent(func(m wire.MonitorID) bool { return m == monitor })
}

// Window returns the window that an id denotes for an action on a monitor.
func (s *State) Window(monitor wire.MonitorID, id wire.WindowID) (wire.WindowState, bool) {
	if _, r := s.find(monitor, id); r != nil {
		return s.whole(&r.value), true
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
	for k, r := range s.windows.items {
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
	return s.whole(found), true
}

// Focused returns the focused window of a monitor: the frontmost standard window that is
// not minimized.
func (s *State) Focused(monitor wire.MonitorID) (wire.WindowState, bool) {
	var front *wire.WindowState
	for k, r := range s.windows.items {
		w := &r.value
		if k.monitor == monitor && standard(w) && !w.Minimized && (front == nil || w.Z > front.Z) {
			front = w
		}
	}
	if front == nil {
		return wire.WindowState{}, false
	}
	return s.whole(front), true
}

// UserRow returns the row of a user's message: the first one, if several have its id.
func (s *State) UserRow(id wire.MessageID) (wire.UIRow, bool) {
	var first *wire.UIRow
	for _, r := range s.rows.items {
		row := &r.value
		if row.MessageID == id && row.Say == wire.SayUserFeedback && (first == nil || row.TS < first.TS) {
			first = row
		}
	}
	if first == nil {
		return wire.UIRow{}, false
	}
	return *first, true
}

// AgentText returns the text of an agent's running turn so far.
func (s *State) AgentText(role wire.AgentID) string { return s.textSoFar(streamKey{role, false}) }

// Dialog returns an open dialog.
func (s *State) Dialog(id wire.DialogID) (wire.ApprovalRequest, bool) { return s.dialogs.value(id) }

// Prompt returns an open prompt.
func (s *State) Prompt(id wire.PromptID) (wire.OpenPrompt, bool) { return s.prompts.value(id) }

// OpenQuestions returns all open dialogs and prompts, the earliest deadline first.
func (s *State) OpenQuestions() ([]wire.ApprovalRequest, []wire.OpenPrompt) {
	return s.dialogs.sorted(nil, dialogsByDeadline), s.prompts.sorted(nil, promptsByDeadline)
}

// Agents returns all agents, without their texts.
func (s *State) Agents() []wire.AgentState { return s.agents.sorted(nil, byRole) }

// Toast returns a toast that had not expired at the newest event.
func (s *State) Toast(id wire.NoticeID) (wire.ShownToast, bool) { return s.toasts.value(id) }

// Toasts returns all toasts, oldest first.
func (s *State) Toasts() []wire.ShownToast { return s.toasts.sorted(nil, toastsBySince) }

// Notification returns a notification that was not dismissed.
func (s *State) Notification(id wire.NoticeID) (wire.ShownNotification, bool) {
	return s.notifications.value(id)
}

// Notifications returns all notifications, oldest first.
func (s *State) Notifications() []wire.ShownNotification {
	return s.notifications.sorted(nil, bySince)
}

// Deadline is the time at which a question ends without an answer. One of the ids is set.
type Deadline struct {
	At     wire.Millis
	Dialog wire.DialogID
	Prompt wire.PromptID
}

// Questions returns the number of open dialogs and prompts.
func (s *State) Questions() (dialogs, prompts int) { return s.dialogs.len(), s.prompts.len() }

// Owner returns the owner of the session according to the log.
func (s *State) Owner() wire.ReplicaID {
	a, _ := s.about.value(only{})
	return a.Owner
}

// NextDeadline returns the earliest deadline of all open dialogs and prompts.
func (s *State) NextDeadline() (Deadline, bool) {
	if s.dialogs.len()+s.prompts.len() == 0 {
		return Deadline{}, false
	}
	next := Deadline{At: never}
	if d, ok := s.dialogs.first(dialogsByDeadline); ok {
		next = Deadline{At: d.Deadline, Dialog: d.DialogID}
	}
	if p, ok := s.prompts.first(promptsByDeadline); ok && p.Deadline < next.At {
		next = Deadline{At: p.Deadline, Prompt: p.ID}
	}
	return next, next.Dialog != "" || next.Prompt != ""
}

// Provider returns the provider that the session uses, if an event named one.
func (s *State) Provider() string {
	a, _ := s.about.value(only{})
	return a.Provider
}

// AutoApproval returns the auto-approval rules.
func (s *State) AutoApproval() wire.AutoApproval {
	rules, _ := s.approval.value(only{})
	return rules
}

// Row returns a row of the conversation, if it is among the newest.
func (s *State) Row(ts wire.Millis) (wire.UIRow, bool) { return s.rows.value(ts) }
