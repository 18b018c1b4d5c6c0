package session

import "github.com/everdesk/everdesk/wire"

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
