package broadcast

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Form is how events become bytes on a socket.
type Form uint8

// The forms in use.
const (
	FormNative  Form = iota // one native envelope per WebSocket text frame
	FormBatch               // native envelopes, separated by newlines, several per frame
	FormDesktop             // frames of the desktop dialect
	FormSSE                 // native envelopes as Server-Sent Events
	forms
)

// frameLimit is how large a frame of FormBatch grows with more than one event,
// so that the rest of a frame that was half written is never much.
const frameLimit = 64 << 10

// meta is what all forms know of an event.
type meta struct {
	at      wire.Position
	monitor wire.MonitorID
}

// span is where the bytes of an event are in a chunk; an empty one is an event
// that the form does not show.
type span struct{ start, end uint32 }

// frame is where a frame of FormBatch ends, in bytes and in events.
type frame struct {
	end    uint32
	events int
}

// chunk is some events after each other, encoded in one form and ready to be
// sent. It never changes once made.
type chunk struct {
	prev wire.Position // the event before the first
	meta []meta
	data []byte
	// spans has what each event takes of data: in FormBatch its envelope, in
	// the others everything.
	spans  []span
	frames []frame // of FormBatch, unless the data are those of another form
	form   Form
	born   time.Time // when they were published; zero for those of the log
}

// whole reports whether data are bytes that may be sent as they are.
func (c *chunk) whole() bool { return c.form != FormBatch || c.frames != nil }

// batched is the chunk of FormBatch with the events of one of FormNative, which it
// shares the envelopes with: frames with several of them are made when somebody
// needs them.
func (c *chunk) batched() *chunk {
	b := &chunk{prev: c.prev, meta: c.meta, data: c.data, spans: make([]span, len(c.spans)), form: FormBatch}
	for i, s := range c.spans {
		if s.start != s.end {
			s.start += headerBytes(c.data[s.start:])
		}
		b.spans[i] = s
	}
	return b
}

func (c *chunk) last() wire.Position { return c.meta[len(c.meta)-1].at }

// after is the index of the first event that is newer than a position.
func (c *chunk) after(at wire.Position) int {
	if at.Compare(c.prev) <= 0 {
		return 0
	}
	i, found := slices.BinarySearchFunc(c.meta, at, func(m meta, p wire.Position) int { return m.at.Compare(p) })
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
	return i > 0 && c.meta[i-1].at == at
}

// size is how many bytes there are from an event on, about.
func (c *chunk) size(from int) int {
	if from == len(c.spans) {
		return 0
	}
	return len(c.data) - int(c.spans[from].start)
}

// units yields what may not be torn apart, from an event on and through a
// filter, and the index of the event that follows it. A unit is good until the
// next one.
func (c *chunk) units(from int, f *filter) iter.Seq2[int, []byte] {
	switch {
	case c.form == FormBatch && from == 0 && f == nil && c.frames != nil:
		return c.wholeFrames
	case c.form == FormBatch:
		return func(yield func(int, []byte) bool) { c.reframed(from, f, yield) }
	}
	return func(yield func(int, []byte) bool) {
		for i := from; i < len(c.spans); i++ {
			s := c.spans[i]
			if s.start == s.end || !f.shows(c.meta[i].monitor) {
				continue
			}
			if !yield(i+1, c.data[s.start:s.end]) {
				return
			}
		}
	}
}

// eventsIn is how many events the unit between two indices shows. Where a unit is more
// than one, those that a filter leaves out are among them.
func (c *chunk) eventsIn(from, next int) int {
	if c.form == FormBatch {
		return next - from
	}
	return 1
}

func (c *chunk) wholeFrames(yield func(int, []byte) bool) {
	start := uint32(0)
	for _, fr := range c.frames {
		if !yield(fr.events, c.data[start:fr.end]) {
			return
		}
		start = fr.end
	}
}

// reframed makes other frames of some of the envelopes.
func (c *chunk) reframed(from int, f *filter, yield func(int, []byte) bool) {
	var body, unit []byte
	flush := func(next int) bool {
		if len(body) == 0 {
			return true
		}
		unit = append(appendHeader(unit[:0], len(body)), body...)
		body = body[:0]
		return yield(next, unit)
	}
	for i := from; i < len(c.spans); i++ {
		s := c.spans[i]
		if s.start == s.end || !f.shows(c.meta[i].monitor) {
			continue
		}
		envelope := c.data[s.start:s.end]
		if len(body) > 0 && len(body)+len(envelope) > frameLimit && !flush(i) {
			return
		}
		if len(body) > 0 {
			body = append(body, '\n')
		}
		body = append(body, envelope...)
	}
	flush(len(c.spans))
}

// appendHeader adds the header of an unmasked, unfragmented text frame.
func appendHeader(dst []byte, size int) []byte {
	const finalText = 0x81
	switch {
	case size < 126:
		return append(dst, finalText, byte(size)) //nolint:gosec // it fits, see the case
	case size < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, finalText, 126), uint16(size))
	}
	return binary.BigEndian.AppendUint64(append(dst, finalText, 127), uint64(size))
}

// headerBytes is how long a header of appendHeader is.
func headerBytes(frame []byte) uint32 {
	switch frame[1] {
	case 126:
		return 4
	case 127:
		return 10
	}
	return 2
}

// appendNative adds one native envelope by itself in a form that is not
// FormDesktop. Events of the log have a position.
func appendNative(dst []byte, form Form, at wire.Position, envelope []byte) []byte {
	if form != FormSSE {
		return append(appendHeader(dst, len(envelope)), envelope...)
	}
	if !at.IsZero() {
		dst = append(dst, "id: "...)
		dst = at.Append(dst)
		dst = append(dst, '\n')
	}
	dst = append(dst, "data: "...)
	dst = append(dst, envelope...)
	return append(dst, "\n\n"...)
}

// privateFrame is an event that is not in the log, as a form shows it.
func privateFrame(form Form, e wire.Event) []byte {
	if form == FormDesktop {
		return appendFrames(nil, e)
	}
	return appendNative(nil, form, wire.Position{}, wire.AppendEvent(nil, e))
}

// appendFrames adds the frames of the desktop dialect for an event.
func appendFrames(dst []byte, e wire.Event) []byte {
	for _, f := range (wire.Desktop{}).AppendFrames(nil, e) {
		dst = append(appendHeader(dst, len(f)), f...)
	}
	return dst
}

// encode makes the chunk of some events. The texts are used for FormDesktop
// only.
func encode(form Form, prev wire.Position, events []Event, about []meta, texts *texts) *chunk {
	c := &chunk{prev: prev, meta: about, form: form, spans: make([]span, len(events))}
	switch form {
	case FormBatch:
		c.encodeBatch(events)
	case FormDesktop:
		for i := range events {
			start := len(c.data)
			if !hidden(events[i].Data) {
				c.data = texts.append(c.data, events[i])
			}
			c.mark(i, start)
		}
	default:
		size := 0
		for i := range events {
			size += len(events[i].Frame) + overhead(form)
		}
		c.data = make([]byte, 0, size)
		for i := range events {
			start := len(c.data)
			if !hidden(events[i].Data) {
				c.data = appendNative(c.data, form, events[i].At, events[i].Frame)
			}
			c.mark(i, start)
		}
	}
	return c
}

// overhead is at least what a form adds to an envelope.
func overhead(form Form) int {
	if form == FormSSE {
		return len("id: 18446744073709551615-18446744073709551615\ndata: \n\n")
	}
	return 10
}

func (c *chunk) mark(i, start int) {
	c.spans[i] = span{uint32(start), uint32(len(c.data))} //nolint:gosec // a batch of the store is smaller by far
}

// encodeBatch makes as few frames as the limit allows.
func (c *chunk) encodeBatch(events []Event) {
	for i := 0; i < len(events); {
		first, body := i, 0
		for ; i < len(events); i++ {
			n := len(events[i].Frame)
			if hidden(events[i].Data) {
				continue
			}
			if body > 0 && body+1+n > frameLimit {
				break
			}
			body += n + min(body, 1)
		}
		if c.data == nil {
			c.data = make([]byte, 0, body+16)
		}
		if body > 0 {
			c.data = appendHeader(c.data, body)
		}
		for j, shown := first, false; j < i; j++ {
			start := len(c.data)
			if !hidden(events[j].Data) {
				if shown {
					c.data = append(c.data, '\n')
					start++
				}
				shown = true
				c.data = append(c.data, events[j].Frame...)
			}
			c.mark(j, start)
		}
		if body > 0 {
			c.frames = append(c.frames, frame{uint32(len(c.data)), i}) //nolint:gosec // as in mark
		}
	}
}

// hidden reports whether an event is for one connection only, which is told in
// another way, and so shown to nobody.
func hidden(data wire.ServerPayload) bool {
	return data != nil && wire.AddresseeOf(data) != ""
}

// describe is what all forms know of some events.
func describe(events []Event) []meta {
	about := make([]meta, len(events))
	for i := range events {
		e := &events[i]
		about[i].at = e.At
		if e.Data != nil {
			about[i].monitor = wire.MonitorOf(e.Data)
		} else if h, ok := wire.Peek(e.Frame); ok {
			about[i].monitor = h.Monitor
		}
	}
	return about
}

// answering begins the frames of the only events that may be addressed to one
// connection.
var answering = [][]byte{[]byte(`{"type":"MESSAGE_`), []byte(`{"type":"APP_PROTOCOL_REQUEST"`)}

// stored reads events of the log as far as a filter and the forms need it that
// are shown pages of it, which FormDesktop is not.
func stored(filtered bool, kept []store.Event) ([]Event, []meta) {
	events := make([]Event, len(kept))
	about := make([]meta, len(kept))
	for i, k := range kept {
		events[i] = Event{At: k.At, Frame: k.Frame}
		about[i].at = k.At
		if slices.ContainsFunc(answering, func(begin []byte) bool { return bytes.HasPrefix(k.Frame, begin) }) {
			if e, err := (wire.Native{}).DecodeEvent(k.Frame); err == nil {
				events[i].Data, events[i].Time = e.Data, e.Time
			}
		}
		if !filtered {
			continue
		}
		if h, ok := wire.Peek(k.Frame); ok {
			about[i].monitor = h.Monitor
		}
	}
	return events, about
}

// filter is the monitors a tab is shown; nil means all. It never changes.
type filter struct{ monitors []wire.MonitorID }

func newFilter(monitors []wire.MonitorID) *filter {
	if len(monitors) == 0 {
		return nil
	}
	m := slices.Clone(monitors)
	slices.Sort(m)
	return &filter{slices.Compact(m)}
}

// shows reports whether events of a monitor pass. Those of none always do.
func (f *filter) shows(m wire.MonitorID) bool {
	return f == nil || m == "" || slices.Contains(f.monitors, m)
}

func (f *filter) equal(g *filter) bool {
	return f == g || f != nil && g != nil && slices.Equal(f.monitors, g.monitors)
}

// list is what a source is asked for.
func (f *filter) list() []wire.MonitorID {
	if f == nil {
		return nil
	}
	return f.monitors
}
