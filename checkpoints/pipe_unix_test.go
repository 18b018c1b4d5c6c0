//go:build unix

package checkpoints_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/everdesk/everdesk/checkpoints"
)

func TestDevicesAndPipesAreLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{})
	r.write("a", "1")
	first := r.save()
	r.remove("a")
	if err := syscall.Mkfifo(r.path("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.save()
	if _, err := r.s.Restore(t.Context(), r.w, ses, first.Hash, checkpoints.Note{}, nil); !errors.Is(err, checkpoints.ErrBlocked) {
		t.Errorf("a pipe in the way: got error %v, want %v", err, checkpoints.ErrBlocked)
	}
	if info, err := os.Lstat(r.path("a")); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v (error %v), want it untouched", info, err)
	}
}
