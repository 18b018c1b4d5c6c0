package broadcast

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// retryAfter is how long a tab waits before it asks a source again that could
// not answer.
const retryAfter = 200 * time.Millisecond

// start gives the tab a goroutine that may wait for its socket. It ends when
// there is nothing left to write. The caller has t.mu, and nobody owns the tab.
func (t *Tab) start() {
	if t.gone {
		return
	}
	ctx, cancel := context.WithCancel(t.center.ctx)
	t.acquire()
	t.cancel = cancel
	t.center.share.enter() // here, so that what is at hand is not forgotten meanwhile
	t.center.wg.Go(func() {
		defer cancel()
		t.catchUp(ctx)
	})
}

// catchUp writes until the tab has seen everything.
func (t *Tab) catchUp(ctx context.Context) {
	c := t.center
	b := c.cfg.Writers.borrow()
	defer c.cfg.Writers.giveBack(b)
	defer c.share.leave()
	var waits patience
	var now *control // whose frames are in rest
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.load(ctx, b, &now) {
		// In pieces, so that it can be seen how they leave.
		buf := t.rest[:min(len(t.rest), heldLimit)]
		err := t.conn.SetWriteDeadline(time.Now().Add(c.cfg.WriteTimeout / 2))
		n := 0
		if err == nil {
			t.mu.Unlock()
			n, err = t.conn.Write(buf)
			t.mu.Lock()
		}
		if t.rest = t.rest[n:]; len(t.rest) == 0 {
			t.letGo()
		}
		t.sent += int64(n)
		switch {
		case err == nil:
			waits = patience{}
			if b.events > 0 && len(t.rest) == 0 {
				c.cfg.Observer.Delivered(b.events, since(b.born))
				b.events = 0
			}
			if now != nil && len(t.rest) == 0 {
				close(now.done)
				t.hangUp(now.frames)
				now = nil
			}
		case t.gone:
		case !isTimeout(err):
			t.broken(err)
		case waits.lost(t.fd, n):
			t.giveUp(wire.CloseTooSlow, "takes nothing")
		}
	}
	if cap(b.buf) <= pooledLimit {
		t.rest = slices.Clone(t.rest) // it may lie in the batch, which others will use
	}
	if !t.gone {
		t.rest = nil
		_ = t.conn.SetWriteDeadline(time.Time{}) // a closed connection has said so to Write
	}
	t.letGo()
	t.release()
}

// load puts what comes next into rest. It reports false when there is nothing,
// or when the tab is gone. The caller has t.mu, which may be given up meanwhile.
func (t *Tab) load(ctx context.Context, b *batch, now **control) bool {
	for !t.gone {
		if len(t.rest) > 0 {
			return true
		}
		ripe := t.ripe(t.at)
		switch {
		case t.control != nil && (len(t.own) == 0 || !isClose(t.control.frames)): // what explains a close comes before it
			*now = t.control
			t.control = t.control.next
			t.rest, (*now).begun = (*now).frames, true
		case len(t.own) > 0:
			t.rest, t.own = t.own, nil
		case ripe > 0:
			if d := t.due[0]; !d.passing || d.at == t.at {
				t.rest = d.frame
			}
			if t.due = t.due[1:]; len(t.due) == 0 {
				t.due = nil
			}
		case t.fresh != "":
			t.refresh(ctx)
		default:
			switch b.take(t, catchLimit, true) {
			case foundNothing:
				return false
			case foundBytes:
				t.rest, t.at = b.data, b.at
			case foundGap:
				if !t.ring.form.isDesktop() {
					t.readOn(ctx, b)
					break
				}
				// That dialect has whole texts, which pages of the log
				// do not, and knows no resuming.
				t.fresh = wire.SnapshotTooMany
				t.asked++
			}
		}
	}
	return false
}

// refresh gets the snapshot that the tab was promised. The caller has t.mu,
// which is given up meanwhile.
func (t *Tab) refresh(ctx context.Context) {
	reason, asked, f, at := t.fresh, t.asked, t.filter, t.at
	if reason == wire.SnapshotUnknown {
		at = wire.Position{} // what it has seen may never have been
	}
	var was *departed
	if t.form.isDesktop() && reason != wire.SnapshotFresh {
		was = &departed{connection: t.who.ConnectionID, at: at}
	}
	t.mu.Unlock()
	c := t.center
	data, pos, err := c.snapshot(ctx, t, f, reason, at, was)
	if err != nil {
		c.pause(ctx, "snapshot", err)
	}
	var mine *hold
	if len(data) > heldLimit {
		var dropped []*hold
		mine, dropped = c.holds.add(t, data, c.cfg.SnapshotBytes)
		c.holds.giveUp(dropped)
	}
	t.mu.Lock()
	t.hold = mine
	if err == nil && t.asked == asked {
		t.rest, t.at, t.fresh = data, pos, ""
	} else {
		t.letGo()
	}
}

// readOn gets what the ring no longer has from the log. The caller has t.mu,
// which is given up meanwhile.
func (t *Tab) readOn(ctx context.Context, b *batch) {
	at, asked, filtered := t.at, t.asked, t.filter != nil
	t.mu.Unlock()
	p, err := t.center.page(ctx, t.ring.encoding, filtered, at)
	reason := lostReason(err)
	if err != nil && reason == "" {
		t.center.pause(ctx, "read", err)
	}
	t.mu.Lock()
	switch {
	case t.asked != asked: // a snapshot comes instead
	case reason != "":
		t.misplace(reason)
	case err != nil:
	case p.chunk == nil:
		// The log ends before the ring does: it is not the same any more.
		t.misplace(wire.SnapshotUnknown)
	case filtered != (t.filter != nil):
	default:
		b.page(p.chunk, t, catchLimit, true)
		t.rest, t.at = b.data, b.at
	}
}

// misplace notes that the tab has lost its place in the log. It gets a snapshot,
// or is too slow.
func (t *Tab) misplace(reason wire.SnapshotReason) {
	now := time.Now()
	if !t.lost[0].IsZero() && now.Sub(t.lost[0]) < lostWithin {
		t.giveUp(wire.CloseTooSlow, "too slow three times in a minute")
		return
	}
	t.lost[0], t.lost[1] = t.lost[1], now
	t.fresh = reason
	t.asked++
}

// lostReason is what an answer of the store means for a position, or "" when it
// means nothing.
func lostReason(err error) wire.SnapshotReason {
	switch {
	case errors.Is(err, store.ErrTrimmed):
		return wire.SnapshotTrimmed
	case errors.Is(err, store.ErrUnknownPosition), errors.Is(err, store.ErrAhead):
		return wire.SnapshotUnknown
	}
	return ""
}

// pause waits a little before the source is asked again.
func (c *Center) pause(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	c.cfg.Logger.Debug("a tab waits for the store", "session", c.session, "wants", what, "error", err)
	timer := time.NewTimer(retryAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
