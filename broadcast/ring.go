package broadcast

import (
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// ring holds the newest events in one form.
type ring struct {
	mu     sync.Mutex // guards the following
	head   wire.Position
	events int
	bytes  int
	chunks []*chunk // oldest first, without a gap

	encoding
	groups []*group // the tabs; guarded by the Center's lock
	tabs   int      // likewise
	texts  texts    // likewise
	spare  *chunk   // likewise; one that nobody has any more
}

// encode makes a chunk for the ring. The caller has the Center's lock.
func (r *ring) encode(prev wire.Position, events []Event) *chunk {
	c := r.spare
	r.spare = nil
	if c == nil {
		c = &chunk{}
	}
	c.fill(r.encoding, prev, events, &r.texts)
	return c
}

// add puts a chunk at the head and drops the oldest ones that are too many. The
// caller has the Center's lock.
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
		if old.holders.Load() == 0 && cap(old.data) <= 2*len(c.data) { // nobody gets it from now on, and the next may fit
			r.spare = old
		}
	}
}

// restart empties the ring; it goes on after head.
func (r *ring) restart(head wire.Position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chunks, r.events, r.bytes, r.head, r.spare = nil, 0, 0, head, nil
	r.texts.said = nil
}

// drop removes a group that has become empty. The caller has the Center's lock.
func (r *ring) drop(g *group) {
	r.groups = slices.DeleteFunc(r.groups, func(other *group) bool { return other == g })
}

// find is the index of the first chunk with something after a position, and
// whether the ring has everything after it. The caller has r.mu.
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

// missed is how many events and bytes lie after a position, which must be that
// of an event the ring knows.
func (r *ring) missed(at wire.Position) (head wire.Position, events, bytes int, ok bool) {
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
		bytes += c.size(from)
	}
	return r.head, events, bytes, true
}

// found says what there is to write for a tab.
type found uint8

const (
	foundNothing found = iota // it has seen everything
	foundBytes
	foundGap // the ring no longer has what comes next
)

// batch is what one write takes: everything in a ring after a position, through
// a filter, up to a limit.
type batch struct {
	ring   *ring
	form   Form
	after  wire.Position
	filter *filter

	data   []byte
	at     wire.Position // of the last event in or skipped by data
	head   wire.Position // of the ring when it was made
	events int           // in data
	born   time.Time     // of the oldest of them, unless they are of the log
	chunks []*chunk
	buf    []byte // where data is put together
	unit   []byte // where a unit is
}

// fits reports whether the batch is what a tab needs next.
func (b *batch) fits(t *Tab) bool {
	return b.ring == t.ring && b.form == t.form && b.after == t.at && t.filter.equal(b.filter)
}

// take fills the batch with what a tab has not seen of its ring. With own the data
// is a copy, so that nothing of the ring is held while it is written.
func (b *batch) take(t *Tab, limit int, own bool) found {
	b.drop()
	r := t.ring
	r.mu.Lock()
	i, ok := r.find(t.at)
	b.head = r.head
	size := 0
	for ; ok && i < len(r.chunks) && (size == 0 || size < limit); i++ {
		b.hold(r.chunks[i])
		size += len(r.chunks[i].data)
	}
	r.mu.Unlock()
	switch {
	case !ok:
		return foundGap
	case len(b.chunks) == 0:
		return foundNothing
	}
	b.ring = r
	b.fill(t, limit, own)
	return foundBytes
}

// page fills the batch for a tab from a chunk that is not in its ring.
func (b *batch) page(c *chunk, t *Tab, limit int, own bool) {
	b.drop()
	b.hold(c)
	b.head = c.last()
	b.fill(t, limit, own)
}

// fill puts the data together from the chunks, and with own lets go of them.
func (b *batch) fill(t *Tab, limit int, own bool) {
	b.form, b.after, b.filter = t.form, t.at, t.filter
	if own {
		defer b.letGo()
	}
	first := b.chunks[0]
	b.born = first.born
	whole := b.filter == nil && b.form != FormBatch // data may be sent as they are
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
		for next, unit := range c.units(b.form, from, b.filter, &b.unit) {
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

// cut is where a tab is that took only n bytes of the data, what is left of the
// unit in which the write ended, and how many events it has seen then.
func (b *batch) cut(n int) (at wire.Position, rest []byte, events int) {
	at = b.after
	for _, c := range b.chunks {
		from := c.after(b.after)
		for next, unit := range c.units(b.form, from, b.filter, &b.unit) {
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

// hold adds a chunk, which stays as it is until letGo.
func (b *batch) hold(c *chunk) {
	c.holders.Add(1)
	b.chunks = append(b.chunks, c)
}

func (b *batch) letGo() {
	for _, c := range b.chunks {
		c.holders.Add(-1)
	}
	clear(b.chunks)
	b.chunks = b.chunks[:0]
}

// drop lets go of what the batch was made of.
func (b *batch) drop() {
	b.letGo()
	*b = batch{chunks: b.chunks[:0], buf: b.buf, unit: b.unit}
}
