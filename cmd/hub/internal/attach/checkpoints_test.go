package attach

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

func TestCheckpointsCommand(t *testing.T) {
	t.Parallel()
	c := &console{monitor: "monitor-1"}
	for in, want := range map[string]wire.ClientPayload{
		"on":            wire.SetCheckpoints{Enabled: true, MonitorID: "monitor-1"},
		"off":           wire.SetCheckpoints{MonitorID: "monitor-1"},
		"restore 01234": wire.RestoreCheckpoint{Hash: "01234", MonitorID: "monitor-1"},
	} {
		if got, err := c.checkpoints(in); got != want || err != nil {
			t.Errorf(":checkpoints %s: got %+v, error %v, want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{"restore", "delete", "ON"} {
		if got, err := c.checkpoints(in); got != nil || err == nil {
			t.Errorf(":checkpoints %s: got %+v, error %v, want an error only", in, got, err)
		}
	}
}

func TestListCheckpoints(t *testing.T) {
	t.Parallel()
	var got []string
	c := &console{note: func(_ tint, format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) }}
	c.listCheckpoints([]wire.UIRow{{Say: wire.SayText, Text: "hello"}})
	c.listCheckpoints([]wire.UIRow{
		{Say: wire.SayCheckpointSaved, Text: "0123456789abcdef", Checkpoint: json.RawMessage(`{"to":"0123456789abcdef"}`)},
		{Say: wire.SayCheckpointSaved, Text: "b\x1b[2Jad"},
	})
	want := []string{"no checkpoints", `0123456789ab  {"to":"0123456789abcdef"}`, "bad  "}
	if !slices.Equal(got, want) {
		t.Errorf(":checkpoints: got %q, want %q", got, want)
	}
}
