package broadcast

import (
	"slices"
	"sync"

	"github.com/everdesk/everdesk/wire"
)

// pendingSnapshots are the large snapshots that tabs have not received yet. Each is in
// memory until the last of its tabs has received it, so their total size is bounded.
type pendingSnapshots struct {
	mu    sync.Mutex         // guards the fields below
	list  []*pendingSnapshot // oldest first
	bytes int
}

// pendingSnapshot is one snapshot with the tabs that still need it.
type pendingSnapshot struct {
	data []byte
	tabs []*Tab
}

// add records that a tab has to receive a snapshot. If all together exceed limit bytes, it
// removes and returns the oldest; the caller must close their tabs, which are the slowest.
func (p *pendingSnapshots) add(t *Tab, data []byte, limit int) (mine *pendingSnapshot, dropped []*pendingSnapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.list, func(o *pendingSnapshot) bool { return &o.data[0] == &data[0] })
	if i >= 0 {
		mine = p.list[i]
	} else {
		mine = &pendingSnapshot{data: data}
		p.list = append(p.list, mine)
		p.bytes += len(data)
	}
	mine.tabs = append(mine.tabs, t)
	for p.bytes > limit && p.list[0] != mine {
		dropped = append(dropped, p.list[0])
		p.bytes -= len(p.list[0].data)
		p.list = slices.Delete(p.list, 0, 1)
	}
	return mine, dropped
}

// remove records that a tab has received its snapshot, or never will.
func (p *pendingSnapshots) remove(t *Tab, mine *pendingSnapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	mine.tabs = slices.DeleteFunc(mine.tabs, func(o *Tab) bool { return o == t })
	if i := slices.Index(p.list, mine); i >= 0 && len(mine.tabs) == 0 {
		p.bytes -= len(mine.data)
		p.list = slices.Delete(p.list, i, i+1)
	}
}

// closeTabs closes the tabs of dropped snapshots. The caller must not hold the mutex of a
// tab.
func (p *pendingSnapshots) closeTabs(dropped []*pendingSnapshot) {
	for _, d := range dropped {
		p.mu.Lock()
		tabs := slices.Clone(d.tabs)
		p.mu.Unlock()
		for _, t := range tabs {
			t.mu.Lock()
			if t.snapshot == d {
				t.closeTab(wire.CloseTooSlow, "snapshot not received in time")
			}
			t.mu.Unlock()
		}
	}
}

// releaseSnapshot removes the tab from its pendingSnapshot, if any. The caller holds t.mu.
func (t *Tab) releaseSnapshot() {
	if t.snapshot != nil {
		t.center.snapshots.remove(t, t.snapshot)
		t.snapshot = nil
	}
}
