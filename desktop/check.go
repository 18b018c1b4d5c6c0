package desktop

import (
	"cmp"
	"fmt"
	"math"

	"github.com/everdesk/everdesk/wire"
)

// Refusal says why an action is not allowed.
type Refusal struct { //nolint:errname // it is an answer to whoever asked, not a fault
	Code   wire.Code
	Reason string
}

func (r *Refusal) Error() string { return r.Reason }

func refuse(code wire.Code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Reason: fmt.Sprintf(format, args...)}
}

func refuseNow(format string, args ...any) *Refusal {
	return refuse(wire.CodeSessionInvalidState, format, args...)
}

// Check returns why an action of an agent or a program is not allowed now, or nil. Only
// actions that pass may become events. Locks apply: the agentId of the action must be that
// of the lock. The caller must ensure that the monitor exists.
func (s *State) Check(monitor wire.MonitorID, a wire.Action) *Refusal {
	return s.check(monitor, a, false)
}

// CheckUser is [State.Check] for actions of the user. Locks protect agents from each other,
// not the desktop from the user.
func (s *State) CheckUser(monitor wire.MonitorID, a wire.Action) *Refusal {
	return s.check(monitor, a, true)
}

// CheckAll is [State.Check] for consecutive actions: each is checked against the state
// after the previous ones. It returns the first refusal.
func (s *State) CheckAll(monitor wire.MonitorID, actions []wire.Action) *Refusal {
	if len(actions) == 1 {
		return s.Check(monitor, actions[0])
	}
	try := &State{tables: s.tables, toastsDue: s.toastsDue}
	sum := &try.unwritten
	try.monitors, try.windows, try.contents = s.monitors.clone(sum), s.windows.clone(sum), s.contents.clone(sum)
	try.dialogs, try.prompts = s.dialogs.clone(sum), s.prompts.clone(sum)
	try.notifications, try.toasts = s.notifications.clone(sum), s.toasts.clone(sum)
	try.badges, try.shortcuts = s.badges.clone(sum), s.shortcuts.clone(sum)
	for i, a := range actions {
		if r := try.Check(monitor, a); r != nil {
			r.Reason = fmt.Sprintf("action %d: %s", i, r.Reason)
			return r
		}
		try.act(actionContext{monitor: cmp.Or(monitor, firstMonitor)}, a)
	}
	return nil
}

func (s *State) check(monitor wire.MonitorID, action wire.Action, user bool) *Refusal {
	monitor = cmp.Or(monitor, firstMonitor)
	switch a := action.(type) {
	case nil:
		return refuse(wire.CodeInvalidMessage, "there is no action")
	case wire.WindowCreate:
		return s.checkCreate(monitor, a, user)
	case wire.WindowClose:
		return s.checkLock(monitor, a.WindowID, a.AgentID, user)
	case wire.WindowFocus:
		return s.checkWindow(monitor, a.WindowID)
	case wire.WindowMinimize:
		return s.checkWindow(monitor, a.WindowID)
	case wire.WindowMaximize:
		return s.checkWindow(monitor, a.WindowID)
	case wire.WindowRestore:
		return s.checkWindow(monitor, a.WindowID)
	case wire.WindowMove:
		return first(s.checkWindow(monitor, a.WindowID), checkBounds(a.X, a.Y))
	case wire.WindowResize:
		return first(s.checkWindow(monitor, a.WindowID), checkBounds(a.W, a.H))
	case wire.WindowSetTitle:
		return first(s.checkWindow(monitor, a.WindowID), s.checkRoom(0))
	case wire.WindowSetContent:
		k, refusal := s.findUnlocked(monitor, a.WindowID, a.AgentID, user)
		if refusal != nil {
			return refusal
		}
		return s.checkContent(k, a.Content)
	case wire.WindowUpdateContent:
		return s.checkUpdate(monitor, a, user)
	case wire.WindowLock:
		return s.checkLock(monitor, a.WindowID, a.AgentID, user)
	case wire.WindowUnlock:
		return s.checkLock(monitor, a.WindowID, a.AgentID, user)
	case wire.WindowCapture:
		return s.checkWindow(monitor, a.WindowID)
	default:
		if value, is := pointed(action); is {
			return s.check(monitor, value, user)
		}
		return s.checkOther(a)
	}
}

// checkOther checks the actions that concern no window.
func (s *State) checkOther(action wire.Action) *Refusal {
	switch a := action.(type) {
	case wire.NotificationShow, wire.ToastShow:
		return s.checkRoom(0)
	case wire.NotificationDismiss:
		if s.notifications.get(a.ID) == nil {
			return refuseNow("there is no notification %q", a.ID)
		}
	case wire.ToastDismiss:
		if s.toasts.get(a.ID) == nil {
			return refuseNow("there is no toast %q", a.ID)
		}
	case wire.DialogConfirm:
		if s.dialogs.get(a.ID) == nil && s.dialogs.len() >= MaxDialogs {
			return refuseNow("%d dialogs are open already", MaxDialogs)
		}
		return s.checkRoom(0)
	case wire.PromptShow:
		if s.prompts.get(a.ID) == nil && s.prompts.len() >= MaxPrompts {
			return refuseNow("%d prompts are open already", MaxPrompts)
		}
		return s.checkRoom(0)
	case wire.PromptDismiss:
		if s.prompts.get(a.ID) == nil {
			return refuse(wire.CodeHITLRequestExpired, "there is no prompt %q", a.ID)
		}
	case wire.AppBadge:
		if a.Count != 0 && s.badges.get(a.AppID) == nil && s.badges.len() >= MaxBadges {
			return refuseNow("%d apps have badges already", MaxBadges)
		}
	case wire.CreateShortcut:
		if s.shortcuts.get(a.Shortcut.ID) == nil && s.shortcuts.len() >= MaxShortcuts {
			return refuseNow("there are %d shortcuts already", MaxShortcuts)
		}
		return s.checkRoom(0)
	case wire.RemoveShortcut:
		return s.checkShortcut(a.ShortcutID)
	case wire.UpdateShortcut:
		return first(s.checkShortcut(a.ShortcutID), s.checkRoom(0))
	}
	return nil
}

// first returns the first refusal that is not nil.
func first(refusals ...*Refusal) *Refusal {
	for _, r := range refusals {
		if r != nil {
			return r
		}
	}
	return nil
}

func (s *State) checkShortcut(id wire.ShortcutID) *Refusal {
	if s.shortcuts.get(id) == nil {
		return refuseNow("there is no shortcut %q", id)
	}
	return nil
}

func (s *State) checkWindow(monitor wire.MonitorID, id wire.WindowID) *Refusal {
	if _, r := s.find(monitor, id); r == nil {
		return refuseNow("there is no window %q on %s", id, monitor)
	}
	return nil
}

// checkLock checks an action that a lock forbids to other agents.
func (s *State) checkLock(monitor wire.MonitorID, id wire.WindowID, agent wire.AgentID, user bool) *Refusal {
	_, refusal := s.findUnlocked(monitor, id, agent, user)
	return refusal
}

// findUnlocked returns the window of such an action.
func (s *State) findUnlocked(monitor wire.MonitorID, id wire.WindowID, agent wire.AgentID, user bool) (windowKey, *Refusal) {
	k, r := s.find(monitor, id)
	if r == nil {
		return k, s.checkWindow(monitor, id)
	}
	return k, lockedOut(&r.value, agent, user)
}

func lockedOut(w *wire.WindowState, agent wire.AgentID, user bool) *Refusal {
	if user || w.Lock == "" || w.Lock == agent {
		return nil
	}
	return refuseNow("window %q is locked by %s", w.WindowID, w.Lock)
}

// checkCreate checks a new window. Replacing a locked window counts as closing it.
func (s *State) checkCreate(monitor wire.MonitorID, a wire.WindowCreate, user bool) *Refusal {
	if a.WindowID == "" {
		return refuse(wire.CodeInvalidMessage, "a window needs an id")
	}
	if r := s.windows.get(windowKey{monitor, a.WindowID}); r != nil {
		if refusal := lockedOut(&r.value, a.AgentID, user); refusal != nil {
			return refusal
		}
	} else if s.windows.len() >= MaxWindows {
		return refuseNow("%d windows are open already", MaxWindows)
	}
	return first(
		checkBounds(a.Bounds.X, a.Bounds.Y, a.Bounds.W, a.Bounds.H),
		s.checkContent(windowKey{monitor, a.WindowID}, a.Content),
	)
}

func checkBounds(values ...float64) *Refusal {
	for _, v := range values {
		if math.IsNaN(v) || math.Abs(v) > MaxBound {
			return refuse(wire.CodeInvalidMessage, "%v is no place or size on a desktop", v)
		}
	}
	return nil
}

// checkRoom bounds the size of everything on the desktop plus more bytes. Changes after the
// last [State.Changes] are not counted yet.
func (s *State) checkRoom(more int) *Refusal {
	size := s.windows.bytes + s.contents.bytes + s.dialogs.bytes + s.prompts.bytes +
		s.notifications.bytes + s.toasts.bytes + s.shortcuts.bytes
	if size+more > MaxBytes {
		return refuseNow("the desktop is full: it holds %d bytes already, at most %d", size, MaxBytes)
	}
	return nil
}

// checkContent bounds the content of a window.
func (s *State) checkContent(k windowKey, c wire.Content) *Refusal {
	if c == nil {
		return refuse(wire.CodeInvalidMessage, "there is no content")
	}
	c = plainContent(c)
	if page, ok := c.(wire.IframeContent); ok && !isPage(page.Data) {
		return refuse(wire.CodeInvalidMessage, "a window shows pages of http, https and this hub, nothing else")
	}
	size := contentSize(c)
	if size > MaxContent {
		return refuse(wire.CodeMessageTooLarge, "content of %d bytes, a window shows at most %d", size, MaxContent)
	}
	if r := s.findContent(k); r != nil {
		size -= r.size
	}
	if size <= 0 {
		return nil // the content shrinks
	}
	return s.checkRoom(size)
}

// contentSize returns the size of a content that counts for the limits.
func contentSize(c wire.Content) int {
	if text, ok := textOf(c); ok {
		return len(text)
	}
	return len(appendContent(nil, c))
}

// checkUpdate checks an update of content. It is stricter than [State.Apply]: adding to a
// content that is no text is refused, so that the agent learns of it.
func (s *State) checkUpdate(monitor wire.MonitorID, a wire.WindowUpdateContent, user bool) *Refusal {
	k, refusal := s.findUnlocked(monitor, a.WindowID, a.AgentID, user)
	if refusal != nil {
		return refusal
	}
	before := s.contentOf(k)
	renderer := a.Renderer
	if renderer == "" {
		renderer = wire.RendererOf(before)
	}
	switch op := plain(a.Operation).(type) {
	case wire.UpdateAppend, wire.UpdatePrepend, wire.UpdateInsertAt:
		if _, ok := textContent(renderer, ""); !ok {
			return refuse(wire.CodeInvalidMessage, "nothing can be added to %s, which is no text", renderer)
		}
		if at, ok := op.(wire.UpdateInsertAt); ok && at.Position < 0 {
			return refuse(wire.CodeInvalidMessage, "position %d is before the text", at.Position)
		}
	}
	c, ok := updated(before, a.Operation, a.Renderer)
	if !ok {
		return refuse(wire.CodeInvalidMessage, "the data is not what %s shows", renderer)
	}
	return s.checkContent(k, c)
}
