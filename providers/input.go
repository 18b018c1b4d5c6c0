package providers

import (
	"bytes"
	"encoding/json"
)

// broken is the only key of an input that the model did not write as a JSON
// object. It is kept as one, so that the model can be shown what it wrote.
const broken = "invalid_json"

// WholeInput makes a JSON object of a tool's input, whatever the model wrote.
func WholeInput(input json.RawMessage) json.RawMessage {
	if isObject(input) {
		return input
	}
	if len(bytes.TrimSpace(input)) == 0 {
		return json.RawMessage("{}")
	}
	object, err := json.Marshal(map[string]string{broken: string(input)})
	if err != nil {
		return json.RawMessage("{}")
	}
	return object
}

// BrokenInput reports whether [WholeInput] had to make an object of an input.
func BrokenInput(input json.RawMessage) bool {
	var o map[string]json.RawMessage
	if json.Unmarshal(input, &o) != nil || o == nil {
		return true
	}
	_, found := o[broken]
	return found && len(o) == 1
}

// isObject reports whether an input is a JSON object.
func isObject(input json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimLeft(input, " \t\r\n"), []byte("{")) && json.Valid(input)
}
