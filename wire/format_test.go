package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// Free-form values that an event may contain must be readable after they were stored, even
// if a client may not send them.
func TestFormatReadsItsOwn(t *testing.T) {
	t.Parallel()
	format := wire.FormatOf[wire.OtherContent]()
	for name, data := range map[string]string{
		"deep":      strings.Repeat("[", wire.MaxDepth) + strings.Repeat("]", wire.MaxDepth),
		"key twice": `{"a":1,"a":2}`,
		"number":    `1e999`,
		"U+0000":    `"a\u0000b"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := format.Append(nil, &wire.OtherContent{Renderer: "globe", Data: json.RawMessage(data)})
			if _, err := format.Decode(kept); err == nil {
				t.Errorf("frame %s from a client: got it accepted, want it refused", kept)
			}
			if got, err := format.DecodeOwn(kept); err != nil || string(got.Data) != data {
				t.Errorf("stored %s: got %s, error %v, want the data %s", kept, got.Data, err, data)
			}
		})
	}
	if _, err := format.DecodeOwn([]byte(`{"renderer":1}`)); err == nil {
		t.Error("a renderer of the wrong type: got no error, want one")
	}
}
