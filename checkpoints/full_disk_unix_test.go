//go:build unix

package checkpoints_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/everdesk/everdesk/checkpoints"
)

// fillDisk is a program that saves until its limit of file sizes is reached, which git meets like
// the end of the disk. Its arguments are both folders.
func fillDisk(args []string) error {
	ctx := context.Background()
	s, err := checkpoints.Open(ctx, checkpoints.Config{Dir: args[0]})
	if err != nil {
		return err
	}
	w := checkpoints.SessionWorktree(ses, args[1])
	write := func(name string, size int) error {
		var random rand.ChaCha8
		b := make([]byte, size) // cannot be compressed
		if _, err := random.Read(b); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(w.Path, name), b, 0o600)
	}
	if err := errors.Join(write("a", 1000), write("b", 300<<10)); err != nil {
		return err
	}
	// The large file cannot be stored now, and later it can.
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 100 << 10, Max: 1 << 30}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if _, err := s.Save(ctx, w, ses, checkpoints.Note{}, nil); !errors.Is(err, checkpoints.ErrNoSpace) {
		return fmt.Errorf("saving to a full disk: got error %w, want %w", err, checkpoints.ErrNoSpace)
	}
	if all, err := s.List(ctx, w, ses); err != nil || len(all) != 0 {
		return fmt.Errorf("checkpoints on a full disk: got %d (error %w), want none", len(all), err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	first, err := s.Save(ctx, w, ses, checkpoints.Note{}, nil)
	if err != nil {
		return fmt.Errorf("saving when there is space again: %w", err)
	}
	// The restore meets the end of the disk, and can be repeated.
	if err := os.Remove(filepath.Join(w.Path, "b")); err != nil {
		return err
	}
	limit.Cur = 100 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	done, err := s.Restore(ctx, w, ses, first.Hash, checkpoints.Note{}, nil)
	if err == nil || done.Safety.Hash == "" {
		return fmt.Errorf("restoring to a full disk: got %+v (error %w), want an error and the safety checkpoint", done, err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if _, err := s.Restore(ctx, w, ses, first.Hash, checkpoints.Note{}, nil); err != nil {
		return fmt.Errorf("restoring when there is space again: %w", err)
	}
	info, err := os.Stat(filepath.Join(w.Path, "b"))
	if err != nil || info.Size() != 300<<10 {
		return fmt.Errorf("the restored file is %v (error %w), want %d bytes", info, err, 300<<10)
	}
	return nil
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], t.TempDir(), t.TempDir())
	cmd.Env = append(os.Environ(), "CHECKPOINTS_PROGRAM=full")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, strings.TrimSpace(string(out)))
	}
}
