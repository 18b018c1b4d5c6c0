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

// chunk is a sequence of events, encoded for a ring and ready to be sent. It is immutable
// until the ring has dropped it and it has no holders; then its memory may be reused.
type chunk struct {
	prev   wire.Position // position of the event before the first
	events []entry
	data   []byte
	// monitor is the monitor of all events. If they differ, monitors has that of each.
	monitor     wire.MonitorID
	monitors    []wire.MonitorID
	publishedAt time.Time    // zero for events read from the log
	holders     atomic.Int32 // number of batches that use it, besides the current Publish
}

// entry is an event of a chunk. Its bytes begin where those of the previous one end; it has
// none if the form does not represent it.
type entry struct {
	at  wire.Position
	end uint32
}

func (c *chunk) last() wire.Position { return c.events[len(c.events)-1].at }

// after returns the index of the first event after a position.
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

// has reports whether a position is that of an event in the chunk or of the one before it.
func (c *chunk) has(at wire.Position) bool {
	if at == c.prev {
		return true
	}
	i := c.after(at)
	return i > 0 && c.events[i-1].at == at
}

// startOf returns the offset of the bytes of an event.
func (c *chunk) startOf(i int) uint32 {
	if i == 0 {
		return 0
	}
	return c.events[i-1].end
}

// sizeFrom returns the number of bytes from an event on.
func (c *chunk) sizeFrom(from int) int { return len(c.data) - int(c.startOf(from)) }

// visibleBytes returns the bytes of an event, or nil if the filter excludes it.
func (c *chunk) visibleBytes(i int, f *filter) []byte {
	m := c.monitor
	if c.monitors != nil {
		m = c.monitors[i]
	}
	if !f.shows(m) {
		return nil
	}
	return c.data[c.startOf(i):c.events[i].end]
}

// units yields the indivisible byte sequences (frames) from an event on, through a filter,
// each with the index of the event after it. A unit is valid until the next one, which may
// use the same buffer.
func (c *chunk) units(form Form, from int, f *filter, buf *[]byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		if form == FormBatch {
			c.frames(from, f, buf, yield)
			return
		}
		for i := from; i < len(c.events); i++ {
			if unit := c.visibleBytes(i, f); len(unit) > 0 && !yield(i+1, unit) {
				return
			}
		}
	}
}

// frames yields the units of FormBatch: as few frames as maxFrameBytes allows.
func (c *chunk) frames(from int, f *filter, buf *[]byte, yield func(int, []byte) bool) {
	for from < len(c.events) {
		next, size := c.frameExtent(from, f)
		if size == 0 {
			return
		}
		unit := appendHeader((*buf)[:0], size)
		begin := len(unit)
		for i := from; i < next; i++ {
			shown := envelope(c.visibleBytes(i, f))
			if len(shown) > 0 && len(unit) > begin {
				unit = append(unit, '\n')
			}
			unit = append(unit, shown...)
		}
		*buf = unit
		if !yield(next, unit) {
			return
		}
		from = next
	}
}

// frameExtent returns the index after the last event of a frame that begins at from, and
// the bytes in the frame.
func (c *chunk) frameExtent(from int, f *filter) (next, size int) {
	for next = from; next < len(c.events); next++ {
		n := len(envelope(c.visibleBytes(next, f)))
		if size > 0 && n > 0 {
			if size+1+n > maxFrameBytes {
				break
			}
			size++
		}
		size += n
	}
	return next, size
}

// eventsIn returns the number of events in the unit between two indexes. For FormBatch it
// includes events that the filter excludes.
func eventsIn(form Form, from, next int) int {
	if form == FormBatch {
		return next - from
	}
	return 1
}

// encode returns a new chunk of events. Only the desktop dialect uses texts.
func encode(as encoding, prev wire.Position, events []Event, texts *texts) *chunk {
	c := &chunk{}
	c.fill(as, prev, events, texts)
	return c
}

// fill encodes events into the chunk and reuses its memory.
func (c *chunk) fill(as encoding, prev wire.Position, events []Event, texts *texts) {
	form, size := as.form, len(c.data) // for desktop frames, whose size is unknown before encoding, that of the previous use
	if !form.isDesktop() {
		size = 0
		for i := range events {
			size += len(events[i].Frame) + overhead(form) + len(as.name)
		}
	}
	c.prev, c.data, c.events = prev, reuseSlice(c.data, size), reuseSlice(c.events, len(events))
	var renamed []byte
	for i := range events {
		e := &events[i]
		switch {
		case isPrivate(e.Data):
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

// reuseSlice returns an empty slice with capacity for size items: used, unless its capacity
// is too small, or so large that a ring of such chunks would exceed its memory bound.
func reuseSlice[T any](used []T, size int) []T {
	if cap(used) < size || cap(used) > 2*size {
		return make([]T, 0, size)
	}
	return used[:0]
}

// overhead returns the bytes that a form adds to an envelope, at most.
func overhead(form Form) int {
	if form == FormSSE {
		return len("id: 18446744073709551615-18446744073709551615\ndata: \n\n")
	}
	return 10
}

// isPrivate reports whether an event is for one connection only, which gets it as a private
// frame.
func isPrivate(data wire.ServerPayload) bool {
	return data != nil && wire.AddresseeOf(data) != ""
}

// monitorsOf returns the monitor of all events or, if they differ, that of each.
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

// replyPrefixes begin the frames of the only events that may be addressed to one
// connection.
var replyPrefixes = [][]byte{[]byte(`{"type":"MESSAGE_`), []byte(`{"type":"APP_PROTOCOL_REQUEST"`)}

// decodeStored converts events of the log and decodes those that may be private. Other
// events need no decoding, because tabs of the desktop dialect are not served from the log.
func decodeStored(kept []store.Event) []Event {
	events := make([]Event, len(kept))
	for i, k := range kept {
		events[i] = Event{At: k.At, Frame: k.Frame}
		if slices.ContainsFunc(replyPrefixes, func(begin []byte) bool { return bytes.HasPrefix(k.Frame, begin) }) {
			if e, err := (wire.Native{}).DecodeEvent(k.Frame); err == nil {
				events[i].Data, events[i].Time = e.Data, e.Time
			}
		}
	}
	return events
}
