package wire_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/wire"
)

// drawValue draws a JSON value that a shape takes, as encoding/json would
// decode it.
func drawValue(t *rapid.T, s *wire.Shape, depth int) any {
	switch s.Kind {
	case wire.KindAny:
		return drawAnything(t, 2)
	case wire.KindBool:
		return rapid.Bool().Draw(t, "bool")
	case wire.KindInteger:
		return float64(rapid.Int64Range(int64(s.Min), int64(s.Max)).Draw(t, "integer"))
	case wire.KindNumber:
		return rapid.Float64Range(max(s.Min, -1e300), min(s.Max, 1e300)).Draw(t, "number")
	case wire.KindPosition:
		return fmt.Sprint(rapid.Uint32().Draw(t, "epoch"), "-", rapid.Uint32().Draw(t, "seq"))
	case wire.KindString:
		return drawString(t, s)
	case wire.KindArray:
		n := rapid.IntRange(max(s.MinLen, 0), s.MinLen+2).Draw(t, "items")
		items := make([]any, n)
		for i := range items {
			items[i] = drawValue(t, s.Elem, depth+1)
		}
		return items
	case wire.KindMap:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "keys") {
			object[drawString(t, s.Key)] = drawValue(t, s.Elem, depth+1)
		}
		return object
	case wire.KindChoice:
		return drawValue(t, rapid.SampledFrom(s.Fields).Draw(t, "choice").Shape, depth+1)
	case wire.KindUnion:
		v := rapid.SampledFrom(s.Variants).Draw(t, "variant")
		object := drawObject(t, v.Shape, depth+1)
		if v.Name != "" {
			object[s.Tag] = v.Name
		}
		return object
	default:
		return drawObject(t, s, depth)
	}
}

func drawObject(t *rapid.T, s *wire.Shape, depth int) map[string]any {
	object := map[string]any{}
	for _, f := range s.Fields {
		// Types may be recursive, so optional fields are left out from some depth on.
		if !f.Optional || depth < 6 && rapid.Bool().Draw(t, f.Name) {
			object[f.Name] = drawValue(t, f.Shape, depth+1)
		}
	}
	return object
}

func drawString(t *rapid.T, s *wire.Shape) string {
	switch {
	case len(s.Values) > 0:
		return rapid.SampledFrom(s.Values).Draw(t, "value")
	case s.Pattern != "":
		return rapid.StringMatching(s.Pattern).Draw(t, "id")
	case s.MaxLen > 0:
		return rapid.StringOfN(textRune(), s.MinLen, s.MaxLen, -1).Draw(t, "string")
	}
	return rapid.StringOf(textRune()).Draw(t, "string")
}

// textRune generates the characters that a client may send.
func textRune() *rapid.Generator[rune] {
	return rapid.Rune().Filter(func(r rune) bool { return r != 0 })
}

// drawAnything draws a free-form value.
func drawAnything(t *rapid.T, depth int) any {
	if depth > 0 {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			items := make([]any, rapid.IntRange(0, 2).Draw(t, "items"))
			for i := range items {
				items[i] = drawAnything(t, depth-1)
			}
			return items
		case 1:
			object := map[string]any{}
			for _, key := range rapid.SliceOfNDistinct(rapid.StringOf(textRune()), 0, 2, rapid.ID).Draw(t, "keys") {
				object[key] = drawAnything(t, depth-1)
			}
			return object
		}
	}
	return rapid.SampledFrom([]any{
		true, false, "", "x", "a\nb", strings.Repeat("é", 200), "\x07", "window.create", "monitor-0", "approve",
		0.0, -1.0, 1.5, 100.5, 1e3, 1e300, float64(1 << 60), math.SmallestNonzeroFloat64, nil,
	}).Draw(t, "scalar")
}

// drawFrame draws a native frame of a type.
func drawFrame(t *rapid.T, e wire.Entry) map[string]any {
	frame := map[string]any{"type": e.Type, "data": drawObject(t, e.Shape, 0)}
	if e.Direction == wire.FromServer {
		frame["session_id"] = "ses-1"
		frame["timestamp"] = "2026-11-15T00:00:00.000Z"
		if e.Durable {
			frame["message_id"] = fmt.Sprintf("4-%d", rapid.Uint16().Draw(t, "seq"))
		} else {
			frame["session_id"] = rapid.SampledFrom([]string{"ses-1", "ses-2"}).Draw(t, "session")
		}
	} else if rapid.Bool().Draw(t, "key") {
		frame["message_id"] = "m-1"
	}
	return frame
}

// mutate changes something somewhere in value, which may make it invalid.
func mutate(t *rapid.T, value any) any {
	if rapid.IntRange(0, 3).Draw(t, "deeper") > 0 {
		switch v := value.(type) {
		case map[string]any:
			if len(v) > 0 {
				return mutateObject(t, v)
			}
		case []any:
			if len(v) > 0 {
				i := rapid.IntRange(0, len(v)-1).Draw(t, "item")
				v[i] = mutate(t, v[i])
				return v
			}
		}
	}
	return drawAnything(t, 1)
}

func mutateObject(t *rapid.T, object map[string]any) any {
	keys := slices.Sorted(maps.Keys(object))
	if len(keys) == 0 {
		keys = []string{"x"}
	}
	key := rapid.SampledFrom(keys).Draw(t, "key")
	switch rapid.IntRange(0, 6).Draw(t, "change") {
	case 0:
		delete(object, key)
	case 1:
		object[rapid.SampledFrom([]string{"type", "x", "monitorId", "messageId", "op", "renderer", "kind"}).Draw(t, "new")] = drawAnything(t, 1)
	case 2:
		object[key] = nil
	case 3:
		object[key] = emptied(object[key])
	default:
		object[key] = mutate(t, object[key])
	}
	return object
}

// emptied returns the empty value of the same kind.
func emptied(value any) any {
	switch value.(type) {
	case []any:
		return []any{}
	case map[string]any:
		return map[string]any{}
	case string:
		return ""
	case float64:
		return 0.0
	}
	return false
}

// fatal is the common interface of rapid.T and testing.T for helpers.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

func encode(t fatal, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return text
}

// eachEntry runs a property for every type of a direction.
func eachEntry(t *testing.T, from wire.Direction, property func(t *rapid.T, e wire.Entry)) {
	t.Helper()
	for _, e := range wire.Events().All() {
		if e.Direction != from {
			continue
		}
		t.Run(e.Type, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { property(t, e) })
		})
	}
}
