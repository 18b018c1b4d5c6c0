package session

import "github.com/everdesk/everdesk/wire"

// pendingMoves are the windows whose last place is not in the log, as if the user
// moved them there once more: whoever goes on does that.
func (l *owner) pendingMoves() []item {
	var items []item
	for p, m := range l.geometry {
		if !m.pending && !l.stepMoves(p) {
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

// stepMoves reports whether the step, which is not committed, says where a window
// that is being moved is.
func (l *owner) stepMoves(p windowKey) bool {
	if l.step == nil {
		return false
	}
	for _, e := range l.step.events {
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
