package broadcast

import (
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Notify sends all tabs an event that is not in the log. If lasting is set, it is also sent
// to later tabs, after their session_state, until the next call of Notify replaces it. It
// is safe for concurrent use and never blocks on a socket. A form that cannot represent the
// event sends nothing.
func (c *Center) Notify(data wire.ServerPayload, lasting bool) {
	c.writeGroups(c.queueNotice(wire.Event{Session: c.session, Time: time.Now(), Data: data}, lasting))
}

// queueNotice queues a private frame for every tab, encoded once per ring.
func (c *Center) queueNotice(e wire.Event, lasting bool) ([]*group, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, 0
	}
	c.lastingNotice = nil
	if lasting {
		c.lastingNotice = &e
	}
	var groups []*group
	var frames [encodings][]byte
	for _, r := range c.rings {
		if r != nil {
			frames[r.index()] = r.privateFrame(e)
			groups = append(groups, r.groups...)
		}
	}
	for _, t := range c.tabs {
		if frame := frames[t.ringIndex]; len(frame) > 0 {
			t.mu.Lock()
			t.queue(frame)
			t.mu.Unlock()
		}
	}
	return groups, len(c.tabs)
}

// queueLastingNotice queues the lasting notice for a new tab. The caller holds c.mu.
func (c *Center) queueLastingNotice(t *Tab) {
	if c.lastingNotice == nil {
		return
	}
	t.mu.Lock()
	t.queue(t.ring.privateFrame(*c.lastingNotice))
	t.mu.Unlock()
}
