package openapi

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// outputSchema returns the schema of a type that is only sent, never decoded. Types of package wire
// become references to its definitions. Others get a definition with the prefix Admin, because both
// have types of the same name.
func (d *describer) outputSchema(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Pointer:
		return d.outputSchema(t.Elem())
	case reflect.Slice:
		if t == reflect.TypeFor[json.RawMessage]() { // a frame, perhaps redacted
			return object{"type": "object"}
		}
		return object{"type": "array", "items": d.outputSchema(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.outputSchema(t.Elem())}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Struct, reflect.String:
		if _, known := d.wire[t.Name()]; known && t.PkgPath() == reflect.TypeFor[wire.Event]().PkgPath() {
			return d.reference(t.Name())
		}
		if t.Kind() == reflect.Struct {
			return d.outputFields(t)
		}
		return object{"type": "string"}
	default:
		return object{"type": "integer"}
	}
}

func (d *describer) outputFields(t reflect.Type) object {
	name := "Admin" + strings.TrimPrefix(strings.ToUpper(t.Name()[:1])+t.Name()[1:], "Admin")
	if _, there := d.schemas[name]; !there {
		d.schemas[name] = object{} // types may be recursive
		properties, required := object{}, []string{}
		for f := range t.Fields() {
			field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			property := d.outputSchema(f.Type)
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
