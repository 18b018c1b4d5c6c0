package wire

import (
	"fmt"
	"reflect"
	"strconv"
)

// size is at least what append adds for v.
func (s *Shape) size(v reflect.Value) int {
	switch s.Kind {
	case KindAny:
		return max(v.Len(), len("null"))
	case KindBool:
		return len("false")
	case KindInteger:
		if v.CanUint() {
			return sizeInt(int64(v.Uint()>>1)) + 1
		}
		return sizeInt(v.Int())
	case KindNumber:
		return sizeNumber(v.Float())
	case KindString:
		return sizeString(v.String())
	case KindPosition:
		return maxPosition + 2
	case KindArray:
		n := 2
		for i := range v.Len() {
			n += s.Elem.size(v.Index(i)) + 1
		}
		return n
	case KindMap:
		n := 2
		for i := range v.Len() {
			m := v.Index(i)
			n += sizeString(m.Field(0).String()) + s.Elem.size(m.Field(1)) + 2
		}
		return n
	case KindObject:
		return 2 + s.sizeFields(v)
	case KindUnion:
		return s.sizeUnion(v)
	default:
		f, fv := s.chosen(v)
		return f.Shape.size(fv)
	}
}

func (s *Shape) sizeFields(v reflect.Value) int {
	n := 0
	for i := range s.Fields {
		f := &s.Fields[i]
		if fv, ok := f.present(v); ok {
			n += len(f.Name) + len(`"":,`) + f.Shape.size(fv)
		}
	}
	return n
}

func (s *Shape) sizeUnion(v reflect.Value) int {
	w, v := s.variantOf(v)
	if w == nil {
		return len("null")
	}
	return len(s.Tag) + len(w.Name) + len(`{"":"",}`) + w.Shape.sizeFields(v)
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
		return s.appendUnion(dst, v)
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
		if !ok {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, f.Name...) // our own names need no escapes
		dst = append(dst, '"', ':')
		dst = f.Shape.append(dst, fv)
	}
	return dst
}

func (s *Shape) appendUnion(dst []byte, v reflect.Value) []byte {
	w, v := s.variantOf(v)
	if w == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	if w.Name != "" {
		dst = append(dst, '"')
		dst = append(dst, s.Tag...)
		dst = append(dst, '"', ':', '"')
		dst = append(dst, w.Name...)
		dst = append(dst, '"')
	}
	return append(w.Shape.appendFields(dst, v), '}')
}

// variantOf returns what an interface holds and which variant that is, or nil
// when it holds nothing. A pointer to a variant is as good as the variant. It
// panics for anything else: a type of somebody else that only looks like one of
// ours has no form.
func (s *Shape) variantOf(v reflect.Value) (*Variant, reflect.Value) {
	for v = v.Elem(); v.Kind() == reflect.Pointer; {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil, v
	}
	t := v.Type()
	for i := range s.Variants {
		if s.Variants[i].Shape.typ == t {
			return &s.Variants[i], v
		}
	}
	panic(fmt.Sprintf("wire: %v is no variant of %s", t, s.Name))
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
		absent := fv.IsZero()
		if fv.Kind() == reflect.Slice && !f.keepEmpty {
			absent = fv.Len() == 0
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
