//go:build unix

package checkpoints_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/checkpoints"
)

// Waiting for another hub is not slowness of the folder, for which checkpoints are switched off.
func TestWaitingForALockIsNotSlow(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{Timeout: 10 * time.Second})
	r.write("a", "1")
	r.save()
	locks, err := filepath.Glob(filepath.Join(r.s.Dir(), "*.git", "everdesk.lock"))
	if err != nil || len(locks) != 1 {
		t.Fatalf("locks: got %q and the error %v, want one", locks, err)
	}
	other, err := os.Open(locks[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	impatient, err := checkpoints.Open(t.Context(), checkpoints.Config{Dir: r.s.Dir(), Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	r.write("a", "2")
	if _, err := impatient.Save(t.Context(), r.w, ses, checkpoints.Note{}, nil); !errors.Is(err, checkpoints.ErrBusy) || errors.Is(err, checkpoints.ErrTooSlow) {
		t.Errorf("a save while another hub works: got error %v, want %v", err, checkpoints.ErrBusy)
	}
}
