package wire_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/wire"
)

// frameSchemas is the published schema, converted to one for objects that hold a frame at
// the key of its type. The lookup by key is much faster than trying the schemas of all types.
func frameSchemas(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	text, err := os.ReadFile("schema.gen.json")
	if err != nil {
		t.Fatal(err)
	}
	var root jsonschema.Schema
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	root.Properties = map[string]*jsonschema.Schema{}
	for _, union := range []string{"ClientMessage", "ServerEvent"} {
		for _, frame := range root.Defs[union].AnyOf {
			root.Properties[frame.Title] = frame
		}
		delete(root.Defs, union)
	}
	root.AnyOf = nil
	resolved, err := root.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(root.Properties), len(wire.Events().All()); got != want {
		t.Fatalf("the schema has %d types, want %d", got, want)
	}
	return resolved
}

// agree fails unless decoder and schema both accept or both refuse a frame.
func agree(t *rapid.T, schema *jsonschema.Resolved, name string, frame map[string]any, decode func([]byte) error) {
	t.Helper()
	text := encode(t, frame)
	var instance any
	if err := json.Unmarshal(text, &instance); err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	decoded, valid := decode(text), schema.Validate(map[string]any{name: instance})
	if (decoded == nil) != (valid == nil) {
		t.Fatalf("frame %s\ngot from the decoder: %v\ngot from the schema: %v\nwant both to accept or both to refuse", text, decoded, valid)
	}
}

func decodeMessage(frame []byte) error { _, err := wire.Native{}.DecodeMessage(frame); return err }
func decodeEvent(frame []byte) error   { _, err := wire.Native{}.DecodeEvent(frame); return err }

func TestDecoderAndSchemaAgreeOnMessages(t *testing.T) {
	t.Parallel()
	schema := frameSchemas(t)
	eachEntry(t, wire.FromClient, func(t *rapid.T, e wire.Entry) {
		frame := drawFrame(t, e)
		for range rapid.IntRange(0, 3).Draw(t, "mutations") {
			mutateObject(t, frame)
		}
		agree(t, schema, e.Type, frame, decodeMessage)
	})
}

func TestDecoderAndSchemaAgreeOnEvents(t *testing.T) {
	t.Parallel()
	schema := frameSchemas(t)
	eachEntry(t, wire.FromServer, func(t *rapid.T, e wire.Entry) {
		frame := drawFrame(t, e)
		// A pattern cannot express all rules of times and positions, so the envelope is not
		// changed.
		for range rapid.IntRange(0, 3).Draw(t, "mutations") {
			frame["data"] = mutate(t, frame["data"])
		}
		agree(t, schema, e.Type, frame, decodeEvent)
	})
}

func TestTheSchemaTakesRecordedFrames(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("schema.gen.json")
	if err != nil {
		t.Fatal(err)
	}
	var root jsonschema.Schema
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	schema, err := root.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, frame := range append(lines(t, "native_client.jsonl"), lines(t, "native_server.jsonl")...) {
		var instance any
		if err := json.Unmarshal(frame, &instance); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); err != nil {
			t.Errorf("frame %s: got error %v from the schema, want none", frame, err)
		}
	}
	if err := schema.Validate(map[string]any{"type": "NOPE"}); err == nil {
		t.Error("unknown type: got it accepted by the schema, want it refused")
	}
}
