package wire

import (
	"bytes"
	"reflect"
	"strconv"
	"time"
)

// Heading writes the native frames of consecutive events. Events of one step share most of
// their envelope, which is encoded once and copied. The zero value is ready to use. It is
// not safe for concurrent use.
type Heading struct {
	session SessionID
	epoch   uint64
	time    time.Time
	// before and after are the bytes between the type and the sequence number of the
	// position, and between that and the payload.
	before, after []byte
}

// AppendEvent appends the same frame as [AppendEvent] for an event, which must have a
// position.
func (h *Heading) AppendEvent(dst []byte, e *Event) []byte {
	if e.Session != h.session || e.At.Epoch != h.epoch || e.Time != h.time || h.after == nil {
		h.prepare(e)
	}
	entry := entryOf(e.Data)
	return append(entry.Shape.append(h.append(dst, entry.Type, e.At.Seq), reflect.ValueOf(e.Data)), '}')
}

// AppendRenamed appends a native frame with its session id replaced by to. A frame without
// a session id, or one that does not begin as [AppendEvent] writes it, such as that of a
// newer version, is copied unchanged.
func AppendRenamed(dst, frame []byte, to SessionID) []byte {
	const sessionKey = `","session_id":"`
	name := bytes.IndexByte(frame[min(len(typeKey), len(frame)):], '"') + len(typeKey)
	if name < len(typeKey) || !bytes.HasPrefix(frame[name:], []byte(sessionKey)) {
		return append(dst, frame...)
	}
	from := name + len(sessionKey)
	end := from + bytes.IndexByte(frame[from:], '"') // ids have no escapes
	if end < from {
		return append(dst, frame...)
	}
	dst = append(dst, frame[:from]...)
	dst = append(dst, to...)
	return append(dst, frame[end:]...)
}

func (h *Heading) prepare(e *Event) {
	h.session, h.epoch, h.time = e.Session, e.At.Epoch, e.Time
	h.before = appendSession(append(h.before[:0], '"'), e.Session)
	h.before = append(h.before, messageKey...)
	h.before = append(strconv.AppendUint(h.before, e.At.Epoch, 10), '-')
	h.after = appendClock(append(h.after[:0], '"'), e.Time)
}

func (h *Heading) append(dst []byte, name string, seq uint64) []byte {
	dst = append(append(dst, typeKey...), name...)
	dst = strconv.AppendUint(append(dst, h.before...), seq, 10)
	return append(dst, h.after...)
}
