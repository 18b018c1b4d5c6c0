package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// fillDisk is a program that fills a file system of 8 MiB of its own. Where the
// system does not let it have one, it fills the largest file it may have.
func fillDisk(args []string) error {
	dir := args[0]
	makeRoom := func() error { return os.Remove(filepath.Join(dir, "filler")) }
	switch err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); {
	case err == nil:
		if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 4<<20), 0o600); err != nil {
			return err
		}
	case errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES):
		signal.Ignore(syscall.SIGXFSZ)
		limit := syscall.Rlimit{Cur: 100 << 10, Max: 1 << 30}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
		makeRoom = func() error {
			limit.Cur = limit.Max
			return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
		}
	default:
		return err
	}
	return fullDisk(dir, makeRoom)
}

// fullDisk writes until the disk is full, and on when there is room again.
func fullDisk(dir string, makeRoom func() error) error {
	ctx := context.Background()
	cfg := filestore.Config{SegmentBytes: 256 << 10}
	s, err := filestore.Open(dir, cfg)
	if err != nil {
		return err
	}
	if err := s.Sessions.Create(ctx, store.NewSession{ID: "s", User: "u"}); err != nil {
		return err
	}
	lease, err := s.Sessions.Claim(ctx, "s", "a", time.Hour)
	if err != nil {
		return err
	}
	b := store.Batch{Prev: lease.Top(), Events: [][]byte{[]byte(strings.Repeat("x", 40<<10))}}
	var acknowledged uint64
	for err == nil {
		b.Number++
		var r store.Receipt
		if r, err = s.Sessions.Commit(ctx, lease, b); err == nil {
			b.Prev = r.Top
			acknowledged++
		}
	}
	if !errors.Is(err, store.ErrNoSpace) || acknowledged == 0 {
		return fmt.Errorf("after %d batches the store says %w, want that it is out of space", acknowledged, err)
	}
	for range 3 { // the same again, and something else
		if _, err := s.Sessions.Commit(ctx, lease, b); !errors.Is(err, store.ErrNoSpace) {
			return fmt.Errorf("a retry on a full disk says %w", err)
		}
		if _, err := s.Sessions.Send(ctx, "s", store.Command{ID: "c", Data: make([]byte, 60<<10)}); !errors.Is(err, store.ErrNoSpace) {
			return fmt.Errorf("a command on a full disk says %w", err)
		}
		if err := countEvents(s, acknowledged); err != nil {
			return fmt.Errorf("on a full disk: %w", err)
		}
	}
	if err := makeRoom(); err != nil {
		return err
	}
	for range 5 {
		r, err := s.Sessions.Commit(ctx, lease, b)
		if err != nil {
			return fmt.Errorf("with room again: %w", err)
		}
		acknowledged++
		b.Number, b.Prev = b.Number+1, r.Top
	}
	if err := s.Close(); err != nil {
		return err
	}
	if s, err = filestore.Open(dir, cfg); err != nil {
		return err
	}
	if err := countEvents(s, acknowledged); err != nil {
		return fmt.Errorf("after opening again: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "aside")); err == nil {
		return errors.New("something was set aside")
	}
	return s.Close()
}

func countEvents(s *filestore.Store, want uint64) error {
	events, err := s.Sessions.Read(context.Background(), "s", wire.Position{}, 1000)
	if err != nil {
		return err
	}
	if got := uint64(len(events) - 1); got != want {
		return fmt.Errorf("log has %d events, want %d", got, want)
	}
	return nil
}

// TestFullDisk fills a real disk, a small one.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	cmd := command(t, "fill", t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 { // who is not root may mount things where he is
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	err := cmd.Run()
	// Here are no namespaces, or the root is no mount point that could be made
	// private to one.
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) {
		dir := t.TempDir()
		// Without a namespace of its own the test has to unmount the disk.
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		err = command(t, "fill", dir).Run()
	}
	ok(t, err)
}
