package wire

import (
	"math"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decode reads the value that begins at at into v and returns its end, so that
// most bytes are looked at once. The text has been checked: there is a valid JSON
// value. Errors name the place relative to that value.
func (s *Shape) decode(data []byte, at int, v reflect.Value) (int, *Error) {
	if err := s.fits(data[at]); err != nil {
		return at, err
	}
	switch s.Kind {
	case KindString:
		text, end := textAt(data, at)
		return end, s.decodeText(text, v)
	case KindArray:
		return s.decodeArray(data, at, v)
	case KindMap:
		return s.decodeMap(data, at, v)
	case KindObject:
		return s.decodeObject(data, at, v)
	case KindUnion:
		return s.decodeUnion(data, at, v)
	case KindChoice:
		return s.decodeChoice(data, at, v)
	}
	end := skipValue(data, at)
	return end, s.decodeLeaf(data[at:end], v)
}

// decodeLeaf reads a value that is taken as a whole.
func (s *Shape) decodeLeaf(raw []byte, v reflect.Value) *Error {
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
	case KindPosition:
		p, err := ParsePosition(unquote(raw))
		if err != nil {
			return invalid(err.Error())
		}
		v.Field(0).SetUint(p.Epoch)
		v.Field(1).SetUint(p.Seq)
	}
	return nil
}

// jsonKind names the kind of a JSON value by its first byte.
func jsonKind(first byte) string {
	switch first {
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

// fits says what is wrong with a value that has this first byte, or nil.
func (s *Shape) fits(first byte) *Error {
	if s.takes(first) {
		return nil
	}
	return invalid("want " + s.want() + ", got " + jsonKind(first))
}

// takes reports whether the shape takes a value with this first byte.
func (s *Shape) takes(first byte) bool {
	switch s.Kind {
	case KindAny, KindChoice:
		return true
	case KindBool:
		return first == 't' || first == 'f'
	case KindInteger, KindNumber:
		return first == '-' || first >= '0' && first <= '9'
	case KindString, KindPosition:
		return first == '"'
	case KindArray:
		return first == '['
	default:
		return first == '{'
	}
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

// decodeText reads a string from its text.
func (s *Shape) decodeText(text []byte, v reflect.Value) *Error {
	if len(s.Values) > 0 {
		return s.decodeValue(text, v)
	}
	str := string(text)
	if s.rule != nil {
		if err := s.rule.check(str); err != nil {
			return invalid(err.Error())
		}
	}
	if s.MinLen > 0 || s.MaxLen > 0 {
		if err := s.checkLen(utf8.RuneCountInString(str), "characters"); err != nil {
			return err
		}
	}
	v.SetString(str)
	return nil
}

// decodeValue reads a string of which there are only some. It is one of ours
// then, so it needs no memory.
func (s *Shape) decodeValue(text []byte, v reflect.Value) *Error {
	for _, value := range s.Values {
		if value == string(text) {
			v.SetString(value)
			return nil
		}
	}
	return invalid("want one of " + strings.Join(s.Values, ", ") + ", got " + quoteShort(string(text)))
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

func (s *Shape) decodeArray(data []byte, at int, v reflect.Value) (int, *Error) {
	n := 0
	for at = skipSpace(data, at+1); data[at] != ']'; at = skipComma(data, at) {
		v.Grow(1)
		v.SetLen(n + 1)
		var err *Error
		if at, err = s.Elem.decode(data, at, v.Index(n)); err != nil {
			return at, err.at(n)
		}
		n++
	}
	return at + 1, s.checkLen(n, "items")
}

func (s *Shape) decodeMap(data []byte, at int, v reflect.Value) (int, *Error) {
	n := 0
	for at = skipSpace(data, at+1); data[at] != '}'; at = skipComma(data, at) {
		v.Grow(1)
		v.SetLen(n + 1)
		m := v.Index(n)
		key, value := memberAt(data, at)
		if err := s.Key.decodeText(key, m.Field(0)); err != nil {
			return at, err.in(string(key))
		}
		if data[value] == 'n' && s.Elem.Kind != KindAny {
			v.SetLen(n) // as absent as a field that is null
			at = skipValue(data, value)
			continue
		}
		var err *Error
		if at, err = s.Elem.decode(data, value, m.Field(1)); err != nil {
			return at, err.in(string(key))
		}
		n++
	}
	return at + 1, nil
}

func (s *Shape) decodeObject(data []byte, at int, v reflect.Value) (int, *Error) {
	return s.decodeFields(data, skipSpace(data, at+1), v)
}

// decodeFields reads an object from the key at at on, or from its end.
func (s *Shape) decodeFields(data []byte, at int, v reflect.Value) (int, *Error) {
	var seen uint64 // there is no object with more than 64 fields
	next := 0
	for ; data[at] != '}'; at = skipComma(data, at) {
		key, value := memberAt(data, at)
		i, ok := s.field(key, next)
		if !ok || seen&(1<<i) != 0 {
			at = skipValue(data, value)
			continue // unknown fields are for somebody newer; clients send none twice
		}
		f := &s.Fields[i]
		seen |= 1 << i
		next = i + 1
		if f.Optional && data[value] == 'n' {
			at = skipValue(data, value)
			continue
		}
		var err *Error
		if at, err = f.decode(data, value, f.get(v)); err != nil {
			return at, err.in(f.Name)
		}
	}
	if missing := s.required &^ seen; missing != 0 {
		return at, invalid("is required").in(s.Fields[bits.TrailingZeros64(missing)].Name)
	}
	return at + 1, nil
}

func (f *Field) decode(data []byte, at int, v reflect.Value) (int, *Error) {
	if f.ptr {
		target := reflect.New(f.Shape.typ)
		end, err := f.Shape.decode(data, at, target.Elem())
		if err == nil {
			v.Set(target)
		}
		return end, err
	}
	end, err := f.Shape.decode(data, at, v)
	if f.keepEmpty && err == nil && v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	}
	return end, err
}

func (s *Shape) decodeUnion(data []byte, at int, v reflect.Value) (int, *Error) {
	at = skipSpace(data, at+1)
	tag := memberOf(data, at, s.Tag)
	switch {
	case tag < 0:
		return at, invalid("is required").in(s.Tag)
	case data[tag] != '"':
		return at, invalid("want a string, got " + jsonKind(data[tag])).in(s.Tag)
	}
	name, end := textAt(data, tag)
	for i := range s.Variants {
		w := &s.Variants[i]
		if w.Name != "" && w.Name != string(name) {
			continue
		}
		if w.Name != "" && tag-at <= len(s.Tag)+len(`"":`) {
			at = skipComma(data, end) // the tag came first and is no field
		}
		value, end, err := w.maker.decode(w.Shape, data, at)
		if err == nil {
			s.assign(v.Addr().Interface(), value)
		}
		return end, err
	}
	return at, invalid("unknown value " + quoteShort(string(name))).in(s.Tag)
}

func (s *Shape) decodeChoice(data []byte, at int, v reflect.Value) (int, *Error) {
	for i := range s.Fields {
		if f := &s.Fields[i]; f.Shape.takes(data[at]) {
			return f.decode(data, at, f.get(v))
		}
	}
	kinds := make([]string, len(s.Fields))
	for i := range s.Fields {
		kinds[i] = s.Fields[i].Shape.want()
	}
	return at, invalid("want " + strings.Join(kinds, " or ") + ", got " + jsonKind(data[at]))
}
