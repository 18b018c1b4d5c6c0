package wire

import (
	"math"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decode decodes the value that begins at at into a slot and returns its end. It reads most
// bytes once. The text need not be checked before: decode also applies the text rules, but
// leaves UTF-8 and the end of the text to lexer.ends. Only the lexer's errors about the
// text are precise, so after an error in unchecked text the caller calls checkText. The
// paths of errors are relative to the value.
func (s *Shape) decode(l *lexer, at int, to *slot) (int, *Error) {
	if err := s.fits(l.at(at)); err != nil {
		return at, err
	}
	switch s.Kind {
	case KindString:
		text, end, err := l.text(at)
		if err != nil {
			return end, err
		}
		return end, s.decodeText(text, to)
	case KindArray:
		return s.decodeArray(l, at, to)
	case KindMap:
		return s.decodeMap(l, at, to.v)
	case KindObject:
		return s.decodeObject(l, at, to.v)
	case KindUnion:
		return s.decodeUnion(l, at, to)
	case KindChoice:
		return s.decodeChoice(l, at, to.v)
	}
	end, err := l.value(at)
	if err != nil {
		return end, err
	}
	return end, s.decodeLeaf(l.data[at:end], to.v)
}

// decodeLeaf decodes the valid text of a scalar or of a free-form value.
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

// fits returns the error for a value with this first byte, or nil.
func (s *Shape) fits(first byte) *Error {
	if s.takes(first) {
		return nil
	}
	return invalid("want " + s.want() + ", got " + jsonKind(first))
}

// takes reports whether the shape takes a value with this first byte.
func (s *Shape) takes(first byte) bool {
	return firsts[s.Kind][first/64%4]&(1<<(first%64)) != 0
}

// firsts has a bit for each possible first byte of a kind's values.
var firsts = [...][4]uint64{
	KindAny:      {math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64},
	KindBool:     {1: 1<<('t'-64) | 1<<('f'-64)},
	KindInteger:  {0: 1<<'-' | 1023<<'0'},
	KindNumber:   {0: 1<<'-' | 1023<<'0'},
	KindString:   {0: 1 << '"'},
	KindPosition: {0: 1 << '"'},
	KindArray:    {1: 1 << ('[' - 64)},
	KindMap:      {1: 1 << ('{' - 64)},
	KindObject:   {1: 1 << ('{' - 64)},
	KindUnion:    {1: 1 << ('{' - 64)},
	KindChoice:   {math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64},
}

func (s *Shape) decodeInteger(raw []byte, v reflect.Value) *Error {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		// 1.0 and 1e3 are integers as well for JSON Schema and JavaScript.
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

// decodeText decodes a string from its text.
func (s *Shape) decodeText(text []byte, to *slot) *Error {
	if len(s.Values) > 0 {
		return s.decodeValue(text, to)
	}
	if to.last != "" && to.last == string(text) {
		to.setText(to.last)
		return nil
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
	if s.rule != nil {
		to.last = str
	}
	to.setText(str)
	return nil
}

// decodeValue decodes a string of an enumeration. It returns the constant and allocates
// nothing.
func (s *Shape) decodeValue(text []byte, to *slot) *Error {
	for _, value := range s.Values {
		if value == string(text) {
			to.setText(value)
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

func (s *Shape) decodeArray(l *lexer, at int, to *slot) (int, *Error) {
	n := 0
	at, more, err := l.first(at, ']')
	for ; more; n++ {
		if at, err = s.decodeItem(l, at, n, to); err != nil {
			return at, err.at(n)
		}
		at, more, err = l.after(at, ']')
	}
	if err != nil {
		return at, err
	}
	return at, s.checkLen(n, "items")
}

// decodeItem reads the item n of an array.
func (s *Shape) decodeItem(l *lexer, at, n int, to *slot) (int, *Error) {
	if s.Elem.Kind == KindUnion {
		value, end, err := s.Elem.decodeVariant(l, at)
		if err == nil {
			s.Elem.add(to.pointer(), value)
		}
		return end, err
	}
	to.v.Grow(1)
	to.v.SetLen(n + 1)
	return s.Elem.decode(l, at, &slot{v: to.v.Index(n)})
}

func (s *Shape) decodeMap(l *lexer, at int, v reflect.Value) (int, *Error) {
	var keys keySet
	n := 0
	at, more, err := l.first(at, '}')
	for more {
		var key []byte
		if key, at, err = l.key(at); err != nil {
			return at, err
		}
		key = keyText(key)
		if l.rules.strict && !keys.add(key) {
			return at, twice(key)
		}
		if at, err = l.colon(at); err != nil {
			return at, err
		}
		v.Grow(1)
		v.SetLen(n + 1)
		m := v.Index(n)
		if err = s.Key.decodeText(key, &slot{v: m.Field(0)}); err != nil {
			return at, err.in(string(key))
		}
		if s.Elem.Kind != KindAny && l.at(at) == 'n' {
			v.SetLen(n) // like an absent field
			at, err = l.value(at)
		} else {
			at, err = s.Elem.decode(l, at, &slot{v: m.Field(1)})
			n++
		}
		if err != nil {
			return at, err.in(string(key))
		}
		at, more, err = l.after(at, '}')
	}
	return at, err
}

func (s *Shape) decodeObject(l *lexer, at int, v reflect.Value) (int, *Error) {
	at, more, err := l.first(at, '}')
	if err != nil {
		return at, err
	}
	return s.decodeFields(l, at, more, "", v, nil)
}

// decodeFields decodes an object from the key that begins at at. If more is false, there
// are no more keys and at is the end of the object. tag, unless empty, is a key that was
// decoded before. The values go to the slots or, if slots is nil, to the fields of v.
func (s *Shape) decodeFields(l *lexer, at int, more bool, tag string, v reflect.Value, slots []slot) (int, *Error) {
	keys := fieldKeys{shape: s, tag: tag}
	for more {
		i, value, err := keys.read(l, at)
		switch {
		case err != nil:
			return value, err
		case i < 0:
			if at, err = l.value(value); err != nil {
				return at, err
			}
		default:
			f := &s.Fields[i]
			switch {
			case f.Optional && l.at(value) == 'n':
				at, err = l.value(value)
			case slots != nil:
				at, err = f.decode(l, value, &slots[i])
			default:
				at, err = f.decode(l, value, &slot{v: f.get(v)})
			}
			if err != nil {
				return at, err.in(f.Name)
			}
		}
		if at, more, err = l.after(at, '}'); err != nil {
			return at, err
		}
	}
	if missing := s.required &^ keys.seen; missing != 0 {
		return at, invalid("is required").in(s.Fields[bits.TrailingZeros64(missing)].Name)
	}
	return at, nil
}

// fieldKeys tracks the keys of an object that have been read.
type fieldKeys struct {
	shape  *Shape
	seen   uint64  // fields read; no object has more than 64
	next   int     // field after the last one, the most likely next
	tag    string  // a key that was decoded before, or ""
	others *keySet // keys that are not fields, if duplicates are refused
}

// read reads the key at at, and returns its field and the start of its value. The field is
// -1 when the value is to be skipped: unknown fields come from newer versions, and of
// duplicates in our own frames the first counts.
func (k *fieldKeys) read(l *lexer, at int) (field, value int, err *Error) {
	field = k.next
	ok := field < len(k.shape.Fields)
	if ok {
		value, ok = l.has(at, k.shape.Fields[field].head[len(","):])
	}
	if ok {
		value = skipSpace(l.data, value)
	} else if field, value, err = k.find(l, at); err != nil || field < 0 {
		return field, value, err
	}
	if k.seen&(1<<field) != 0 {
		if l.rules.strict {
			err = twice([]byte(k.shape.Fields[field].Name))
		}
		return -1, value, err
	}
	k.seen |= 1 << field
	k.next = field + 1
	return field, value, nil
}

// find does the work of read for a key other than the expected next one.
func (k *fieldKeys) find(l *lexer, at int) (field, value int, err *Error) {
	key, at, err := l.key(at)
	if err != nil {
		return -1, at, err
	}
	key = keyText(key)
	field, ok := k.shape.byName.find(key)
	if !ok && l.rules.strict {
		if k.others == nil {
			k.others = new(keySet)
		}
		if string(key) == k.tag || !k.others.add(key) {
			return -1, at, twice(key)
		}
	}
	value, err = l.colon(at)
	return field, value, err
}

func (f *Field) decode(l *lexer, at int, to *slot) (int, *Error) {
	if f.ptr {
		target := reflect.New(f.Shape.typ)
		end, err := f.Shape.decode(l, at, &slot{v: target.Elem()})
		if err == nil {
			to.v.Set(target)
		}
		return end, err
	}
	end, err := f.Shape.decode(l, at, to)
	if f.keepEmpty && err == nil && to.v.IsNil() {
		to.v.Set(reflect.MakeSlice(to.v.Type(), 0, 0))
	}
	return end, err
}

func (s *Shape) decodeUnion(l *lexer, at int, to *slot) (int, *Error) {
	value, end, err := s.decodeVariant(l, at)
	if err == nil {
		s.assign(to.pointer(), value)
	}
	return end, err
}

// decodeVariant reads the value of a union.
func (s *Shape) decodeVariant(l *lexer, at int) (value any, end int, err *Error) {
	if err := s.fits(l.at(at)); err != nil {
		return nil, at, err
	}
	name, end, err := s.tagAt(l, at)
	if err != nil {
		return nil, at, err
	}
	w := s.variant(name)
	if w == nil {
		return nil, at, invalid("unknown value " + quoteShort(string(name))).in(s.Tag)
	}
	tag, more := "", false
	if end > 0 && w.Name != "" {
		tag = s.Tag // it came first and is not a field
		if err = l.enter(); err == nil {
			at, more, err = l.after(end, '}')
		}
	} else {
		at, more, err = l.first(at, '}')
	}
	if err != nil {
		return nil, at, err
	}
	return w.maker.decode(w.Shape, l, at, more, tag)
}

// tagAt returns the tag of the object that begins at at. If the tag comes first, as the hub
// writes it, end is the end of its value; otherwise end is 0.
func (s *Shape) tagAt(l *lexer, at int) (name []byte, end int, err *Error) {
	first := skipSpace(l.data, at+1)
	if value, ok := l.has(first, s.tagHead); ok && l.at(value) == '"' {
		return l.text(value)
	}
	if _, err := l.value(at); err != nil {
		return nil, 0, err // the text must be valid up to here
	}
	tag := memberOf(l.data, first, s.Tag)
	switch {
	case tag < 0:
		return nil, 0, invalid("is required").in(s.Tag)
	case l.data[tag] != '"':
		return nil, 0, invalid("want a string, got " + jsonKind(l.data[tag])).in(s.Tag)
	}
	name, _ = textAt(l.data, tag)
	return name, 0, nil
}

// variant returns the variant with a name, or else the one that takes all other names, or
// nil.
func (s *Shape) variant(name []byte) *Variant {
	i, ok := s.byTag.find(name)
	if !ok {
		if i = len(s.Variants) - 1; s.Variants[i].Name != "" {
			return nil
		}
	}
	return &s.Variants[i]
}

func (s *Shape) decodeChoice(l *lexer, at int, v reflect.Value) (int, *Error) {
	for i := range s.Fields {
		if f := &s.Fields[i]; f.Shape.takes(l.at(at)) {
			return f.decode(l, at, &slot{v: f.get(v)})
		}
	}
	kinds := make([]string, len(s.Fields))
	for i := range s.Fields {
		kinds[i] = s.Fields[i].Shape.want()
	}
	return at, invalid("want " + strings.Join(kinds, " or ") + ", got " + jsonKind(l.at(at)))
}
