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
			kept := format.Append(nil, &wire.OtherContent{Renderer: "chart", Data: json.RawMessage(data)})
			if _, err := format.Decode(kept); err == nil {
				t.Errorf("a client may send %s", kept)
			}
			if got, err := format.DecodeOwn(kept); err != nil || string(got.Data) != data {
				t.Errorf("%s became %s, error %v", kept, got.Data, err)
			}
		})
	}
	if _, err := format.DecodeOwn([]byte(`{"renderer":1}`)); err == nil {
		t.Error("a wrong type is taken")
	}
}
