package settings

import "encoding/json"

// Schema returns the JSON Schema (2020-12) of an object with values of settings by name, without
// secrets.
func Schema(catalogue []Setting) json.RawMessage {
	properties := map[string]json.RawMessage{}
	for _, s := range catalogue {
		if !s.Secret {
			properties[s.Name] = s.Schema()
		}
	}
	return encode(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Settings", "type": "object",
		"properties": properties, "additionalProperties": false,
	})
}

// Schema returns the JSON Schema of the values of a setting.
func (s Setting) Schema() json.RawMessage {
	m := map[string]any{"description": s.Doc, "default": json.RawMessage(s.Default)}
	switch s.Type {
	case TypeBool:
		m["type"] = "boolean"
	case TypeInt, TypeNumber:
		m["type"], m["minimum"], m["maximum"] = string(s.Type), s.Min, s.Max
	case TypeText:
		m["type"], m["maxLength"] = "string", s.Max
		if s.Min > 0 {
			m["minLength"] = s.Min
		}
	case TypeChoice:
		m["type"], m["enum"] = "string", s.Choices
	case TypeList:
		m["type"], m["minItems"], m["maxItems"] = "array", s.Min, s.Max
		m["items"] = map[string]any{"type": "string", "minLength": 1, "maxLength": maxItemRunes}
	}
	if s.Secret {
		m["writeOnly"] = true
		delete(m, "default")
	}
	return encode(m)
}
