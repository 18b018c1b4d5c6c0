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
	// pageEvents and pageBytes bound what is read from the log at once.
	pageEvents = 128
	pageBytes  = catchLimit
	// maxPages is how many pages are kept while somebody reads.
	maxPages = 16
	// sourceTimeout is how long a source may take.
	sourceTimeout = 10 * time.Second
	// staleEvents is how many events a snapshot may be behind to be shown to
	// the next tab too.
	staleEvents = 64
)

// share lets tabs that need the same thing from the source at about the same
// time have it fetched and encoded once. It keeps things only while somebody is
// in need.
type share struct {
	mu    sync.Mutex // guards the following
	users int
	pages []*page
	shots []*shot
}

func (s *share) enter() {
	s.mu.Lock()
	s.users++
	s.mu.Unlock()
}

func (s *share) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users == 0 {
		s.pages, s.shots = nil, nil
	}
}

// restart forgets everything.
func (s *share) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages, s.shots = nil, nil
}

// page is a part of the log, encoded.
type page struct {
	as       encoding
	filtered bool // it says of which monitors its events are
	after    wire.Position
	ready    chan struct{} // closed when the following are set
	chunk    *chunk        // nil when there is nothing
	end      bool          // the log ended there
	err      error
}

// page is what follows a position in the log: all that its limits allow.
func (c *Center) page(ctx context.Context, as encoding, filtered bool, after wire.Position) (*page, error) {
	s := &c.share
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
	c.fetch(func() {
		c.read(p)
		if p.err != nil || p.chunk == nil {
			s.mu.Lock()
			s.pages = slices.DeleteFunc(s.pages, func(other *page) bool { return other == p })
			s.mu.Unlock()
		}
	})
	return p.wait(ctx)
}

// fetch does something that others may wait for too, and that takes its time: on
// a goroutine of its own, so that nobody has to wait longer than they want. After
// the end there is nobody to wait for it, and it does not take long.
func (c *Center) fetch(what func()) {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.wg.Go(what)
	}
	c.mu.Unlock()
	if closed {
		what()
	}
}

// wait waits for a page that somebody reads.
func (p *page) wait(ctx context.Context) (*page, error) {
	select {
	case <-p.ready:
		return p, p.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// covers reports whether the page is or will be the answer for a position.
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

// read fills a page. Whoever waits for it must not suffer from the impatience of
// the first, so it has a time limit of its own.
func (c *Center) read(p *page) {
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
	events := stored(kept)
	p.chunk = encode(p.as, p.after, events, nil)
	if p.filtered {
		p.chunk.monitor, p.chunk.monitors = monitorsOf(events)
	}
}

// shot is a snapshot, encoded for whoever needs it.
type shot struct {
	filter *filter
	ready  chan struct{} // closed when the following are set
	state  wire.SessionState
	err    error
	// endings reads what ended before the snapshot, once for all tabs that need it.
	endings func() *endings

	mu      sync.Mutex // guards the following
	encoded map[shotForm][]byte
}

type shotForm struct {
	as     encoding
	plain  bool
	reason wire.SnapshotReason
}

// snapshot is the state for a new tab, or for one that has lost its place, which
// has seen everything up to seen. Events after the position follow. For a tab of the
// desktop dialect that may show something stale, was is what is known of it; others
// have none.
func (c *Center) snapshot(
	ctx context.Context, t *Tab, f *filter, reason wire.SnapshotReason, seen wire.Position, was *departed,
) ([]byte, wire.Position, error) {
	r := t.ring
	s, err := c.shot(ctx, r, f, seen)
	if err != nil {
		return nil, wire.Position{}, err
	}
	if r.form.isDesktop() {
		c.mu.Lock()
		r.texts.learn(s.state.Agents)
		c.mu.Unlock()
	}
	data := s.encode(c, shotForm{r.encoding, t.plain, reason})
	if was != nil {
		data = c.appendOver(r.form, slices.Clip(data), s.endings().over(&s.state, f, *was))
	}
	return data, s.state.LastMessageID, nil
}

// shot finds a snapshot that others use as well, or takes one.
func (c *Center) shot(ctx context.Context, r *ring, f *filter, seen wire.Position) (*shot, error) {
	for {
		s, mine := c.claim(r, f, seen)
		if mine {
			c.fetch(func() { c.take(s) })
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		// One that was begun before may be too old; one of our own is the
		// best there is.
		if mine || s.err == nil && s.state.LastMessageID.Compare(seen) >= 0 {
			return s, s.err
		}
		c.share.drop(s)
	}
}

// claim finds a snapshot that is good enough or begins one, which the caller has
// to take then.
func (c *Center) claim(r *ring, f *filter, seen wire.Position) (s *shot, mine bool) {
	c.share.mu.Lock()
	defer c.share.mu.Unlock()
	for _, s := range c.share.shots {
		if f.equal(s.filter) && s.good(r, seen) {
			return s, false
		}
	}
	s = &shot{filter: f, ready: make(chan struct{}), encoded: map[shotForm][]byte{}}
	s.endings = sync.OnceValue(func() *endings { return c.readEndings(s.state.LastMessageID) })
	c.share.shots = slices.DeleteFunc(c.share.shots, func(old *shot) bool { return f.equal(old.filter) })
	c.share.shots = append(c.share.shots, s)
	return s, true
}

// good reports whether a snapshot is, or may become, good for another tab.
func (s *shot) good(r *ring, seen wire.Position) bool {
	select {
	case <-s.ready:
	default:
		return true
	}
	at := s.state.LastMessageID
	if s.err != nil || at.Compare(seen) < 0 {
		return false
	}
	head, events, _, ok := r.missed(at)
	return at.Compare(head) > 0 || ok && events <= staleEvents
}

// take asks the source.
func (c *Center) take(s *shot) {
	defer close(s.ready)
	ctx, cancel := context.WithTimeout(c.ctx, sourceTimeout)
	defer cancel()
	s.state, s.err = c.src.Snapshot(ctx, s.filter.list())
	if s.err != nil {
		c.share.drop(s)
	}
}

func (s *share) drop(old *shot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shots = slices.DeleteFunc(s.shots, func(other *shot) bool { return other == old })
}

// encode makes the bytes of a snapshot, or finds them.
func (s *shot) encode(c *Center, key shotForm) []byte {
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
		// The position is not that of the event, but where to resume.
		data = appendNative(nil, key.as.form, state.LastMessageID, wire.AppendEvent(nil, e))
	}
	s.encoded[key] = data
	return data
}

// appendPlain makes the frames of a snapshot for clients that take each message by
// itself: its message_id is where to resume, and questions that are open are asked again
// by the events that the client missed, unless those follow anyway.
func appendPlain(key shotForm, e wire.Event, state *wire.SessionState) []byte {
	e.At = state.LastMessageID
	if p := state.Plan; p != nil && p.Status == wire.PlanExecuting {
		approved := *p // those clients know a plan that runs as one that was approved
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
			data = append(data, key.as.private(wire.Event{Session: e.Session, Time: e.Time, Data: asked})...)
		}
	}
	return data
}
