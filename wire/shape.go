package wire

import "reflect"

// Kind is the kind of JSON values that a [Shape] accepts.
type Kind uint8

// The kinds of shapes.
const (
	KindAny      Kind = iota + 1 // any value: json.RawMessage
	KindBool                     // true or false
	KindInteger                  // a number without a fraction
	KindNumber                   // a finite number
	KindString                   // a string
	KindPosition                 // a string: Position
	KindArray                    // an array: a slice
	KindMap                      // an object whose keys are data: Object
	KindObject                   // an object with known keys: a struct
	KindUnion                    // an object with a key that selects the variant: an interface
	KindChoice                   // one of several kinds of values: a struct with a choice method
)

// Shape is the JSON form of a Go type and the rules for it. It is compiled from the fields
// and tags of the type, once for the catalog and once for each [FormatOf]; the encoder, the
// decoder, the JSON Schema, the TypeScript types and the reference page all use it, so they
// agree.
type Shape struct {
	Kind Kind
	// Name is the name of the Go type, or empty when it has none of its own.
	Name string
	// Fields are those of an object or the alternatives of a choice.
	Fields []Field
	// Elem is the shape of an array's items or a map's values, Key that of a map's keys.
	Elem, Key *Shape
	// Values, unless empty, are the only strings allowed.
	Values []string
	// Pattern, unless empty, is a regular expression for strings.
	Pattern string
	// Min and Max bound numbers; without a bound they are infinite.
	Min, Max float64
	// MinLen and MaxLen bound the characters of a string or the items of an
	// array; 0 is no bound.
	MinLen, MaxLen int
	// Tag is the key that selects the variant of a union.
	Tag      string
	Variants []Variant

	typ    reflect.Type
	rule   *idRule
	byName names                // the fields
	byTag  names                // the variants
	byType map[reflect.Type]int // the variants
	// tagHead is the quoted tag and a colon.
	tagHead string
	// required has a bit for each field that is not optional.
	required uint64
	// assign sets the interface that target points to; add appends to a list of them.
	assign, add func(target, value any)
}

// Field is one key of an object, or one alternative of a choice.
type Field struct {
	Name string
	// Optional fields may be left out, or be null, which means the same.
	Optional bool
	Shape    *Shape
	// NullIn, unless empty, is a value of the object's first field. An object with that
	// value has this field as null when it is empty, instead of leaving it out.
	NullIn string
	// Source is the Go type and field, as in Type.Field, whose comment describes it.
	Source string

	head  string // a comma, the quoted name and a colon
	index []int
	ptr   bool
	// keepEmpty is set if an empty list differs from an absent one.
	keepEmpty bool
}

// KeepsZero reports whether an empty value of the field, if it is optional or an
// alternative of a choice, differs from an absent one, so that it is written.
func (f *Field) KeepsZero() bool { return f.ptr || f.keepEmpty }

// Variant is one form of a union.
type Variant struct {
	// Name is the value of the union's tag, or empty for the variant that
	// takes every value no other variant has; it has the tag as a field.
	Name  string
	Shape *Shape

	head  string // the beginning of its object, with the tag unless Name is empty
	maker *maker
}

// Object is a JSON object whose keys are data. It is a list and not a map so
// that its order is kept and encoding it allocates nothing.
type Object[K ~string, V any] []Member[K, V]

// Member is one key of an [Object] and its value.
type Member[K ~string, V any] struct {
	Key   K
	Value V
}

// Get returns the value at key.
func (o Object[K, V]) Get(key K) (V, bool) {
	for i := range o {
		if o[i].Key == key {
			return o[i].Value, true
		}
	}
	var none V
	return none, false
}

// Set sets the value of key, in place if it is there, and returns the object as append
// does.
func (o Object[K, V]) Set(key K, value V) Object[K, V] {
	for i := range o {
		if o[i].Key == key {
			o[i].Value = value
			return o
		}
	}
	return append(o, Member[K, V]{key, value})
}

func (Object[K, V]) freeKeys() {}

// The methods by which a type determines its shape.
type (
	hasRule     interface{ rule() idRule }
	hasValues   interface{ values() []string }
	hasChoice   interface{ choice() }
	hasFreeKeys interface{ freeKeys() }
)

// list is the body of values methods.
func list[S ~string](values ...S) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// get returns a field of v. Embedded structs are never behind a pointer.
func (f *Field) get(v reflect.Value) reflect.Value {
	for _, i := range f.index {
		v = v.Field(i)
	}
	return v
}
