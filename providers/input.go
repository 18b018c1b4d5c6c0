package providers

import (
	"bytes"
	"encoding/json"
)

// invalidJSONKey is the only key of the object that replaces an input which is no JSON object,
// so that the model can be shown what it wrote.
const invalidJSONKey = "invalid_json"

// WholeInput returns the input of a tool as a JSON object, whatever the model wrote.
func WholeInput(input json.RawMessage) json.RawMessage {
	if isObject(input) {
		return input
	}
	if len(bytes.TrimSpace(input)) == 0 {
		return json.RawMessage("{}")
	}
	object, err := json.Marshal(map[string]string{invalidJSONKey: string(input)})
	if err != nil {
		return json.RawMessage("{}")
	}
	return object
}

// BrokenInput reports whether [WholeInput] had to replace an input.
func BrokenInput(input json.RawMessage) bool {
	var o map[string]json.RawMessage
	if json.Unmarshal(input, &o) != nil || o == nil {
		return true
	}
	_, found := o[invalidJSONKey]
	return found && len(o) == 1
}

// isObject reports whether an input is a JSON object.
func isObject(input json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(input, " \t\r\n"), []byte("{")) && json.Valid(input)
}
