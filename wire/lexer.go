package wire

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// textRules are the rules for JSON text as such, before anyone asks what it
// means.
type textRules struct {
	depth int // how many arrays and objects may lie in each other
	// strict also refuses duplicate keys and numbers no float64 can hold,
	// which readers understand differently.
	strict bool
}

// MaxDepth is how deep arrays and objects of a client's frame may be nested.
const MaxDepth = 32

var (
	clientText = textRules{depth: MaxDepth, strict: true}
	rawText    = textRules{depth: MaxDepth}
	// Our own frames hold free-form values that passed rawText somewhere
	// inside, so they may be deeper.
	hubText = textRules{depth: 3 * MaxDepth}
)

// lexer walks over JSON text and finds what is wrong with it.
type lexer struct {
	data  []byte
	pos   int
	depth int
	rules textRules
	// env gets the members of the outermost object when the text is a frame.
	env   envelope
	frame bool
	// escaped says that the last string has escapes.
	escaped bool
}

// checkText says what is wrong with JSON text, or nil.
func checkText(data []byte, rules textRules) *Error {
	l := lexer{data: data, rules: rules}
	return l.check()
}

func (l *lexer) check() *Error {
	if !utf8.Valid(l.data) {
		return invalid("text is not valid UTF-8")
	}
	l.space()
	if err := l.value(); err != nil {
		return err
	}
	l.space()
	if l.pos < len(l.data) {
		return l.unexpected("the end")
	}
	return nil
}

func (l *lexer) space() {
	for l.pos < len(l.data) && isSpace(l.data[l.pos]) {
		l.pos++
	}
}

func (l *lexer) peek() byte {
	if l.pos < len(l.data) {
		return l.data[l.pos]
	}
	return 0
}

func (l *lexer) unexpected(want string) *Error {
	if l.pos >= len(l.data) {
		return invalid("JSON ends where " + want + " should be")
	}
	r, _ := utf8.DecodeRune(l.data[l.pos:])
	return invalid("JSON has " + strconv.QuoteRune(r) + " at byte " + strconv.Itoa(l.pos) + " where " + want + " should be")
}

func (l *lexer) value() *Error {
	switch c := l.peek(); {
	case c == '{' || c == '[':
		return l.nested(c)
	case c == '"':
		return l.string()
	case c == '-' || c >= '0' && c <= '9':
		return l.number()
	}
	return l.word()
}

func (l *lexer) word() *Error {
	for _, word := range [...]string{"true", "false", "null"} {
		if rest := l.data[l.pos:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
			l.pos += len(word)
			return nil
		}
	}
	return l.unexpected("a value")
}

func (l *lexer) nested(open byte) *Error {
	if l.depth++; l.depth > l.rules.depth {
		return invalid("JSON is nested deeper than " + strconv.Itoa(l.rules.depth))
	}
	l.pos++
	l.space()
	var err *Error
	if open == '{' {
		err = l.object()
	} else {
		err = l.array()
	}
	l.depth--
	return err
}

func (l *lexer) array() *Error {
	if l.peek() == ']' {
		l.pos++
		return nil
	}
	for i := 0; ; i++ {
		if err := l.value(); err != nil {
			return err.at(i)
		}
		if done, err := l.next(']'); done || err != nil {
			return err
		}
	}
}

func (l *lexer) object() *Error {
	var keys keySet
	if l.peek() == '}' {
		l.pos++
		return nil
	}
	for {
		start := l.pos
		if l.peek() != '"' {
			return l.unexpected("a key")
		}
		if err := l.string(); err != nil {
			return err
		}
		key := l.data[start:l.pos]
		if l.rules.strict && !keys.add(key, l.escaped) {
			return invalid("is there twice").in(unquote(key))
		}
		l.space()
		if l.peek() != ':' {
			return l.unexpected("a colon")
		}
		l.pos++
		l.space()
		start = l.pos
		if err := l.value(); err != nil {
			return err.in(unquote(key))
		}
		if l.frame && l.depth == 1 {
			l.env.take(key, l.data[start:l.pos])
		}
		if done, err := l.next('}'); done || err != nil {
			return err
		}
	}
}

// next moves past a comma, or past the end of an array or object.
func (l *lexer) next(end byte) (done bool, err *Error) {
	l.space()
	switch l.peek() {
	case end:
		l.pos++
		return true, nil
	case ',':
		l.pos++
		l.space()
		return false, nil
	}
	return false, l.unexpected("a comma or " + strconv.QuoteRune(rune(end)))
}

func (l *lexer) string() *Error {
	l.escaped = false
	for l.pos++; ; l.pos++ {
		if l.pos = special(l.data, l.pos); l.pos >= len(l.data) {
			return l.unexpected("the end of a string")
		}
		switch l.data[l.pos] {
		case '"':
			l.pos++
			return nil
		case '\\':
			l.escaped = true
			l.pos++
			if err := l.escape(); err != nil {
				return err
			}
		default:
			return l.unexpected("an escaped character")
		}
	}
}

func (l *lexer) escape() *Error {
	switch l.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		for range 4 {
			l.pos++
			if c := l.peek(); (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return l.unexpected("a hexadecimal digit")
			}
		}
		return nil
	}
	return l.unexpected("an escape")
}

func (l *lexer) number() *Error {
	start := l.pos
	if l.peek() == '-' {
		l.pos++
	}
	switch {
	case l.peek() == '0':
		l.pos++
	case !l.digits():
		return l.unexpected("a digit")
	}
	if l.peek() == '.' {
		l.pos++
		if !l.digits() {
			return l.unexpected("a digit")
		}
	}
	if c := l.peek(); c == 'e' || c == 'E' {
		l.pos++
		if c := l.peek(); c == '+' || c == '-' {
			l.pos++
		}
		if !l.digits() {
			return l.unexpected("a digit")
		}
	}
	if text := l.data[start:l.pos]; l.rules.strict && !finite(text) {
		return invalid("number " + shorten(string(text)) + " is out of range")
	}
	return nil
}

func (l *lexer) digits() bool {
	start := l.pos
	for c := l.peek(); c >= '0' && c <= '9'; c = l.peek() {
		l.pos++
	}
	return l.pos > start
}

// finite reports whether a float64 holds the number. Short ones without an
// exponent need no closer look.
func finite(text []byte) bool {
	if len(text) < 300 && bytes.IndexByte(text, 'e') < 0 && bytes.IndexByte(text, 'E') < 0 {
		return true
	}
	_, err := strconv.ParseFloat(string(text), 64)
	return err == nil
}

// keySet finds duplicate keys. Few keys are compared one by one, which costs no
// memory; many go into a map, or a frame full of keys would cost its square.
type keySet struct {
	few  [16][]byte
	n    int
	many map[string]struct{}
}

// add reports whether the quoted key is new.
func (k *keySet) add(quoted []byte, escaped bool) bool {
	key := quoted[1 : len(quoted)-1]
	if escaped {
		key = []byte(unescape(key))
	}
	if k.many == nil {
		for _, old := range k.few[:k.n] {
			if len(old) == len(key) && bytes.Equal(old, key) {
				return false
			}
		}
		if k.n < len(k.few) {
			k.few[k.n] = key
			k.n++
			return true
		}
		k.many = make(map[string]struct{}, 2*len(k.few))
		for _, old := range k.few {
			k.many[string(old)] = struct{}{}
		}
	}
	if _, ok := k.many[string(key)]; ok {
		return false
	}
	k.many[string(key)] = struct{}{}
	return true
}
