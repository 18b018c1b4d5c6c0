package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/everdesk/everdesk/internal/truncation"
)

// Bounds of tool inputs and outputs in a digest, in characters.
const (
	maxInput  = 300
	maxOutput = 500
	maxName   = 200
	// maxParts is the maximum number of fields or items at each of maxDepth levels of an
	// input.
	maxParts = 32
	maxDepth = 6
)

// inputFields names the fields that describe the input of well-known tools. Keys are in
// lower case, because other programs capitalise the names.
var inputFields = map[string][]string{
	"read": {"file_path", "path"}, "edit": {"file_path", "path"}, "multiedit": {"file_path", "path"},
	"write": {"file_path", "path"}, "notebookedit": {"notebook_path", "file_path"},
	"bash": {"description", "command"}, "glob": {"pattern", "path"}, "grep": {"pattern", "path"},
	"storage_read": {"path"}, "storage_write": {"path"}, "storage_delete": {"path"}, "storage_list": {"path"},
}

func noInput() json.RawMessage { return json.RawMessage("{}") }

// summarizeInput returns an object with the essential fields of a tool's input. It also
// accepts an input of which only the beginning was stored, as a JSON string.
func summarizeInput(tool string, input json.RawMessage) json.RawMessage {
	var v any
	if len(input) > 0 && json.Unmarshal(input, &v) != nil {
		return noInput()
	}
	if text, is := v.(string); is {
		if v = parseTruncatedObject(text); v == nil {
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
	out, err := json.Marshal(shortenValue(fields, 0))
	if err != nil {
		return noInput() // decoded JSON always encodes
	}
	return out
}

// parseTruncatedObject returns the fields of a JSON object whose end is missing, or nil if
// the text is no object. The incomplete last value becomes a string.
func parseTruncatedObject(text string) any {
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
			if rest := parseTruncatedValue(text[from:]); rest != "" {
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

// parseTruncatedValue returns the beginning of a JSON value whose end is missing. text
// starts with the colon. For a string it is the decoded text, for other values the JSON.
func parseTruncatedValue(text string) string {
	text = strings.TrimPrefix(strings.TrimSpace(strings.TrimSuffix(text, cutMark)), ":")
	text = strings.TrimLeft(text, " \t\r\n")
	if text == "" {
		return ""
	}
	if text[0] == '"' {
		// The text may end within an escape sequence, which has up to 12 bytes.
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

// shortenValue truncates the strings in a value and drops surplus parts. The types of
// objects and lists stay.
func shortenValue(v any, depth int) any {
	if depth > maxDepth {
		return "..."
	}
	switch v := v.(type) {
	case string:
		return truncateText(valid(v), maxInput)
	case []any:
		out := make([]any, 0, min(len(v), maxParts))
		for _, item := range v[:min(len(v), maxParts)] {
			out = append(out, shortenValue(item, depth+1))
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
			out[truncateText(valid(name), maxName)] = shortenValue(v[name], depth+1)
		}
		return out
	}
	return v
}

// resultString returns a tool's result as text: a JSON string decoded, other values as
// compact JSON.
func resultString(result json.RawMessage) string {
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

// truncateOutput truncates a text to maxOutput characters and appends its full length.
func truncateOutput(text string) string {
	short := truncation.Runes(text, maxOutput)
	if len(short) == len(text) {
		return text
	}
	return short + fmt.Sprintf("\n... (%d chars total)", utf8.RuneCountInString(text))
}

// truncateText truncates a text to the given number of characters.
func truncateText(text string, limit int) string {
	return truncation.RunesMarked(text, limit, "...")
}
