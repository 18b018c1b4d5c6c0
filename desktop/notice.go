package desktop

import (
	"cmp"

	"github.com/everdesk/everdesk/wire"
)

// Notices holds the open questions (dialogs and prompts), the notifications and the toasts.
type Notices struct {
	dialogs       table[wire.DialogID, wire.ApprovalRequest]
	prompts       table[wire.PromptID, wire.OpenPrompt]
	notifications table[wire.NoticeID, wire.ShownNotification]
	toasts        table[wire.NoticeID, wire.ShownToast]
	// toastsDue is the time at which the next toast expires, or never.
	toastsDue wire.Millis
}

// Dialog returns an open dialog.
func (n *Notices) Dialog(id wire.DialogID) (wire.ApprovalRequest, bool) { return n.dialogs.value(id) }

// Prompt returns an open prompt.
func (n *Notices) Prompt(id wire.PromptID) (wire.OpenPrompt, bool) { return n.prompts.value(id) }

// OpenQuestions returns all open dialogs and prompts, the earliest deadline first.
func (n *Notices) OpenQuestions() ([]wire.ApprovalRequest, []wire.OpenPrompt) {
	return n.dialogs.sorted(nil, dialogsByDeadline), n.prompts.sorted(nil, promptsByDeadline)
}

// Questions returns the number of open dialogs and prompts.
func (n *Notices) Questions() (dialogs, prompts int) { return n.dialogs.len(), n.prompts.len() }

// Deadline is the time at which a question ends without an answer. One of the ids is set.
type Deadline struct {
	At     wire.Millis
	Dialog wire.DialogID
	Prompt wire.PromptID
}

// NextDeadline returns the earliest deadline of all open dialogs and prompts.
func (n *Notices) NextDeadline() (Deadline, bool) {
	if n.dialogs.len()+n.prompts.len() == 0 {
		return Deadline{}, false
	}
	next := Deadline{At: never}
	if d, ok := n.dialogs.first(dialogsByDeadline); ok {
		next = Deadline{At: d.Deadline, Dialog: d.DialogID}
	}
	if p, ok := n.prompts.first(promptsByDeadline); ok && p.Deadline < next.At {
		next = Deadline{At: p.Deadline, Prompt: p.ID}
	}
	return next, next.Dialog != "" || next.Prompt != ""
}

// Toast returns a toast that had not expired at the newest event.
func (n *Notices) Toast(id wire.NoticeID) (wire.ShownToast, bool) { return n.toasts.value(id) }

// Toasts returns all toasts, oldest first.
func (n *Notices) Toasts() []wire.ShownToast { return n.toasts.sorted(nil, toastsBySince) }

// Notification returns a notification that was not dismissed.
func (n *Notices) Notification(id wire.NoticeID) (wire.ShownNotification, bool) {
	return n.notifications.value(id)
}

// Notifications returns all notifications, oldest first.
func (n *Notices) Notifications() []wire.ShownNotification {
	return n.notifications.sorted(nil, bySince)
}

// showNotification adds or replaces a notification.
func (n *Notices) showNotification(in actionContext, notification wire.Notification) {
	n.notifications.put(notification.ID, wire.ShownNotification{Notification: notification, Since: in.now, MonitorID: in.monitor})
	if n.notifications.len() > MaxNotifications {
		if oldest, ok := n.notifications.first(bySince); ok {
			n.notifications.drop(oldest.ID)
		}
	}
}

func bySince(a, b *wire.ShownNotification) int {
	return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.ID, b.ID))
}

// showToast adds or replaces a toast.
func (n *Notices) showToast(in actionContext, t wire.Toast) {
	n.toasts.put(t.ID, wire.ShownToast{Toast: t, Since: in.now, MonitorID: in.monitor})
	if n.toasts.len() > MaxToasts {
		if oldest, ok := n.toasts.first(toastsBySince); ok {
			n.toasts.drop(oldest.ID)
		}
	}
	n.findToastsDue()
}

func toastsBySince(a, b *wire.ShownToast) int {
	return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.ID, b.ID))
}

// toastEnd returns the time at which a toast expires.
func toastEnd(t *wire.ShownToast) wire.Millis {
	return t.Since + wire.Millis(cmp.Or(t.Duration, toastMillis))
}

// dismissToast removes a toast before it expires.
func (n *Notices) dismissToast(id wire.NoticeID) {
	n.toasts.drop(id)
	n.findToastsDue()
}

// pruneToasts removes the toasts that have expired.
func (n *Notices) pruneToasts(now wire.Millis) {
	n.toasts.dropIf(func(t *wire.ShownToast) bool { return toastEnd(t) <= now })
	n.findToastsDue()
}

func (n *Notices) findToastsDue() {
	n.toastsDue = never
	for _, r := range n.toasts.items {
		n.toastsDue = min(n.toastsDue, toastEnd(&r.value))
	}
}

// hasRoomForDialog reports whether the limit allows a dialog, which may replace one.
func (n *Notices) hasRoomForDialog(id wire.DialogID) bool {
	return n.dialogs.len() < MaxDialogs || n.dialogs.get(id) != nil
}

// openDialog adds or replaces a dialog.
func (n *Notices) openDialog(d wire.ApprovalRequest, now wire.Millis) {
	if d.Deadline == 0 {
		d.Deadline = now + dialogMillis
	}
	n.dialogs.put(d.DialogID, d)
}

func dialogsByDeadline(a, b *wire.ApprovalRequest) int {
	return cmp.Or(cmp.Compare(a.Deadline, b.Deadline), cmp.Compare(a.DialogID, b.DialogID))
}

// hasRoomForPrompt reports whether the limit allows a prompt, which may replace one.
func (n *Notices) hasRoomForPrompt(id wire.PromptID) bool {
	return n.prompts.len() < MaxPrompts || n.prompts.get(id) != nil
}

// openPrompt adds or replaces a prompt.
func (n *Notices) openPrompt(in actionContext, a wire.PromptShow) {
	n.prompts.put(a.ID, wire.OpenPrompt{
		Prompt: a.Prompt, Deadline: in.now + promptMillis, AgentID: in.by(a.AgentID), MessageID: in.message, MonitorID: in.monitor,
	})
}

func promptsByDeadline(a, b *wire.OpenPrompt) int {
	return cmp.Or(cmp.Compare(a.Deadline, b.Deadline), cmp.Compare(a.ID, b.ID))
}

// dropMonitor removes the notices of a monitor.
func (n *Notices) dropMonitor(id wire.MonitorID) {
	n.dialogs.dropIf(func(d *wire.ApprovalRequest) bool { return d.MonitorID == id })
	n.prompts.dropIf(func(p *wire.OpenPrompt) bool { return p.MonitorID == id })
	n.notifications.dropIf(func(s *wire.ShownNotification) bool { return s.MonitorID == id })
	n.toasts.dropIf(func(t *wire.ShownToast) bool { return t.MonitorID == id })
	n.findToastsDue()
}

// addTo adds the notices of the shown monitors to a snapshot.
func (n *Notices) addTo(state *wire.SessionState, shown func(wire.MonitorID) bool) {
	state.Dialogs = n.dialogs.sorted(func(d *wire.ApprovalRequest) bool { return shown(d.MonitorID) }, dialogsByDeadline)
	state.Prompts = n.prompts.sorted(func(p *wire.OpenPrompt) bool { return shown(p.MonitorID) }, promptsByDeadline)
	state.Notifications = n.notifications.sorted(func(s *wire.ShownNotification) bool { return shown(s.MonitorID) }, bySince)
	state.Toasts = n.toasts.sorted(func(t *wire.ShownToast) bool { return shown(t.MonitorID) }, toastsBySince)
}

// load fills the empty tables from a snapshot.
func (n *Notices) load(p *wire.SessionState) {
	for _, d := range p.Dialogs {
		n.dialogs.put(d.DialogID, d)
	}
	for _, q := range p.Prompts {
		n.prompts.put(q.ID, q)
	}
	for _, s := range p.Notifications {
		n.notifications.put(s.ID, s)
	}
	for _, t := range p.Toasts {
		n.toasts.put(t.ID, t)
	}
	n.findToastsDue()
}

// clone returns a copy for trial changes.
func (n *Notices) clone(sum *unwritten) Notices {
	return Notices{
		dialogs: n.dialogs.clone(sum), prompts: n.prompts.clone(sum),
		notifications: n.notifications.clone(sum), toasts: n.toasts.clone(sum), toastsDue: n.toastsDue,
	}
}
