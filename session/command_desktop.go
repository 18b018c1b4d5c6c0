package session

import (
	"cmp"

	"github.com/everdesk/everdesk/wire"
)

// desktopCommands executes what people and programs do to the desktop: windows, apps, notices and
// monitors.
type desktopCommands struct {
	w         *stepWriter
	agents    *agents
	questions *questions
	geometry  geometry
}

// doInteractions applies what the user did on the desktop to the state that all tabs share. An
// interaction with something that does not exist is ignored: another tab may have closed it at the
// same time.
func (dc *desktopCommands) doInteractions(c *Command, m wire.UserInteractions) {
	prefer := cmp.Or(m.MonitorID, c.From.Monitor, firstMonitor)
	for _, i := range m.Interactions {
		if dc.agents != nil {
			monitor := prefer
			if w, ok := dc.w.state.FindWindow(i.WindowID, prefer); ok && m.MonitorID == "" {
				monitor = w.MonitorID
			}
			if dc.w.state.HasMonitor(monitor) {
				dc.agents.poolForUpdate().RecordInteraction(monitor, i)
			}
		}
		switch i.Type {
		case wire.DidDismissToast:
			dc.dismissToast(c, i)
		case wire.DidDismissNotification:
			dc.dismissNotification(c, i)
		case wire.DidCloseWindow, wire.DidFocusWindow, wire.DidMoveWindow, wire.DidResizeWindow,
			wire.DidMinimizeWindow, wire.DidMaximizeWindow:
			dc.applyWindowInteraction(c, prefer, m.MonitorID, i)
		default:
			// Clicks, drawings and selections do not change the desktop. Agents get them with the
			// message that follows.
		}
	}
}

// applyWindowInteraction applies what the user did to a window.
func (dc *desktopCommands) applyWindowInteraction(c *Command, prefer, named wire.MonitorID, i wire.UserInteraction) {
	w, ok := dc.w.state.Window(prefer, i.WindowID)
	if !ok && named == "" {
		w, ok = dc.w.state.FindWindow(i.WindowID, prefer)
	}
	if !ok {
		return
	}
	p := windowKey{w.MonitorID, w.WindowID}
	if i.Type == wire.DidMoveWindow || i.Type == wire.DidResizeWindow {
		if i.Bounds != nil {
			dc.moveWindow(p, *i.Bounds, c.From.Connection)
		}
		return
	}
	dc.flushMove(p)
	var a wire.Action
	switch i.Type {
	case wire.DidCloseWindow:
		delete(dc.geometry, p)
		a = wire.WindowClose{WindowID: w.WindowID}
	case wire.DidFocusWindow:
		if front, ok := dc.w.state.Focused(w.MonitorID); ok && front.WindowID == w.WindowID {
			return // else every click on the window would be an event
		}
		a = wire.WindowFocus{WindowID: w.WindowID}
	case wire.DidMinimizeWindow:
		a = wire.WindowMinimize{WindowID: w.WindowID}
		if w.Minimized {
			a = wire.WindowRestore{WindowID: w.WindowID}
		}
	case wire.DidMaximizeWindow:
		a = wire.WindowMaximize{WindowID: w.WindowID}
		if w.Maximized {
			a = wire.WindowRestore{WindowID: w.WindowID}
		}
	}
	if dc.w.state.CheckUser(w.MonitorID, a) == nil {
		dc.emitActions(c, w.MonitorID, a)
		if i.Type == wire.DidCloseWindow {
			dc.windowClosed(p)
		}
	}
}

// dismissToast removes a toast. Clients name it by id in windowId, or by text or id in details.
func (dc *desktopCommands) dismissToast(c *Command, i wire.UserInteraction) {
	id := wire.NoticeID(i.WindowID)
	t, ok := dc.w.state.Notices().Toast(id)
	for _, other := range dc.w.state.Notices().Toasts() {
		if ok {
			break
		}
		if i.Details != "" && (other.Message == i.Details || string(other.ID) == i.Details) {
			t, ok = other, true
		}
	}
	if ok {
		dc.emitActions(c, t.MonitorID, wire.ToastDismiss{ID: t.ID})
	}
}

// dismissNotification removes a notification, which is named like a toast.
func (dc *desktopCommands) dismissNotification(c *Command, i wire.UserInteraction) {
	id := wire.NoticeID(i.WindowID)
	n, ok := dc.w.state.Notices().Notification(id)
	for _, other := range dc.w.state.Notices().Notifications() {
		if ok {
			break
		}
		if i.Details != "" && (other.Title == i.Details || string(other.ID) == i.Details) {
			n, ok = other, true
		}
	}
	if ok {
		dc.emitActions(c, n.MonitorID, wire.NotificationDismiss{ID: n.ID})
	}
}

// doRemoveMonitor removes a monitor with everything on it. A monitor that does not exist is no
// error: the frontend sends the command four times.
func (dc *desktopCommands) doRemoveMonitor(m wire.RemoveMonitor) reply {
	if m.MonitorID == firstMonitor {
		return refused(wire.CodeSessionInvalidState, "%s cannot be removed", firstMonitor)
	}
	if !dc.w.state.HasMonitor(m.MonitorID) {
		return reply{}
	}
	if dc.agents != nil {
		planned := dc.agents.planOn(m.MonitorID)
		dc.agents.poolForUpdate().RemoveMonitor(m.MonitorID)
		if planned {
			dc.agents.dropPlan("the monitor was removed")
		}
	}
	now := dc.w.state.Snapshot(m.MonitorID)
	dc.clearMonitor(now, m.MonitorID, "")
	dc.w.deleteConversation(m.MonitorID)
	dc.w.Emit(wire.MonitorStatus{MonitorID: m.MonitorID, State: wire.MonitorRemoved, MessageID: m.MessageID})
	return reply{}
}

// doReset closes everything on all monitors, except for shortcuts, which belong to the user.
func (dc *desktopCommands) doReset(c *Command) {
	if dc.agents != nil {
		dc.agents.poolForUpdate().Reset()
		dc.agents.dropPlan("the desktop was reset")
	}
	now := dc.w.state.Snapshot()
	for _, m := range now.Monitors {
		dc.clearMonitor(now, m.MonitorID, c.From.Connection)
	}
	var actions []wire.Action
	for _, b := range now.Badges {
		actions = append(actions, wire.AppBadge{AppID: b.Key})
	}
	if len(actions) > 0 {
		dc.w.Emit(wire.Actions{Actions: actions, By: c.From.Connection})
	}
}

// clearMonitor closes everything on a monitor.
func (dc *desktopCommands) clearMonitor(now wire.SessionState, monitor wire.MonitorID, by wire.ConnectionID) {
	var actions []wire.Action
	for _, w := range now.Windows {
		if w.MonitorID == monitor {
			delete(dc.geometry, windowKey{monitor, w.WindowID})
			actions = append(actions, wire.WindowClose{WindowID: w.WindowID})
		}
	}
	on := func(m wire.MonitorID) bool { return cmp.Or(m, firstMonitor) == monitor }
	for _, n := range now.Notifications {
		if on(n.MonitorID) {
			actions = append(actions, wire.NotificationDismiss{ID: n.ID})
		}
	}
	for _, t := range now.Toasts {
		if on(t.MonitorID) {
			actions = append(actions, wire.ToastDismiss{ID: t.ID})
		}
	}
	if len(actions) > 0 {
		dc.w.Emit(wire.Actions{Actions: actions, MonitorID: monitor, By: by})
	}
	for _, w := range now.Windows {
		if w.MonitorID == monitor {
			dc.windowClosed(windowKey{monitor, w.WindowID})
		}
	}
	for _, d := range now.Dialogs {
		if on(d.MonitorID) {
			dc.questions.closeDialog(d, ending{Reason: wire.ClosedCancelled}, "", "")
		}
	}
	for _, p := range now.Prompts {
		if on(p.MonitorID) {
			dc.questions.closePrompt(p, ending{Reason: wire.ClosedCancelled}, "", nil)
		}
	}
}
