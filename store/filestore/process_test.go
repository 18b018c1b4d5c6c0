package filestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
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
	if err := s.Sessions.Create(context.Background(), store.NewSession{ID: "s", User: "u"}); err != nil {
		return err
	}
	lease, err := s.Sessions.Claim(context.Background(), "s", "holder", time.Hour)
	if err != nil {
		return err
	}
	if _, err := s.Sessions.Commit(context.Background(), lease, store.Batch{Number: 1, Prev: lease.Top(), Working: new(true)}); err != nil {
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
		t.Error("a killed process ended without an error, want one")
	}
	_ = in.Close() // which Wait may have done

	s := open(t, dir, filestore.Config{})
	free, err := s.Sessions.Unattended(t.Context(), 0)
	ok(t, err)
	if len(free) != 1 {
		t.Errorf("unattended are %v, want the dead owner's session", free)
	}
	dead := store.Lease{Session: "s", Replica: "holder", Epoch: epoch, TTL: time.Hour}
	if err := s.Sessions.Renew(t.Context(), dead); !errors.Is(err, store.ErrFenced) {
		t.Errorf("renewing the dead owner's lease: got error %v, want ErrFenced", err)
	}
	lease, err := s.Sessions.Claim(t.Context(), "s", "heir", time.Hour)
	ok(t, err)
	if lease.Epoch <= epoch {
		t.Errorf("epoch is %d after %d, want a higher one", lease.Epoch, epoch)
	}
}

// sleepingSessions is a program that prints how many bytes of memory an unused
// session costs.
func sleepingSessions(args []string) error {
	const sessions = 800
	ctx := context.Background()
	s, err := filestore.Open(args[0], filestore.Config{Sync: filestore.SyncOff}.WithEvictAfter(100*time.Millisecond))
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
	if err := s.Sessions.Create(ctx, store.NewSession{ID: id, User: "u", Card: []byte("card")}); err != nil {
		return err
	}
	lease, err := s.Sessions.Claim(ctx, id, "a", time.Hour)
	if err != nil {
		return err
	}
	b := store.Batch{Prev: lease.Top(), Events: [][]byte{[]byte("event")}}
	for n := range 40 {
		b.Number++
		b.Ops = []store.Op{store.Set("table", fmt.Sprint("field", n), []byte("value")), store.Push("list", []byte("item"))}
		r, err := s.Sessions.Commit(ctx, lease, b)
		if err != nil {
			return err
		}
		b.Prev = r.Top
	}
	return s.Sessions.Release(ctx, lease)
}

// TestMemoryOfSleepingSessions measures what the package comment promises.
func TestMemoryOfSleepingSessions(t *testing.T) {
	t.Parallel()
	out, err := command(t, "sleep", quickDir(t)).Output()
	ok(t, err)
	var asleep int
	_, err = fmt.Sscan(string(out), &asleep)
	ok(t, err)
	t.Logf("an unused session takes %d bytes", asleep)
	if asleep > 2048 {
		t.Errorf("an unused session takes %d bytes of memory, want at most 2048", asleep)
	}
}
