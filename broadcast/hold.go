package broadcast

import (
	"slices"
	"sync"

	"github.com/everdesk/everdesk/wire"
)

// holds are the snapshots that tabs have not taken yet. Each is in memory until
// the last of its tabs has it, so there is a bound to all of them together.
type holds struct {
	mu    sync.Mutex // guards the following
	list  []*hold    // oldest first
	bytes int
}

// hold is one of them.
type hold struct {
	data []byte
	tabs []*Tab
}

// add notes that a tab has to take a snapshot. When all together are more than a
// limit, the oldest are let go; it returns them, and their tabs are to be given
// up, for they are the slowest.
func (h *holds) add(t *Tab, data []byte, limit int) (mine *hold, dropped []*hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.list, func(o *hold) bool { return &o.data[0] == &data[0] })
	if i >= 0 {
		mine = h.list[i]
	} else {
		mine = &hold{data: data}
		h.list = append(h.list, mine)
		h.bytes += len(data)
	}
	mine.tabs = append(mine.tabs, t)
	for h.bytes > limit && h.list[0] != mine {
		dropped = append(dropped, h.list[0])
		h.bytes -= len(h.list[0].data)
		h.list = slices.Delete(h.list, 0, 1)
	}
	return mine, dropped
}

// remove notes that a tab has taken its snapshot, or never will.
func (h *holds) remove(t *Tab, mine *hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	mine.tabs = slices.DeleteFunc(mine.tabs, func(o *Tab) bool { return o == t })
	if i := slices.Index(h.list, mine); i >= 0 && len(mine.tabs) == 0 {
		h.bytes -= len(mine.data)
		h.list = slices.Delete(h.list, i, i+1)
	}
}

// giveUp ends the tabs that a snapshot was held for. No tab is locked.
func (h *holds) giveUp(dropped []*hold) {
	for _, d := range dropped {
		h.mu.Lock()
		tabs := slices.Clone(d.tabs)
		h.mu.Unlock()
		for _, t := range tabs {
			t.mu.Lock()
			if t.hold == d {
				t.giveUp(wire.CloseTooSlow, "does not take its snapshot")
			}
			t.mu.Unlock()
		}
	}
}

// letGo ends the hold of a tab, if there is one. The caller has t.mu.
func (t *Tab) letGo() {
	if t.hold != nil {
		t.center.holds.remove(t, t.hold)
		t.hold = nil
	}
}
