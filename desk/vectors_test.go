package desk_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/desk"
	"github.com/everdesk/everdesk/wire"
)

var update = flag.Bool("update", false, "write the vectors that the web client is tested with")

// vectorsFile is read by the tests of web/core. It is compressed because texts
// that reach the limits are long.
const vectorsFile = "../web/core/testdata/vectors.json.gz"

// vector is a log as a client gets it, and what it makes of the desktop.
type vector struct {
	Name   string   `json:"name"`
	Frames []string `json:"frames"`
	// Hashes has the hash after every fifth frame and after the last.
	Hashes map[int]string `json:"hashes"`
	// Snapshot is the state at the end, in the bytes that are hashed but for
	// the position.
	Snapshot string `json:"snapshot"`
}

// The web client has the same rules in another language. Whether they are the
// same is what these vectors tell; here they are only kept up to date.
func TestVectorsAreFresh(t *testing.T) {
	t.Parallel()
	var want bytes.Buffer
	for _, v := range vectors(t) {
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		want.Write(append(line, '\n'))
	}
	if *update {
		writeVectors(t, want.Bytes())
	}
	file, err := os.Open(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(zipped)
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is stale (%v): run go test ./desk -run Vectors -update", vectorsFile, err)
	}
}

func writeVectors(t *testing.T, text []byte) {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
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

// vectors are drawn logs, which are the same every time, and written ones for
// what drawing does not reach.
func vectors(t *testing.T) []vector {
	t.Helper()
	logs := rapid.Custom(drawVector)
	var list []vector
	for seed := range 120 {
		list = append(list, run(t, fmt.Sprintf("drawn %d", seed), logs.Example(seed)))
	}
	list = append(list, run(t, "limits", limitsLog()), run(t, "texts", textsLog()), run(t, "rows", rowsLog()))
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
	s := desk.New("ses-1")
	for i, frame := range frames {
		if e, err := (wire.Native{}).DecodeEvent([]byte(frame)); err == nil {
			s.Apply(e)
		} else if head, ok := wire.Peek([]byte(frame)); ok {
			s.Apply(wire.Event{At: head.At}) // as our client does with what it does not understand
		} else {
			t.Fatalf("%s: %.200s: %v", name, frame, err)
		}
		if i%5 == 4 || i == len(frames)-1 {
			v.Hashes[i] = s.Hash()
		}
	}
	state := s.Snapshot()
	v.Snapshot = string(wire.FormatOf[wire.SessionState]().Append(nil, &state))
	return v
}

// drawVector draws a log in which every type may come, with snapshots of others
// in between.
func drawVector(t *rapid.T) []wire.Event {
	var all []string
	for _, entry := range wire.Events().All() {
		if entry.Direction == wire.FromServer {
			all = append(all, entry.Type)
		}
	}
	log := make([]wire.Event, 50)
	at := time.UnixMilli(1_794_700_000_000).UTC()
	other := desk.New("ses-1")
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
