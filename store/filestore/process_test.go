package filestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// holdFolder is a program that has a folder open, with a session of its own,
// until it is killed.
func holdFolder(args []string) error {
	s, err := filestore.Open(args[0], filestore.Config{})
	if err != nil {
		return err
	}
	if err := s.Create(context.Background(), store.NewSession{ID: "s", User: "u"}); err != nil {
		return err
	}
	lease, err := s.Claim(context.Background(), "s", "holder", time.Hour)
	if err != nil {
		return err
	}
	if _, err := s.Commit(context.Background(), lease, store.Batch{Number: 1, Prev: lease.Top(), Working: new(true)}); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(os.Stdout, lease.Epoch)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// TestTwoProcesses opens a folder that another process has open, kills that
// process, and takes over what it had.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := command(t, "hold", dir)
	in, err := cmd.StdinPipe()
	ok(t, err)
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	var epoch uint64
	_, err = fmt.Fscanln(bufio.NewReader(out), &epoch)
	ok(t, err)

	_, err = filestore.Open(dir, filestore.Config{})
	if !errors.Is(err, kvlog.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint("process ", cmd.Process.Pid, " on ")) {
		t.Errorf("second open says %v, want that process %d has the folder", err, cmd.Process.Pid)
	}
	ok(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Error("a killed process ended well")
	}
	_ = in.Close() // which Wait may have done

	s := open(t, dir, filestore.Config{})
	free, err := s.Unattended(t.Context(), 0)
	ok(t, err)
	if len(free) != 1 {
		t.Errorf("unattended are %v, want the dead owner's session", free)
	}
	dead := store.Lease{Session: "s", Replica: "holder", Epoch: epoch, TTL: time.Hour}
	if err := s.Renew(t.Context(), dead); !errors.Is(err, store.ErrFenced) {
		t.Errorf("renewing the dead owner's lease: got error %v, want ErrFenced", err)
	}
	lease, err := s.Claim(t.Context(), "s", "heir", time.Hour)
	ok(t, err)
	if lease.Epoch <= epoch {
		t.Errorf("epoch is %d after %d", lease.Epoch, epoch)
	}
}

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
	if err := s.Create(ctx, store.NewSession{ID: "s", User: "u"}); err != nil {
		return err
	}
	lease, err := s.Claim(ctx, "s", "a", time.Hour)
	if err != nil {
		return err
	}
	b := store.Batch{Prev: lease.Top(), Events: [][]byte{[]byte(strings.Repeat("x", 40<<10))}}
	var acknowledged uint64
	for err == nil {
		b.Number++
		var r store.Receipt
		if r, err = s.Commit(ctx, lease, b); err == nil {
			b.Prev = r.Top
			acknowledged++
		}
	}
	if !errors.Is(err, store.ErrNoSpace) || acknowledged == 0 {
		return fmt.Errorf("after %d batches the store says %w, want that it is out of space", acknowledged, err)
	}
	for range 3 { // the same again, and something else
		if _, err := s.Commit(ctx, lease, b); !errors.Is(err, store.ErrNoSpace) {
			return fmt.Errorf("a retry on a full disk says %w", err)
		}
		if _, err := s.Send(ctx, "s", store.Command{ID: "c", Data: make([]byte, 60<<10)}); !errors.Is(err, store.ErrNoSpace) {
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
		r, err := s.Commit(ctx, lease, b)
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
	events, err := s.Read(context.Background(), "s", wire.Position{}, 1000)
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
		// Without a namespace nobody else takes the disk away.
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		err = command(t, "fill", dir).Run()
	}
	ok(t, err)
}

// sleepingSessions is a program that prints how many bytes of memory a session
// costs that nobody uses.
func sleepingSessions(args []string) error {
	const sessions = 800
	ctx := context.Background()
	s, err := filestore.Open(args[0], filestore.Config{Sync: filestore.SyncOff}.WithFoldAfter(100*time.Millisecond))
	if err != nil {
		return err
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range sessions {
		if err := fillSession(ctx, s, wire.SessionID(fmt.Sprint("session-", i))); err != nil {
			return err
		}
	}
	var asleep uint64
	for range 1200 { // until they are all folded
		<-time.After(100 * time.Millisecond)
		if asleep = heap(); asleep-before < 2048*sessions {
			break
		}
	}
	_, _ = fmt.Fprintln(os.Stdout, (asleep-before)/sessions)
	return s.Close()
}

// fillSession makes a session with 40 batches in its log, 40 fields and 40 items.
func fillSession(ctx context.Context, s *filestore.Store, id wire.SessionID) error {
	if err := s.Create(ctx, store.NewSession{ID: id, User: "u", Card: []byte("card")}); err != nil {
		return err
	}
	lease, err := s.Claim(ctx, id, "a", time.Hour)
	if err != nil {
		return err
	}
	b := store.Batch{Prev: lease.Top(), Events: [][]byte{[]byte("event")}}
	for n := range 40 {
		b.Number++
		b.Ops = []store.Op{store.Set("table", fmt.Sprint("field", n), []byte("value")), store.Push("list", []byte("item"))}
		r, err := s.Commit(ctx, lease, b)
		if err != nil {
			return err
		}
		b.Prev = r.Top
	}
	return s.Release(ctx, lease)
}

// TestMemoryOfSleepingSessions measures what the package comment promises.
func TestMemoryOfSleepingSessions(t *testing.T) {
	t.Parallel()
	out, err := command(t, "sleep", quickDir(t)).Output()
	ok(t, err)
	var asleep int
	_, err = fmt.Sscan(string(out), &asleep)
	ok(t, err)
	t.Logf("a session that nobody uses takes %d bytes", asleep)
	if asleep > 2048 {
		t.Errorf("a session that nobody uses takes %d bytes of memory, want at most 2048", asleep)
	}
}
