package broadcast

import (
	"context"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Attach greets a new tab with session_state and shows it everything from there
// on. It waits for the store when the client has missed something.
func (c *Center) Attach(ctx context.Context, cfg TabConfig) (*Tab, error) {
	t := &Tab{
		center: c, conn: cfg.Conn, fd: noDescriptor, form: cfg.Form, closed: cfg.Closed,
		who: cfg.Who, filter: newFilter(cfg.Monitors), plain: cfg.Plain,
	}
	as := encoding{cfg.Form.ring(), cfg.Name}
	t.ringIndex = as.index()
	cfg.Conn.lend(t)
	t.acquire() // until it is greeted
	if err := c.admit(t, as); err != nil {
		cfg.Conn.takeBack(t)
		return nil, err
	}
	c.share.enter()
	defer c.share.leave()
	g, err := c.greet(ctx, t, cfg)
	f := c.cfg.Writers.get()
	defer c.cfg.Writers.put(f)
	t.mu.Lock()
	t.release()
	if err == nil && t.gone {
		err = ErrClosed
	}
	if err != nil {
		t.mu.Unlock()
		t.Detach()
		// Whoever gave it up has ended all writing, but the caller may have
		// something to say.
		_ = t.conn.SetWriteDeadline(time.Time{}) // the caller's write meets the same error
		return nil, fmt.Errorf("greet a tab of %s: %w", c.session, err)
	}
	t.rest, t.at = g.data, g.at
	t.flush(f, g.page)
	var dropped []*hold
	if t.owner != nil && len(t.rest) > heldLimit {
		t.hold, dropped = c.holds.add(t, g.data, c.cfg.SnapshotBytes)
	}
	t.mu.Unlock()
	c.holds.giveUp(dropped)
	f.tell(c.cfg.Observer)
	c.cfg.Observer.Greeted(g.reason, g.missed)
	return t, nil
}

// greeting is the first session_state of a tab.
type greeting struct {
	data []byte
	at   wire.Position // where the tab is after it
	page *chunk        // what follows, if it is at hand and not in the ring
	// reason is why it is the whole state; else missed is how many events follow.
	reason wire.SnapshotReason
	missed int
}

// greet decides between resume and snapshot. No other goroutine uses the tab yet.
func (c *Center) greet(ctx context.Context, t *Tab, cfg TabConfig) (greeting, error) {
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
		was = new(c.takeDeparture(cfg.Who.User))
	}
	data, at, err := c.snapshot(ctx, t, t.filter, reason, wire.Position{}, was)
	return greeting{data: data, at: at, reason: reason}, err
}

// resume looks for what a client has missed. It gives the reason when the client
// must have a snapshot instead.
func (c *Center) resume(ctx context.Context, r *ring, f *filter, from wire.Position) (greeting, wire.SnapshotReason, error) {
	g := greeting{at: from}
	events, bytes := 0, 0
	for at, pages := from, 0; ; pages++ {
		head, n, size, ok := r.missed(at)
		if ok {
			events, bytes, at = events+n, bytes+size, head
		}
		if events > c.cfg.ReplayEvents || bytes > c.cfg.ReplayBytes {
			return g, wire.SnapshotTooMany, nil
		}
		if ok {
			g.data, g.missed = c.resumed(r, at), events
			return g, "", nil
		}
		p, err := c.page(ctx, r.encoding, f != nil, at)
		if err != nil {
			if why := lostReason(err); why != "" {
				return g, why, nil
			}
			return g, "", fmt.Errorf("read what it missed: %w", err)
		}
		g.page = nil
		if p.chunk != nil {
			from := p.chunk.after(at)
			events += len(p.chunk.events) - from
			bytes += p.chunk.size(from)
			at = p.chunk.last()
			if pages == 0 {
				g.page = p.chunk
			}
		}
		if p.chunk == nil || p.end && at.Compare(head) >= 0 {
			// The log ends here, maybe later than what was published.
			if events > c.cfg.ReplayEvents || bytes > c.cfg.ReplayBytes {
				return g, wire.SnapshotTooMany, nil
			}
			g.data, g.missed = c.resumed(r, at), events
			return g, "", nil
		}
	}
}

// resumed is the session_state of a client that is sent what it missed.
func (c *Center) resumed(r *ring, until wire.Position) []byte {
	return r.private(wire.Event{
		Session: c.session, Time: time.Now(),
		Data: wire.SessionState{
			Mode: wire.StateResume, ReplayUntil: until, HeartbeatMS: int(c.cfg.Heartbeat.Milliseconds()),
		},
	})
}
