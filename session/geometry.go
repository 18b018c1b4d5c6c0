package session

import (
	"time"

	"github.com/everdesk/everdesk/wire"
)

// geometryEvery is how often the place of one window is told while it is moved.
const geometryEvery = 100 * time.Millisecond

// windowKey names a window in its session.
type windowKey struct {
	monitor wire.MonitorID
	window  wire.WindowID
}

// windowMove is a window that is being moved.
type windowMove struct {
	bounds    wire.Bounds
	by        wire.ConnectionID
	pending   bool      // bounds are not told yet
	notBefore time.Time // and not before this
}

// geometry are the windows that are being moved. The zero value has none.
type geometry map[windowKey]*windowMove

// due is when a place has to be told; zero means never.
func (g geometry) due() time.Time {
	var next time.Time
	for _, m := range g {
		if m.pending {
			next = earlier(next, m.notBefore)
		}
	}
	return next
}

// moveWindow tells where a window is now: at once when it was at rest, else at the
// end of the interval, if it is not somewhere else by then.
func (l *owner) moveWindow(p windowKey, b wire.Bounds, by wire.ConnectionID) {
	m := l.geometry[p]
	if m == nil {
		if l.geometry == nil {
			l.geometry = geometry{}
		}
		m = &windowMove{}
		l.geometry[p] = m
	}
	m.bounds, m.by, m.pending = b, by, true
	if !l.now.Before(m.notBefore) {
		l.emitBounds(p, m)
	}
}

// emitBounds tells where a window is.
func (l *owner) emitBounds(p windowKey, m *windowMove) {
	m.pending = false
	w, ok := l.state.Window(p.monitor, p.window)
	if !ok {
		delete(l.geometry, p)
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
		if l.state.CheckUser(p.monitor, a) != nil {
			return
		}
	}
	if len(actions) == 0 {
		return
	}
	m.notBefore = l.now.Add(geometryEvery)
	l.emit(wire.Actions{Actions: actions, MonitorID: p.monitor, By: m.by})
}

// flushMove tells where a window is before something else happens to it.
func (l *owner) flushMove(p windowKey) {
	if m := l.geometry[p]; m != nil && m.pending {
		l.emitBounds(p, m)
	}
}

// flushMoves tells where all windows are.
func (l *owner) flushMoves() error {
	for p := range l.geometry {
		l.flushMove(p)
		if err := l.commitIfFull(); err != nil {
			return err
		}
	}
	return nil
}

// flushDueMoves tells where those windows are whose interval is over, and forgets
// those at rest.
func (l *owner) flushDueMoves() error {
	if len(l.geometry) == 0 {
		return nil
	}
	for p, m := range l.geometry {
		switch {
		case l.now.Before(m.notBefore):
		case m.pending:
			l.emitBounds(p, m)
			if err := l.commitIfFull(); err != nil {
				return err
			}
		default:
			delete(l.geometry, p)
		}
	}
	return nil
}

// windowOf is the window that an action is about, or none.
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
