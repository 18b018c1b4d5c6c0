package contextpool

import (
	"bytes"
	"encoding/json"
	"slices"
)

// inputDepth bounds the nesting of objects and lists in a shortened input.
const inputDepth = 6

// rowInput returns the input of a call as JSON of at most room bytes, or nil if the input is
// empty. A long object keeps all of its fields and only their values are truncated, so that a
// long text does not hide the path after it. Invalid JSON and objects that do not fit become a
// string with the beginning of the input.
func rowInput(input []byte, room int) json.RawMessage {
	text := sanitize(string(input))
	if text == "" || text == "null" || text == "{}" {
		return nil
	}
	var compact bytes.Buffer
	if json.Compact(&compact, []byte(text)) != nil {
		return truncateJSONText(text, room)
	}
	if out := truncateValue(compact.Bytes(), room, inputDepth); len(out) <= room {
		return out
	}
	return truncateJSONText(compact.String(), room)
}

// truncateValue returns a compact JSON value of about room bytes, which the names of an
// object's fields may exceed.
func truncateValue(value []byte, room, depth int) json.RawMessage {
	switch {
	case len(value) <= room:
		return value
	case value[0] == '"':
		var text string
		if json.Unmarshal(value, &text) == nil {
			return truncateJSONText(text, room)
		}
	case value[0] == '{' && depth > 0:
		return truncateObject(value, room, depth-1)
	case value[0] == '[' && depth > 0:
		return truncateJSONList(value, room, depth-1)
	}
	return truncateJSONText(string(value), room)
}

// truncateJSONText returns the beginning of a text as a JSON string of at most room bytes,
// provided room suffices for truncationMark.
func truncateJSONText(text string, room int) json.RawMessage {
	out := encode(sanitize(text))
	if len(out) <= room {
		return out
	}
	for limit := max(room-len(`""`), len(truncationMark)); ; {
		if out = encode(truncate(text, limit)); len(out) <= room || limit == len(truncationMark) {
			return out
		}
		// Assume that escapes take the same share of a shorter text.
		limit = max(min(limit*room/len(out), limit-1), len(truncationMark))
	}
}

// truncateObject truncates the longest values of an object until all fields fit.
func truncateObject(object []byte, room, depth int) json.RawMessage {
	type field struct{ name, value json.RawMessage }
	var fields []field
	d := json.NewDecoder(bytes.NewReader(object))
	left := room - len("{}")
	_, err := d.Token()
	for err == nil && d.More() {
		var f field
		var name json.Token
		if name, err = d.Token(); err != nil {
			break
		}
		f.name = encode(name)
		err = d.Decode(&f.value)
		fields = append(fields, f)
		left -= len(f.name) + len(":,")
	}
	if err != nil {
		return truncateJSONText(string(object), room)
	}
	shortest := make([]*field, len(fields))
	for i := range fields {
		shortest[i] = &fields[i]
	}
	slices.SortStableFunc(shortest, func(a, b *field) int { return len(a.value) - len(b.value) })
	for i, f := range shortest {
		f.value = truncateValue(f.value, left/(len(shortest)-i), depth)
		left -= len(f.value)
	}
	out := []byte{'{'}
	for _, f := range fields {
		out = append(append(append(append(out, f.name...), ':'), f.value...), ',')
	}
	out[len(out)-1] = '}'
	return out
}

// truncateJSONList keeps the first items of a list that fit and adds truncationMark.
func truncateJSONList(list []byte, room, depth int) json.RawMessage {
	var items []json.RawMessage
	if json.Unmarshal(list, &items) != nil {
		return truncateJSONText(string(list), room)
	}
	mark := encode(truncationMark)
	left := room - len("[]") - len(mark)
	out := []byte{'['}
	for _, item := range items {
		if item = truncateValue(item, left-len(","), depth); len(item)+len(",") > left {
			break
		}
		left -= len(item) + len(",")
		out = append(append(out, item...), ',')
	}
	return append(append(out, mark...), ']')
}
