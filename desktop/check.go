package desktop

import (
	"cmp"
	"fmt"
	"math"

	"github.com/everdesk/everdesk/wire"
)

// Refusal says why an action is not allowed.
type Refusal struct { //nolint:errname // it is an answer to the caller, not a fault
	Code   wire.Code
	Reason string
	// ReasonCode names the reason for clients, or is empty.
	ReasonCode wire.ReasonCode
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
	return newChecker(&s.surface, monitor).check(a)
}

// CheckUser is [State.Check] for actions of the user. Locks protect agents from each other,
// not the desktop from the user.
func (s *State) CheckUser(monitor wire.MonitorID, a wire.Action) *Refusal {
	c := newChecker(&s.surface, monitor)
	c.user = true
	return c.check(a)
}

// CheckAll is [State.Check] for consecutive actions: each is checked against the state
// after the previous ones. It returns the first refusal.
func (s *State) CheckAll(monitor wire.MonitorID, actions []wire.Action) *Refusal {
	if len(actions) == 1 {
		return s.Check(monitor, actions[0])
	}
	c := newChecker(s.surface.clone(), monitor)
	for i, a := range actions {
		if r := c.check(a); r != nil {
			r.Reason = fmt.Sprintf("action %d: %s", i, r.Reason)
			return r
		}
		c.on.applyAction(actionContext{monitor: c.monitor}, a)
	}
	return nil
}

// checker checks whether actions on a monitor are allowed. It changes nothing.
type checker struct {
	on      *surface
	monitor wire.MonitorID
	user    bool // the actions are the user's, to which locks do not apply
}

func newChecker(on *surface, monitor wire.MonitorID) checker {
	return checker{on: on, monitor: cmp.Or(monitor, firstMonitor)}
}

// check returns why an action is not allowed, or nil.
func (c checker) check(action wire.Action) *Refusal {
	switch a := action.(type) {
	case nil:
		return refuse(wire.CodeInvalidMessage, "there is no action")
	case wire.WindowCreate:
		return c.checkCreate(a)
	case wire.WindowClose:
		return c.checkLock(a.WindowID, a.AgentID)
	case wire.WindowFocus:
		return c.checkWindow(a.WindowID)
	case wire.WindowMinimize:
		return c.checkWindow(a.WindowID)
	case wire.WindowMaximize:
		return c.checkWindow(a.WindowID)
	case wire.WindowRestore:
		return c.checkWindow(a.WindowID)
	case wire.WindowMove:
		return first(c.checkWindow(a.WindowID), checkBounds(a.X, a.Y))
	case wire.WindowResize:
		return first(c.checkWindow(a.WindowID), checkBounds(a.W, a.H))
	case wire.WindowSetTitle:
		return first(c.checkWindow(a.WindowID), c.checkRoom(0))
	case wire.WindowSetContent:
		k, refusal := c.findUnlocked(a.WindowID, a.AgentID)
		if refusal != nil {
			return refusal
		}
		return first(checkTable(a.Content), c.checkContent(k, a.Content))
	case wire.WindowUpdateContent:
		return c.checkUpdate(a)
	case wire.WindowEdit:
		return refuse(wire.CodeInvalidMessage, "window.edit is for users, as the only action of a message")
	case wire.WindowLock:
		return c.checkLock(a.WindowID, a.AgentID)
	case wire.WindowUnlock:
		return c.checkLock(a.WindowID, a.AgentID)
	case wire.WindowCapture:
		return c.checkWindow(a.WindowID)
	default:
		if value, is := pointedTo(action); is {
			return c.check(value)
		}
		return c.checkOther(a)
	}
}

// checkOther checks the actions that concern no window.
func (c checker) checkOther(action wire.Action) *Refusal {
	switch a := action.(type) {
	case wire.NotificationShow, wire.ToastShow:
		return c.checkRoom(0)
	case wire.NotificationDismiss:
		if c.on.notices.notifications.get(a.ID) == nil {
			return refuseNow("there is no notification %q", a.ID)
		}
	case wire.ToastDismiss:
		if c.on.notices.toasts.get(a.ID) == nil {
			return refuseNow("there is no toast %q", a.ID)
		}
	case wire.DialogConfirm:
		if !c.on.notices.hasRoomForDialog(a.ID) {
			return refuseNow("%d dialogs are open already", MaxDialogs)
		}
		return c.checkRoom(0)
	case wire.PromptShow:
		if !c.on.notices.hasRoomForPrompt(a.ID) {
			return refuseNow("%d prompts are open already", MaxPrompts)
		}
		return c.checkRoom(0)
	case wire.PromptDismiss:
		if c.on.notices.prompts.get(a.ID) == nil {
			return refuse(wire.CodeHITLRequestExpired, "there is no prompt %q", a.ID)
		}
	case wire.AppBadge:
		if a.Count != 0 && c.on.icons.badges.get(a.AppID) == nil && c.on.icons.badges.len() >= MaxBadges {
			return refuseNow("%d apps have badges already", MaxBadges)
		}
	case wire.CreateShortcut:
		if c.on.icons.shortcuts.get(a.Shortcut.ID) == nil && c.on.icons.shortcuts.len() >= MaxShortcuts {
			return refuseNow("there are %d shortcuts already", MaxShortcuts)
		}
		return c.checkRoom(0)
	case wire.RemoveShortcut:
		return c.checkShortcut(a.ShortcutID)
	case wire.UpdateShortcut:
		return first(c.checkShortcut(a.ShortcutID), c.checkRoom(0))
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

func (c checker) checkShortcut(id wire.ShortcutID) *Refusal {
	if c.on.icons.shortcuts.get(id) == nil {
		return refuseNow("there is no shortcut %q", id)
	}
	return nil
}

func (c checker) checkWindow(id wire.WindowID) *Refusal {
	if _, r := c.on.windows.find(c.monitor, id); r == nil {
		return refuseNow("there is no window %q on %s", id, c.monitor)
	}
	return nil
}

// checkLock checks an action that a lock forbids to other agents.
func (c checker) checkLock(id wire.WindowID, agent wire.AgentID) *Refusal {
	_, refusal := c.findUnlocked(id, agent)
	return refusal
}

// findUnlocked returns the window of such an action.
func (c checker) findUnlocked(id wire.WindowID, agent wire.AgentID) (windowKey, *Refusal) {
	k, r := c.on.windows.find(c.monitor, id)
	if r == nil {
		return k, c.checkWindow(id)
	}
	return k, c.lockedOut(&r.value, agent)
}

// lockedOut returns the refusal of an action that the lock of a window forbids.
func (c checker) lockedOut(w *wire.WindowState, agent wire.AgentID) *Refusal {
	if c.user || w.Lock == "" || w.Lock == agent {
		return nil
	}
	return refuseNow("window %q is locked by %s", w.WindowID, w.Lock)
}

// checkCreate checks a new window. Replacing a locked window counts as closing it.
func (c checker) checkCreate(a wire.WindowCreate) *Refusal {
	if a.WindowID == "" {
		return refuse(wire.CodeInvalidMessage, "a window needs an id")
	}
	if r := c.on.windows.all.get(windowKey{c.monitor, a.WindowID}); r != nil {
		if refusal := c.lockedOut(&r.value, a.AgentID); refusal != nil {
			return refusal
		}
	} else if c.on.windows.all.len() >= MaxWindows {
		return refuseNow("%d windows are open already", MaxWindows)
	}
	return first(
		checkBounds(a.Bounds.X, a.Bounds.Y, a.Bounds.W, a.Bounds.H),
		checkTable(a.Content),
		c.checkContent(windowKey{c.monitor, a.WindowID}, a.Content),
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
func (c checker) checkRoom(more int) *Refusal {
	size := c.on.size()
	if size+more > MaxBytes {
		return refuseNow("the desktop is full: it holds %d bytes already, at most %d", size, MaxBytes)
	}
	return nil
}

// checkContent bounds the content of a window.
func (c checker) checkContent(k windowKey, shown wire.Content) *Refusal {
	if shown == nil {
		return refuse(wire.CodeInvalidMessage, "there is no content")
	}
	shown = plainContent(shown)
	if page, ok := shown.(wire.IframeContent); ok && !isPage(page.Data) {
		return refuse(wire.CodeInvalidMessage, "a window shows pages of http, https and this hub, nothing else")
	}
	if chart, ok := shown.(wire.ChartContent); ok {
		if refusal := checkChart(chart.Data); refusal != nil {
			return refusal
		}
	}
	return c.checkSize(k, contentSize(shown))
}

// checkTable checks that each row of a new table has one cell per header. Tables of logs from before this
// rule stay, and users can edit them.
func checkTable(shown wire.Content) *Refusal {
	if shown == nil {
		return nil // which checkContent refuses
	}
	if table, ok := plainContent(shown).(wire.TableContent); ok {
		if err := table.Data.CheckRows(); err != nil {
			return refuse(wire.CodeInvalidMessage, "%v", err)
		}
	}
	return nil
}

// checkSize bounds the size of the content of a window.
func (c checker) checkSize(k windowKey, size int) *Refusal {
	if size > MaxContent {
		return refuse(wire.CodeMessageTooLarge, "content of %d bytes, a window shows at most %d", size, MaxContent)
	}
	if r := c.on.windows.findContent(k); r != nil {
		size -= r.size
	}
	if wt := c.on.windows.texts[k]; wt != nil {
		size -= wt.stored()
	}
	if size <= 0 {
		return nil // the content shrinks
	}
	return c.checkRoom(size)
}

// contentSize returns the size of a content that counts for the limits.
func contentSize(c wire.Content) int {
	if text, ok := textOf(c); ok {
		return len(text)
	}
	return len(appendContent(nil, c))
}

// checkUpdate checks an update of content. It is stricter than [State.Apply]: adding to a
// content that is no text is refused, so that the agent gets the reason.
func (c checker) checkUpdate(a wire.WindowUpdateContent) *Refusal {
	k, refusal := c.findUnlocked(a.WindowID, a.AgentID)
	if refusal != nil {
		return refusal
	}
	if more, size, ok := c.on.windows.appended(k, a); ok {
		return c.checkSize(k, size+len(more))
	}
	before := c.on.windows.contentOf(k)
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
	after, ok := updated(before, a.Operation, a.Renderer)
	if !ok {
		return refuse(wire.CodeInvalidMessage, "the data is not what %s shows", renderer)
	}
	return first(checkTable(after), c.checkContent(k, after))
}
