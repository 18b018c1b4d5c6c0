package wire_test

import (
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// A frame of any type that ends too early is refused, wherever it ends.
func TestTornFramesAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"native_client.jsonl", "native_server.jsonl", "desktop_client.jsonl", "desktop_server.jsonl"} {
		for _, frame := range lines(t, name) {
			for n := range frame {
				for _, d := range []wire.Dialect{wire.Native{}, wire.Desktop{}} {
					if m, err := d.DecodeMessage(frame[:n]); err == nil {
						t.Errorf("%s\ngot %+v, want a refusal", frame[:n], m)
					}
					if e, err := d.DecodeEvent(frame[:n]); err == nil {
						t.Errorf("%s\ngot %+v, want a refusal", frame[:n], e)
					}
				}
			}
		}
	}
}
