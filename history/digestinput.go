package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// How much a digest has of what goes into tools and comes out, in characters.
const (
	maxInput  = 300
	maxOutput = 500
	maxName   = 200
	// maxParts is how many fields or items an input has at most, at each of
	// maxDepth levels.
	maxParts = 32
	maxDepth = 6
)

// inputFields are the fields that tell enough of a tool's input. The tools of
// other programs have names with capitals.
var inputFields = map[string][]string{
	"read": {"file_path", "path"}, "edit": {"file_path", "path"}, "multiedit": {"file_path", "path"},
	"write": {"file_path", "path"}, "notebookedit": {"notebook_path", "file_path"},
	"bash": {"description", "command"}, "glob": {"pattern", "path"}, "grep": {"pattern", "path"},
	"storage_read": {"path"}, "storage_write": {"path"}, "storage_delete": {"path"}, "storage_list": {"path"},
}

func noInput() json.RawMessage { return json.RawMessage("{}") }

// inputOf is an object with what matters of an input. It stays readable when only
// the beginning of the input was kept, as a text.
func inputOf(tool string, input json.RawMessage) json.RawMessage {
	var v any
	if len(input) > 0 && json.Unmarshal(input, &v) != nil {
		return noInput()
	}
	if text, is := v.(string); is {
		if v = beginningOf(text); v == nil {
			v = map[string]any{"text": text}
		}
	}
	var fields map[string]any
	switch v := v.(type) {
	case nil:
		return noInput()
	case map[string]any:
		fields = v
	default:
		fields = map[string]any{"value": v}
	}
	if wanted, ok := inputFields[strings.ToLower(tool)]; ok {
		some := map[string]any{}
		for _, name := range wanted {
			if value, there := fields[name]; there {
				some[name] = value
			}
		}
		if command, is := some["command"].(string); is {
			some["command"], _, _ = strings.Cut(strings.TrimLeft(command, "\r\n"), "\n")
		}
		fields = some
	}
	out, err := json.Marshal(brief(fields, 0))
	if err != nil {
		return noInput() // what was read can be written
	}
	return out
}

// beginningOf are the fields at the beginning of an object of which the end is
// missing; nil if it is no object. The last one is a text that begins as its value.
func beginningOf(text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	fields := map[string]any{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		key, is := name.(string)
		if !is {
			break
		}
		from := d.InputOffset()
		var v any
		if d.Decode(&v) != nil {
			if rest := beginningOfValue(text[from:]); rest != "" {
				fields[key] = rest
			}
			break
		}
		fields[key] = v
	}
	if len(fields) == 0 {
		return nil
	}
	return fields
}

// beginningOfValue is the beginning of a value of which the end is missing, after
// the colon: of a text what it says, of anything else its JSON.
func beginningOfValue(text string) string {
	text = strings.TrimPrefix(strings.TrimSpace(strings.TrimSuffix(text, cutMark)), ":")
	text = strings.TrimLeft(text, " \t\r\n")
	if text == "" {
		return ""
	}
	if text[0] == '"' {
		// Half an escape may be at the end, of up to 11 bytes.
		for end := len(text); end > 0 && end > len(text)-12; end-- {
			var s string
			if json.Unmarshal([]byte(text[:end]+`"`), &s) == nil {
				return s + "..."
			}
		}
		return ""
	}
	return text + "..."
}

// brief is a value with short texts and few parts. Objects stay objects and lists
// stay lists.
func brief(v any, depth int) any {
	if depth > maxDepth {
		return "..."
	}
	switch v := v.(type) {
	case string:
		return shorten(valid(v), maxInput)
	case []any:
		out := make([]any, 0, min(len(v), maxParts))
		for _, item := range v[:min(len(v), maxParts)] {
			out = append(out, brief(item, depth+1))
		}
		return out
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		out := map[string]any{}
		for _, name := range names[:min(len(names), maxParts)] {
			out[shorten(valid(name), maxName)] = brief(v[name], depth+1)
		}
		return out
	}
	return v
}

// answerText is what a tool answered as text, if it is none as JSON.
func answerText(result json.RawMessage) string {
	var text string
	if json.Unmarshal(result, &text) == nil {
		return valid(text)
	}
	var b bytes.Buffer
	if json.Compact(&b, result) != nil {
		return ""
	}
	return valid(b.String())
}

// beginning is a text up to a length, and how long it was.
func beginning(text string) string {
	short, n := firstRunes(text, maxOutput)
	if len(short) == len(text) {
		return text
	}
	return short + fmt.Sprintf("\n... (%d chars total)", n)
}

// shorten is a text up to a length.
func shorten(text string, most int) string {
	short, _ := firstRunes(text, most)
	if len(short) == len(text) {
		return text
	}
	return short + "..."
}

// firstRunes are the first characters of a text, and how many it has.
func firstRunes(text string, most int) (string, int) {
	n, end := 0, len(text)
	for i := range text {
		if n == most {
			end = i
		}
		n++
	}
	return text[:end], n
}
