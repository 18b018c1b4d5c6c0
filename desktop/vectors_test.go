package desktop_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

var update = flag.Bool("update", false, "write the vectors that the web client is tested with")

// vectorsFile is read by the tests of web/core. It is compressed because texts
// that reach the limits are long.
const vectorsFile = "../web/core/testdata/vectors.json.gz"

// vector is a log as clients receive it, and the desktop state that results from it.
type vector struct {
	Name   string   `json:"name"`
	Frames []string `json:"frames"`
	// Hashes has the hash of the state after every fifth frame and after the last one, by the
	// index of the frame. A log of fewer than 20 frames has all hashes.
	Hashes map[int]string `json:"hashes"`
	// Snapshot is the state at the end, in the bytes that are hashed except for the position.
	Snapshot string `json:"snapshot"`
}

// The web client implements the rules of this package in TypeScript; its tests check them against
// the vectors. This test checks that the vectors are correct and contain every event and every
// action. It draws new logs only with -update, so that a new field does not change all of them.
func TestVectorsAreFresh(t *testing.T) {
	t.Parallel()
	if *update {
		writeVectors(t, vectors(t))
	}
	seen := map[string]bool{}
	for _, v := range readVectors(t) {
		if diff := cmp.Diff(v, runFrames(t, v.Name, v.Frames)); diff != "" {
			t.Errorf("%s: %s\n%s", v.Name, staleVectors, diff[:min(len(diff), 2000)])
		}
		for _, frame := range v.Frames {
			addTypes(seen, []byte(frame))
		}
	}
	for _, entry := range wire.Events().All() {
		if entry.Direction == wire.FromServer && !seen[entry.Type] {
			t.Errorf("%s is in no vector: %s", entry.Type, staleVectors)
		}
	}
	for _, v := range wire.FormatOf[wire.Action]().Shape().Variants {
		if !seen[v.Name] {
			t.Errorf("%s is in no vector: %s", v.Name, staleVectors)
		}
	}
}

const staleVectors = "run make gen"

// addTypes adds the type of a frame and the types of its actions to seen.
func addTypes(seen map[string]bool, frame []byte) {
	var head struct {
		Type string
		Data struct{ Actions []struct{ Type string } }
	}
	if json.Unmarshal(frame, &head) == nil {
		seen[head.Type] = true
	}
	for _, a := range head.Data.Actions {
		seen[a.Type] = true
	}
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	file, err := os.Open(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []vector
	for lines := json.NewDecoder(zipped); lines.More(); {
		var v vector
		if err := lines.Decode(&v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

func writeVectors(t *testing.T, list []vector) {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	for lines := json.NewEncoder(w); len(list) > 0; list = list[1:] {
		lines.SetEscapeHTML(false)
		if err := lines.Encode(list[0]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(vectorsFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(vectorsFile, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// vectors returns logs drawn with fixed seeds, and written ones for cases that are never drawn.
func vectors(t *testing.T) []vector {
	t.Helper()
	logs := rapid.Custom(drawVector)
	var list []vector
	for seed := range 80 {
		list = append(list, run(t, fmt.Sprintf("drawn %d", seed), logs.Example(seed)))
	}
	list = append(
		list, run(t, "limits", limitsLog()), run(t, "texts", textsLog()), run(t, "rows", rowsLog()), run(t, "toasts", toastsLog()),
		run(t, "appends", appendsLog()),
		run(t, "plan", planLog()), run(t, "much of a plan", bigPlanLog()),
	)
	plans := rapid.Custom(drawPlanLog)
	for seed := range 30 {
		list = append(list, run(t, fmt.Sprintf("plans %d", seed), plans.Example(seed)))
	}
	notebooks := rapid.Custom(drawNotebookLog)
	for seed := range 20 {
		list = append(list, run(t, fmt.Sprintf("notebooks %d", seed), notebooks.Example(seed)))
	}
	for _, f := range formLogs() {
		list = append(list, runFrames(t, f.name, f.frames))
	}
	return list
}

func run(t *testing.T, name string, log []wire.Event) vector {
	t.Helper()
	frames := make([]string, len(log))
	for i, e := range log {
		frames[i] = string(wire.AppendEvent(nil, e))
	}
	return runFrames(t, name, frames)
}

func runFrames(t *testing.T, name string, frames []string) vector {
	t.Helper()
	v := vector{Name: name, Frames: frames, Hashes: map[int]string{}}
	s := desktop.New("ses-1")
	for i, frame := range frames {
		if e, err := (wire.Native{}).DecodeEvent([]byte(frame)); err == nil {
			s.Apply(e)
		} else if head, ok := wire.Peek([]byte(frame)); ok {
			s.Apply(wire.Event{At: head.At}) // as clients do with events that they do not know
		} else {
			t.Fatalf("%s: %.200s: error %v, want a frame that can be read", name, frame, err)
		}
		if i%5 == 4 || i == len(frames)-1 || len(frames) < 20 {
			v.Hashes[i] = s.Hash()
		}
	}
	state := s.Snapshot()
	v.Snapshot = string(wire.FormatOf[wire.SessionState]().Append(nil, &state))
	return v
}

// drawVector draws a log of events of all types, with snapshots between them.
func drawVector(t *rapid.T) []wire.Event {
	var all []string
	for _, entry := range wire.Events().All() {
		if entry.Direction == wire.FromServer {
			all = append(all, entry.Type)
		}
	}
	log := make([]wire.Event, 50)
	at := time.UnixMilli(1_794_700_000_000).UTC()
	other := desktop.New("ses-1")
	for i := range log {
		at = at.Add(time.Duration(rapid.IntRange(-500, 3000).Draw(t, "ms")) * time.Millisecond)
		e := wire.Event{Session: "ses-1", At: wire.Position{Epoch: 4, Seq: uint64(i + 1)}, Time: at}
		switch rapid.IntRange(0, 30).Draw(t, "kind") {
		case 0:
			e.At = wire.Position{}
			state := other.Snapshot()
			state.HeartbeatMS, state.LastMessageID = 30_000, wire.Position{Epoch: 4, Seq: uint64(i)}
			e.Data = state
		case 1, 2, 3, 4, 5:
			e.Data = drawPayload(t, rapid.SampledFrom(all).Draw(t, "any type"))
		default:
			e.Data = drawPayload(t, drawType(t))
		}
		log[i] = e
		other.Apply(e)
	}
	return log
}
