package broadcast

import (
	"bytes"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// chunk is some events after each other, encoded in the form of a ring and ready to
// be sent. It does not change until its ring has let go of it and nobody else has
// it; then its memory may be used for another one.
type chunk struct {
	prev   wire.Position // the event before the first
	events []entry
	data   []byte
	// monitor is the one that all events are about. Where it is not the same for
	// all, monitors has that of each.
	monitor  wire.MonitorID
	monitors []wire.MonitorID
	born     time.Time    // when they were published; zero for those of the log
	holders  atomic.Int32 // the batches that have it, besides its publisher until the next one
}

// entry is an event of a chunk. Its bytes begin where those of the one before end;
// it has none if the form does not show it.
type entry struct {
	at  wire.Position
	end uint32
}

func (c *chunk) last() wire.Position { return c.events[len(c.events)-1].at }

// after is the index of the first event that is newer than a position.
func (c *chunk) after(at wire.Position) int {
	if at.Compare(c.prev) <= 0 {
		return 0
	}
	i, found := slices.BinarySearchFunc(c.events, at, func(e entry, p wire.Position) int { return e.at.Compare(p) })
	if found {
		i++
	}
	return i
}

// has reports whether a position is that of an event in the chunk or of the one
// before.
func (c *chunk) has(at wire.Position) bool {
	if at == c.prev {
		return true
	}
	i := c.after(at)
	return i > 0 && c.events[i-1].at == at
}

// start is where the bytes of an event begin.
func (c *chunk) start(i int) uint32 {
	if i == 0 {
		return 0
	}
	return c.events[i-1].end
}

// size is how many bytes there are from an event on.
func (c *chunk) size(from int) int { return len(c.data) - int(c.start(from)) }

// shown is the bytes of an event, none if a filter leaves it out.
func (c *chunk) shown(i int, f *filter) []byte {
	m := c.monitor
	if c.monitors != nil {
		m = c.monitors[i]
	}
	if !f.shows(m) {
		return nil
	}
	return c.data[c.start(i):c.events[i].end]
}

// units yields what may not be torn apart, from an event on and through a
// filter, and the index of the event that follows it. A unit is good until the
// next one, which may be put together in the same room.
func (c *chunk) units(form Form, from int, f *filter, room *[]byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		if form == FormBatch {
			c.frames(from, f, room, yield)
			return
		}
		for i := from; i < len(c.events); i++ {
			if unit := c.shown(i, f); len(unit) > 0 && !yield(i+1, unit) {
				return
			}
		}
	}
}

// frames are the units of FormBatch: as few as the limit allows.
func (c *chunk) frames(from int, f *filter, room *[]byte, yield func(int, []byte) bool) {
	for from < len(c.events) {
		next, size := c.frame(from, f)
		if size == 0 {
			return
		}
		unit := appendHeader((*room)[:0], size)
		begin := len(unit)
		for i := from; i < next; i++ {
			shown := envelope(c.shown(i, f))
			if len(shown) > 0 && len(unit) > begin {
				unit = append(unit, '\n')
			}
			unit = append(unit, shown...)
		}
		*room = unit
		if !yield(next, unit) {
			return
		}
		from = next
	}
}

// frame is up to which event a frame goes, and how many bytes are in it.
func (c *chunk) frame(from int, f *filter) (next, size int) {
	for next = from; next < len(c.events); next++ {
		n := len(envelope(c.shown(next, f)))
		if size > 0 && n > 0 {
			if size+1+n > frameLimit {
				break
			}
			size++
		}
		size += n
	}
	return next, size
}

// eventsIn is how many events the unit between two indices shows. Where a unit is more
// than one, those that a filter leaves out are among them.
func eventsIn(form Form, from, next int) int {
	if form == FormBatch {
		return next - from
	}
	return 1
}

// encode makes the chunk of some events. Only the desktop dialect uses
// the texts.
func encode(as encoding, prev wire.Position, events []Event, texts *texts) *chunk {
	c := &chunk{}
	c.fill(as, prev, events, texts)
	return c
}

// fill makes the chunk anew.
func (c *chunk) fill(as encoding, prev wire.Position, events []Event, texts *texts) {
	form, size := as.form, len(c.data) // the size of desktop frames is unknown before encoding
	if !form.isDesktop() {
		size = 0
		for i := range events {
			size += len(events[i].Frame) + overhead(form) + len(as.name)
		}
	}
	c.prev, c.data, c.events = prev, room(c.data, size), room(c.events, len(events))
	var renamed []byte
	for i := range events {
		e := &events[i]
		switch {
		case hidden(e.Data):
		case form.isDesktop():
			c.data = texts.append(c.data, *e)
		case as.name != "":
			renamed = wire.AppendRenamed(renamed[:0], e.Frame, as.name)
			c.data = appendNative(c.data, form, e.At, renamed)
		default:
			c.data = appendNative(c.data, form, e.At, e.Frame)
		}
		c.events = append(c.events, entry{e.At, uint32(len(c.data))}) //nolint:gosec // a batch of the store is smaller by far
	}
}

// room is an empty slice for size items: a used one, unless that has too little room
// or so much that a ring of its like would hold more than it should.
func room[T any](used []T, size int) []T {
	if cap(used) < size || cap(used) > 2*size {
		return make([]T, 0, size)
	}
	return used[:0]
}

// overhead is at least what a form adds to an envelope.
func overhead(form Form) int {
	if form == FormSSE {
		return len("id: 18446744073709551615-18446744073709551615\ndata: \n\n")
	}
	return 10
}

// hidden reports whether an event is for one connection only, which is told in
// another way, and so shown to nobody.
func hidden(data wire.ServerPayload) bool {
	return data != nil && wire.AddresseeOf(data) != ""
}

// monitorsOf is what a chunk knows of the monitors of some events.
func monitorsOf(events []Event) (all wire.MonitorID, each []wire.MonitorID) {
	for i := range events {
		var m wire.MonitorID
		if e := &events[i]; e.Data != nil {
			m = wire.MonitorOf(e.Data)
		} else if h, ok := wire.Peek(e.Frame); ok {
			m = h.Monitor
		}
		switch {
		case i == 0:
			all = m
		case each == nil && m != all:
			each = slices.Repeat([]wire.MonitorID{all}, len(events))
			each[i] = m
		case each != nil:
			each[i] = m
		}
	}
	return all, each
}

// answering begins the frames of the only events that may be addressed to one
// connection.
var answering = [][]byte{[]byte(`{"type":"MESSAGE_`), []byte(`{"type":"APP_PROTOCOL_REQUEST"`)}

// stored reads events of the log as far as the forms need it that are shown pages
// of it, which those of the desktop dialect are not.
func stored(kept []store.Event) []Event {
	events := make([]Event, len(kept))
	for i, k := range kept {
		events[i] = Event{At: k.At, Frame: k.Frame}
		if slices.ContainsFunc(answering, func(begin []byte) bool { return bytes.HasPrefix(k.Frame, begin) }) {
			if e, err := (wire.Native{}).DecodeEvent(k.Frame); err == nil {
				events[i].Data, events[i].Time = e.Data, e.Time
			}
		}
	}
	return events
}
