package broadcast

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/wire"
)

const (
	// pageEvents and pageBytes bound one page read from the log.
	pageEvents = 128
	pageBytes  = catchUpBytes
	// maxPages bounds the cached pages.
	maxPages = 16
	// sourceTimeout bounds one call of the Source.
	sourceTimeout = 10 * time.Second
	// maxSnapshotLag is the number of events that a cached snapshot may be behind to be
	// used for another tab.
	maxSnapshotLag = 64
)

// sourceCache lets tabs that need the same data from the Source at about the same time
// share one read and one encoding. It keeps data only while it has users.
type sourceCache struct {
	mu        sync.Mutex // guards the fields below
	users     int
	pages     []*page
	snapshots []*sharedSnapshot
}

func (s *sourceCache) addUser() {
	s.mu.Lock()
	s.users++
	s.mu.Unlock()
}

func (s *sourceCache) removeUser() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users == 0 {
		s.pages, s.snapshots = nil, nil
	}
}

// clear removes all cached data.
func (s *sourceCache) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages, s.snapshots = nil, nil
}

// page is an encoded part of the log.
type page struct {
	as       encoding
	filtered bool // the chunk has the monitors of its events
	after    wire.Position
	ready    chan struct{} // closed when the fields below are set
	chunk    *chunk        // nil if there are no events
	end      bool          // the log ended with this page
	err      error
}

// readPage returns the page after a position in the log, from the cache if possible.
func (c *Center) readPage(ctx context.Context, as encoding, filtered bool, after wire.Position) (*page, error) {
	s := &c.cache
	s.mu.Lock()
	for _, p := range s.pages {
		if p.as == as && (p.filtered || !filtered) && p.covers(after) {
			s.mu.Unlock()
			return p.wait(ctx)
		}
	}
	p := &page{as: as, filtered: filtered, after: after, ready: make(chan struct{})}
	if len(s.pages) == maxPages {
		s.pages = slices.Delete(s.pages, 0, 1)
	}
	s.pages = append(s.pages, p)
	s.mu.Unlock()
	c.runShared(func() {
		c.fillPage(p)
		if p.err != nil || p.chunk == nil {
			s.mu.Lock()
			s.pages = slices.DeleteFunc(s.pages, func(other *page) bool { return other == p })
			s.mu.Unlock()
		}
	})
	return p.wait(ctx)
}

// runShared runs fn, whose result several tabs may wait for, on a goroutine of its own, so
// that each waits only as long as its context allows. After Close it runs fn inline, which
// returns at once because c.ctx is canceled.
func (c *Center) runShared(fn func()) {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.wg.Go(fn)
	}
	c.mu.Unlock()
	if closed {
		fn()
	}
}

// wait waits until the page is read.
func (p *page) wait(ctx context.Context) (*page, error) {
	select {
	case <-p.ready:
		return p, p.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// covers reports whether the page is, or will be, the result for a position.
func (p *page) covers(after wire.Position) bool {
	if p.after == after {
		return true
	}
	select {
	case <-p.ready:
		return p.chunk != nil && p.chunk.has(after) && after.Compare(p.chunk.last()) < 0
	default:
		return false
	}
}

// fillPage reads and encodes a page. It has its own timeout, so that the deadline of the
// first tab does not affect the others.
func (c *Center) fillPage(p *page) {
	defer close(p.ready)
	ctx, cancel := context.WithTimeout(c.ctx, sourceTimeout)
	defer cancel()
	kept, err := c.src.Read(ctx, p.after, pageEvents)
	if err != nil {
		p.err = err
		return
	}
	p.end = len(kept) < pageEvents
	size := 0
	for i, e := range kept {
		if size += len(e.Frame); size > pageBytes && i > 0 {
			kept, p.end = kept[:i], false
			break
		}
	}
	if len(kept) == 0 {
		return
	}
	events := decodeStored(kept)
	p.chunk = encode(p.as, p.after, events, nil)
	if p.filtered {
		p.chunk.monitor, p.chunk.monitors = monitorsOf(events)
	}
}

// sharedSnapshot is a snapshot that several tabs use, with its encodings.
type sharedSnapshot struct {
	filter *filter
	ready  chan struct{} // closed when the fields below are set
	state  wire.SessionState
	err    error
	// endings reads the endings before the snapshot, once for all tabs that need them.
	endings func() *endings

	mu      sync.Mutex // guards the fields below
	encoded map[snapshotKey][]byte
}

type snapshotKey struct {
	as     encoding
	plain  bool
	reason wire.SnapshotReason
}

// snapshot returns the encoded state, and its position, for a new tab or for one that has
// lost its position after it saw everything up to seen. Events after the position follow.
// was describes a tab of the desktop dialect that may still show stale content, which the
// result then also ends; it is nil for other tabs.
func (c *Center) snapshot(
	ctx context.Context, t *Tab, f *filter, reason wire.SnapshotReason, seen wire.Position, was *departed,
) ([]byte, wire.Position, error) {
	r := t.ring
	s, err := c.sharedSnapshot(ctx, r, f, seen)
	if err != nil {
		return nil, wire.Position{}, err
	}
	if r.form.isDesktop() {
		c.mu.Lock()
		r.texts.addFromSnapshot(s.state.Agents)
		c.mu.Unlock()
	}
	data := s.encode(c, snapshotKey{r.encoding, t.plain, reason})
	if was != nil {
		data = c.appendEndings(r.form, slices.Clip(data), s.endings().missingFrom(&s.state, f, *was))
	}
	return data, s.state.LastMessageID, nil
}

// sharedSnapshot returns a cached snapshot that includes the position seen, or takes a new
// one.
func (c *Center) sharedSnapshot(ctx context.Context, r *ring, f *filter, seen wire.Position) (*sharedSnapshot, error) {
	for {
		s, mine := c.findOrBeginSnapshot(r, f, seen)
		if mine {
			c.runShared(func() { c.takeSnapshot(s) })
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		// A snapshot begun by another tab may be too old; one begun by this call is
		// always accepted.
		if mine || s.err == nil && s.state.LastMessageID.Compare(seen) >= 0 {
			return s, s.err
		}
		c.cache.removeSnapshot(s)
	}
}

// findOrBeginSnapshot returns a usable snapshot, or a new one with mine set, which the
// caller must take.
func (c *Center) findOrBeginSnapshot(r *ring, f *filter, seen wire.Position) (s *sharedSnapshot, mine bool) {
	c.cache.mu.Lock()
	defer c.cache.mu.Unlock()
	for _, s := range c.cache.snapshots {
		if f.equal(s.filter) && s.usableFor(r, seen) {
			return s, false
		}
	}
	s = &sharedSnapshot{filter: f, ready: make(chan struct{}), encoded: map[snapshotKey][]byte{}}
	s.endings = sync.OnceValue(func() *endings { return c.readEndings(s.state.LastMessageID) })
	c.cache.snapshots = slices.DeleteFunc(c.cache.snapshots, func(old *sharedSnapshot) bool { return f.equal(old.filter) })
	c.cache.snapshots = append(c.cache.snapshots, s)
	return s, true
}

// usableFor reports whether a snapshot is usable for another tab, or may be once it is
// ready.
func (s *sharedSnapshot) usableFor(r *ring, seen wire.Position) bool {
	select {
	case <-s.ready:
	default:
		return true
	}
	at := s.state.LastMessageID
	if s.err != nil || at.Compare(seen) < 0 {
		return false
	}
	head, events, _, ok := r.countAfter(at)
	return at.Compare(head) > 0 || ok && events <= maxSnapshotLag
}

// takeSnapshot requests the snapshot from the Source.
func (c *Center) takeSnapshot(s *sharedSnapshot) {
	defer close(s.ready)
	ctx, cancel := context.WithTimeout(c.ctx, sourceTimeout)
	defer cancel()
	s.state, s.err = c.src.Snapshot(ctx, s.filter.monitorList())
	if s.err != nil {
		c.cache.removeSnapshot(s)
	}
}

func (s *sourceCache) removeSnapshot(old *sharedSnapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshots = slices.DeleteFunc(s.snapshots, func(other *sharedSnapshot) bool { return other == old })
}

// encode returns the frames of a snapshot, cached by key.
func (s *sharedSnapshot) encode(c *Center, key snapshotKey) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if data, ok := s.encoded[key]; ok {
		return data
	}
	state := s.state
	state.Mode, state.Reason = wire.StateSnapshot, key.reason
	state.HeartbeatMS = int(c.cfg.Heartbeat.Milliseconds())
	e := wire.Event{Session: cmp.Or(key.as.name, c.session), Time: time.Now(), Data: state}
	var data []byte
	switch {
	case key.as.form.isDesktop():
		data = key.as.form.appendFrames(nil, e)
	case key.plain:
		data = appendPlain(key, e, &state)
	default:
		// The SSE id is the position to resume from, not that of the event.
		data = appendNative(nil, key.as.form, state.LastMessageID, wire.AppendEvent(nil, e))
	}
	s.encoded[key] = data
	return data
}

// appendPlain returns the frames of a snapshot for clients that process each message
// independently ([TabConfig.Plain]): its message_id is the position to resume from, and
// open questions are sent again as their original events, unless these follow anyway.
func appendPlain(key snapshotKey, e wire.Event, state *wire.SessionState) []byte {
	e.At = state.LastMessageID
	if p := state.Plan; p != nil && p.Status == wire.PlanExecuting {
		approved := *p // these clients know a running plan as an approved one
		approved.Status = wire.PlanStatusApproved
		state.Plan = &approved
		e.Data = *state
	}
	data := appendNative(nil, key.as.form, e.At, wire.AppendEvent(nil, e))
	if key.reason == "" {
		return data
	}
	for _, q := range state.HITLRequests {
		if asked, ok := q.(wire.ServerPayload); ok {
			data = append(data, key.as.privateFrame(wire.Event{Session: e.Session, Time: e.Time, Data: asked})...)
		}
	}
	return data
}
