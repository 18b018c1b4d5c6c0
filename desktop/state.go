package desktop

import (
	"cmp"
	"math"
	"reflect"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// State is the desktop at one position of its log. Create it with [New] or [Restore].
type State struct {
	tables
	session wire.SessionID
	at      wire.Position
	// streams holds the sizes of each agent text.
	streams map[streamKey]stream
	// toastsDue is the time at which the next toast expires, or never.
	toastsDue wire.Millis
	// rowBytes is the total size of the rows' texts.
	rowBytes int
	// filled and shown cache the window and the content changed last, which may have been
	// dropped since: usually the same one changes next.
	filled *record[wire.WindowState]
	shown  *record[content]
}

// firstMonitor always exists.
const firstMonitor wire.MonitorID = "monitor-0"

// New returns the desktop of a session with an empty log: monitor-0 and nothing else.
func New(session wire.SessionID) *State {
	s := &State{session: session, toastsDue: never}
	s.init()
	s.addFirstMonitor()
	s.monitors.clearChanges() // a restored empty state has it as well
	return s
}

// addFirstMonitor creates monitor-0 if it does not exist.
func (s *State) addFirstMonitor() {
	if s.monitors.get(firstMonitor) == nil {
		s.monitors.put(firstMonitor, wire.MonitorStatus{MonitorID: firstMonitor, State: wire.MonitorIdle})
	}
}

// Session returns the session's id.
func (s *State) Session() wire.SessionID { return s.session }

// At returns the position of the newest applied event.
func (s *State) At() wire.Position { return s.at }

// Apply folds an event into the state. Events must come in the order of the log; one that
// is not newer than [State.At] is ignored. A session_state in mode snapshot replaces
// everything: one in the log, or one without a position, which is the first event of a
// connection and may also go back. Types that do not concern the desktop only advance the
// position.
//
// The state and its snapshots share the payload, so it must not be modified afterwards.
func (s *State) Apply(e wire.Event) {
	if _, is := e.Data.(wire.SessionState); is && s.applySnapshot(e) {
		return
	}
	if e.At.Compare(s.at) <= 0 {
		return
	}
	s.at = e.At
	if wire.AddresseeOf(e.Data) != "" {
		return // other connections do not receive it, so not even its time may have an effect
	}
	now := millis(e.Time)
	s.applyPayload(e.Data, now)
	if now >= s.toastsDue {
		s.pruneToasts(now)
	}
}

// applySnapshot applies an event if it is a snapshot.
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
		s.acceptMessage(p, now)
	case wire.MessageQueued:
		s.enqueue(p, now)
	case wire.MessageRejected:
		s.dequeue(p.MessageID)
	case wire.QueueUpdated:
		s.setQueue(p)
	case wire.AgentThinking:
		s.setThinking(p, now)
	case wire.AgentResponse:
		s.setResponse(p, now)
	case wire.ToolProgress:
		s.setTool(p, now)
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

// actionContext holds the properties of the event that an action came in.
type actionContext struct {
	monitor wire.MonitorID
	agent   wire.AgentID
	message wire.MessageID
	now     wire.Millis
}

// act applies one action.
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
		s.actOther(in, a)
	}
}

// actOther applies the actions that concern no window. Captures and app refreshes leave no
// state.
func (s *State) actOther(in actionContext, action wire.Action) {
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

// by returns the agent of an action.
func (in actionContext) by(agent wire.AgentID) wire.AgentID {
	return cmp.Or(agent, in.agent)
}

// setMonitor creates, changes or removes a monitor.
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

// addMonitor creates a monitor if it does not exist and the limit allows it, and reports
// whether it exists.
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

// never is later than every time.
const never wire.Millis = math.MaxInt64

// millis converts a time to milliseconds.
func millis(t time.Time) wire.Millis { return wire.Millis(t.UnixMilli()) }

// plain returns the value that v points to if v is a pointer in an interface; both encode
// alike.
func plain[T any](v T) T {
	if value, is := pointed(v); is {
		return value
	}
	return v
}

// pointed returns the value that an interface holds a pointer to, if it does.
func pointed[T any](v T) (value T, is bool) {
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return value, false
	}
	return reflect.TypeAssert[T](p.Elem())
}
