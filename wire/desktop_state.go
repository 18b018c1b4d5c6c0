package wire

import (
	"cmp"
	"slices"
)

// appendState appends the frames of a session_state: a CONNECTION_STATUS and, for a
// snapshot, one ACTIONS per monitor and the frames of the running agents. Window ids are
// not scoped, unless d is Numbered, because that client prefixes every id with the frame's
// monitor.
func (d Desktop) appendState(dst [][]byte, session SessionID, s SessionState) [][]byte {
	dst = append(dst, d.frame(ConnectionStatus{
		// Without a provider that client would not store the session's id.
		Status: LinkConnected, Provider: cmp.Or(s.Provider, "default"), SessionID: session,
	}, ""))
	if s.Mode != StateSnapshot {
		return dst
	}
	for _, monitor := range s.monitorsShown() {
		if actions := s.actionsOf(monitor); len(actions) > 0 {
			dst = append(dst, d.frame(Actions{Actions: actions, MonitorID: monitor}, ""))
		}
	}
	for _, a := range s.Agents {
		dst = d.appendAgent(dst, a)
	}
	return dst
}

// monitorsShown returns the monitors in order, then those that only windows, questions,
// notifications or toasts name, then "" for objects without a monitor.
func (s *SessionState) monitorsShown() []MonitorID {
	var ids []MonitorID
	add := func(id MonitorID) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, m := range s.Monitors {
		add(m.MonitorID)
	}
	for _, w := range s.Windows {
		add(w.MonitorID)
	}
	for _, d := range s.Dialogs {
		add(d.MonitorID)
	}
	for _, p := range s.Prompts {
		add(p.MonitorID)
	}
	for _, n := range s.Notifications {
		add(n.MonitorID)
	}
	for _, t := range s.Toasts {
		add(t.MonitorID)
	}
	return append(ids, "")
}

// actionsOf returns the actions that create the objects of a monitor or, for "", those
// without one, which include the shortcuts and badges.
func (s *SessionState) actionsOf(monitor MonitorID) []Action {
	var actions []Action
	for _, w := range s.Windows {
		if w.MonitorID == monitor {
			actions = w.appendActions(actions)
		}
	}
	for _, d := range s.Dialogs {
		if d.MonitorID == monitor {
			actions = append(actions, DialogConfirm{
				ID: d.DialogID, Title: d.Title, Message: d.Message, ConfirmText: d.ConfirmText,
				CancelText: d.CancelText, PermissionOptions: d.PermissionOptions,
				ActionMeta: ActionMeta{AgentID: d.AgentID},
			})
		}
	}
	for _, p := range s.Prompts {
		if p.MonitorID == monitor {
			actions = append(actions, PromptShow{Prompt: p.Prompt, ActionMeta: ActionMeta{AgentID: p.AgentID}})
		}
	}
	for _, n := range s.Notifications {
		if n.MonitorID == monitor {
			actions = append(actions, NotificationShow{Notification: n.Notification})
		}
	}
	for _, t := range s.Toasts {
		if t.MonitorID == monitor {
			actions = append(actions, ToastShow{Toast: t.Toast})
		}
	}
	if monitor == "" {
		for _, icon := range s.Shortcuts {
			// That client does not replace a shortcut with the same id, which it may have
			// from an earlier connection or over HTTP.
			actions = append(actions, RemoveShortcut{ShortcutID: icon.ID}, CreateShortcut{Shortcut: icon})
		}
		for _, b := range s.Badges {
			actions = append(actions, AppBadge{AppID: b.Key, Count: b.Value})
		}
	}
	return actions
}

// WindowActions returns the actions that create the windows of all monitors, without locks,
// on a desktop with one monitor. Of windows with the same id it creates only the first.
func (s *SessionState) WindowActions() []Action {
	actions, seen := []Action{}, map[WindowID]bool{}
	for _, monitor := range s.monitorsShown() {
		for _, w := range s.Windows {
			if w.MonitorID == monitor && !seen[w.WindowID] {
				seen[w.WindowID] = true
				w.Lock = ""
				actions = w.appendActions(actions)
			}
		}
	}
	return actions
}

// appendActions appends the actions that create a window.
func (w *WindowState) appendActions(actions []Action) []Action {
	actions = append(actions, WindowCreate{
		WindowID: w.WindowID, Title: w.Title, Bounds: w.Bounds, Content: w.Content,
		WindowLook: w.WindowLook, Minimized: w.Minimized,
	})
	if w.Maximized {
		actions = append(actions, WindowMaximize{WindowID: w.WindowID})
	}
	if w.Lock != "" {
		actions = append(actions, WindowLock{WindowID: w.WindowID, AgentID: w.Lock})
	}
	return actions
}

// appendAgent appends the frames of an agent that is not idle, with its text or, while
// there is none, its thinking so far. The end of its turn removes it from the desktop.
func (d Desktop) appendAgent(dst [][]byte, a AgentState) [][]byte {
	if a.Status == AgentStatusIdle {
		return dst
	}
	if a.WindowID != "" {
		for _, status := range []WindowAgentChange{AgentAssigned, AgentActive} {
			dst = append(dst, d.frame(WindowAgentStatus{
				WindowID: a.WindowID, AgentID: a.Role, Status: status, MonitorID: a.MonitorID, MessageID: a.MessageID,
			}, ""))
		}
	}
	if a.Text == "" {
		return append(dst, d.frame(AgentThinking{
			Content: a.Thinking, AgentID: a.Role, MonitorID: a.MonitorID, MessageID: a.MessageID,
		}, contentField(a.Thinking)))
	}
	return append(dst, d.frame(AgentResponse{
		Content: a.Text, AgentID: a.Role, MonitorID: a.MonitorID, MessageID: a.MessageID,
	}, ""))
}
