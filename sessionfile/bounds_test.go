package sessionfile_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/sessionfile"
)

// A small file that unpacks to a large one is refused.
func TestDecompressionIsBounded(t *testing.T) {
	t.Parallel()
	s := example()
	s.Files = []sessionfile.File{{Name: "zeros", Size: 8 << 20, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(zeros{}), nil // it grows without end
	}}}
	data := packed(t, s)
	_, err := sessionfile.Read(bytes.NewReader(data), int64(len(data)), sessionfile.Limits{Bytes: 1 << 20})
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("8 MiB in %d bytes: got error %v, want one that says %q", len(data), err, "too large")
	}
	if _, err := sessionfile.Read(bytes.NewReader(data), int64(len(data)), sessionfile.Limits{Parts: 3}); err == nil || !strings.Contains(err.Error(), "parts") {
		t.Errorf("more than three parts: got error %v, want one that says %q", err, "parts")
	}
}

// What is held in memory is bounded, the desktop included.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	s := example()
	s.Desktop.Windows[0].Title = strings.Repeat("x", 1000)
	data := packed(t, s)
	var held int64 // by the desktop and the conversations
	for _, name := range []string{"desktop.json", "messages.jsonl", "api/0.jsonl"} {
		held += int64(len(part(t, data, name)))
	}
	for memory, want := range map[int64]string{held - 1000: "too large", 500: "too large", 2 * held: ""} {
		_, err := sessionfile.Read(bytes.NewReader(data), int64(len(data)), sessionfile.Limits{Memory: memory})
		if got := fmt.Sprint(err); err == nil && want != "" || !strings.Contains(got, want) {
			t.Errorf("%d bytes of memory: got error %v, want %q", memory, err, want)
		}
	}
}

// The size of an export counts all its files, also if their sum has no number.
func TestFileBytes(t *testing.T) {
	t.Parallel()
	s := sessionfile.Source{Files: []sessionfile.File{{Size: 1}, {Size: 20}}, Checkpoints: &sessionfile.File{Size: 300}, Workspaces: []sessionfile.File{{Size: 4000}}}
	if got := s.FileBytes(); got != 4321 {
		t.Errorf("bytes: got %d, want 4321", got)
	}
	s.Files[0].Size = math.MaxInt64
	if got := s.FileBytes(); got != math.MaxInt64 {
		t.Errorf("bytes with a sparse file: got %d, want %d", got, int64(math.MaxInt64))
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
