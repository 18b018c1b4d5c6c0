package gateway

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// shown is the schema of a type that is only shown, never read: what of it is the
// wire's is a reference to that, and the others get a definition with a name of their
// own, since both have things of the same name.
func (d *describer) shown(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Pointer:
		return d.shown(t.Elem())
	case reflect.Slice:
		if t == reflect.TypeFor[json.RawMessage]() { // a frame, perhaps without its texts
			return object{"type": "object"}
		}
		return object{"type": "array", "items": d.shown(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.shown(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Struct, reflect.String:
		if _, known := d.wire[t.Name()]; known && t.PkgPath() == reflect.TypeFor[wire.Event]().PkgPath() {
			return d.reference(t.Name())
		}
		if t.Kind() == reflect.Struct {
			return d.shownFields(t)
		}
		return object{"type": "string"}
	default:
		return object{"type": "integer"}
	}
}

func (d *describer) shownFields(t reflect.Type) object {
	name := "Admin" + strings.TrimPrefix(strings.ToUpper(t.Name()[:1])+t.Name()[1:], "Admin")
	if _, there := d.schemas[name]; !there {
		d.schemas[name] = object{} // types may contain themselves
		properties, required := object{}, []string{}
		for f := range t.Fields() {
			field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			property := d.shown(f.Type)
			if doc := f.Tag.Get("doc"); doc != "" {
				property["description"] = doc
			}
			properties[field] = property
			if options == "" {
				required = append(required, field)
			}
		}
		d.schemas[name] = object{"type": "object", "properties": properties, "required": required}
	}
	return object{"$ref": "#/components/schemas/" + name}
}
