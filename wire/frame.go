package wire

// envelope is a frame split into its members.
type envelope struct {
	members [len(frameKeys)][]byte // nil if absent

	from Direction // the sender, or empty if the payload is not needed
	// entry and payload are set by read, if it knows the type and decodes the payload.
	entry   *Entry
	payload any
}

// The members of a frame, in the order in which we write them.
const (
	typeMember = iota
	sessionMember
	idMember
	timeMember
	dataMember
)

var frameKeys = [...]string{"type", "session_id", "message_id", "timestamp", "data"}

// frameShape is the shape of these keys, as far as decoding needs it.
func frameShape() *Shape {
	s := &Shape{byName: namesOf(frameKeys[:])}
	for _, name := range frameKeys {
		s.Fields = append(s.Fields, Field{Name: name, head: `,"` + name + `":`})
	}
	return s
}

// open checks the text of a frame and splits it. If env.from is set, it also decodes the
// payload of most valid frames, see read.
func (env *envelope) open(frame []byte, rules textRules) *Error {
	if env.read(frame) {
		return nil
	}
	*env = envelope{from: env.from}
	return env.split(frame, rules)
}

// split is open without decoding, and returns the error in the text.
func (env *envelope) split(frame []byte, rules textRules) *Error {
	if err := checkText(frame, rules); err != nil {
		return err
	}
	at := skipSpace(frame, 0)
	if frame[at] != '{' {
		return invalid("want an object, got " + jsonKind(frame[at]))
	}
	shape := theCatalog().frame
	for at = skipSpace(frame, at+1); frame[at] != '}'; {
		key, value := memberAt(frame, at)
		end := skipValue(frame, value)
		if i, ok := shape.byName.find(key); ok {
			env.members[i] = frame[value:end] // the last of duplicates counts
		}
		at = skipComma(frame, end)
	}
	return nil
}

// read splits a frame in one pass, in which it also decodes the payload if the type comes
// before the data. It reports whether the frame is valid by the strictest rules. If not,
// the caller must look for the error again, because errors in the text take precedence over
// errors in the payload, even if they come after it.
func (env *envelope) read(frame []byte) bool {
	l := lexer{data: frame, rules: clientText}
	at := skipSpace(frame, 0)
	if l.at(at) != '{' {
		return false
	}
	keys := fieldKeys{shape: theCatalog().frame}
	at, more, err := l.first(at, '}')
	for more && err == nil {
		var member, value int
		if member, value, err = keys.read(&l, at); err != nil {
			break
		}
		if member == dataMember && env.entry != nil && l.at(value) == '{' {
			env.payload, at, err = env.entry.decode(&l, value)
		} else {
			at, err = l.value(value)
		}
		if err != nil {
			break
		}
		if member >= 0 {
			env.members[member] = frame[value:at]
		}
		if member == typeMember && env.from != "" {
			env.entry, _ = lookup(env.members[typeMember], env.from)
		}
		at, more, err = l.after(at, '}')
	}
	return err == nil && l.ends(at)
}

// text decodes an optional string of an envelope. Null counts as absent.
func text(value []byte, name string) (string, *Error) {
	switch {
	case value == nil || value[0] == 'n':
		return "", nil
	case value[0] != '"':
		return "", invalid("want a string, got " + jsonKind(value[0])).in(name)
	}
	return unquote(value), nil
}

// id decodes an optional id of an envelope.
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

// kind returns the entry of the type.
func (env *envelope) kind() (*Entry, *Error) {
	if env.entry != nil {
		return env.entry, nil
	}
	return lookup(env.members[typeMember], env.from)
}

// decode returns the payload. Absent or null data counts as an empty object.
func (env *envelope) decode(entry *Entry) (any, *Error) {
	if env.payload != nil {
		return env.payload, nil
	}
	data := env.members[dataMember]
	if data == nil || data[0] == 'n' {
		data = []byte("{}")
	}
	p, err := entry.decodeChecked(data)
	if err != nil {
		return nil, err.in("data")
	}
	return p, nil
}
