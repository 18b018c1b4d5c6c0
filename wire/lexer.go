package wire

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

// textRules are the rules for JSON text, independent of its meaning.
type textRules struct {
	depth int // maximum nesting of arrays and objects
	// strict also refuses duplicate keys and numbers outside float64, which readers
	// interpret differently, and U+0000, at which some readers end a text.
	strict bool
}

// MaxDepth is the maximum nesting of arrays and objects in a client's frame.
const MaxDepth = 32

var (
	clientText = textRules{depth: MaxDepth, strict: true}
	// rawText is for free-form values that the hub writes.
	rawText = textRules{depth: MaxDepth}
	// hubText is for the hub's own frames. They contain values that passed rawText, so they
	// may be deeper.
	hubText = textRules{depth: 3 * MaxDepth}
	// checkedText is for text that was checked before.
	checkedText = textRules{depth: math.MaxInt}
)

// lexer scans JSON text and locates errors. Its methods take the start of a construct and
// return its end, or the place of the error.
type lexer struct {
	data  []byte
	rules textRules
	depth int // current nesting
}

// checkText returns the error in a JSON text, or nil.
func checkText(data []byte, rules textRules) *Error {
	l := lexer{data: data, rules: rules}
	return l.check()
}

func (l *lexer) check() *Error {
	if !utf8.Valid(l.data) {
		return invalid("text is not valid UTF-8")
	}
	at, err := l.value(skipSpace(l.data, 0))
	if err != nil {
		return err
	}
	if at = skipSpace(l.data, at); at < len(l.data) {
		return l.unexpected(at, "the end")
	}
	return nil
}

// ends reports whether the scanned text is complete: nothing follows at at, and it is
// UTF-8.
func (l *lexer) ends(at int) bool {
	return skipSpace(l.data, at) == len(l.data) && utf8.Valid(l.data)
}

// at returns the byte at a position, or 0 beyond the end.
func (l *lexer) at(at int) byte {
	if at < len(l.data) {
		return l.data[at]
	}
	return 0
}

func (l *lexer) unexpected(at int, want string) *Error {
	if at >= len(l.data) {
		return invalid("JSON ends where " + want + " should be")
	}
	r, _ := utf8.DecodeRune(l.data[at:])
	return invalid("JSON has " + strconv.QuoteRune(r) + " at byte " + strconv.Itoa(at) + " where " + want + " should be")
}

func (l *lexer) value(at int) (int, *Error) {
	switch c := l.at(at); {
	case c == '{':
		return l.object(at)
	case c == '[':
		return l.array(at)
	case c == '"':
		return l.string(at)
	case c == '-' || c >= '0' && c <= '9':
		return l.number(at)
	}
	return l.word(at)
}

func (l *lexer) word(at int) (int, *Error) {
	for _, word := range [...]string{"true", "false", "null"} {
		if end, ok := l.has(at, word); ok {
			return end, nil
		}
	}
	return at, l.unexpected(at, "a value")
}

// has reports whether piece is at a position, and where it ends.
func (l *lexer) has(at int, piece string) (end int, ok bool) {
	end = at + len(piece)
	return end, end <= len(l.data) && string(l.data[at:end]) == piece
}

func (l *lexer) array(at int) (int, *Error) {
	at, more, err := l.first(at, ']')
	for i := 0; more; i++ {
		if at, err = l.value(at); err != nil {
			return at, err.at(i)
		}
		at, more, err = l.after(at, ']')
	}
	return at, err
}

func (l *lexer) object(at int) (int, *Error) {
	var keys keySet
	at, more, err := l.first(at, '}')
	for more {
		var key []byte
		if key, at, err = l.key(at); err != nil {
			return at, err
		}
		if l.rules.strict && !keys.add(keyText(key)) {
			return at, twice(keyText(key))
		}
		if at, err = l.colon(at); err != nil {
			return at, err
		}
		if at, err = l.value(at); err != nil {
			return at, err.in(unquote(key))
		}
		at, more, err = l.after(at, '}')
	}
	return at, err
}

func twice(key []byte) *Error { return invalid("is there twice").in(string(key)) }

// first enters the array or object that begins at at. more reports whether it has an item.
func (l *lexer) first(at int, end byte) (next int, more bool, err *Error) {
	if err := l.enter(); err != nil {
		return at, false, err
	}
	at = skipSpace(l.data, at+1)
	if l.at(at) == end {
		l.depth--
		return at + 1, false, nil
	}
	return at, true, nil
}

func (l *lexer) enter() *Error {
	if l.depth++; l.depth > l.rules.depth {
		return invalid("JSON is nested deeper than " + strconv.Itoa(l.rules.depth))
	}
	return nil
}

// after moves past the comma after an item, or leaves the array or object.
func (l *lexer) after(at int, end byte) (next int, more bool, err *Error) {
	at = skipSpace(l.data, at)
	switch l.at(at) {
	case ',':
		return skipSpace(l.data, at+1), true, nil
	case end:
		l.depth--
		return at + 1, false, nil
	}
	return at, false, l.unexpected(at, "a comma or "+strconv.QuoteRune(rune(end)))
}

// key reads a key, with its quotes.
func (l *lexer) key(at int) (key []byte, end int, err *Error) {
	if l.at(at) != '"' {
		return nil, at, l.unexpected(at, "a key")
	}
	end, err = l.string(at)
	return l.data[at:end], end, err
}

// colon moves to the value of a key.
func (l *lexer) colon(at int) (int, *Error) {
	if at = skipSpace(l.data, at); l.at(at) != ':' {
		return at, l.unexpected(at, "a colon")
	}
	return skipSpace(l.data, at+1), nil
}

// text decodes the string that begins at at, without a copy unless it has escapes.
func (l *lexer) text(at int) (text []byte, end int, err *Error) {
	if end = special(l.data, at+1); l.at(end) == '"' {
		return l.data[at+1 : end], end + 1, nil
	}
	if end, err = l.string(at); err != nil {
		return nil, end, err
	}
	return []byte(unescape(l.data[at+1 : end-1])), end, nil
}

func (l *lexer) string(at int) (int, *Error) {
	for at++; ; at++ {
		if at = special(l.data, at); at >= len(l.data) {
			return at, l.unexpected(at, "the end of a string")
		}
		var err *Error
		switch l.data[at] {
		case '"':
			return at + 1, nil
		case '\\':
			if at, err = l.escape(at + 1); err != nil {
				return at, err
			}
		default:
			return at, l.unexpected(at, "an escaped character")
		}
	}
}

// escape returns the index of the last character of an escape; at is the index of the
// character after the backslash.
func (l *lexer) escape(at int) (int, *Error) {
	switch l.at(at) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return at, nil
	case 'u':
		for range 4 {
			at++
			if c := l.at(at); (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
				return at, l.unexpected(at, "a hexadecimal digit")
			}
		}
		if l.rules.strict && string(l.data[at-3:at+1]) == "0000" {
			return at, invalid("U+0000 is not allowed in text")
		}
		return at, nil
	}
	return at, l.unexpected(at, "an escape")
}

func (l *lexer) number(start int) (int, *Error) {
	at := start
	if l.at(at) == '-' {
		at++
	}
	var err *Error
	if l.at(at) == '0' {
		at++
	} else if at, err = l.digits(at); err != nil {
		return at, err
	}
	if l.at(at) == '.' {
		if at, err = l.digits(at + 1); err != nil {
			return at, err
		}
	}
	if c := l.at(at); c == 'e' || c == 'E' {
		at++
		if c := l.at(at); c == '+' || c == '-' {
			at++
		}
		if at, err = l.digits(at); err != nil {
			return at, err
		}
	}
	if text := l.data[start:at]; l.rules.strict && !finite(text) {
		return at, invalid("number " + shorten(string(text)) + " is out of range")
	}
	return at, nil
}

func (l *lexer) digits(at int) (int, *Error) {
	if c := l.at(at); c < '0' || c > '9' {
		return at, l.unexpected(at, "a digit")
	}
	for c := l.at(at); c >= '0' && c <= '9'; c = l.at(at) {
		at++
	}
	return at, nil
}

// finite reports whether the number fits into a float64. Short numbers without an exponent
// always do.
func finite(text []byte) bool {
	if len(text) < 300 && bytes.IndexByte(text, 'e') < 0 && bytes.IndexByte(text, 'E') < 0 {
		return true
	}
	_, err := strconv.ParseFloat(string(text), 64)
	return err == nil
}

// keySet finds duplicate keys. Few keys are compared one by one without allocating; many go
// into a map, so that the cost stays linear.
type keySet struct {
	few  [16][]byte
	n    int
	many map[string]struct{}
}

// add reports whether the key is new.
func (k *keySet) add(key []byte) bool {
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
