package broadcast

import (
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// ring holds the newest events in one encoding.
type ring struct {
	mu     sync.Mutex // guards the fields below
	head   wire.Position
	events int
	bytes  int
	chunks []*chunk // oldest first, without a gap

	encoding
	groups []*group // the tabs; guarded by Center.mu
	tabs   int      // likewise
	texts  texts    // likewise
	spare  *chunk   // likewise; an unused chunk for reuse
}

// encode encodes events into a chunk for the ring. The caller holds Center.mu.
func (r *ring) encode(prev wire.Position, events []Event) *chunk {
	c := r.spare
	r.spare = nil
	if c == nil {
		c = &chunk{}
	}
	c.fill(r.encoding, prev, events, &r.texts)
	return c
}

// add appends a chunk and drops the oldest ones beyond the bounds. The caller holds
// Center.mu.
func (r *ring) add(c *chunk, maxEvents, maxBytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chunks = append(r.chunks, c)
	r.events += len(c.events)
	r.bytes += len(c.data)
	r.head = c.last()
	for len(r.chunks) > 1 && (r.events > maxEvents || r.bytes > maxBytes) {
		old := r.chunks[0]
		r.chunks[0] = nil
		r.chunks = r.chunks[1:]
		r.events -= len(old.events)
		r.bytes -= len(old.data)
		if old.holders.Load() == 0 && cap(old.data) <= 2*len(c.data) { // no new holders are possible, and its size suits the next chunk
			r.spare = old
		}
	}
}

// restart empties the ring, which continues after head.
func (r *ring) restart(head wire.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chunks, r.events, r.bytes, r.head, r.spare = nil, 0, 0, head, nil
	r.texts.agents = nil
}

// removeGroup removes an empty group. The caller holds Center.mu.
func (r *ring) removeGroup(g *group) {
	r.groups = slices.DeleteFunc(r.groups, func(other *group) bool { return other == g })
}

// find returns the index of the first chunk with events after a position, and whether the
// ring has all events after it. The caller holds r.mu.
func (r *ring) find(at wire.Position) (int, bool) {
	if at.Compare(r.head) >= 0 {
		return len(r.chunks), true
	}
	if len(r.chunks) == 0 || at.Compare(r.chunks[0].prev) < 0 {
		return 0, false
	}
	if newest := r.chunks[len(r.chunks)-1]; at.Compare(newest.prev) >= 0 {
		return len(r.chunks) - 1, true
	}
	return sort.Search(len(r.chunks), func(i int) bool { return r.chunks[i].last().Compare(at) > 0 }), true
}

// countAfter returns the number and bytes of the events after a position, which must be
// that of an event in the ring; otherwise ok is false.
func (r *ring) countAfter(at wire.Position) (head wire.Position, events, bytes int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at == r.head {
		return r.head, 0, 0, true
	}
	i, ok := r.find(at)
	if !ok || i == len(r.chunks) || !r.chunks[i].has(at) {
		return r.head, 0, 0, false
	}
	for ; i < len(r.chunks); i++ {
		c := r.chunks[i]
		from := c.after(at)
		events += len(c.events) - from
		bytes += c.sizeFrom(from)
	}
	return r.head, events, bytes, true
}

// batchResult is the result of filling a batch for a tab.
type batchResult uint8

const (
	batchEmpty batchResult = iota // the tab is up to date
	batchFilled
	batchGap // the ring no longer has the next events
)

// writeBatch is the data of one write: the events of a ring after a position, through a
// filter, up to a size limit.
type writeBatch struct {
	ring   *ring
	form   Form
	after  wire.Position
	filter *filter

	data        []byte
	at          wire.Position // position of the last event in data or skipped by the filter
	head        wire.Position // head of the ring when the batch was filled
	events      int           // number of events in data
	publishedAt time.Time     // of the oldest event; zero if it was read from the log
	chunks      []*chunk
	buf         []byte // backing array of data, unless data is a chunk's
	unitBuf     []byte // buffer for one unit of FormBatch
}

// fits reports whether the batch contains what a tab needs next.
func (b *writeBatch) fits(t *Tab) bool {
	return b.ring == t.ring && b.form == t.form && b.after == t.at && t.filter.equal(b.filter)
}

// fillFromRing fills the batch with the events of the ring that a tab has not seen. If own
// is set, the data is a copy, so that no chunk of the ring is held during the write.
func (b *writeBatch) fillFromRing(t *Tab, limit int, own bool) batchResult {
	b.reset()
	r := t.ring
	r.mu.Lock()
	i, ok := r.find(t.at)
	b.head = r.head
	size := 0
	for ; ok && i < len(r.chunks) && (size == 0 || size < limit); i++ {
		b.addChunk(r.chunks[i])
		size += len(r.chunks[i].data)
	}
	r.mu.Unlock()
	switch {
	case !ok:
		return batchGap
	case len(b.chunks) == 0:
		return batchEmpty
	}
	b.ring = r
	b.assemble(t, limit, own)
	return batchFilled
}

// fillFromPage fills the batch for a tab from a chunk that is not in its ring.
func (b *writeBatch) fillFromPage(c *chunk, t *Tab, limit int, own bool) {
	b.reset()
	b.addChunk(c)
	b.head = c.last()
	b.assemble(t, limit, own)
}

// assemble builds data from the chunks, and releases the chunks if own is set.
func (b *writeBatch) assemble(t *Tab, limit int, own bool) {
	b.form, b.after, b.filter = t.form, t.at, t.filter
	if own {
		defer b.releaseChunks()
	}
	first := b.chunks[0]
	b.publishedAt = first.publishedAt
	whole := b.filter == nil && b.form != FormBatch // chunks can be sent unchanged
	if len(b.chunks) == 1 && whole && first.after(b.after) == 0 && !own {
		b.data, b.at, b.events = first.data, first.last(), len(first.events)
		return
	}
	b.buf = b.buf[:0]
	for _, c := range b.chunks {
		from := c.after(b.after)
		if from == 0 && whole && len(b.buf)+len(c.data) <= limit {
			b.buf = append(b.buf, c.data...)
			b.at = c.last()
			b.events += len(c.events)
			continue
		}
		for next, unit := range c.units(b.form, from, b.filter, &b.unitBuf) {
			if len(b.buf) > 0 && len(b.buf)+len(unit) > limit {
				b.data = b.buf
				return
			}
			b.buf = append(b.buf, unit...)
			b.at = c.events[next-1].at
			b.events += eventsIn(b.form, from, next)
			from = next
		}
		b.at = c.last()
	}
	b.data = b.buf
}

// afterPartialWrite returns the state of a tab whose socket accepted n bytes of the data:
// its position, the unwritten rest of the unit in which the write ended, and the number of
// events delivered.
func (b *writeBatch) afterPartialWrite(n int) (at wire.Position, rest []byte, events int) {
	at = b.after
	for _, c := range b.chunks {
		from := c.after(b.after)
		for next, unit := range c.units(b.form, from, b.filter, &b.unitBuf) {
			if n == 0 {
				return at, nil, events
			}
			at = c.events[next-1].at
			events += eventsIn(b.form, from, next)
			from = next
			if n < len(unit) {
				return at, slices.Clone(unit[n:]), events
			}
			n -= len(unit)
		}
		at = c.last()
	}
	return at, nil, events
}

// addChunk adds a chunk, which stays unchanged until releaseChunks.
func (b *writeBatch) addChunk(c *chunk) {
	c.holders.Add(1)
	b.chunks = append(b.chunks, c)
}

func (b *writeBatch) releaseChunks() {
	for _, c := range b.chunks {
		c.holders.Add(-1)
	}
	clear(b.chunks)
	b.chunks = b.chunks[:0]
}

// reset releases the chunks and clears the batch.
func (b *writeBatch) reset() {
	b.releaseChunks()
	*b = writeBatch{chunks: b.chunks[:0], buf: b.buf, unitBuf: b.unitBuf}
}
