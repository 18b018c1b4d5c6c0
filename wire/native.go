package wire

import (
	"cmp"
	"reflect"
	"time"
)

// Native is the dialect of our own clients: an envelope around the payload.
//
//	{"type":…,"session_id":…,"message_id":…,"timestamp":…,"data":{…}}
//
// It is also the form in which events are stored.
type Native struct{}

var _ Dialect = Native{}

// AppendFrames implements [Dialect]. It adds exactly one frame.
func (n Native) AppendFrames(dst [][]byte, e Event) [][]byte {
	return append(dst, AppendEvent(nil, e))
}

// Constant parts of a frame.
const (
	typeKey    = `{"type":"`
	messageKey = `,"message_id":"`
)

// AppendEvent appends the native frame of an event. It allocates nothing if dst has room,
// and exactly the frame's buffer if dst is nil, apart from a shared buffer that grows to
// the longest frame (up to 1 MiB). The frame is one line.
//
// The frame can be decoded again if fields have allowed values and unions are set, which
// the caller must ensure. Invalid UTF-8 is replaced, and free-form data that is not JSON
// becomes null. It panics for types of other packages.
func AppendEvent(dst []byte, e Event) []byte {
	if dst == nil {
		return fitted(func(dst []byte) []byte { return AppendEvent(dst, e) })
	}
	entry := entryOf(e.Data)
	dst = appendEnvelope(dst, entry.Type, &e)
	return append(entry.Shape.append(dst, reflect.ValueOf(e.Data)), '}')
}

// appendEnvelope appends the part before the payload.
func appendEnvelope(dst []byte, name string, e *Event) []byte {
	dst = appendHead(dst, name, e.Session)
	if !e.At.IsZero() {
		dst = append(dst, messageKey...)
		dst = e.At.Append(dst)
		dst = append(dst, '"')
	}
	return appendClock(dst, e.Time)
}

// appendClock appends the time of an event, and the key of its payload.
func appendClock(dst []byte, t time.Time) []byte {
	dst = append(dst, `,"timestamp":"`...)
	dst = appendTime(dst, t)
	return append(dst, `","data":`...)
}

// AppendMessage implements [Dialect].
func (n Native) AppendMessage(dst []byte, m Message) []byte {
	if dst == nil {
		return fitted(func(dst []byte) []byte { return n.AppendMessage(dst, m) })
	}
	entry := entryOf(m.Data)
	dst = appendHead(dst, entry.Type, m.Session)
	if m.ID != "" {
		dst = append(dst, `,"message_id":`...)
		dst = appendString(dst, string(m.ID))
	}
	if !m.Time.IsZero() {
		dst = append(dst, `,"timestamp":"`...)
		dst = appendTime(dst, m.Time)
		dst = append(dst, '"')
	}
	dst = append(dst, `,"data":`...)
	return append(entry.Shape.append(dst, reflect.ValueOf(m.Data)), '}')
}

func appendHead(dst []byte, name string, session SessionID) []byte {
	dst = append(dst, typeKey...)
	dst = append(dst, name...)
	return appendSession(append(dst, '"'), session)
}

func appendSession(dst []byte, session SessionID) []byte {
	if session != "" {
		dst = append(dst, `,"session_id":`...)
		dst = appendString(dst, string(session))
	}
	return dst
}

// DecodeMessage implements [Dialect].
func (Native) DecodeMessage(frame []byte) (m Message, err error) {
	m, fault := decodeMessage(frame)
	if fault != nil {
		fault.Ref = refOf(frame)
		return Message{}, fault
	}
	return m, nil
}

func decodeMessage(frame []byte) (m Message, err *Error) {
	env := envelope{from: FromClient}
	if err := env.open(frame, clientText); err != nil {
		return m, err
	}
	entry, err := env.kind()
	if err != nil {
		return m, err
	}
	if m.Session, err = id[SessionID](env.members[sessionMember], "session_id"); err != nil {
		return m, err
	}
	if m.ID, err = id[MessageID](env.members[idMember], "message_id"); err != nil {
		return m, err
	}
	clock, err := text(env.members[timeMember], "timestamp")
	if err != nil {
		return m, err
	}
	if clock != "" {
		m.Time, _ = readTime(clock) // an invalid clock is no reason to refuse a message
	}
	p, err := env.decode(entry)
	if err != nil {
		return m, err.asAnswer(entry)
	}
	m.Data = p.(ClientPayload) //nolint:forcetypeassert // the catalog takes no others
	m.ID = cmp.Or(MessageID(entry.message.text(p)), m.ID)
	return m, nil
}

// DecodeEvent implements [Dialect].
func (Native) DecodeEvent(frame []byte) (Event, error) {
	e, err := decodeEvent(frame)
	if err != nil {
		return Event{}, err
	}
	return e, nil
}

func decodeEvent(frame []byte) (e Event, err *Error) {
	env := envelope{from: FromServer}
	if err := env.open(frame, hubText); err != nil {
		return e, err
	}
	entry, err := env.kind()
	if err != nil {
		return e, err
	}
	if e.Session, err = id[SessionID](env.members[sessionMember], "session_id"); err != nil {
		return e, err
	}
	at, err := text(env.members[idMember], "message_id")
	if err != nil {
		return e, err
	}
	if at != "" {
		p, fault := ParsePosition(at)
		if fault != nil {
			return e, invalid(fault.Error()).in("message_id")
		}
		e.At = p
	}
	clock, err := text(env.members[timeMember], "timestamp")
	if err != nil {
		return e, err
	}
	if clock != "" {
		t, ok := readTime(clock)
		if !ok {
			return e, invalid("want a time in RFC 3339, got " + quoteShort(clock)).in("timestamp")
		}
		e.Time = t
	}
	p, err := env.decode(entry)
	if err != nil {
		return e, err
	}
	e.Data = p.(ServerPayload) //nolint:forcetypeassert // the catalog takes no others
	return e, nil
}
