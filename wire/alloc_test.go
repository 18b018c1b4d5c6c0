package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/wire"
)

// sampleEvents returns some events of a type, the same ones every time.
func sampleEvents(tb testing.TB, e wire.Entry) []wire.Event {
	tb.Helper()
	draw := rapid.Custom(func(t *rapid.T) map[string]any { return drawFrame(t, e) })
	var events []wire.Event
	for seed := range 8 {
		frame, err := json.Marshal(draw.Example(seed))
		if err != nil {
			tb.Fatal(err)
		}
		event, err := wire.Native{}.DecodeEvent(frame)
		if err != nil {
			tb.Fatalf("decoding the event %s: got error %v, want none", frame, err)
		}
		events = append(events, event)
	}
	return events
}

//nolint:paralleltest // it counts the allocations of the whole process
func TestEncodingAllocatesAtMostItsBuffer(t *testing.T) {
	buf := make([]byte, 0, 1<<20)
	for _, e := range wire.Events().All() {
		if e.Direction != wire.FromServer {
			continue
		}
		for _, event := range sampleEvents(t, e) {
			frame := wire.AppendEvent(nil, event)
			most := 1.0
			if _, is := event.Data.(wire.SessionState); is {
				most = 2 // the size of a state with many windows is an estimate
			}
			if n := testing.AllocsPerRun(10, func() { wire.AppendEvent(nil, event) }); n > most {
				t.Errorf("allocations without a buffer: got %v, want at most %v for %s", n, most, frame)
			}
			if n := testing.AllocsPerRun(10, func() { wire.AppendEvent(buf, event) }); n > 0 {
				t.Errorf("allocations with a buffer: got %v, want 0 for %s", n, frame)
			}
		}
	}
}

// A frame keeps its whole buffer in memory, so the buffer must not be much larger than the
// frame.
func TestBuffersFit(t *testing.T) {
	t.Parallel()
	for _, frame := range lines(t, "native_server.jsonl") {
		e, err := wire.Native{}.DecodeEvent(frame)
		if err != nil {
			t.Fatal(err)
		}
		if got := wire.AppendEvent(nil, e); cap(got) > len(got)*5/4+64 {
			t.Errorf("capacity of the buffer: got %d, want at most a quarter and 64 more than the %d of %s", cap(got), len(got), got)
		}
	}
}

func delta() wire.Event {
	return wire.Event{
		Session: "ses-1794700741596-a1b2c3d", At: wire.Position{Epoch: 1_794_700_741_596, Seq: 4711},
		Time: time.UnixMilli(1_794_700_741_596),
		Data: wire.AgentResponse{
			Delta: "a few words of an answer, as they come ", Offset: 12_345,
			AgentID: "main-monitor-0-msg-1794700741596-xrz0f", MonitorID: "monitor-0", MessageID: "msg-1794700741596-xrz0f",
		},
	}
}

func BenchmarkAppendEvent(b *testing.B) {
	e, buf := delta(), make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		wire.AppendEvent(buf, e)
	}
}

func BenchmarkDecodeEvent(b *testing.B) {
	frame := wire.AppendEvent(nil, delta())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (wire.Native{}).DecodeEvent(frame); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPeek(b *testing.B) {
	frame := wire.AppendEvent(nil, delta())
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := wire.Peek(frame); !ok {
			b.Fatal("peek: got no frame of ours, want one")
		}
	}
}

func BenchmarkDecodeMessage(b *testing.B) {
	frame := []byte(`{"type":"USER_MESSAGE","messageId":"msg-1794700741596-xrz0f","content":"hello","monitorId":"monitor-0"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (wire.Desktop{}).DecodeMessage(frame); err != nil {
			b.Fatal(err)
		}
	}
}

// emitFrame returns a frame of the load generator: one action that sets a window's content.
func emitFrame() []byte {
	return []byte(`{"type":"EMIT","data":{"actions":[{"type":"window.setContent","windowId":"w","content":{"renderer":"text","data":"` +
		"#0000012345 0001794700741596 " + strings.Repeat("x", 227) + `"}}],"monitorId":"monitor-0"}}`)
}

func BenchmarkDecodeEmit(b *testing.B) {
	frame := emitFrame()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (wire.Native{}).DecodeMessage(frame); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendActions(b *testing.B) {
	m, err := wire.Native{}.DecodeMessage(emitFrame())
	emit, ok := m.Data.(wire.Emit)
	if err != nil || !ok {
		b.Fatalf("message: got %+v, error %v, want an Emit", m, err)
	}
	e := delta()
	e.Data = wire.Actions{Actions: emit.Actions, MonitorID: emit.MonitorID, By: "con-1794700741596-a1b2c3d"}
	var h wire.Heading
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		h.AppendEvent(buf, &e)
	}
}
