package wire

import "reflect"

// Format encodes and decodes values of type T by the rules of this package, for values that
// are not whole frames: a list of actions in a request, a window in a table. T may consist
// of this package's types, strings, numbers, booleans, slices, structs with json tags and
// json.RawMessage.
type Format[T any] struct{ shape *Shape }

// FormatOf returns the format of T. It is expensive, so call it once per type. It panics if
// T has no JSON form.
func FormatOf[T any]() Format[T] {
	return Format[T]{newCompiler().shape(reflect.TypeFor[T]())}
}

// Append appends v as JSON on one line, with the guarantees of [AppendEvent].
func (f Format[T]) Append(dst []byte, v *T) []byte {
	if dst == nil {
		return fitted(func(dst []byte) []byte { return f.Append(dst, v) })
	}
	return f.shape.append(dst, reflect.ValueOf(v).Elem())
}

// Decode decodes JSON as strictly as a client's frame. The error is an [*Error].
func (f Format[T]) Decode(data []byte) (T, error) {
	return f.read(data, clientText)
}

// Shape returns the form of T.
func (f Format[T]) Shape() *Shape { return f.shape }

// DecodeOwn decodes the output of Append. It follows the looser rules for the hub's events:
// free-form values may have duplicate keys, and the text may be nested deeper than a
// client's.
func (f Format[T]) DecodeOwn(data []byte) (T, error) {
	return f.read(data, hubText)
}

func (f Format[T]) read(data []byte, rules textRules) (T, error) {
	var v, none T
	l := lexer{data: data, rules: clientText}
	if end, err := f.shape.decode(&l, skipSpace(data, 0), &slot{v: reflect.ValueOf(&v).Elem()}); err == nil && l.ends(end) {
		return v, nil
	}
	v = none
	if err := checkText(data, rules); err != nil {
		return none, err
	}
	l = lexer{data: data, rules: checkedText}
	if _, err := f.shape.decode(&l, skipSpace(data, 0), &slot{v: reflect.ValueOf(&v).Elem()}); err != nil {
		return none, err
	}
	return v, nil
}
