package wire

import (
	"cmp"
	"reflect"
)

// Native is the dialect of our own clients: an envelope around the payload.
//
//	{"type":…,"session_id":…,"message_id":…,"timestamp":…,"data":{…}}
//
// It is also the form in which events are kept.
type Native struct{}

var _ Dialect = Native{}

// AppendFrames implements [Dialect]. It adds exactly one frame.
func (n Native) AppendFrames(dst [][]byte, e Event) [][]byte {
	return append(dst, AppendEvent(nil, e))
}

// AppendEvent adds the native frame of an event. It allocates nothing when dst
// has room, and exactly its own buffer when dst is nil, but for a buffer that all
// frames share and that grows to the longest (up to 1 MiB). The frame is one line.
//
// It always writes a frame that can be read again: text that is not UTF-8 is
// mended, free-form data that is not JSON becomes null. That fields have allowed
// values, and unions a value at all, is the caller's duty. It panics for types
// that are not of this package.
func AppendEvent(dst []byte, e Event) []byte {
	if dst == nil {
		return fitted(func(dst []byte) []byte { return AppendEvent(dst, e) })
	}
	entry := entryOf(e.Data)
	dst = appendHead(dst, entry.Type, e.Session)
	if !e.At.IsZero() {
		dst = append(dst, `,"message_id":"`...)
		dst = e.At.Append(dst)
		dst = append(dst, '"')
	}
	dst = append(dst, `,"timestamp":"`...)
	dst = appendTime(dst, e.Time)
	dst = append(dst, '"')
	return appendData(dst, entry.Shape, reflect.ValueOf(e.Data))
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
	return appendData(dst, entry.Shape, reflect.ValueOf(m.Data))
}

func appendHead(dst []byte, name string, session SessionID) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, name...)
	dst = append(dst, '"')
	if session != "" {
		dst = append(dst, `,"session_id":`...)
		dst = appendString(dst, string(session))
	}
	return dst
}

func appendData(dst []byte, s *Shape, v reflect.Value) []byte {
	dst = append(dst, `,"data":`...)
	return append(s.append(dst, v), '}')
}

// envelope is a native frame taken apart.
type envelope struct {
	name, session, id, time, data []byte
}

// take keeps a member that belongs to an envelope; the last counts.
func (env *envelope) take(key, value []byte) {
	switch string(keyText(key)) {
	case "type":
		env.name = value
	case "session_id":
		env.session = value
	case "message_id":
		env.id = value
	case "timestamp":
		env.time = value
	case "data":
		env.data = value
	}
}

// open checks the text of a frame and takes it apart.
func open(frame []byte, rules textRules) (envelope, *Error) {
	l := lexer{data: frame, rules: rules, frame: true}
	if err := l.check(); err != nil {
		return envelope{}, err
	}
	if first := frame[skipSpace(frame, 0)]; first != '{' {
		return envelope{}, invalid("want an object, got " + jsonKind(first))
	}
	return l.env, nil
}

// text reads an optional string of an envelope. Null is as good as nothing.
func text(value []byte, name string) (string, *Error) {
	switch {
	case value == nil || value[0] == 'n':
		return "", nil
	case value[0] != '"':
		return "", invalid("want a string, got " + jsonKind(value[0])).in(name)
	}
	return unquote(value), nil
}

// id reads an optional id of an envelope.
func id[T interface {
	~string
	hasRule
}](value []byte, name string,
) (T, *Error) {
	s, err := text(value, name)
	if err != nil || s == "" && (value == nil || value[0] == 'n') {
		return "", err
	}
	if err := T(s).rule().check(s); err != nil {
		return "", invalid(err.Error()).in(name)
	}
	return T(s), nil
}

// payload reads the data of an envelope; without any it is an empty object.
func (env *envelope) payload(entry *Entry) (any, *Error) {
	data := env.data
	if data == nil || data[0] == 'n' {
		data = []byte("{}")
	}
	p, err := entry.decode(data, 0)
	if err != nil {
		return nil, err.in("data")
	}
	return p, nil
}

// DecodeMessage implements [Dialect].
func (Native) DecodeMessage(frame []byte) (Message, error) {
	m, err := decodeMessage(frame)
	if err != nil {
		err.Ref = refOf(frame)
		return Message{}, err
	}
	return m, nil
}

func decodeMessage(frame []byte) (m Message, err *Error) {
	env, err := open(frame, clientText)
	if err != nil {
		return m, err
	}
	entry, err := lookup(env.name, FromClient)
	if err != nil {
		return m, err
	}
	if m.Session, err = id[SessionID](env.session, "session_id"); err != nil {
		return m, err
	}
	if m.ID, err = id[MessageID](env.id, "message_id"); err != nil {
		return m, err
	}
	clock, err := text(env.time, "timestamp")
	if err != nil {
		return m, err
	}
	if clock != "" {
		m.Time, _ = readTime(clock) // a clock we cannot read is no reason to refuse a message
	}
	p, err := env.payload(entry)
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
	env, err := open(frame, hubText)
	if err != nil {
		return e, err
	}
	entry, err := lookup(env.name, FromServer)
	if err != nil {
		return e, err
	}
	if e.Session, err = id[SessionID](env.session, "session_id"); err != nil {
		return e, err
	}
	at, err := text(env.id, "message_id")
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
	clock, err := text(env.time, "timestamp")
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
	p, err := env.payload(entry)
	if err != nil {
		return e, err
	}
	e.Data = p.(ServerPayload) //nolint:forcetypeassert // the catalog takes no others
	return e, nil
}
