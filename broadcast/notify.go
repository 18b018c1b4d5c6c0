package broadcast

import (
	"maps"
	"sync"
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

// pointerInterval is the least time between two positions of a user's pointers that are sent: ten per second. Clients
// send at that rate, so it is a little shorter.
const pointerInterval = 90 * time.Millisecond

// MovePointer sends the tabs of other users the position of a user's pointer. It returns false for a position that it
// drops because the user's last one, of whichever tab, was sent less than pointerInterval ago: each is queued for
// every tab. It always sends that a pointer is gone; callers do so only after a position that was sent.
//
// It is safe for concurrent use and never blocks on a socket.
func (c *Center) MovePointer(p wire.PointerMoved) bool {
	if !p.Gone && !c.pointers.take(p.User, time.Now()) {
		return false
	}
	c.ShowPointer(p)
	return true
}

// ShowPointer is MovePointer for a position that was not dropped at another replica. A second limit would drop the last
// position of a movement, which no other replaces.
//
// A tab that has not received an earlier private frame yet misses the position, so that frequent events neither delay
// others nor close slow tabs.
func (c *Center) ShowPointer(p wire.PointerMoved) {
	c.writeGroups(c.queueForOthers(p.User, wire.Event{Session: c.session, Time: time.Now(), Data: p}))
}

// pointerTimes are the times of the last positions that were sent, by user. The zero value is ready to use.
type pointerTimes struct {
	mu   sync.Mutex // guards sent
	sent map[string]time.Time
}

// take reports whether a position of the user may be sent now, and if so records it.
func (t *pointerTimes) take(user string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.sent, func(_ string, sent time.Time) bool { return now.Sub(sent) >= pointerInterval })
	if _, recent := t.sent[user]; recent {
		return false
	}
	if t.sent == nil {
		t.sent = map[string]time.Time{}
	}
	t.sent[user] = now
	return true
}

// queueForOthers queues a private frame for the tabs of other users, encoded once per ring.
func (c *Center) queueForOthers(user string, e wire.Event) (groups []*group, tabs int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, 0
	}
	var frames [encodings][]byte
	var encoded [encodings]bool
	for _, t := range c.tabs {
		if t.who.User == user {
			continue
		}
		i := t.ringIndex
		if !encoded[i] {
			encoded[i] = true
			if frames[i] = t.ring.privateFrame(e); len(frames[i]) > 0 {
				groups = append(groups, t.ring.groups...)
			}
		}
		if len(frames[i]) == 0 {
			continue
		}
		t.mu.Lock()
		if len(t.privateFrames) == 0 {
			t.queue(frames[i])
			tabs++
		}
		t.mu.Unlock()
	}
	return groups, tabs
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
