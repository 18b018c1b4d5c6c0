package broadcast

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// retryAfter is the delay before a tab asks a Source again that failed.
const retryAfter = 200 * time.Millisecond

// startCatchUp starts the owner goroutine, which may block on the socket. It ends when
// nothing is left to write. The caller holds t.mu, and the tab has no owner.
func (t *Tab) startCatchUp() {
	if t.closing {
		return
	}
	ctx, cancel := context.WithCancel(t.center.ctx)
	t.acquireOwner()
	t.cancel = cancel
	t.center.cache.addUser() // before the goroutine runs, so that cached data is kept for it
	t.center.wg.Go(func() {
		defer cancel()
		t.catchUp(ctx)
	})
}

// catchUp writes until the tab is up to date.
func (t *Tab) catchUp(ctx context.Context) {
	c := t.center
	b := c.cfg.Writers.getBatch()
	defer c.cfg.Writers.putBatch(b)
	defer c.cache.removeUser()
	var stall stallDetector
	var now *control // its frames are in t.unwritten
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.loadNext(ctx, b, &now) {
		// Write in pieces, so that progress is observed.
		buf := t.unwritten[:min(len(t.unwritten), maxHeldBytes)]
		err := t.conn.SetWriteDeadline(time.Now().Add(c.cfg.WriteTimeout / 2))
		n := 0
		if err == nil {
			t.mu.Unlock()
			n, err = t.conn.Write(buf)
			t.mu.Lock()
		}
		if t.unwritten = t.unwritten[n:]; len(t.unwritten) == 0 {
			t.releaseSnapshot()
		}
		t.sent += int64(n)
		switch {
		case err == nil:
			stall = stallDetector{}
			if b.events > 0 && len(t.unwritten) == 0 {
				c.cfg.Observer.Delivered(b.events, elapsedSince(b.publishedAt))
				b.events = 0
			}
			if now != nil && len(t.unwritten) == 0 {
				close(now.done)
				t.noteClose(now.frames)
				now = nil
			}
		case t.closing:
		case !isTimeout(err):
			t.closeBroken(err)
		case stall.stalled(t.fd, n):
			t.closeTab(wire.CloseTooSlow, "socket accepts no data")
		}
	}
	if cap(b.buf) <= maxPooledBytes {
		t.unwritten = slices.Clone(t.unwritten) // it may share memory with the batch, which is reused
	}
	if !t.closing {
		t.unwritten = nil
		_ = t.conn.SetWriteDeadline(time.Time{}) // a closed connection has said so to Write
	}
	t.releaseSnapshot()
	t.releaseOwner()
}

// loadNext puts the next bytes into t.unwritten. It returns false if there are none, or if
// the tab is closing. The caller holds t.mu, which may be released meanwhile.
func (t *Tab) loadNext(ctx context.Context, b *writeBatch, now **control) bool {
	for !t.closing {
		if len(t.unwritten) > 0 {
			return true
		}
		ripe := t.countDue(t.at)
		switch {
		case t.control != nil && (len(t.privateFrames) == 0 || !isClose(t.control.frames)): // private frames that explain a close precede it
			*now = t.control
			t.control = t.control.next
			t.unwritten, (*now).started = (*now).frames, true
		case len(t.privateFrames) > 0:
			t.unwritten, t.privateFrames = t.privateFrames, nil
		case ripe > 0:
			if d := t.afterEvent[0]; !d.dropIfStale || d.at == t.at {
				t.unwritten = d.frame
			}
			if t.afterEvent = t.afterEvent[1:]; len(t.afterEvent) == 0 {
				t.afterEvent = nil
			}
		case t.snapshotReason != "":
			t.loadSnapshot(ctx)
		default:
			switch b.fillFromRing(t, catchUpBytes, true) {
			case batchEmpty:
				return false
			case batchFilled:
				t.unwritten, t.at = b.data, b.at
			case batchGap:
				if !t.ring.form.isDesktop() {
					t.loadFromLog(ctx, b)
					break
				}
				// The desktop dialect needs whole texts, which pages of the log
				// do not contain, and cannot resume.
				t.snapshotReason = wire.SnapshotTooMany
				t.snapshotRequests++
			}
		}
	}
	return false
}

// loadSnapshot gets the requested snapshot. The caller holds t.mu, which is released
// meanwhile.
func (t *Tab) loadSnapshot(ctx context.Context) {
	reason, asked, f, at := t.snapshotReason, t.snapshotRequests, t.filter, t.at
	if reason == wire.SnapshotUnknown {
		at = wire.Position{} // the events it has seen may be lost
	}
	var was *departed
	if t.form.isDesktop() && reason != wire.SnapshotFresh {
		was = &departed{connection: t.who.ConnectionID, at: at}
	}
	t.mu.Unlock()
	c := t.center
	data, pos, err := c.snapshot(ctx, t, f, reason, at, was)
	if err != nil {
		c.waitBeforeRetry(ctx, "snapshot", err)
	}
	var mine *pendingSnapshot
	if len(data) > maxHeldBytes {
		var dropped []*pendingSnapshot
		mine, dropped = c.snapshots.add(t, data, c.cfg.SnapshotBytes)
		c.snapshots.closeTabs(dropped)
	}
	t.mu.Lock()
	t.snapshot = mine
	if err == nil && t.snapshotRequests == asked {
		t.unwritten, t.at, t.snapshotReason = data, pos, ""
	} else {
		t.releaseSnapshot()
	}
}

// loadFromLog gets the events that the ring no longer has from the log. The caller holds
// t.mu, which is released meanwhile.
func (t *Tab) loadFromLog(ctx context.Context, b *writeBatch) {
	at, asked, filtered := t.at, t.snapshotRequests, t.filter != nil
	t.mu.Unlock()
	p, err := t.center.readPage(ctx, t.ring.encoding, filtered, at)
	reason := lostReason(err)
	if err != nil && reason == "" {
		t.center.waitBeforeRetry(ctx, "read", err)
	}
	t.mu.Lock()
	switch {
	case t.snapshotRequests != asked: // a snapshot was requested instead
	case reason != "":
		t.handleLostPosition(reason)
	case err != nil:
	case p.chunk == nil:
		// The log ends before the ring does: the store has lost events.
		t.handleLostPosition(wire.SnapshotUnknown)
	case filtered != (t.filter != nil):
	default:
		b.fillFromPage(p.chunk, t, catchUpBytes, true)
		t.unwritten, t.at = b.data, b.at
	}
}

// handleLostPosition requests a snapshot for a tab whose position is no longer in the log,
// or closes it as too slow. The caller holds t.mu.
func (t *Tab) handleLostPosition(reason wire.SnapshotReason) {
	now := time.Now()
	if !t.lostAt[0].IsZero() && now.Sub(t.lostAt[0]) < lostWindow {
		t.closeTab(wire.CloseTooSlow, "too slow three times in a minute")
		return
	}
	t.lostAt[0], t.lostAt[1] = t.lostAt[1], now
	t.snapshotReason = reason
	t.snapshotRequests++
}

// lostReason returns the reason for a snapshot if err means that a position is not in the
// log, or "".
func lostReason(err error) wire.SnapshotReason {
	switch {
	case errors.Is(err, store.ErrTrimmed):
		return wire.SnapshotTrimmed
	case errors.Is(err, store.ErrUnknownPosition), errors.Is(err, store.ErrAhead):
		return wire.SnapshotUnknown
	}
	return ""
}

// waitBeforeRetry waits before the Source is called again.
func (c *Center) waitBeforeRetry(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	c.cfg.Logger.Debug("source unavailable, retrying", "session", c.session, "wants", what, "error", err)
	timer := time.NewTimer(retryAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
