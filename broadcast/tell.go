package broadcast

import (
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Notify shows all tabs something that is not in the log, between what is. When it
// stands, tabs that come later are told too, after their session_state, until the
// next call: the newest of what is told is all there is. Any goroutine may call
// it; it never waits for a socket. A form that cannot show it shows nothing.
func (c *Center) Notify(data wire.ServerPayload, stands bool) {
	c.wake(c.queueAll(wire.Event{Session: c.session, Time: time.Now(), Data: data}, stands))
}

// queueAll gives every tab a private frame, made once for each form in use.
func (c *Center) queueAll(e wire.Event, stands bool) ([]*group, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, 0
	}
	c.standing = nil
	if stands {
		c.standing = &e
	}
	var groups []*group
	var frames [encodings][]byte
	for _, r := range c.rings {
		if r != nil {
			frames[r.index()] = r.private(e)
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

// brief gives a new tab what stands. The caller has c.mu.
func (c *Center) brief(t *Tab) {
	if c.standing == nil {
		return
	}
	t.mu.Lock()
	t.queue(t.ring.private(*c.standing))
	t.mu.Unlock()
}
