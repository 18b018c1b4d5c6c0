package broadcast

import (
	"encoding/binary"
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// Form is how events become bytes on a socket.
type Form uint8

// The forms in use.
const (
	FormNative   Form = iota // one native envelope per WebSocket text frame
	FormBatch                // native envelopes, separated by newlines, several per frame
	FormDesktop              // frames of the desktop dialect
	FormSSE                  // native envelopes as Server-Sent Events
	FormNumbered             // frames of the desktop dialect for clients that name monitors by number
	forms
)

// ring is the form of what a form is made of: the envelopes are the same, whether
// each has a frame or several share one.
func (f Form) ring() Form {
	if f == FormBatch {
		return FormNative
	}
	return f
}

// isDesktop reports whether the frames are of the desktop dialect.
func (f Form) isDesktop() bool { return f == FormDesktop || f == FormNumbered }

// encoding is what the frames of a ring have in common: their form, and the name that
// they have for the session in place of its id, if any. A session has one name at most.
type encoding struct {
	form Form
	name wire.SessionID
}

// encodings is how many there can be: each form with the id and with the name.
const encodings = 2 * int(forms)

// index tells the encodings of a session apart.
func (e encoding) index() uint8 {
	if e.name != "" {
		return uint8(e.form + forms)
	}
	return uint8(e.form)
}

// frameLimit is how large a frame of FormBatch grows with more than one event,
// so that the rest of a frame that was half written is never much.
const frameLimit = 64 << 10

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

// envelope is what is in a frame with a header of appendHeader, or nothing in none.
func envelope(frame []byte) []byte {
	if len(frame) == 0 {
		return nil
	}
	switch frame[1] {
	case 126:
		return frame[4:]
	case 127:
		return frame[10:]
	}
	return frame[2:]
}

// appendNative adds one native envelope by itself in a form that is not of the
// desktop dialect. Events of the log have a position.
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

// private is the frame of an event that is not in the log.
func (e encoding) private(event wire.Event) []byte {
	if e.name != "" {
		event.Session = e.name
	}
	if e.form.isDesktop() {
		return e.form.appendFrames(nil, event)
	}
	return appendNative(nil, e.form, wire.Position{}, wire.AppendEvent(nil, event))
}

// appendFrames adds the frames of the desktop dialect for an event.
func (f Form) appendFrames(dst []byte, e wire.Event) []byte {
	for _, frame := range (wire.Desktop{Numbered: f == FormNumbered}).AppendFrames(nil, e) {
		dst = append(appendHeader(dst, len(frame)), frame...)
	}
	return dst
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
