package broadcast

import (
	"context"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Attach sends session_state to a new tab and delivers all later events to it. It reads
// from the store if the client has missed events that the ring no longer has. After
// [Center.Close] it returns [ErrClosed].
func (c *Center) Attach(ctx context.Context, cfg TabConfig) (*Tab, error) {
	t := &Tab{
		center: c, conn: cfg.Conn, fd: noDescriptor, form: cfg.Form, closed: cfg.Closed,
		who: cfg.Who, filter: newFilter(cfg.Monitors), plain: cfg.Plain,
	}
	as := encoding{cfg.Form.ring(), cfg.Name}
	t.ringIndex = as.index()
	cfg.Conn.attachTab(t)
	t.acquireOwner() // until session_state is ready
	if err := c.addTab(t, as); err != nil {
		cfg.Conn.detachTab(t)
		return nil, err
	}
	c.cache.addUser()
	defer c.cache.removeUser()
	g, err := c.buildGreeting(ctx, t, cfg)
	f := c.cfg.Writers.getFlusher()
	defer c.cfg.Writers.putFlusher(f)
	t.mu.Lock()
	t.releaseOwner()
	if err == nil && t.closing {
		err = ErrClosed
	}
	if err != nil {
		t.mu.Unlock()
		t.Detach()
		// closeTab set a deadline in the past, but the caller may want to write a reason.
		_ = t.conn.SetWriteDeadline(time.Time{}) // an error recurs in the caller's write
		return nil, fmt.Errorf("attach tab to session %s: %w", c.session, err)
	}
	t.unwritten, t.at = g.data, g.at
	t.flush(f, g.page)
	var dropped []*pendingSnapshot
	if t.owner != nil && len(t.unwritten) > maxHeldBytes {
		t.snapshot, dropped = c.snapshots.add(t, g.data, c.cfg.SnapshotBytes)
	}
	t.mu.Unlock()
	c.snapshots.closeTabs(dropped)
	f.reportDelivered(c.cfg.Observer)
	c.cfg.Observer.Greeted(g.reason, g.missed)
	return t, nil
}

// initialState is the first session_state of a tab.
type initialState struct {
	data []byte
	at   wire.Position // position of the tab after it
	page *chunk        // the following events, if they were read and are not in the ring
	// reason is the reason for a snapshot; if empty, missed events follow.
	reason wire.SnapshotReason
	missed int
}

// buildGreeting decides between resume and snapshot. No other goroutine uses the tab yet.
func (c *Center) buildGreeting(ctx context.Context, t *Tab, cfg TabConfig) (initialState, error) {
	reason := wire.SnapshotFresh
	if from := cfg.ResumeFrom; from != "" && !t.form.isDesktop() {
		reason = wire.SnapshotUnknown
		if at, err := wire.ParsePosition(from); err == nil {
			g, why, err := c.resume(ctx, t.ring, t.filter, at)
			if err == nil && why == "" && t.plain {
				g.data, _, err = c.snapshot(ctx, t, t.filter, "", at, nil)
			}
			if err != nil || why == "" {
				return g, err
			}
			reason = why
		}
	}
	var was *departed
	if cfg.Returning && t.form.isDesktop() {
		was = new(c.popDeparted(cfg.Who.User))
	}
	data, at, err := c.snapshot(ctx, t, t.filter, reason, wire.Position{}, was)
	return initialState{data: data, at: at, reason: reason}, err
}

// resume finds the events that a client has missed. It returns the reason if the client
// must get a snapshot instead.
func (c *Center) resume(ctx context.Context, r *ring, f *filter, from wire.Position) (initialState, wire.SnapshotReason, error) {
	g := initialState{at: from}
	events, bytes := 0, 0
	for at, pages := from, 0; ; pages++ {
		head, n, size, ok := r.countAfter(at)
		if ok {
			events, bytes, at = events+n, bytes+size, head
		}
		if events > c.cfg.ReplayEvents || bytes > c.cfg.ReplayBytes {
			return g, wire.SnapshotTooMany, nil
		}
		if ok {
			g.data, g.missed = c.resumeFrame(r, at), events
			return g, "", nil
		}
		p, err := c.readPage(ctx, r.encoding, f != nil, at)
		if err != nil {
			if why := lostReason(err); why != "" {
				return g, why, nil
			}
			return g, "", fmt.Errorf("read missed events: %w", err)
		}
		g.page = nil
		if p.chunk != nil {
			from := p.chunk.after(at)
			events += len(p.chunk.events) - from
			bytes += p.chunk.sizeFrom(from)
			at = p.chunk.last()
			if pages == 0 {
				g.page = p.chunk
			}
		}
		if p.chunk == nil || p.end && at.Compare(head) >= 0 {
			// The log ends here, maybe after the last published event.
			if events > c.cfg.ReplayEvents || bytes > c.cfg.ReplayBytes {
				return g, wire.SnapshotTooMany, nil
			}
			g.data, g.missed = c.resumeFrame(r, at), events
			return g, "", nil
		}
	}
}

// resumeFrame returns the session_state of a client that is sent the events it missed.
func (c *Center) resumeFrame(r *ring, until wire.Position) []byte {
	return r.privateFrame(wire.Event{
		Session: c.session, Time: time.Now(),
		Data: wire.SessionState{
			Mode: wire.StateResume, ReplayUntil: until, HeartbeatMS: int(c.cfg.Heartbeat.Milliseconds()),
		},
	})
}
