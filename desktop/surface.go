package desktop

import (
	"cmp"

	"github.com/everdesk/everdesk/wire"
)

// surface is the visible desktop: everything that actions change and that the checks of
// actions read.
type surface struct {
	monitors monitors
	windows  windows
	notices  Notices
	icons    icons
}

// actionContext holds the properties of the event that an action came in.
type actionContext struct {
	monitor wire.MonitorID
	agent   wire.AgentID
	message wire.MessageID
	now     wire.Millis
}

// act applies one action.
func (f *surface) act(in actionContext, action wire.Action) {
	switch a := action.(type) {
	case wire.WindowCreate:
		if a.WindowID != "" && f.monitors.add(in.monitor) {
			f.windows.create(in, a)
		}
	case wire.WindowClose:
		f.windows.close(in.monitor, a.WindowID)
	case wire.WindowFocus:
		f.windows.focus(in.monitor, a.WindowID)
	case wire.WindowMinimize:
		f.windows.minimize(in.monitor, a.WindowID)
	case wire.WindowMaximize:
		f.windows.maximize(in.monitor, a.WindowID)
	case wire.WindowRestore:
		f.windows.restore(in.monitor, a.WindowID)
	case wire.WindowMove:
		if w := f.windows.edit(in.monitor, a.WindowID); w != nil {
			w.Bounds.X, w.Bounds.Y = finite(a.X), finite(a.Y)
		}
	case wire.WindowResize:
		if w := f.windows.edit(in.monitor, a.WindowID); w != nil {
			w.Bounds.W, w.Bounds.H = finite(a.W), finite(a.H)
		}
	case wire.WindowSetTitle:
		if w := f.windows.edit(in.monitor, a.WindowID); w != nil {
			w.Title = a.Title
		}
	case wire.WindowSetContent:
		f.windows.fill(in.monitor, a.WindowID, a.Content)
	case wire.WindowUpdateContent:
		f.windows.updateContent(in.monitor, a)
	case wire.WindowLock:
		if w := f.windows.edit(in.monitor, a.WindowID); w != nil {
			w.Lock = a.AgentID
		}
	case wire.WindowUnlock:
		if w := f.windows.edit(in.monitor, a.WindowID); w != nil {
			w.Lock = ""
		}
	default:
		if value, is := pointed(action); is {
			f.act(in, value)
			return
		}
		f.actOther(in, a)
	}
}

// actOther applies the actions that concern no window. Captures and app refreshes leave no
// state.
func (f *surface) actOther(in actionContext, action wire.Action) {
	switch a := action.(type) {
	case wire.NotificationShow:
		if a.ID != "" && f.monitors.add(in.monitor) {
			f.notices.showNotification(in, a.Notification)
		}
	case wire.NotificationDismiss:
		f.notices.notifications.drop(a.ID)
	case wire.ToastShow:
		if a.ID != "" && f.monitors.add(in.monitor) {
			f.notices.showToast(in, a.Toast)
		}
	case wire.ToastDismiss:
		f.notices.dismissToast(a.ID)
	case wire.DialogConfirm:
		f.openDialog(wire.ApprovalRequest{
			DialogID: a.ID, Title: a.Title, Message: a.Message, ConfirmText: a.ConfirmText, CancelText: a.CancelText,
			PermissionOptions: a.PermissionOptions, AgentID: in.by(a.AgentID), MonitorID: in.monitor, MessageID: in.message,
		}, in.now)
	case wire.PromptShow:
		if a.ID != "" && f.notices.hasRoomForPrompt(a.ID) && f.monitors.add(in.monitor) {
			f.notices.openPrompt(in, a)
		}
	case wire.PromptDismiss:
		f.notices.prompts.drop(a.ID)
	case wire.AppBadge:
		f.icons.setBadge(a)
	case wire.CreateShortcut:
		f.icons.createShortcut(a.Shortcut)
	case wire.RemoveShortcut:
		f.icons.shortcuts.drop(a.ShortcutID)
	case wire.UpdateShortcut:
		f.icons.updateShortcut(a)
	}
}

// by returns the agent that an action names, or else that of its event.
func (in actionContext) by(agent wire.AgentID) wire.AgentID {
	return cmp.Or(agent, in.agent)
}

// openDialog opens a dialog of an action or of an approval request, which may name no
// monitor.
func (f *surface) openDialog(d wire.ApprovalRequest, now wire.Millis) {
	if d.DialogID == "" || !f.notices.hasRoomForDialog(d.DialogID) {
		return
	}
	if d.MonitorID == "" || f.monitors.add(d.MonitorID) {
		f.notices.openDialog(d, now)
	}
}

// setMonitor creates or changes a monitor, or removes it with everything on it. The first
// monitor stays.
func (f *surface) setMonitor(p wire.MonitorStatus) {
	switch {
	case p.State != wire.MonitorRemoved:
		f.monitors.set(p)
	case p.MonitorID != firstMonitor:
		f.monitors.remove(p.MonitorID)
		f.windows.closeAll(p.MonitorID)
		f.notices.dropMonitor(p.MonitorID)
	}
}

// size returns the bytes of everything that MaxBytes bounds. Changes after the last
// [State.Changes] do not count yet.
func (f *surface) size() int {
	return f.windows.all.bytes + f.windows.contents.bytes + f.windows.pieces.bytes + f.notices.dialogs.bytes + f.notices.prompts.bytes +
		f.notices.notifications.bytes + f.notices.toasts.bytes + f.icons.shortcuts.bytes
}

// addTo adds the surface of the shown monitors to a snapshot.
func (f *surface) addTo(state *wire.SessionState, shown func(wire.MonitorID) bool) {
	f.monitors.addTo(state, shown)
	state.Windows = f.windows.list(shown)
	f.notices.addTo(state, shown)
	f.icons.addTo(state)
}

// load fills the empty tables from a snapshot.
func (f *surface) load(p *wire.SessionState) {
	f.monitors.load(p)
	f.windows.load(p)
	f.notices.load(p)
	f.icons.load(p)
}

// clone returns a copy for trial actions. Actions do not change the queues of monitors, so the copy
// has none.
func (f *surface) clone() *surface {
	sum := new(unwritten)
	return &surface{
		monitors: monitors{all: f.monitors.all.clone(sum)}, windows: f.windows.clone(sum),
		notices: f.notices.clone(sum), icons: f.icons.clone(sum),
	}
}
