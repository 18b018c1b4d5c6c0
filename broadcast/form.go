package broadcast

import (
	"encoding/binary"
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// Form is an encoding of events on a socket.
type Form uint8

// The forms.
const (
	FormNative   Form = iota // one native envelope per WebSocket text frame
	FormBatch                // native envelopes, separated by newlines, several per frame
	FormDesktop              // frames of the desktop dialect
	FormSSE                  // native envelopes as Server-Sent Events
	FormNumbered             // frames of the desktop dialect for clients that name monitors by number
	forms
)

// ring returns the form of the ring that a form uses: the envelopes are the same whether
// each has its own frame or several share one.
func (f Form) ring() Form {
	if f == FormBatch {
		return FormNative
	}
	return f
}

// isDesktop reports whether the frames are of the desktop dialect.
func (f Form) isDesktop() bool { return f == FormDesktop || f == FormNumbered }

// encoding identifies the frames of a ring: their form, and the name that replaces the
// session's id, if any. A session has at most one name.
type encoding struct {
	form Form
	name wire.SessionID
}

// encodings is the number of possible encodings: each form with the id and with the name.
const encodings = 2 * int(forms)

// index returns the index of the encoding in Center.rings.
func (e encoding) index() uint8 {
	if e.name != "" {
		return uint8(e.form + forms)
	}
	return uint8(e.form)
}

// maxFrameBytes bounds a frame of FormBatch with more than one event, so that the rest of a
// partially written frame is small.
const maxFrameBytes = 64 << 10

// appendHeader appends the header of an unmasked, unfragmented text frame.
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

// envelope returns the payload of a frame with a header of appendHeader, or nil for no
// frame.
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

// appendNative appends one native envelope in a form other than the desktop dialect. Events
// of the log have a position.
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

// privateFrame encodes an event that is not in the log.
func (e encoding) privateFrame(event wire.Event) []byte {
	if e.name != "" {
		event.Session = e.name
	}
	if e.form.isDesktop() {
		return e.form.appendFrames(nil, event)
	}
	return appendNative(nil, e.form, wire.Position{}, wire.AppendEvent(nil, event))
}

// appendFrames appends the frames of the desktop dialect for an event.
func (f Form) appendFrames(dst []byte, e wire.Event) []byte {
	for _, frame := range (wire.Desktop{Numbered: f == FormNumbered}).AppendFrames(nil, e) {
		dst = append(appendHeader(dst, len(frame)), frame...)
	}
	return dst
}

// filter is the immutable set of monitors whose events a tab gets; nil means all.
type filter struct{ monitors []wire.MonitorID }

func newFilter(monitors []wire.MonitorID) *filter {
	if len(monitors) == 0 {
		return nil
	}
	m := slices.Clone(monitors)
	slices.Sort(m)
	return &filter{slices.Compact(m)}
}

// shows reports whether events of a monitor pass. Events without a monitor always do.
func (f *filter) shows(m wire.MonitorID) bool {
	return f == nil || m == "" || slices.Contains(f.monitors, m)
}

func (f *filter) equal(g *filter) bool {
	return f == g || f != nil && g != nil && slices.Equal(f.monitors, g.monitors)
}

// monitorList returns the argument for Source.Snapshot.
func (f *filter) monitorList() []wire.MonitorID {
	if f == nil {
		return nil
	}
	return f.monitors
}
