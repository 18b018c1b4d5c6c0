package wire

// envelope is a frame taken apart.
type envelope struct {
	members [len(frameKeys)][]byte // nil if they are not there

	from Direction // whose frame it is, or empty when nobody wants its payload
	// entry is that of the type. The payload is there if it could be read on the
	// way.
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

// frameShape is made of these keys, as far as reading needs it.
func frameShape() *Shape {
	s := &Shape{byName: namesOf(frameKeys[:])}
	for _, name := range frameKeys {
		s.Fields = append(s.Fields, Field{Name: name, head: `,"` + name + `":`})
	}
	return s
}

// open checks the text of a frame and takes it apart.
func (env *envelope) open(frame []byte, rules textRules) *Error {
	if env.read(frame) {
		return nil
	}
	*env = envelope{from: env.from}
	return env.split(frame, rules)
}

// split is open without reading anything. It says what is wrong with the text.
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
			env.members[i] = frame[value:end] // of those that are there twice the last counts
		}
		at = skipComma(frame, end)
	}
	return nil
}

// read takes a frame apart and reads its payload, all at once, if nothing is
// wrong with it by the strictest rules and its type comes before its data. What
// is wrong, if anything, is for others to say: mistakes in the text count more
// than those in the payload, even when they are behind it.
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

// kind returns the entry of the type.
func (env *envelope) kind() (*Entry, *Error) {
	if env.entry != nil {
		return env.entry, nil
	}
	return lookup(env.members[typeMember], env.from)
}

// decode returns the payload; without data it is an empty object.
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
