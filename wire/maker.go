package wire

import (
	"reflect"
	"sync"
)

// maker makes values of one type for interfaces. What is decoded has to be
// somewhere that reflection can write to, and an interface holds a copy of that;
// so the place is used again, which saves an allocation for each value.
type maker struct {
	places sync.Pool
	// take returns what is in a place and empties it.
	take func(place any) any
}

func makerOf[T any]() *maker {
	return &maker{
		places: sync.Pool{New: func() any { return new(T) }},
		take: func(place any) any {
			p := place.(*T) //nolint:forcetypeassert // New makes no others
			value := *p
			*p = *new(T)
			return value
		},
	}
}

// decode makes a value of a shape, which is that of the maker's type, from the
// fields at at.
func (m *maker) decode(s *Shape, data []byte, at int) (value any, end int, err *Error) {
	place := m.places.Get()
	if end, err = s.decodeFields(data, at, reflect.ValueOf(place).Elem()); err != nil {
		return nil, end, err // what is half done is not used again
	}
	value = m.take(place)
	m.places.Put(place)
	return value, end, nil
}
