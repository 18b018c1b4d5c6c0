package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// maxSafe is the largest integer up to which float64, and so JavaScript, represents every
// integer exactly.
const maxSafe = 1<<53 - 1

// compiler creates shapes. It caches them, so that a type has one shape and types may be
// recursive.
type compiler struct {
	shapes map[reflect.Type]*Shape
	unions map[reflect.Type]union
}

// union declares the variants of an interface.
type union struct {
	tag         string
	variants    []unionVariant
	assign, add func(target, value any)
}

type unionVariant struct {
	name  string
	typ   reflect.Type
	maker *maker
}

// unionOf declares the variants of I.
func unionOf[I any](tag string, variants ...unionVariant) union {
	//nolint:forcetypeassert // only called with a pointer to I or []I and a variant of I
	return union{
		tag, variants,
		func(target, value any) { *target.(*I) = value.(I) },
		func(target, value any) { list := target.(*[]I); *list = append(*list, value.(I)) },
	}
}

// variant declares that T is the form of a union whose tag has the value name.
func variant[T any](name string) unionVariant {
	return unionVariant{name, reflect.TypeFor[T](), makerOf[T]()}
}

func newCompiler() *compiler {
	return &compiler{shapes: map[reflect.Type]*Shape{}, unions: map[reflect.Type]union{
		reflect.TypeFor[Action]():          actionUnion(),
		reflect.TypeFor[Component]():       componentUnion(),
		reflect.TypeFor[Content]():         contentUnion(),
		reflect.TypeFor[UpdateOperation](): updateUnion(),
		reflect.TypeFor[AppRequest]():      appRequestUnion(),
		reflect.TypeFor[AppResponse]():     appResponseUnion(),
		reflect.TypeFor[HITLRequest]():     hitlUnion(),
	}}
}

// shape returns the shape of a type. It panics if the type cannot have one, which is a
// mistake in the program.
func (c *compiler) shape(t reflect.Type) *Shape {
	if s, ok := c.shapes[t]; ok {
		return s
	}
	s := &Shape{typ: t, Min: math.Inf(-1), Max: math.Inf(1)}
	if name := t.Name(); t.PkgPath() != "" && !strings.Contains(name, "[") {
		s.Name = name
	}
	c.shapes[t] = s
	c.fill(s, t)
	return s
}

func (c *compiler) fill(s *Shape, t reflect.Type) {
	zero := reflect.Zero(t)
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		s.Kind, s.Name = KindAny, ""
		return
	case reflect.TypeFor[Position]():
		s.Kind, s.Pattern = KindPosition, positionPattern
		return
	}
	switch t.Kind() {
	case reflect.Bool:
		s.Kind = KindBool
	case reflect.Int, reflect.Int64:
		s.Kind, s.Min, s.Max = KindInteger, -maxSafe, maxSafe
	case reflect.Uint64:
		s.Kind, s.Min, s.Max = KindInteger, 0, maxSafe
	case reflect.Float64:
		s.Kind = KindNumber
	case reflect.String:
		s.Kind = KindString
		if r, ok := reflect.TypeAssert[hasRule](zero); ok {
			rule := r.rule()
			s.rule, s.Pattern = &rule, rule.pattern()
		}
		if v, ok := reflect.TypeAssert[hasValues](zero); ok {
			s.Values = v.values()
		}
	case reflect.Slice:
		if _, ok := reflect.TypeAssert[hasFreeKeys](zero); ok {
			member := t.Elem()
			s.Kind, s.Key, s.Elem = KindMap, c.shape(member.Field(0).Type), c.shape(member.Field(1).Type)
			return
		}
		s.Kind, s.Elem = KindArray, c.shape(t.Elem())
	case reflect.Struct:
		s.Kind = KindObject
		if _, ok := reflect.TypeAssert[hasChoice](zero); ok {
			s.Kind = KindChoice
		}
		c.fields(s, t, nil)
		names := make([]string, len(s.Fields))
		for i, f := range s.Fields {
			names[i] = f.Name
			if !f.Optional {
				s.required |= 1 << i
			}
		}
		s.byName = namesOf(names)
	case reflect.Interface:
		c.union(s, t)
	default:
		panic(fmt.Sprintf("wire: %v has no JSON form", t))
	}
}

func (c *compiler) union(s *Shape, t reflect.Type) {
	u, ok := c.unions[t]
	if !ok {
		panic(fmt.Sprintf("wire: %v has no variants", t))
	}
	s.Kind, s.assign, s.add = KindUnion, u.assign, u.add
	s.byType = make(map[reflect.Type]int, len(u.variants))
	for i, v := range u.variants {
		head := "{"
		if v.name != "" {
			head = `{"` + u.tag + `":"` + v.name + `"` // our own names need no escapes
		}
		s.Variants = append(s.Variants, Variant{Name: v.name, Shape: c.shape(v.typ), head: head, maker: v.maker})
		s.byType[v.typ] = i
	}
	s.nameVariants(u.tag)
}

// nameVariants sets the tag of a union and indexes its variants by name.
func (s *Shape) nameVariants(tag string) {
	s.Tag, s.tagHead = tag, `"`+tag+`":`
	names := make([]string, len(s.Variants))
	for i := range s.Variants {
		names[i] = s.Variants[i].Name
	}
	s.byTag = namesOf(names)
}

// fields adds the fields of t, those of embedded structs in their place.
func (c *compiler) fields(s *Shape, t reflect.Type, index []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(append([]int(nil), index...), i)
		if f.Anonymous {
			c.fields(s, f.Type, at)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if s.Kind == KindChoice {
			name = f.Name
		}
		if name == "" {
			panic(fmt.Sprintf("wire: %v.%s has no JSON name", t, f.Name))
		}
		ft, ptr := f.Type, f.Type.Kind() == reflect.Pointer
		if ptr {
			ft = ft.Elem()
		}
		s.Fields = append(s.Fields, Field{
			Name: name, Optional: options != "", Shape: bounded(c.shape(ft), f.Tag.Get("wire")), NullIn: f.Tag.Get("null"),
			Source: t.Name() + "." + f.Name, head: `,"` + name + `":`, index: at, ptr: ptr,
			keepEmpty: options == "omitzero" && ft.Kind() == reflect.Slice,
		})
	}
}

// bounded applies a `wire:"min=0,max=100"` tag. Of numbers it bounds the value,
// of strings the characters, of arrays the items.
func bounded(s *Shape, tag string) *Shape {
	if tag == "" {
		return s
	}
	b := *s
	b.Name = "" // bounds belong to the field, not to the type
	for rule := range strings.SplitSeq(tag, ",") {
		key, value, _ := strings.Cut(rule, "=")
		n, err := strconv.Atoi(value)
		if err != nil {
			panic(fmt.Sprintf("wire: tag %q", tag))
		}
		switch number := s.Kind == KindInteger || s.Kind == KindNumber; {
		case key == "min" && number:
			b.Min = float64(n)
		case key == "max" && number:
			b.Max = float64(n)
		case key == "min":
			b.MinLen = n
		case key == "max":
			b.MaxLen = n
		default:
			panic(fmt.Sprintf("wire: tag %q", tag))
		}
	}
	return &b
}
