package session

import (
	"time"

	"github.com/everdesk/everdesk/wire"
)

// geometryEvery is the shortest interval between two position events of one window.
const geometryEvery = 100 * time.Millisecond

// windowKey identifies a window within its session.
type windowKey struct {
	monitor wire.MonitorID
	window  wire.WindowID
}

// windowMove is a window that a user is moving or resizing.
type windowMove struct {
	bounds    wire.Bounds
	by        wire.ConnectionID
	pending   bool      // bounds are not emitted yet
	notBefore time.Time // and must not be before this
}

// geometry are the windows that are being moved. The zero value is empty.
type geometry map[windowKey]*windowMove

// due is when pending bounds must be emitted; zero means never.
func (g geometry) due() time.Time {
	var next time.Time
	for _, m := range g {
		if m.pending {
			next = earlier(next, m.notBefore)
		}
	}
	return next
}

// moveWindow emits the new bounds of a window at once if it was at rest, else at the end of the
// interval, unless newer bounds arrive before.
func (dc *desktopCommands) moveWindow(p windowKey, b wire.Bounds, by wire.ConnectionID) {
	m := dc.geometry[p]
	if m == nil {
		if dc.geometry == nil {
			dc.geometry = geometry{}
		}
		m = &windowMove{}
		dc.geometry[p] = m
	}
	m.bounds, m.by, m.pending = b, by, true
	if !dc.w.now.Before(m.notBefore) {
		dc.emitBounds(p, m)
	}
}

// emitBounds emits the bounds of a window as far as they differ from the state.
func (dc *desktopCommands) emitBounds(p windowKey, m *windowMove) {
	m.pending = false
	w, ok := dc.w.state.Window(p.monitor, p.window)
	if !ok {
		delete(dc.geometry, p)
		return
	}
	var actions []wire.Action
	if w.Bounds.X != m.bounds.X || w.Bounds.Y != m.bounds.Y {
		actions = append(actions, wire.WindowMove{WindowID: p.window, X: m.bounds.X, Y: m.bounds.Y})
	}
	if w.Bounds.W != m.bounds.W || w.Bounds.H != m.bounds.H {
		actions = append(actions, wire.WindowResize{WindowID: p.window, W: m.bounds.W, H: m.bounds.H})
	}
	for _, a := range actions {
		if dc.w.state.CheckUser(p.monitor, a) != nil {
			return
		}
	}
	if len(actions) == 0 {
		return
	}
	m.notBefore = dc.w.now.Add(geometryEvery)
	dc.w.Emit(wire.Actions{Actions: actions, MonitorID: p.monitor, By: m.by})
}

// flushMove emits the pending bounds of a window, before something else happens to it.
func (dc *desktopCommands) flushMove(p windowKey) {
	if m := dc.geometry[p]; m != nil && m.pending {
		dc.emitBounds(p, m)
	}
}

// flushMoves emits all pending bounds.
func (ow *owner) flushMoves() error {
	for p := range ow.commands.desktop.geometry {
		ow.commands.desktop.flushMove(p)
		if err := ow.committer.commitIfFull(); err != nil {
			return err
		}
	}
	return nil
}

// flushDueMoves emits the pending bounds whose interval is over, and drops windows at rest.
func (ow *owner) flushDueMoves() error {
	if len(ow.commands.desktop.geometry) == 0 {
		return nil
	}
	for p, m := range ow.commands.desktop.geometry {
		switch {
		case ow.w.now.Before(m.notBefore):
		case m.pending:
			ow.commands.desktop.emitBounds(p, m)
			if err := ow.committer.commitIfFull(); err != nil {
				return err
			}
		default:
			delete(ow.commands.desktop.geometry, p)
		}
	}
	return nil
}

// windowOf returns the window that an action concerns, or "".
func windowOf(a wire.Action) wire.WindowID {
	switch a := a.(type) {
	case wire.WindowCreate:
		return a.WindowID
	case wire.WindowClose:
		return a.WindowID
	case wire.WindowFocus:
		return a.WindowID
	case wire.WindowMinimize:
		return a.WindowID
	case wire.WindowMaximize:
		return a.WindowID
	case wire.WindowRestore:
		return a.WindowID
	case wire.WindowMove:
		return a.WindowID
	case wire.WindowResize:
		return a.WindowID
	case wire.WindowSetTitle:
		return a.WindowID
	case wire.WindowSetContent:
		return a.WindowID
	case wire.WindowUpdateContent:
		return a.WindowID
	case wire.WindowLock:
		return a.WindowID
	case wire.WindowUnlock:
		return a.WindowID
	case wire.WindowCapture:
		return a.WindowID
	}
	return ""
}

// pendingMoves returns commands that repeat the window moves whose last bounds are not committed,
// for the next owner.
func (dc *desktopCommands) pendingMoves() []item {
	var items []item
	for p, m := range dc.geometry {
		if !m.pending && !dc.stepMoves(p) {
			continue
		}
		items = append(items, item{cmd: Command{
			From: Sender{Connection: m.by, Monitor: p.monitor},
			Message: wire.Message{Data: wire.UserInteractions{
				MonitorID: p.monitor,
				Interactions: []wire.UserInteraction{{
					Type: wire.DidMoveWindow, WindowID: p.window, Bounds: new(m.bounds),
				}},
			}},
		}})
	}
	return items
}

// stepMoves reports whether the uncommitted step contains the bounds of a window.
func (dc *desktopCommands) stepMoves(p windowKey) bool {
	if dc.w.step == nil {
		return false
	}
	for _, e := range dc.w.step.events {
		a, ok := e.Data.(wire.Actions)
		if !ok || a.MonitorID != p.monitor || a.MessageID != "" {
			continue
		}
		for _, action := range a.Actions {
			switch action.(type) {
			case wire.WindowMove, wire.WindowResize:
				if windowOf(action) == p.window {
					return true
				}
			}
		}
	}
	return false
}
