package desktop

import (
	"cmp"
	"math"
	"reflect"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// State is a desktop at one position of its log. Make it with [New] or
// [Restore].
type State struct {
	tables
	session wire.SessionID
	at      wire.Position
	// streams sums up the pieces of each text.
	streams map[streamKey]stream
	// toastsDue is when the first toast goes; never when there is none.
	toastsDue wire.Millis
	// rowBytes is what the texts of all rows take.
	rowBytes int
	// filled and shown are a window and a content that changed last, or is gone:
	// more often than not it is the one that changes next.
	filled *record[wire.WindowState]
	shown  *record[content]
}

// firstMonitor is always there.
const firstMonitor wire.MonitorID = "monitor-0"

// New is the desktop of a session whose log is empty: monitor-0 and nothing
// else.
func New(session wire.SessionID) *State {
	s := &State{session: session, toastsDue: never}
	s.init()
	s.addFirstMonitor()
	s.monitors.settle() // who restores nothing has it too
	return s
}

// addFirstMonitor makes monitor-0 if it is not there.
func (s *State) addFirstMonitor() {
	if s.monitors.get(firstMonitor) == nil {
		s.monitors.put(firstMonitor, wire.MonitorStatus{MonitorID: firstMonitor, State: wire.MonitorIdle})
	}
}

// Session is the session's id.
func (s *State) Session() wire.SessionID { return s.session }

// At is the position of the newest event applied.
func (s *State) At() wire.Position { return s.at }

// Apply folds an event in. Events must come in the order of the log; one that is
// not newer than [State.At] changes nothing. A session_state in mode snapshot
// replaces everything, be it in the log or, without a position, the first word of
// a connection, which may also lead back. Types that mean nothing to the desktop
// only move the position.
//
// What an event carries is shared with the state and with snapshots, so nobody
// may change it afterwards.
func (s *State) Apply(e wire.Event) {
	if _, is := e.Data.(wire.SessionState); is && s.applySnapshot(e) {
		return
	}
	if e.At.Compare(s.at) <= 0 {
		return
	}
	s.at = e.At
	if wire.AddresseeOf(e.Data) != "" {
		return // all others do not even learn the time from it
	}
	now := millis(e.Time)
	s.applyPayload(e.Data, now)
	if now >= s.toastsDue {
		s.pruneToasts(now)
	}
}

// applySnapshot folds an event in if it has everything.
func (s *State) applySnapshot(e wire.Event) bool {
	p, is := e.Data.(wire.SessionState)
	if !is || p.Mode != wire.StateSnapshot {
		return false
	}
	switch greeting := e.At.IsZero(); {
	case greeting:
		s.load(p)
		s.at = p.LastMessageID
	case e.At.Compare(s.at) > 0:
		s.load(p)
		s.at = e.At
	}
	return true
}

func (s *State) applyPayload(data wire.ServerPayload, now wire.Millis) {
	switch p := data.(type) {
	case wire.Actions:
		in := actionContext{monitor: cmp.Or(p.MonitorID, firstMonitor), agent: p.AgentID, message: p.MessageID, now: now}
		for _, a := range p.Actions {
			s.act(in, a)
		}
	case wire.MonitorStatus:
		s.setMonitor(p)
	case wire.ApprovalRequest:
		s.openDialog(p, now)
	case wire.DialogClosed:
		s.dialogs.drop(p.DialogID)
	case wire.PromptClosed:
		s.prompts.drop(p.PromptID)
	case wire.Presence:
		s.presence.put(only{}, p)
	case wire.OwnerChanged:
		a, _ := s.about.value(only{})
		a.Owner = p.Replica
		s.about.put(only{}, a)
	case wire.SessionRenamed:
		a, _ := s.about.value(only{})
		a.Title = p.Title
		s.about.put(only{}, a)
	case wire.ProviderChanged:
		a, _ := s.about.value(only{})
		a.Provider = p.Provider
		s.about.put(only{}, a)
	case wire.AutoApprovalChanged:
		s.approval.put(only{}, p.Rules)
	case wire.MessageAccepted:
		s.accept(p, now)
	case wire.MessageQueued:
		s.enqueue(p, now)
	case wire.MessageRejected:
		s.dequeue(p.MessageID)
	case wire.QueueUpdated:
		s.setQueue(p)
	case wire.AgentThinking:
		s.think(p, now)
	case wire.AgentResponse:
		s.respond(p, now)
	case wire.ToolProgress:
		s.useTool(p, now)
	case wire.WindowAgentStatus:
		s.setWindowAgent(p, now)
	case wire.TurnInterrupted:
		s.endAgent(p.AgentID)
	case wire.MessageUpdated:
		s.setRow(p)
	case wire.HistoryRewound:
		s.rewind(p)
	default:
		s.applyPlan(data, now)
	}
}

// actionContext is what an action needs to know of the event it came in.
type actionContext struct {
	monitor wire.MonitorID
	agent   wire.AgentID
	message wire.MessageID
	now     wire.Millis
}

// act does one of the actions.
func (s *State) act(in actionContext, action wire.Action) {
	switch a := action.(type) {
	case wire.WindowCreate:
		s.createWindow(in, a)
	case wire.WindowClose:
		if k, r := s.find(in.monitor, a.WindowID); r != nil {
			s.dropWindow(k)
		}
	case wire.WindowFocus:
		s.focusWindow(in.monitor, a.WindowID)
	case wire.WindowMinimize:
		s.minimizeWindow(in.monitor, a.WindowID)
	case wire.WindowMaximize:
		s.maximizeWindow(in.monitor, a.WindowID)
	case wire.WindowRestore:
		s.restoreWindow(in.monitor, a.WindowID)
	case wire.WindowMove:
		if w := s.edit(in.monitor, a.WindowID); w != nil {
			w.Bounds.X, w.Bounds.Y = finite(a.X), finite(a.Y)
		}
	case wire.WindowResize:
		if w := s.edit(in.monitor, a.WindowID); w != nil {
			w.Bounds.W, w.Bounds.H = finite(a.W), finite(a.H)
		}
	case wire.WindowSetTitle:
		if w := s.edit(in.monitor, a.WindowID); w != nil {
			w.Title = a.Title
		}
	case wire.WindowSetContent:
		if k, r := s.find(in.monitor, a.WindowID); r != nil {
			s.setContent(k, a.Content)
			s.filled = r
		}
	case wire.WindowUpdateContent:
		s.updateWindow(in.monitor, a)
	case wire.WindowLock:
		if w := s.edit(in.monitor, a.WindowID); w != nil {
			w.Lock = a.AgentID
		}
	case wire.WindowUnlock:
		if w := s.edit(in.monitor, a.WindowID); w != nil {
			w.Lock = ""
		}
	default:
		if value, is := pointed(action); is {
			s.act(in, value)
			return
		}
		s.actBeside(in, a)
	}
}

// actBeside does the actions that concern no window. Captures and refreshed
// apps leave nothing behind.
func (s *State) actBeside(in actionContext, action wire.Action) {
	switch a := action.(type) {
	case wire.NotificationShow:
		s.showNotification(in, a.Notification)
	case wire.NotificationDismiss:
		s.notifications.drop(a.ID)
	case wire.ToastShow:
		s.showToast(in, a.Toast)
	case wire.ToastDismiss:
		s.toasts.drop(a.ID)
		s.findToastsDue()
	case wire.DialogConfirm:
		s.openDialog(wire.ApprovalRequest{
			DialogID: a.ID, Title: a.Title, Message: a.Message, ConfirmText: a.ConfirmText, CancelText: a.CancelText,
			PermissionOptions: a.PermissionOptions, AgentID: in.by(a.AgentID), MonitorID: in.monitor, MessageID: in.message,
		}, in.now)
	case wire.PromptShow:
		s.openPrompt(in, a)
	case wire.PromptDismiss:
		s.prompts.drop(a.ID)
	case wire.AppBadge:
		s.setBadge(a)
	case wire.CreateShortcut:
		s.createShortcut(a.Shortcut)
	case wire.RemoveShortcut:
		s.shortcuts.drop(a.ShortcutID)
	case wire.UpdateShortcut:
		s.updateShortcut(a)
	}
}

// by is the agent that acted.
func (in actionContext) by(agent wire.AgentID) wire.AgentID {
	return cmp.Or(agent, in.agent)
}

// setMonitor makes, changes or removes a monitor.
func (s *State) setMonitor(p wire.MonitorStatus) {
	id := p.MonitorID
	if p.State == wire.MonitorRemoved {
		if id != firstMonitor {
			s.removeMonitor(id)
		}
		return
	}
	if s.addMonitor(id) {
		p.MessageID = ""
		s.monitors.put(id, p)
	}
}

// addMonitor says whether a monitor is there, and makes it if there is room.
func (s *State) addMonitor(id wire.MonitorID) bool {
	if s.monitors.get(id) != nil {
		return true
	}
	if id == "" || s.monitors.len() >= MaxMonitors {
		return false
	}
	s.monitors.put(id, wire.MonitorStatus{MonitorID: id, State: wire.MonitorIdle})
	return true
}

func (s *State) removeMonitor(id wire.MonitorID) {
	s.monitors.drop(id)
	s.queues.drop(id)
	s.windows.dropIf(func(w *wire.WindowState) bool { return w.MonitorID == id })
	s.contents.dropIf(func(c *content) bool { return c.MonitorID == id })
	s.dialogs.dropIf(func(d *wire.ApprovalRequest) bool { return d.MonitorID == id })
	s.prompts.dropIf(func(p *wire.OpenPrompt) bool { return p.MonitorID == id })
	s.notifications.dropIf(func(n *wire.ShownNotification) bool { return n.MonitorID == id })
	s.toasts.dropIf(func(t *wire.ShownToast) bool { return t.MonitorID == id })
	s.findToastsDue()
}

// never is after every time.
const never wire.Millis = math.MaxInt64

// millis is a time as snapshots show it.
func millis(t time.Time) wire.Millis { return wire.Millis(t.UnixMilli()) }

// plain is what a pointer in an interface points to: both are written the same
// way.
func plain[T any](v T) T {
	if value, is := pointed(v); is {
		return value
	}
	return v
}

// pointed is what an interface holds a pointer to, if it does.
func pointed[T any](v T) (value T, is bool) {
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return value, false
	}
	return reflect.TypeAssert[T](p.Elem())
}
