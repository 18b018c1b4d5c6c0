package desktop

import (
	"cmp"

	"github.com/everdesk/everdesk/wire"
)

func (s *State) showNotification(in actionContext, n wire.Notification) {
	if n.ID == "" || !s.addMonitor(in.monitor) {
		return
	}
	s.notifications.put(n.ID, wire.ShownNotification{Notification: n, Since: in.now, MonitorID: in.monitor})
	if s.notifications.len() > MaxNotifications {
		if oldest, ok := s.notifications.first(bySince); ok {
			s.notifications.drop(oldest.ID)
		}
	}
}

func bySince(a, b *wire.ShownNotification) int {
	return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.ID, b.ID))
}

func (s *State) showToast(in actionContext, t wire.Toast) {
	if t.ID == "" || !s.addMonitor(in.monitor) {
		return
	}
	s.toasts.put(t.ID, wire.ShownToast{Toast: t, Since: in.now, MonitorID: in.monitor})
	if s.toasts.len() > MaxToasts {
		if oldest, ok := s.toasts.first(toastsBySince); ok {
			s.toasts.drop(oldest.ID)
		}
	}
	s.findToastsDue()
}

func toastsBySince(a, b *wire.ShownToast) int {
	return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.ID, b.ID))
}

// toastEnd returns the time at which a toast expires.
func toastEnd(t *wire.ShownToast) wire.Millis {
	return t.Since + wire.Millis(cmp.Or(t.Duration, toastMillis))
}

func (s *State) pruneToasts(now wire.Millis) {
	s.toasts.dropIf(func(t *wire.ShownToast) bool { return toastEnd(t) <= now })
	s.findToastsDue()
}

func (s *State) findToastsDue() {
	s.toastsDue = never
	for _, r := range s.toasts.items {
		s.toastsDue = min(s.toastsDue, toastEnd(&r.value))
	}
}

func (s *State) setBadge(a wire.AppBadge) {
	switch {
	case a.Count == 0:
		s.badges.drop(a.AppID)
	case s.badges.get(a.AppID) != nil || s.badges.len() < MaxBadges:
		s.badges.put(a.AppID, badge{a.AppID, a.Count})
	}
}

func (s *State) createShortcut(c wire.Shortcut) {
	if s.shortcuts.get(c.ID) != nil || s.shortcuts.len() < MaxShortcuts {
		s.shortcuts.put(c.ID, c)
	}
}

func (s *State) updateShortcut(a wire.UpdateShortcut) {
	r := s.shortcuts.get(a.ShortcutID)
	if r == nil {
		return
	}
	c, u := s.shortcuts.touch(r), a.Updates
	if u.Label != nil {
		c.Label = *u.Label
	}
	if u.Icon != nil {
		c.Icon = *u.Icon
	}
	if u.Target != nil {
		c.Target = *u.Target
	}
	if u.OSActions != nil {
		c.OSActions = *u.OSActions
	}
	c.IconType = cmp.Or(u.IconType, c.IconType)
	c.Type = cmp.Or(u.Type, c.Type)
}

func (s *State) openDialog(d wire.ApprovalRequest, now wire.Millis) {
	full := s.dialogs.get(d.DialogID) == nil && s.dialogs.len() >= MaxDialogs
	if d.DialogID == "" || full || d.MonitorID != "" && !s.addMonitor(d.MonitorID) {
		return
	}
	if d.Deadline == 0 {
		d.Deadline = now + dialogMillis
	}
	s.dialogs.put(d.DialogID, d)
}

func dialogsByDeadline(a, b *wire.ApprovalRequest) int {
	return cmp.Or(cmp.Compare(a.Deadline, b.Deadline), cmp.Compare(a.DialogID, b.DialogID))
}

func (s *State) openPrompt(in actionContext, a wire.PromptShow) {
	full := s.prompts.get(a.ID) == nil && s.prompts.len() >= MaxPrompts
	if a.ID == "" || full || !s.addMonitor(in.monitor) {
		return
	}
	s.prompts.put(a.ID, wire.OpenPrompt{
		Prompt: a.Prompt, Deadline: in.now + promptMillis, AgentID: in.by(a.AgentID), MonitorID: in.monitor,
	})
}

func promptsByDeadline(a, b *wire.OpenPrompt) int {
	return cmp.Or(cmp.Compare(a.Deadline, b.Deadline), cmp.Compare(a.ID, b.ID))
}
