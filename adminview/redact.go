package adminview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/everdesk/everdesk/wire"
)

// Redact encodes an event for admins who may not see user content: every text is replaced
// by its length. The Go type of a field, as the catalog has it, decides what is not a text:
// ids, enumerations, numbers, positions and times. Everything else counts as text.
func Redact(e wire.Event) []byte {
	entry, ok := wire.Events().Of(e.Data)
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(wire.AppendEvent(nil, e), &whole); err != nil || !ok {
		return []byte(`{}`) // AppendEvent always writes valid JSON
	}
	var out bytes.Buffer
	sep := byte('{')
	for _, key := range []string{"type", "session_id", "message_id", "timestamp"} {
		if value, ok := whole[key]; ok {
			out.WriteByte(sep)
			fmt.Fprintf(&out, "%q:%s", key, value)
			sep = ','
		}
	}
	out.WriteString(`,"data":`)
	redact(&out, entry.Shape, whole["data"])
	out.WriteByte('}')
	return out.Bytes()
}

// redact writes a value without its texts.
func redact(out *bytes.Buffer, s *wire.Shape, value json.RawMessage) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || bytes.Equal(value, []byte("null")) {
		out.WriteString("null")
		return
	}
	first := value[0]
	switch {
	case s.Kind == wire.KindBool && (first == 't' || first == 'f'),
		(s.Kind == wire.KindInteger || s.Kind == wire.KindNumber) && (first == '-' || first >= '0' && first <= '9'):
		out.Write(value)
	case (s.Kind == wire.KindString || s.Kind == wire.KindPosition) && first == '"' && isIdentifier(s, value):
		out.Write(value)
	case s.Kind == wire.KindArray && first == '[':
		redactArray(out, s.Elem, value)
	case s.Kind == wire.KindMap && first == '{':
		redactMap(out, s, value)
	case s.Kind == wire.KindObject && first == '{':
		redactObject(out, s, value)
	case s.Kind == wire.KindUnion && first == '{':
		redactUnion(out, s, value)
	case s.Kind == wire.KindChoice:
		redactChoice(out, s, value)
	default:
		hide(out, value)
	}
}

// longestID is the maximum length of ids.
const longestID = 192

// isIdentifier reports whether a string is not a text: an id, a position or a known value
// of an enumeration.
func isIdentifier(s *wire.Shape, value json.RawMessage) bool {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return false
	}
	switch {
	case len(s.Values) > 0:
		return slices.Contains(s.Values, text)
	case s.Pattern != "":
		return utf8.RuneCountInString(text) <= longestID
	}
	return false
}

// hide writes the length of a value in its place.
func hide(out *bytes.Buffer, value json.RawMessage) {
	var text string
	n := utf8.RuneCount(value)
	if json.Unmarshal(value, &text) == nil {
		n = utf8.RuneCountInString(text)
	}
	fmt.Fprintf(out, `"‹%d characters›"`, n)
}

func redactArray(out *bytes.Buffer, elem *wire.Shape, value json.RawMessage) {
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil {
		hide(out, value)
		return
	}
	out.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			out.WriteByte(',')
		}
		redact(out, elem, item)
	}
	out.WriteByte(']')
}

// redactMap writes an object whose keys are data. If a key is not an id, the whole object
// counts as text.
func redactMap(out *bytes.Buffer, s *wire.Shape, value json.RawMessage) {
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil {
		hide(out, value)
		return
	}
	keys := make([]string, 0, len(members))
	for key := range members {
		quoted, err := json.Marshal(key)
		if err != nil || !isIdentifier(s.Key, quoted) {
			hide(out, value)
			return
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	out.WriteByte('{')
	for i, key := range keys {
		if i > 0 {
			out.WriteByte(',')
		}
		quoted, _ := json.Marshal(key) // encoded without error above
		out.Write(quoted)
		out.WriteByte(':')
		redact(out, s.Elem, members[key])
	}
	out.WriteByte('}')
}

func redactObject(out *bytes.Buffer, s *wire.Shape, value json.RawMessage) {
	redactFields(out, s, value, "", "")
}

// redactFields writes an object, with a tag first unless that is empty. Unknown keys are
// omitted.
func redactFields(out *bytes.Buffer, s *wire.Shape, value json.RawMessage, tag, name string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil {
		hide(out, value)
		return
	}
	out.WriteByte('{')
	sep := ""
	if tag != "" {
		fmt.Fprintf(out, "%q:%q", tag, name)
		sep = ","
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		member, ok := members[f.Name]
		if !ok || f.Name == tag {
			continue
		}
		fmt.Fprintf(out, "%s%q:", sep, f.Name)
		redact(out, f.Shape, member)
		sep = ","
	}
	out.WriteByte('}')
}

func redactUnion(out *bytes.Buffer, s *wire.Shape, value json.RawMessage) {
	var members map[string]json.RawMessage
	var name string
	if json.Unmarshal(value, &members) != nil || json.Unmarshal(members[s.Tag], &name) != nil {
		hide(out, value)
		return
	}
	for _, v := range s.Variants {
		if v.Name == name && name != "" {
			redactFields(out, v.Shape, value, s.Tag, name)
			return
		}
	}
	hide(out, value) // an unknown variant may contain anything
}

// redactChoice writes a value whose type only its JSON form tells.
func redactChoice(out *bytes.Buffer, s *wire.Shape, value json.RawMessage) {
	var wanted []wire.Kind
	switch value[0] {
	case 't', 'f':
		wanted = []wire.Kind{wire.KindBool}
	case '[':
		wanted = []wire.Kind{wire.KindArray}
	case '{':
		wanted = []wire.Kind{wire.KindObject, wire.KindUnion, wire.KindMap}
	case '"':
		wanted = nil // it could be a text
	default:
		wanted = []wire.Kind{wire.KindInteger, wire.KindNumber}
	}
	for i := range s.Fields {
		if slices.Contains(wanted, s.Fields[i].Shape.Kind) {
			redact(out, s.Fields[i].Shape, value)
			return
		}
	}
	hide(out, value)
}

// Redacted returns the row without user content.
func (r Row) Redacted() Row {
	r.Title = ""
	return r
}

// Redacted returns the change without user content.
func (r Rows) Redacted() Rows {
	r.Rows = mapped(r.Rows, Row.Redacted)
	return r
}

// Redacted returns the detail without user content.
func (d Detail) Redacted() Detail {
	d.Row = d.Row.Redacted()
	d.Monitors = mapped(d.Monitors, func(m Monitor) Monitor {
		m.Name = ""
		m.Queue = mapped(m.Queue, func(q Queued) Queued {
			q.Text = ""
			return q
		})
		return m
	})
	d.Windows = mapped(d.Windows, func(w Window) Window {
		w.Title = ""
		return w
	})
	d.Asks = mapped(d.Asks, func(a Ask) Ask {
		a.Title = ""
		return a
	})
	return d
}

// mapped returns a new list with change applied to every element. The old list may be
// shared and stays unchanged.
func mapped[T any](list []T, change func(T) T) []T {
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = change(v)
	}
	return out
}
