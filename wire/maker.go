package wire

import (
	"reflect"
	"sync"
)

// maker creates values of one type for interfaces. A value is decoded into an addressable
// place, and the interface holds a copy of it; the place is reused, which saves an
// allocation per value.
type maker struct {
	places sync.Pool
	// take returns the value in a place and resets the place.
	take func(place any) any
}

func makerOf[T any]() *maker {
	return &maker{
		places: sync.Pool{New: func() any { return &place{value: new(T)} }},
		take: func(value any) any {
			p := value.(*T) //nolint:forcetypeassert // New makes no others
			taken := *p
			*p = *new(T)
			return taken
		},
	}
}

// place is the memory in which a value is built.
type place struct {
	value any // a pointer to the value
	slots []slot
}

// slot is the destination of one value, such as a field of a struct. In a place, which is
// prepared once, it also has typed pointers that avoid reflection.
type slot struct {
	v reflect.Value
	// text is set for strings, target for interfaces and lists of them.
	text   *string
	target any
	// last is the previous id in this slot, which is often the next one as well and then
	// needs neither a check nor memory.
	last string
}

// prepare makes the slots of an object.
func (p *place) prepare(s *Shape) {
	v := reflect.ValueOf(p.value).Elem()
	p.slots = make([]slot, len(s.Fields))
	for i := range s.Fields {
		f, to := &s.Fields[i], &p.slots[i]
		to.v = f.get(v)
		switch {
		case f.ptr:
		case f.Shape.Kind == KindString:
			to.text, _ = reflect.TypeAssert[*string](to.v.Addr().Convert(reflect.TypeFor[*string]()))
		case f.Shape.Kind == KindUnion, f.Shape.Kind == KindArray && f.Shape.Elem.Kind == KindUnion:
			to.target = to.v.Addr().Interface()
		}
	}
}

func (to *slot) setText(text string) {
	if to.text != nil {
		*to.text = text
		return
	}
	to.v.SetString(text)
}

// pointer returns a pointer to the value.
func (to *slot) pointer() any {
	if to.target != nil {
		return to.target
	}
	return to.v.Addr().Interface()
}

// decode decodes a value of the maker's type, whose shape is s. The other arguments are
// those of decodeFields.
func (m *maker) decode(s *Shape, l *lexer, at int, more bool, tag string) (value any, end int, err *Error) {
	p := m.places.Get().(*place) //nolint:forcetypeassert // New makes no others
	if p.slots == nil {
		p.prepare(s)
	}
	end, err = s.decodeFields(l, at, more, tag, reflect.Value{}, p.slots)
	value = m.take(p.value)
	m.places.Put(p)
	if err != nil {
		return nil, end, err
	}
	return value, end, nil
}
