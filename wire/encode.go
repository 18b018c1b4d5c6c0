package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"sync"
)

// scratch is the buffer in which frames are written until their length is known. A frame
// may stay in memory for long, so it gets a buffer of exactly its size; computing the size
// first would take as long as writing.
type scratch struct {
	buf   []byte
	first [4 << 10]byte // enough for most frames
}

// maxScratch is the largest buffer that is reused.
const maxScratch = 1 << 20

var scratches = sync.Pool{New: func() any {
	s := new(scratch)
	s.buf = s.first[:0]
	return s
}}

// fitted returns the output of write in memory of exactly its size.
func fitted(write func(dst []byte) []byte) []byte {
	s := scratches.Get().(*scratch) //nolint:forcetypeassert // New makes no others
	text := write(s.buf[:0])
	if cap(text) <= maxScratch {
		s.buf = text
	}
	out := bytes.Clone(text)
	scratches.Put(s)
	return out
}

// append adds v as JSON.
func (s *Shape) append(dst []byte, v reflect.Value) []byte {
	switch s.Kind {
	case KindAny:
		return appendRaw(dst, v.Bytes())
	case KindBool:
		return strconv.AppendBool(dst, v.Bool())
	case KindInteger:
		if v.CanUint() {
			return strconv.AppendUint(dst, v.Uint(), 10)
		}
		return strconv.AppendInt(dst, v.Int(), 10)
	case KindNumber:
		return appendNumber(dst, v.Float())
	case KindString:
		return appendString(dst, v.String())
	case KindPosition:
		dst = append(dst, '"')
		dst = Position{Epoch: v.Field(0).Uint(), Seq: v.Field(1).Uint()}.Append(dst)
		return append(dst, '"')
	case KindArray:
		dst = append(dst, '[')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = s.Elem.append(dst, v.Index(i))
		}
		return append(dst, ']')
	case KindMap:
		return s.appendMap(dst, v)
	case KindObject:
		return append(s.appendFields(append(dst, '{'), v), '}')
	case KindUnion:
		return s.appendVariant(dst, v.Elem())
	default:
		f, fv := s.chosen(v)
		return f.Shape.append(dst, fv)
	}
}

func (s *Shape) appendMap(dst []byte, v reflect.Value) []byte {
	dst = append(dst, '{')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		m := v.Index(i)
		dst = appendString(dst, m.Field(0).String())
		dst = append(dst, ':')
		dst = s.Elem.append(dst, m.Field(1))
	}
	return append(dst, '}')
}

// appendFields adds the fields of an object after '{' or after other fields.
func (s *Shape) appendFields(dst []byte, v reflect.Value) []byte {
	for i := range s.Fields {
		f := &s.Fields[i]
		fv, ok := f.present(v)
		if !ok && !s.writesNull(f, v) {
			continue
		}
		head := f.head
		if dst[len(dst)-1] == '{' {
			head = head[1:]
		}
		dst = append(dst, head...)
		if !ok {
			dst = append(dst, "null"...)
			continue
		}
		dst = f.Shape.append(dst, fv)
	}
	return dst
}

// writesNull reports whether an empty field of v is written as null.
func (s *Shape) writesNull(f *Field, v reflect.Value) bool {
	return f.NullIn != "" && s.Fields[0].get(v).String() == f.NullIn
}

// appendVariant appends the value of an interface.
func (s *Shape) appendVariant(dst []byte, v reflect.Value) []byte {
	w, v := s.variantOf(v)
	if w == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, w.head...)
	return append(w.Shape.appendFields(dst, v), '}')
}

// variantOf returns the variant that an interface holds and its value, or nil for a nil
// interface. A pointer to a variant counts as the variant. It panics for other types, which
// have no encoding.
func (s *Shape) variantOf(v reflect.Value) (*Variant, reflect.Value) {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil, v
	}
	i, ok := s.byType[v.Type()]
	if !ok {
		panic(fmt.Sprintf("wire: %v is no variant of %s", v.Type(), s.Name))
	}
	return &s.Variants[i], v
}

// chosen returns the alternative that is set, or else the first.
func (s *Shape) chosen(v reflect.Value) (*Field, reflect.Value) {
	for i := range s.Fields {
		if f := &s.Fields[i]; !f.get(v).IsZero() {
			return f, f.follow(f.get(v))
		}
	}
	f := &s.Fields[0]
	return f, f.follow(f.get(v))
}

// present returns a field's value and whether it is to be written. Required
// fields always are; a nil pointer counts as the zero value.
func (f *Field) present(v reflect.Value) (reflect.Value, bool) {
	fv := f.get(v)
	if f.Optional {
		var absent bool
		switch kind := fv.Kind(); {
		case f.Shape.Kind == KindAny: // null is decoded as absent
			absent = fv.Len() == 0 || string(fv.Bytes()) == "null"
		case kind == reflect.String || kind == reflect.Slice && !f.keepEmpty:
			absent = fv.Len() == 0
		default:
			absent = fv.IsZero()
		}
		if absent {
			return fv, false
		}
	}
	return f.follow(fv), true
}

func (f *Field) follow(v reflect.Value) reflect.Value {
	switch {
	case !f.ptr:
		return v
	case v.IsNil():
		return reflect.Zero(f.Shape.typ)
	default:
		return v.Elem()
	}
}
