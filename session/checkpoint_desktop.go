package session

import (
	"bytes"
	"sync"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// maxWindowBytes bounds the windows that a checkpoint holds, and so the step that restores them. The
// windows behind the others are left out beyond it.
const maxWindowBytes = 4 << 20

// checkpointWindows are the windows that a checkpoint holds, by monitor and from the back to the front.
type checkpointWindows struct {
	Windows []wire.WindowState `json:"windows"`
}

var checkpointWindowsFormat = sync.OnceValue(wire.FormatOf[checkpointWindows])

var windowFormat = sync.OnceValue(wire.FormatOf[wire.WindowState])

// encodeWindows returns the windows of the desktop. Locks are left out: they belong to running agents.
func encodeWindows(s *desktop.State) []byte {
	var all checkpointWindows
	size := 0
	for _, m := range s.Monitors() {
		for _, w := range s.Windows(m.MonitorID) {
			w.Lock = ""
			if size += len(windowFormat().Append(nil, &w)); size > maxWindowBytes {
				break
			}
			all.Windows = append(all.Windows, w)
		}
	}
	if len(all.Windows) == 0 {
		all.Windows = []wire.WindowState{}
	}
	return checkpointWindowsFormat().Append(nil, &all)
}

// restoreWindows closes, opens and changes windows so that they are those of a checkpoint. It returns the number of
// windows that changed, and of those that could not be restored, for instance because an agent has locked them. Windows
// of monitors that do not exist any more are left out.
func (c *checkpointing) restoreWindows(data []byte) (changed, refused int) {
	if len(data) == 0 {
		return 0, 0
	}
	stored, err := checkpointWindowsFormat().DecodeOwn(data)
	if err != nil {
		c.log.Warn("windows of a checkpoint cannot be read", "err", err)
		return 0, 0
	}
	wanted := map[windowKey]bool{}
	for _, w := range stored.Windows {
		wanted[windowKey{w.MonitorID, w.WindowID}] = true
	}
	changed = c.closeOtherWindows(wanted) // first, because the number of windows is bounded
	for _, w := range stored.Windows {
		if !c.w.state.HasMonitor(w.MonitorID) {
			continue
		}
		c.port.owner.commands.desktop.flushMove(windowKey{w.MonitorID, w.WindowID})
		if now, open := c.w.state.Window(w.MonitorID, w.WindowID); open && sameWindow(now, w) {
			continue
		}
		create := wire.WindowCreate{
			WindowID: w.WindowID, Title: w.Title, Bounds: w.Bounds, Content: w.Content, WindowLook: w.WindowLook, Minimized: w.Minimized,
		}
		if c.w.state.Check(w.MonitorID, create) != nil {
			refused++
			continue
		}
		c.w.Emit(wire.Actions{Actions: []wire.Action{create}, MonitorID: w.MonitorID})
		changed++
	}
	return changed, refused
}

// closeOtherWindows closes the windows that are not wanted and not locked, and returns their number.
func (c *checkpointing) closeOtherWindows(wanted map[windowKey]bool) (closed int) {
	dc := &c.port.owner.commands.desktop
	for _, m := range c.w.state.Monitors() {
		for _, w := range c.w.state.Windows(m.MonitorID) {
			if at := (windowKey{w.MonitorID, w.WindowID}); !wanted[at] && w.Lock == "" {
				dc.flushMove(at)
				c.w.Emit(wire.Actions{Actions: []wire.Action{wire.WindowClose{WindowID: w.WindowID}}, MonitorID: w.MonitorID})
				dc.windowClosed(at)
				closed++
			}
		}
	}
	return closed
}

// sameWindow reports whether two windows look the same. Which one is in front does not count.
func sameWindow(a, b wire.WindowState) bool {
	a.Z, b.Z, a.Lock, b.Lock = 0, 0, "", ""
	return bytes.Equal(windowFormat().Append(nil, &a), windowFormat().Append(nil, &b))
}
