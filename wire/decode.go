package wire

import (
	"bytes"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decode reads raw into v. The text has been checked: raw is one valid JSON
// value without space around it. Errors name the place relative to raw.
func (s *Shape) decode(raw []byte, v reflect.Value) *Error {
	if err := s.checkKind(raw); err != nil {
		return err
	}
	switch s.Kind {
	case KindAny:
		if nesting(raw) > rawText.depth {
			return invalid("free-form value is nested deeper than " + strconv.Itoa(rawText.depth))
		}
		v.SetBytes(appendCompact(nil, raw))
	case KindBool:
		v.SetBool(raw[0] == 't')
	case KindInteger:
		return s.decodeInteger(raw, v)
	case KindNumber:
		return s.decodeNumber(raw, v)
	case KindString:
		return s.decodeString(raw, v)
	case KindPosition:
		p, err := ParsePosition(unquote(raw))
		if err != nil {
			return invalid(err.Error())
		}
		v.Set(reflect.ValueOf(p))
	case KindArray:
		return s.decodeArray(raw, v)
	case KindMap:
		return s.decodeMap(raw, v)
	case KindObject:
		return s.decodeObject(raw, v)
	case KindUnion:
		return s.decodeUnion(raw, v)
	case KindChoice:
		return s.decodeChoice(raw, v)
	}
	return nil
}

// jsonKind names the kind of a JSON value by its first byte.
func jsonKind(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// want names the kind of JSON value that the shape takes.
func (s *Shape) want() string {
	switch s.Kind {
	case KindBool:
		return "a boolean"
	case KindInteger, KindNumber:
		return "a number"
	case KindString, KindPosition:
		return "a string"
	case KindArray:
		return "an array"
	default:
		return "an object"
	}
}

func (s *Shape) checkKind(raw []byte) *Error {
	if s.Kind == KindAny || s.Kind == KindChoice {
		return nil
	}
	if want, got := s.want(), jsonKind(raw); want != got {
		return invalid("want " + want + ", got " + got)
	}
	return nil
}

func (s *Shape) decodeInteger(raw []byte, v reflect.Value) *Error {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		// 1.0 and 1e3 are integers too, to JSON Schema and to JavaScript.
		f, err := strconv.ParseFloat(string(raw), 64)
		if err != nil || f != math.Trunc(f) || math.Abs(f) > maxSafe {
			return invalid("want an integer of at most 53 bits, got " + shorten(string(raw)))
		}
		n = int64(f)
	}
	if err := s.checkRange(float64(n), raw); err != nil {
		return err
	}
	if v.CanUint() {
		v.SetUint(uint64(n)) //nolint:gosec // the range begins at 0
		return nil
	}
	v.SetInt(n)
	return nil
}

func (s *Shape) decodeNumber(raw []byte, v reflect.Value) *Error {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return invalid("number " + shorten(string(raw)) + " is out of range")
	}
	v.SetFloat(f)
	return s.checkRange(f, raw)
}

func (s *Shape) checkRange(f float64, raw []byte) *Error {
	if f >= s.Min && f <= s.Max {
		return nil
	}
	return invalid("want a number " + rangeText(s.Min, s.Max) + ", got " + shorten(string(raw)))
}

func rangeText(low, high float64) string {
	text := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	switch {
	case math.IsInf(high, 1):
		return "of at least " + text(low)
	case math.IsInf(low, -1):
		return "of at most " + text(high)
	}
	return "from " + text(low) + " to " + text(high)
}

func (s *Shape) decodeString(raw []byte, v reflect.Value) *Error {
	text := unquote(raw)
	if s.rule != nil {
		if err := s.rule.check(text); err != nil {
			return invalid(err.Error())
		}
	}
	if len(s.Values) > 0 && !slices.Contains(s.Values, text) {
		return invalid("want one of " + strings.Join(s.Values, ", ") + ", got " + strconv.Quote(shorten(text)))
	}
	if s.MinLen > 0 || s.MaxLen > 0 {
		if err := s.checkLen(utf8.RuneCountInString(text), "characters"); err != nil {
			return err
		}
	}
	v.SetString(text)
	return nil
}

func (s *Shape) checkLen(n int, what string) *Error {
	switch {
	case n < s.MinLen:
		return invalid("want at least " + strconv.Itoa(s.MinLen) + " " + what + ", got " + strconv.Itoa(n))
	case s.MaxLen > 0 && n > s.MaxLen:
		return invalid("want at most " + strconv.Itoa(s.MaxLen) + " " + what + ", got " + strconv.Itoa(n))
	}
	return nil
}

func (s *Shape) decodeArray(raw []byte, v reflect.Value) *Error {
	n := 0
	for item := range items(raw) {
		v.Grow(1)
		v.SetLen(n + 1)
		if err := s.Elem.decode(item, v.Index(n)); err != nil {
			return err.at(n)
		}
		n++
	}
	return s.checkLen(n, "items")
}

func (s *Shape) decodeMap(raw []byte, v reflect.Value) *Error {
	n := 0
	for key, value := range members(raw) {
		v.Grow(1)
		v.SetLen(n + 1)
		m := v.Index(n)
		if err := s.Key.decode(key, m.Field(0)); err != nil {
			return err.in(unquote(key))
		}
		if value[0] == 'n' && s.Elem.Kind != KindAny {
			v.SetLen(n) // as absent as a field that is null
			continue
		}
		if err := s.Elem.decode(value, m.Field(1)); err != nil {
			return err.in(unquote(key))
		}
		n++
	}
	return nil
}

func (s *Shape) decodeObject(raw []byte, v reflect.Value) *Error {
	var seen uint64 // there is no object with more than 64 fields
	for key, value := range members(raw) {
		i, ok := s.field(keyText(key))
		if !ok || seen&(1<<i) != 0 {
			continue // unknown fields are for somebody newer; clients send none twice
		}
		f := &s.Fields[i]
		seen |= 1 << i
		if f.Optional && value[0] == 'n' {
			continue
		}
		if err := f.decode(value, f.get(v)); err != nil {
			return err.in(f.Name)
		}
	}
	for i := range s.Fields {
		if f := &s.Fields[i]; !f.Optional && seen&(1<<i) == 0 {
			return invalid("is required").in(f.Name)
		}
	}
	return nil
}

func (f *Field) decode(raw []byte, v reflect.Value) *Error {
	if !f.ptr {
		err := f.Shape.decode(raw, v)
		if f.keepEmpty && err == nil && v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		return err
	}
	target := reflect.New(f.Shape.typ)
	if err := f.Shape.decode(raw, target.Elem()); err != nil {
		return err
	}
	v.Set(target)
	return nil
}

func (s *Shape) decodeUnion(raw []byte, v reflect.Value) *Error {
	tag := memberOf(raw, s.Tag)
	switch {
	case tag == nil:
		return invalid("is required").in(s.Tag)
	case tag[0] != '"':
		return invalid("want a string, got " + jsonKind(tag)).in(s.Tag)
	}
	name := unquote(tag)
	for _, w := range s.Variants {
		if w.Name != "" && w.Name != name {
			continue
		}
		target := reflect.New(w.Shape.typ).Elem()
		if err := w.Shape.decode(raw, target); err != nil {
			return err
		}
		v.Set(target)
		return nil
	}
	return invalid("unknown value " + strconv.Quote(shorten(name))).in(s.Tag)
}

func (s *Shape) decodeChoice(raw []byte, v reflect.Value) *Error {
	kinds := make([]string, len(s.Fields))
	for i := range s.Fields {
		f := &s.Fields[i]
		if kinds[i] = f.Shape.want(); kinds[i] == jsonKind(raw) {
			return f.decode(raw, f.get(v))
		}
	}
	return invalid("want " + strings.Join(kinds, " or ") + ", got " + jsonKind(raw))
}

// keyText is the text of a quoted key, without a copy unless it has escapes.
func keyText(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		return []byte(unquote(quoted))
	}
	return quoted[1 : len(quoted)-1]
}

// memberOf returns the value at a key of a valid object, or nil.
func memberOf(object []byte, name string) []byte {
	for key, value := range members(object) {
		if string(keyText(key)) == name {
			return value
		}
	}
	return nil
}

// members yields the quoted keys and the values of a valid JSON object.
func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for at := skipSpace(object, 1); object[at] != '}'; {
			end := skipValue(object, at)
			key := object[at:end]
			at = skipSpace(object, skipSpace(object, end)+1) // past the colon
			end = skipValue(object, at)
			if !yield(key, object[at:end]) {
				return
			}
			at = skipComma(object, end)
		}
	}
}

// items yields the values of a valid JSON array.
func items(array []byte) iter.Seq[[]byte] {
	return func(yield func(value []byte) bool) {
		for at := skipSpace(array, 1); array[at] != ']'; {
			end := skipValue(array, at)
			if !yield(array[at:end]) {
				return
			}
			at = skipComma(array, end)
		}
	}
}

func skipSpace(data []byte, at int) int {
	for at < len(data) && isSpace(data[at]) {
		at++
	}
	return at
}

// skipComma moves to the next key or value, or to the closing bracket.
func skipComma(data []byte, at int) int {
	at = skipSpace(data, at)
	if data[at] == ',' {
		at = skipSpace(data, at+1)
	}
	return at
}

// skipValue returns the end of the valid value that begins at at.
func skipValue(data []byte, at int) int {
	switch data[at] {
	case '"':
		return skipString(data, at)
	case '{', '[':
		depth := 0
		for {
			switch data[at] {
			case '"':
				at = skipString(data, at)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return at + 1
				}
			}
			at++
		}
	}
	for at < len(data) && !isSpace(data[at]) && data[at] != ',' && data[at] != '}' && data[at] != ']' {
		at++
	}
	return at
}

// nesting is how deep arrays and objects of a valid value are nested.
func nesting(raw []byte) int {
	depth, deepest := 0, 0
	for at := 0; at < len(raw); at++ {
		switch raw[at] {
		case '"':
			at = skipString(raw, at) - 1
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

func skipString(data []byte, at int) int {
	for at = special(data, at+1); data[at] != '"'; at = special(data, at+2) {
		// A backslash: valid strings have no control characters.
	}
	return at + 1
}
