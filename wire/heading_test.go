package wire_test

import (
	"testing"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// A Heading writes the same bytes as AppendEvent, whatever it wrote before.
func TestHeadingWritesTheSame(t *testing.T) {
	t.Parallel()
	var h wire.Heading
	written := 0
	for _, frame := range lines(t, "native_server.jsonl") {
		e, err := wire.Native{}.DecodeEvent(frame)
		if err != nil {
			t.Fatalf("decoding %s: got error %v, want none", frame, err)
		}
		at := e.At
		for _, e.At = range []wire.Position{{Epoch: 1, Seq: 2}, {Epoch: 1, Seq: 1 << 40}, {Epoch: 1_794_700_741_596, Seq: 9}, at} {
			if e.At.IsZero() {
				continue
			}
			written++
			if got, want := string(h.AppendEvent(nil, &e)), string(wire.AppendEvent(nil, e)); got != want {
				t.Fatalf("got  %s\nwant %s", got, want)
			}
		}
	}
	if written < 100 {
		t.Errorf("events written: got %d, want at least 100", written)
	}
}

func TestAppendRenamed(t *testing.T) {
	t.Parallel()
	e := wire.Event{Session: "ses-1", At: wire.Position{Epoch: 4, Seq: 2}, Time: time.Unix(1, 0), Data: wire.SessionRenamed{Title: "ses-1"}}
	frame := wire.AppendEvent(nil, e)
	e.Session = "a-longer_name"
	if got, want := string(wire.AppendRenamed([]byte("x"), frame, e.Session)), "x"+string(wire.AppendEvent(nil, e)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, frame := range []string{
		"", "{", `{"type":"`, `{"type":"PING"}`, `{"type":"PING","session_id":"`, `{"session_id":"ses-1","type":"PING"}`,
		`{"type":"SESSION_RENAMED","data":{"title":",\"session_id\":\"ses-1\""}}`,
	} {
		if got := string(wire.AppendRenamed(nil, []byte(frame), "mine")); got != frame {
			t.Errorf("frame without a session: got %s, want it unchanged, %s", got, frame)
		}
	}
}
