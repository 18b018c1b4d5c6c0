package checkpoints_test

import (
	"errors"
	"testing"

	"github.com/everdesk/everdesk/checkpoints"
)

// A file of a checkpoint is read by its exact path, whatever the worktree has now.
func TestFileOfACheckpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{})
	content := map[string]string{"a.csv": "x,y\r\n1,2\r\n", "d/e/한글 \n*?.html": "<script>alert(1)</script>", "empty": "", "-n": "dash", ":(top)x": "magic"}
	for name, text := range content {
		r.write(name, text)
	}
	r.link("/etc/passwd", "link")
	first := r.save()
	r.write("a.csv", "changed")
	r.remove("empty")
	r.save()
	for name, want := range content {
		f, err := r.s.File(t.Context(), r.w, ses, first.Hash, name, 100)
		if err != nil || string(f.Content) != want || len(f.Hash) != 40 {
			t.Errorf("file %q: got %q with hash %q, error %v, want %q", name, f.Content, f.Hash, err, want)
		}
	}
	for _, name := range []string{"", "d", "d/", "d/e", "link", "../a.csv", "/a.csv", "./a.csv", "a.csv\x00", "*", "a", "none", "a.csv/x"} {
		if f, err := r.s.File(t.Context(), r.w, ses, first.Hash, name, 100); !errors.Is(err, checkpoints.ErrUnknown) {
			t.Errorf("file %q: got %q, error %v, want %v", name, f.Content, err, checkpoints.ErrUnknown)
		}
	}
	if _, err := r.s.File(t.Context(), r.w, ses, first.Hash, "a.csv", 3); !errors.Is(err, checkpoints.ErrTooLarge) {
		t.Errorf("a file beyond the limit: got error %v, want %v", err, checkpoints.ErrTooLarge)
	}
	for session, hash := range map[string]string{ses: "0123456", "ses-2": first.Hash} {
		if _, err := r.s.File(t.Context(), r.w, session, hash, "a.csv", 100); !errors.Is(err, checkpoints.ErrUnknown) {
			t.Errorf("checkpoint %s of %s: got error %v, want %v", hash, session, err, checkpoints.ErrUnknown)
		}
	}
}
