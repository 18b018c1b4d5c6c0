package session

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

const (
	// restoreStepBytes bounds the windows that one step restores, unless it is one window. The step stores them twice, as
	// events and as the state.
	restoreStepBytes = 1 << 20
	// maxRestoredWindow bounds a window that can be restored, in bytes of its encoding: a step with a larger one would be
	// too large for the store.
	maxRestoredWindow = 3 << 20
	// restorePasses is how often windows are restored. One that the limits of the desktop refused may fit after others
	// have become smaller.
	restorePasses = 2
)

// checkpointWindows are the windows that a checkpoint holds, by monitor and from the back to the front.
type checkpointWindows struct {
	Windows []wire.WindowState `json:"windows"`
}

var checkpointWindowsFormat = sync.OnceValue(wire.FormatOf[checkpointWindows])

var windowFormat = sync.OnceValue(wire.FormatOf[wire.WindowState])

// windowsOf returns the windows of the desktop. Locks are left out: they belong to running agents. It copies no
// contents; they must not be modified.
func windowsOf(s *desktop.State) checkpointWindows {
	all := checkpointWindows{Windows: []wire.WindowState{}}
	for _, m := range s.Monitors() {
		for _, w := range s.Windows(m.MonitorID) {
			w.Lock = ""
			all.Windows = append(all.Windows, w)
		}
	}
	return all
}

// encode returns the stored form of the windows, of up to 16 MiB. It runs beside the session.
func (w *checkpointWindows) encode() []byte { return checkpointWindowsFormat().Append(nil, w) }

// storedWindow is a window of a checkpoint.
type storedWindow struct {
	wire.WindowState
	look []byte // its encoding without what does not count for [lookOf]
}

// windowRestore brings the windows of a desktop to those of a checkpoint. It runs beside the session, in several steps:
// all windows together may be larger than a commit.
type windowRestore struct {
	c *checkpointing
	// changed is the number of windows that changed, and refused of those that could not be restored, for instance
	// because an agent has locked them.
	changed, refused int
}

// run closes, opens and changes windows. Windows of monitors that do not exist any more are left out. The error means
// that the owner has ended.
func (r *windowRestore) run(ctx context.Context, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	stored, err := checkpointWindowsFormat().DecodeOwn(data)
	if err != nil {
		r.c.log.WarnContext(ctx, "windows of a checkpoint cannot be read", "err", err)
		return nil
	}
	wanted := map[windowKey]bool{}
	var rest []storedWindow
	for _, w := range stored.Windows {
		wanted[windowKey{w.MonitorID, w.WindowID}] = true
		if look := lookOf(w); len(look) > maxRestoredWindow {
			r.refused++
		} else {
			rest = append(rest, storedWindow{w, look})
		}
	}
	// First, because the number and the size of windows are bounded.
	if err := r.c.port.runInStep(ctx, func() { r.changed += r.c.closeOtherWindows(wanted) }); err != nil {
		return fmt.Errorf("close windows: %w", err)
	}
	for range restorePasses {
		if rest, err = r.pass(ctx, rest); err != nil {
			return err
		}
	}
	r.refused += len(rest)
	return nil
}

// pass restores windows and returns those that the desktop refuses now.
func (r *windowRestore) pass(ctx context.Context, all []storedWindow) (refused []storedWindow, err error) {
	for len(all) > 0 {
		n, size := 1, len(all[0].look)
		for n < len(all) && size+len(all[n].look) <= restoreStepBytes {
			size += len(all[n].look)
			n++
		}
		part := all[:n]
		all = all[n:]
		if err := r.c.port.runInStep(ctx, func() {
			for i := range part {
				if !r.restore(&part[i]) {
					refused = append(refused, part[i])
				}
			}
		}); err != nil {
			return nil, fmt.Errorf("restore windows: %w", err)
		}
	}
	return refused, nil
}

// restore opens or changes one window, and reports whether the desktop allows it. It runs in a step.
func (r *windowRestore) restore(w *storedWindow) bool {
	to := r.c.w
	if !to.state.HasMonitor(w.MonitorID) {
		return true
	}
	r.c.port.owner.commands.desktop.flushMove(windowKey{w.MonitorID, w.WindowID})
	if now, open := to.state.Window(w.MonitorID, w.WindowID); open && bytes.Equal(lookOf(now), w.look) {
		return true
	}
	create := wire.WindowCreate{
		WindowID: w.WindowID, Title: w.Title, Bounds: w.Bounds, Content: w.Content, WindowLook: w.WindowLook, Minimized: w.Minimized,
	}
	if to.state.Check(w.MonitorID, create) != nil {
		return false
	}
	to.Emit(wire.Actions{Actions: []wire.Action{create}, MonitorID: w.MonitorID})
	r.changed++
	return true
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

// lookOf returns the encoding of how a window looks. Two windows with the same one look the same; which one is in front
// does not count.
func lookOf(w wire.WindowState) []byte {
	w.Z, w.Lock = 0, ""
	return windowFormat().Append(nil, &w)
}
