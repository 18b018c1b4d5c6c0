package desktop

import "github.com/everdesk/everdesk/wire"

// Title is the session's name.
func (s *State) Title() string {
	a, _ := s.about.value(only{})
	return a.Title
}

// Monitors are all monitors, monitor-0 first.
func (s *State) Monitors() []wire.MonitorStatus { return s.monitors.sorted(nil, byMonitor) }

// Monitor is one of them.
func (s *State) Monitor(id wire.MonitorID) (wire.MonitorStatus, bool) { return s.monitors.value(id) }

// MonitorCount is how many monitors there are.
func (s *State) MonitorCount() int { return s.monitors.len() }

// HasMonitor says whether a monitor is there.
func (s *State) HasMonitor(id wire.MonitorID) bool {
	return id == firstMonitor || s.monitors.get(id) != nil
}

// WindowCount is how many windows are open on all monitors.
func (s *State) WindowCount() int { return s.windows.len() }

// Windows are the windows of a monitor, from the back to the front.
func (s *State) Windows(monitor wire.MonitorID) []wire.WindowState {
	return s.windowsWithContent(func(m wire.MonitorID) bool { return m == monitor })
}

// Window is the window that an action on a monitor means by an id.
func (s *State) Window(monitor wire.MonitorID, id wire.WindowID) (wire.WindowState, bool) {
	if _, r := s.find(monitor, id); r != nil {
		return s.whole(&r.value), true
	}
	return wire.WindowState{}, false
}

// FindWindow is the window that a client means who names no monitor: the one on
// the monitor it looks at, or else the only one in the session.
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

// Focused is the window of a monitor that has the focus: the standard window in
// front that is not minimized.
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

// Said is the row of a message of a user: its first one, if several have its id.
func (s *State) Said(id wire.MessageID) (wire.UIRow, bool) {
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

// Words is what the turn of an agent that runs has said so far.
func (s *State) Words(role wire.AgentID) string { return s.textSoFar(streamKey{role, false}) }

// Dialog is an open dialog.
func (s *State) Dialog(id wire.DialogID) (wire.ApprovalRequest, bool) { return s.dialogs.value(id) }

// Prompt is an open prompt.
func (s *State) Prompt(id wire.PromptID) (wire.OpenPrompt, bool) { return s.prompts.value(id) }

// Asked are all open questions, those first whose time is over first.
func (s *State) Asked() ([]wire.ApprovalRequest, []wire.OpenPrompt) {
	return s.dialogs.sorted(nil, dialogsByDeadline), s.prompts.sorted(nil, promptsByDeadline)
}

// Agents are all agents, without what they say.
func (s *State) Agents() []wire.AgentState { return s.agents.sorted(nil, byRole) }

// Toast is a toast whose time was not over at the newest event.
func (s *State) Toast(id wire.NoticeID) (wire.ShownToast, bool) { return s.toasts.value(id) }

// Toasts are all toasts, the oldest first.
func (s *State) Toasts() []wire.ShownToast { return s.toasts.sorted(nil, toastsBySince) }

// Notification is a notification that was not dismissed.
func (s *State) Notification(id wire.NoticeID) (wire.ShownNotification, bool) {
	return s.notifications.value(id)
}

// Notifications are all notifications, the oldest first.
func (s *State) Notifications() []wire.ShownNotification {
	return s.notifications.sorted(nil, bySince)
}

// Deadline is when a question ends without an answer. One of the ids is set.
type Deadline struct {
	At     wire.Millis
	Dialog wire.DialogID
	Prompt wire.PromptID
}

// Questions counts the dialogs and prompts that are open.
func (s *State) Questions() (dialogs, prompts int) { return s.dialogs.len(), s.prompts.len() }

// Owner is the replica that runs the session, as far as the log says.
func (s *State) Owner() wire.ReplicaID {
	a, _ := s.about.value(only{})
	return a.Owner
}

// NextDeadline is the earliest deadline of all open questions.
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

// Provider is who answers, if it was said.
func (s *State) Provider() string {
	a, _ := s.about.value(only{})
	return a.Provider
}

// AutoApproval is what agents may do without asking.
func (s *State) AutoApproval() wire.AutoApproval {
	rules, _ := s.approval.value(only{})
	return rules
}

// Row is a row of the conversation, if it is among the newest.
func (s *State) Row(ts wire.Millis) (wire.UIRow, bool) { return s.rows.value(ts) }
