package wire_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/wire"
)

// The frames in docs/plans.md are valid and have only known fields, and every message of the
// workflow family is there.
func TestFramesOfTheGuideToPlans(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/plans.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for line := range strings.Lines(string(guide)) {
		frame := []byte(strings.TrimSpace(line))
		if !strings.HasPrefix(line, `{"type":`) {
			continue
		}
		var head struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(frame, &head); err != nil {
			t.Errorf("frame of the guide: got error %v, want JSON: %s", err, frame)
			continue
		}
		shown[head.Type] = true
		entry, ok := wire.Events().Lookup(head.Type)
		if !ok {
			t.Errorf("frame of the guide: got unknown type %s, want one of the catalog", head.Type)
			continue
		}
		again, err := sameFrame(entry, frame)
		if err != nil {
			t.Errorf("frame of the guide: got error %v, want it decoded: %s", err, frame)
			continue
		}
		if diff := cmp.Diff(payloadOf(t, frame), payloadOf(t, again)); diff != "" {
			t.Errorf("%s is read otherwise (-guide +hub):\n%s", head.Type, diff)
		}
	}
	for _, e := range wire.Events().All() {
		if e.Family == wire.FamilyWorkflow && !shown[e.Type] {
			t.Errorf("%s is not in the guide", e.Type)
		}
	}
}

// sameFrame reads a frame and writes it again.
func sameFrame(e wire.Entry, frame []byte) ([]byte, error) {
	if e.Direction == wire.FromClient {
		m, err := wire.Native{}.DecodeMessage(frame)
		if err != nil {
			return nil, err
		}
		m.ID = "" // write no id in the envelope
		return wire.Native{}.AppendMessage(nil, m), nil
	}
	event, err := wire.Native{}.DecodeEvent(frame)
	if err != nil {
		return nil, err
	}
	return wire.AppendEvent(nil, event), nil
}

// payloadOf returns the data of a frame.
func payloadOf(t *testing.T, frame []byte) any {
	t.Helper()
	var f struct {
		Data map[string]any `json:"data"`
	}
	if err := json.Unmarshal(frame, &f); err != nil {
		t.Fatalf("payload of a frame: got error %v, want JSON: %s", err, frame)
	}
	return f.Data
}
