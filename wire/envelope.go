package wire

import (
	"cmp"
	"strconv"
	"time"
)

// Event is an event of the hub, in any dialect.
type Event struct {
	Session SessionID
	// At is the event's position; zero for events that are not in the log.
	At   Position
	Time time.Time
	Data ServerPayload
}

// Message is a message of a client, in any dialect.
type Message struct {
	// Session is the client's value, if any; the session of the connection is
	// authoritative.
	Session SessionID
	// ID is the client's idempotency key: the payload's, or else the
	// envelope's. It may be empty.
	ID MessageID
	// Time is the client's clock, if the frame had a valid time.
	Time time.Time
	Data ClientPayload
}

// Dialect is an encoding of frames. The gateway chooses one for each connection, and
// package broadcast encodes events in it. Stored events are always [Native].
type Dialect interface {
	// AppendFrames appends the frames of an event, possibly none.
	AppendFrames(dst [][]byte, e Event) [][]byte
	// DecodeMessage decodes a client's frame. The error is an [*Error].
	DecodeMessage(frame []byte) (Message, error)
	// AppendMessage appends a client's frame.
	AppendMessage(dst []byte, m Message) []byte
	// DecodeEvent decodes a frame of the hub. The error is an [*Error].
	DecodeEvent(frame []byte) (Event, error)
}

const timeLayout = "2006-01-02T15:04:05.000Z"

// appendTime appends t in UTC in timeLayout, faster than the standard library.
func appendTime(dst []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(dst, timeLayout)
	}
	hour, minute, second := t.Clock()
	dst = appendTwo(appendTwo(dst, year/100), year%100)
	dst = appendTwo(append(dst, '-'), int(month))
	dst = appendTwo(append(dst, '-'), day)
	dst = appendTwo(append(dst, 'T'), hour)
	dst = appendTwo(append(dst, ':'), minute)
	dst = appendTwo(append(dst, ':'), second)
	ms := t.Nanosecond() / int(time.Millisecond)
	dst = append(dst, '.', hexDigits[ms/100])
	return append(appendTwo(dst, ms%100), 'Z')
}

// appendTwo adds a number below 100 with two digits.
func appendTwo(dst []byte, n int) []byte {
	return append(dst, hexDigits[n/10], hexDigits[n%10])
}

// readTime parses a time in RFC 3339 and converts it to what timeLayout can express: UTC in
// milliseconds. It refuses years outside 0 to 9999.
func readTime(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, false
	}
	if t = t.UTC().Truncate(time.Millisecond); t.Year() < 0 || t.Year() > 9999 {
		return time.Time{}, false
	}
	return t, true
}

// decode reads the payload whose object begins at at.
func (e *Entry) decode(l *lexer, at int) (p any, end int, err *Error) {
	if err := e.Shape.fits(l.at(at)); err != nil {
		return nil, at, err
	}
	at, more, err := l.first(at, '}')
	if err != nil {
		return nil, at, err
	}
	return e.maker.decode(e.Shape, l, at, more, "")
}

// decodeChecked decodes a payload from text that was checked before.
func (e *Entry) decodeChecked(data []byte) (any, *Error) {
	l := lexer{data: data, rules: checkedText}
	p, _, err := e.decode(&l, skipSpace(data, 0))
	return p, err
}

// lookup returns the entry of a type that from may send. name is the type as a JSON value,
// or nil if the frame has none.
func lookup(name []byte, from Direction) (*Entry, *Error) {
	switch {
	case name == nil:
		return nil, invalid("is required").in("type")
	case name[0] != '"':
		return nil, invalid("want a string, got " + jsonKind(name[0])).in("type")
	}
	text := keyText(name)
	e := theCatalog().find(text)
	if e == nil || e.Direction != from {
		return nil, invalid("no " + string(from) + " sends " + quoteShort(string(text))).in("type")
	}
	return e, nil
}

// refOf returns the message id in a refused frame, or "", so that the client can tell which
// message was refused. It reads the frame up to its first error.
func refOf(frame []byte) MessageID {
	l := lexer{data: frame, rules: textRules{depth: 1000}}
	var name, payload, envelope []byte
	take := func(at *[]byte, value []byte) {
		if *at == nil { // the first of duplicates counts
			*at = value
		}
	}
	for key, value := range l.prefix {
		switch string(keyText(key)) {
		case "type":
			take(&name, value)
		case "data":
			if value[0] != '{' {
				continue
			}
			if at := memberOf(value, skipSpace(value, 1), "messageId"); at >= 0 {
				take(&payload, value[at:skipValue(value, at)])
			}
		case "messageId":
			take(&payload, value)
		case "message_id":
			take(&envelope, value)
		}
	}
	if e, err := lookup(name, FromClient); err == nil && e.Message == "" {
		payload = nil // its messageId names another message
	}
	return cmp.Or(readRef(payload), readRef(envelope))
}

// readRef returns the id in value, or "" if value is absent or not a valid id.
func readRef(value []byte) MessageID {
	if value == nil || value[0] != '"' {
		return ""
	}
	if id := MessageID(unquote(value)); id.Validate() == nil {
		return id
	}
	return ""
}

// prefix yields the members of an object up to its first error.
func (l *lexer) prefix(yield func(key, value []byte) bool) {
	at := skipSpace(l.data, 0)
	if l.at(at) != '{' {
		return
	}
	at, more, _ := l.first(at, '}')
	for more {
		key, start, err := l.key(at)
		if err == nil {
			start, err = l.colon(start)
		}
		if err == nil {
			at, err = l.value(start)
		}
		if err != nil || !yield(key, l.data[start:at]) {
			return
		}
		at, more, _ = l.after(at, '}')
	}
}

func quoteShort(s string) string { return strconv.Quote(shorten(s)) }
