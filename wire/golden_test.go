package wire_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/wire"
)

// lines reads the frames in a file of testdata.
func lines(tb testing.TB, name string) [][]byte {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	var frames [][]byte
	for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
		frames = append(frames, bytes.Clone(in.Bytes()))
	}
	if len(frames) == 0 {
		tb.Fatalf("frames of %s: got none, want at least one", name)
	}
	return frames
}

// sameJSON compares two JSON texts as values, not as bytes.
func sameJSON(t *testing.T, got, want []byte) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(want, &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("%s (-want +got):\n%s", want, diff)
	}
}

// Recorded messages of a browser must be decoded without losing a field.
func TestRecordedDesktopMessages(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, frame := range lines(t, "desktop_client.jsonl") {
		m, err := wire.Desktop{}.DecodeMessage(frame)
		if err != nil {
			t.Errorf("decoding %s: got error %v, want none", frame, err)
			continue
		}
		e, _ := wire.Events().Of(m.Data)
		seen[e.Type] = true
		sameJSON(t, wire.Desktop{}.AppendMessage(nil, m), frame)
	}
	for _, e := range wire.Events().All() {
		if e.Direction == wire.FromClient && e.Family == wire.FamilyDesktop && !seen[e.Type] {
			t.Errorf("recorded frames: got none of type %s, want at least one", e.Type)
		}
	}
}

// The events that the real frontend needs must be encoded byte for byte as recorded.
func TestRecordedDesktopEvents(t *testing.T) {
	t.Parallel()
	for _, frame := range lines(t, "desktop_server.jsonl") {
		e, err := wire.Desktop{}.DecodeEvent(frame)
		if err != nil {
			t.Errorf("decoding %s: got error %v, want none", frame, err)
			continue
		}
		// As in the hub: stored in the native form, sent in the desktop dialect.
		e, err = wire.Native{}.DecodeEvent(wire.AppendEvent(nil, e))
		if err != nil {
			t.Errorf("decoding the native form of %s: got error %v, want none", frame, err)
			continue
		}
		frames := wire.Desktop{}.AppendFrames(nil, e)
		if len(frames) != 1 || !bytes.Equal(frames[0], frame) {
			t.Errorf("got %s\nwant %s", frames, frame)
		}
	}
}

func TestNativeMessages(t *testing.T) {
	t.Parallel()
	for _, frame := range lines(t, "native_client.jsonl") {
		m, err := wire.Native{}.DecodeMessage(frame)
		if err != nil {
			t.Errorf("decoding %s: got error %v, want none", frame, err)
			continue
		}
		again, err := wire.Native{}.DecodeMessage(wire.Native{}.AppendMessage(nil, m))
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("%s\nbecame %+v (%v)\nwant %+v", frame, again, err, m)
		}
	}
}

func TestNativeEvents(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, frame := range lines(t, "native_server.jsonl") {
		e, err := wire.Native{}.DecodeEvent(frame)
		if err != nil {
			t.Errorf("decoding %s: got error %v, want none", frame, err)
			continue
		}
		entry, _ := wire.Events().Of(e.Data)
		seen[entry.Type] = true
		if got := wire.AppendEvent(nil, e); !bytes.Equal(got, frame) {
			t.Errorf("got %s\nwant %s", got, frame)
		}
		if got := (wire.Native{}).AppendFrames(nil, e); len(got) != 1 || !bytes.Equal(got[0], frame) {
			t.Errorf("got %s\nwant one frame %s", got, frame)
		}
	}
	for _, e := range wire.Events().All() {
		if e.Direction == wire.FromServer && e.Family == wire.FamilyWorkflow && !seen[e.Type] {
			t.Errorf("recorded frames: got none of type %s, want at least one", e.Type)
		}
	}
}

// Workflow clients expect these lists to be present, and null in a snapshot without a plan.
// A session_state in mode resume has no fields of plans.
func TestListsThatAreThereEvenWhenEmpty(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		payload wire.ServerPayload
		want    string
	}{
		"plan": {
			wire.PlanGenerated{PlanID: "p", Version: 1, Status: wire.PlanPendingApproval, PlanBody: wire.PlanBody{Todos: []wire.Todo{{ID: "t", Task: "x"}}}},
			`{"plan_id":"p","version":1,"status":"pending_approval","todos":[{"id":"t","task":"x","depends_on":[]}],"dependency_graph":{}}`,
		},
		"result": {
			wire.PlanComplete{Status: "success", Response: wire.PlanResponse{Format: "text", Text: "x"}, Statistics: &wire.PlanStatistics{}},
			`{"status":"success","response":{"format":"text","text":"x","attachments":[],"next_actions":[]},` +
				`"statistics":{"total_todos":0,"completed":0,"failed":0,"execution_time_ms":0,"tokens_used":0,"cost_usd":0},"report_paths":[]}`,
		},
		"snapshot": {
			wire.SessionState{Mode: wire.StateSnapshot, HeartbeatMS: 1, Todos: []wire.Todo{}},
			`{"mode":"snapshot","heartbeat_ms":1,"current_layer":null,"hitl_pending":null,"plan":null,"todos":[]}`,
		},
		"resume": {
			wire.SessionState{Mode: wire.StateResume, HeartbeatMS: 1},
			`{"mode":"resume","heartbeat_ms":1}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			frame := wire.AppendEvent(nil, wire.Event{Data: tt.payload})
			var got struct{ Data json.RawMessage }
			if err := json.Unmarshal(frame, &got); err != nil {
				t.Fatal(err)
			}
			if string(got.Data) != tt.want {
				t.Errorf("got  %s\nwant %s", got.Data, tt.want)
			}
			e, err := wire.Native{}.DecodeEvent(frame)
			if err != nil || string(wire.AppendEvent(nil, e)) != string(frame) {
				t.Errorf("decoded again: got %+v, error %v, want the event of %s", e.Data, err, frame)
			}
		})
	}
}

// A free-form value that is null is decoded as absent, so it is not written either.
func TestNullIsNothing(t *testing.T) {
	t.Parallel()
	e := wire.Event{Data: wire.TodoCompleted{TodoID: "t", Status: wire.TodoSkipped, ResultSummary: []byte("null")}}
	if frame := wire.AppendEvent(nil, e); bytes.Contains(frame, []byte("result_summary")) {
		t.Errorf("event with a null summary: got %s, want no result_summary", frame)
	}
}
