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

// applyAction applies one action.
func (sf *surface) applyAction(in actionContext, action wire.Action) {
	switch a := action.(type) {
	case wire.WindowCreate:
		if a.WindowID != "" && sf.monitors.add(in.monitor) {
			a.Content = WithoutExecutions(a.Content)
			sf.windows.create(in, a)
		}
	case wire.WindowClose:
		sf.windows.close(in.monitor, a.WindowID)
	case wire.WindowFocus:
		sf.windows.focus(in.monitor, a.WindowID)
	case wire.WindowMinimize:
		sf.windows.minimize(in.monitor, a.WindowID)
	case wire.WindowMaximize:
		sf.windows.maximize(in.monitor, a.WindowID)
	case wire.WindowRestore:
		sf.windows.restore(in.monitor, a.WindowID)
	case wire.WindowMove:
		if w := sf.windows.edit(in.monitor, a.WindowID); w != nil {
			w.Bounds.X, w.Bounds.Y = finite(a.X), finite(a.Y)
			w.Placed = in.by(a.AgentID) == ""
		}
	case wire.WindowResize:
		if w := sf.windows.edit(in.monitor, a.WindowID); w != nil {
			w.Bounds.W, w.Bounds.H = finite(a.W), finite(a.H)
			w.Placed = in.by(a.AgentID) == ""
		}
	case wire.WindowSetTitle:
		if w := sf.windows.edit(in.monitor, a.WindowID); w != nil {
			w.Title = a.Title
		}
	case wire.WindowSetContent:
		sf.windows.fill(in.monitor, a.WindowID, WithoutExecutions(a.Content))
	case wire.WindowUpdateContent:
		sf.windows.updateContent(in.monitor, a)
	case wire.WindowLock:
		if w := sf.windows.edit(in.monitor, a.WindowID); w != nil {
			w.Lock = a.AgentID
		}
	case wire.WindowUnlock:
		if w := sf.windows.edit(in.monitor, a.WindowID); w != nil {
			w.Lock = ""
		}
	default:
		if value, is := pointedTo(action); is {
			sf.applyAction(in, value)
			return
		}
		sf.applyOther(in, a)
	}
}

// applyOther applies the actions that concern no window. Captures and app refreshes leave no
// state.
func (sf *surface) applyOther(in actionContext, action wire.Action) {
	switch a := action.(type) {
	case wire.NotificationShow:
		if a.ID != "" && sf.monitors.add(in.monitor) {
			sf.notices.showNotification(in, a.Notification)
		}
	case wire.NotificationDismiss:
		sf.notices.notifications.drop(a.ID)
	case wire.ToastShow:
		if a.ID != "" && sf.monitors.add(in.monitor) {
			sf.notices.showToast(in, a.Toast)
		}
	case wire.ToastDismiss:
		sf.notices.dismissToast(a.ID)
	case wire.DialogConfirm:
		sf.openDialog(wire.ApprovalRequest{
			DialogID: a.ID, Title: a.Title, Message: a.Message, ConfirmText: a.ConfirmText, CancelText: a.CancelText,
			PermissionOptions: a.PermissionOptions, AgentID: in.by(a.AgentID), MonitorID: in.monitor, MessageID: in.message,
		}, in.now)
	case wire.PromptShow:
		if a.ID != "" && sf.notices.hasRoomForPrompt(a.ID) && sf.monitors.add(in.monitor) {
			sf.notices.openPrompt(in, a)
		}
	case wire.PromptDismiss:
		sf.notices.prompts.drop(a.ID)
	case wire.AppBadge:
		sf.icons.setBadge(a)
	case wire.CreateShortcut:
		sf.icons.createShortcut(a.Shortcut)
	case wire.RemoveShortcut:
		sf.icons.shortcuts.drop(a.ShortcutID)
	case wire.UpdateShortcut:
		sf.icons.updateShortcut(a)
	}
}

// by returns the agent that an action names, or else that of its event.
func (in actionContext) by(agent wire.AgentID) wire.AgentID {
	return cmp.Or(agent, in.agent)
}

// openDialog opens a dialog of an action or of an approval request, which may name no
// monitor.
func (sf *surface) openDialog(d wire.ApprovalRequest, now wire.Millis) {
	if d.DialogID == "" || !sf.notices.hasRoomForDialog(d.DialogID) {
		return
	}
	if d.MonitorID == "" || sf.monitors.add(d.MonitorID) {
		sf.notices.openDialog(d, now)
	}
}

// setMonitor creates or changes a monitor, or removes it with everything on it. The first
// monitor stays.
func (sf *surface) setMonitor(p wire.MonitorStatus) {
	switch {
	case p.State != wire.MonitorRemoved:
		sf.monitors.set(p)
	case p.MonitorID != firstMonitor:
		sf.monitors.remove(p.MonitorID)
		sf.windows.closeAll(p.MonitorID)
		sf.notices.dropMonitor(p.MonitorID)
	}
}

// size returns the bytes of everything that MaxBytes bounds. Changes after the last
// [State.Changes] do not count yet.
func (sf *surface) size() int {
	return sf.windows.all.bytes + sf.windows.contents.bytes + sf.windows.pieces.bytes + sf.notices.dialogs.bytes + sf.notices.prompts.bytes +
		sf.notices.notifications.bytes + sf.notices.toasts.bytes + sf.icons.shortcuts.bytes
}

// addTo adds the surface of the shown monitors to a snapshot.
func (sf *surface) addTo(state *wire.SessionState, shown func(wire.MonitorID) bool) {
	sf.monitors.addTo(state, shown)
	state.Windows = sf.windows.list(shown)
	sf.notices.addTo(state, shown)
	sf.icons.addTo(state)
}

// load fills the empty tables from a snapshot.
func (sf *surface) load(p *wire.SessionState) {
	sf.monitors.load(p)
	sf.windows.load(p)
	sf.notices.load(p)
	sf.icons.load(p)
}

// clone returns a copy for trial actions. Actions do not change the queues of monitors, so the copy
// has none.
func (sf *surface) clone() *surface {
	sum := new(unwritten)
	return &surface{
		monitors: monitors{all: sf.monitors.all.clone(sum)}, windows: sf.windows.clone(sum),
		notices: sf.notices.clone(sum), icons: sf.icons.clone(sum),
	}
}
