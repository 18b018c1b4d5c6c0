package filestore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// slowDisk is a disk that can stop, that can be full and whose fsync can fail.
type slowDisk struct {
	stopped atomic.Pointer[chan struct{}] // writes wait until it is closed
	broken  atomic.Bool
	full    atomic.Bool
	syncs   atomic.Int64
}

func (d *slowDisk) stop() (resume func()) {
	c := make(chan struct{})
	d.stopped.Store(&c)
	return func() {
		d.stopped.Store(nil)
		close(c)
	}
}

func (d *slowDisk) open(path string, flag int) (kvlog.File, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	return slowFile{f, d}, nil
}

type slowFile struct {
	*os.File
	disk *slowDisk
}

func (f slowFile) WriteAt(p []byte, off int64) (int, error) {
	if c := f.disk.stopped.Load(); c != nil {
		<-*c
	}
	if f.disk.full.Load() {
		return 0, syscall.ENOSPC
	}
	return f.File.WriteAt(p, off)
}

var errDisk = errors.New("the disk is broken")

func (f slowFile) Sync() error {
	f.disk.syncs.Add(1)
	if f.disk.broken.Load() {
		return errDisk
	}
	return f.File.Sync()
}

// owned makes a session with an owner.
func owned(t *testing.T, s *filestore.Store) store.Lease {
	t.Helper()
	ok(t, s.Sessions.Create(t.Context(), store.NewSession{ID: "s", User: "u"}))
	lease, err := s.Sessions.Claim(t.Context(), "s", "a", time.Hour)
	ok(t, err)
	return lease
}

// TestStuckDisk stops the disk under writers. Their contexts decide how long
// they wait, readers do not wait at all, and a retry finds what was done.
func TestStuckDisk(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		var d slowDisk
		s := open(t, dir, filestore.Config{}.WithFiles(d.open))
		lease := owned(t, s)
		resume := d.stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		b := store.Batch{Number: 1, Prev: lease.Top(), Events: [][]byte{[]byte("event")}, Ops: []store.Op{store.Push("l", nil)}}
		start := time.Now()
		if _, err := s.Sessions.Commit(ctx, lease, b); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("commit ended after %v with %v, want its deadline", time.Since(start), err)
		}
		if _, err := s.Sessions.Send(ctx, "s", store.Command{ID: "c"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("send ended with %v, want its deadline", err)
		}
		if _, err := s.Sessions.Load(t.Context(), "s"); err != nil {
			t.Errorf("load ended with %v", err)
		}
		resume()
		for range 2 {
			r, err := s.Sessions.Commit(t.Context(), lease, b)
			ok(t, err)
			if want := lease.Top(); r.Top.Seq != want.Seq+1 {
				t.Errorf("top is %v, want one event after %v", r.Top, want)
			}
		}
		state, err := s.Sessions.Load(t.Context(), "s")
		ok(t, err)
		if len(state.Lists["l"]) != 1 {
			t.Errorf("batch was applied %d times, want once", len(state.Lists["l"]))
		}
	})
}

// TestDurable counts fsyncs.
func TestDurable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode           filestore.Sync
		plain, durable bool // whether there is an fsync before the answer
	}{
		{filestore.SyncAlways, true, true},
		{filestore.SyncInterval, false, true},
		{filestore.SyncOff, false, false},
	} {
		dir := quickDir(t)
		synctest.Test(t, func(t *testing.T) {
			var d slowDisk
			s := open(t, dir, filestore.Config{Sync: c.mode}.WithFiles(d.open))
			lease := owned(t, s)
			time.Sleep(time.Second)
			b := store.Batch{Prev: lease.Top()}
			for _, b.Durable = range []bool{false, true} {
				before := d.syncs.Load()
				b.Number++
				r, err := s.Sessions.Commit(t.Context(), lease, b)
				ok(t, err)
				want := c.plain
				if b.Durable {
					want = c.durable
				}
				if got := d.syncs.Load() > before; got != want {
					t.Errorf("mode %v, durable %t: fsync before the answer is %t, want %t", c.mode, b.Durable, got, want)
				}
				if r.Durable != (b.Durable && c.durable) {
					t.Errorf("mode %v, durable %t: receipt is %+v, want durable %t", c.mode, b.Durable, r, b.Durable && c.durable)
				}
			}
			before := d.syncs.Load()
			_, err := s.Documents.Put(t.Context(), store.Document{Collection: "c", Name: "n"})
			ok(t, err)
			time.Sleep(50 * time.Millisecond)
			synctest.Wait()
			if got, want := d.syncs.Load() > before, c.mode != filestore.SyncOff; got != want {
				t.Errorf("mode %v: fsync within the interval is %t, want %t", c.mode, got, want)
			}
		})
	}
}

// TestFailedSync makes an fsync fail: writes are refused until the store is
// opened again, reads go on.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	for _, mode := range []filestore.Sync{filestore.SyncAlways, filestore.SyncInterval} {
		dir := quickDir(t)
		synctest.Test(t, func(t *testing.T) {
			var d slowDisk
			cfg := filestore.Config{Sync: mode}.WithFiles(d.open)
			s := open(t, dir, cfg)
			lease := owned(t, s)
			ok(t, s.Ready(t.Context()))
			time.Sleep(time.Second)
			d.broken.Store(true)
			b := store.Batch{Number: 1, Prev: lease.Top(), Ops: []store.Op{store.Push("l", nil)}, Durable: true}
			if _, err := s.Sessions.Commit(t.Context(), lease, b); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, errDisk) {
				t.Errorf("commit ended with %v, want ErrUnavailable because of the disk", err)
			}
			d.broken.Store(false)
			if _, err := s.Sessions.Commit(t.Context(), lease, b); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("retry ended with %v, want ErrUnavailable", err)
			}
			if err := s.Ready(t.Context()); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("ready says %v, want ErrUnavailable", err)
			}
			_, err := s.Sessions.Load(t.Context(), "s")
			ok(t, err)
			ok(t, s.Close())

			s = open(t, dir, cfg) // in the same process, so the lease is still good
			_, err = s.Sessions.Commit(t.Context(), lease, b)
			ok(t, err)
			state, err := s.Sessions.Load(t.Context(), "s")
			ok(t, err)
			if len(state.Lists["l"]) != 1 {
				t.Errorf("batch was applied %d times, want once", len(state.Lists["l"]))
			}
		})
	}
}

// TestFullDiskIsNotReady fills the disk: Ready says so from the first refused write
// until there is room, whether or not something is written then.
func TestFullDiskIsNotReady(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		var d slowDisk
		s := open(t, dir, filestore.Config{}.WithFiles(d.open))
		lease := owned(t, s)
		b := store.Batch{Number: 1, Prev: lease.Top(), Ops: []store.Op{store.Push("l", nil)}}
		d.full.Store(true)
		if _, err := s.Sessions.Commit(t.Context(), lease, b); !errors.Is(err, store.ErrNoSpace) {
			t.Errorf("commit ended with %v, want ErrNoSpace", err)
		}
		for range 2 {
			if err := s.Ready(t.Context()); !errors.Is(err, store.ErrNoSpace) {
				t.Errorf("ready says %v, want ErrNoSpace", err)
			}
		}
		d.full.Store(false)
		ok(t, s.Ready(t.Context()))
		_, err := s.Sessions.Commit(t.Context(), lease, b)
		ok(t, err)
		ok(t, s.Ready(t.Context()))
		left, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
		if err != nil || len(left) > 0 {
			t.Errorf("files left in the folder: %v, error %v; want none", left, err)
		}
	})
}

// TestParseSync reads the names of sync modes.
func TestParseSync(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]filestore.Sync{
		"always": filestore.SyncAlways, "interval": filestore.SyncInterval, "off": filestore.SyncOff,
	} {
		if got, err := filestore.ParseSync(name); err != nil || got != want {
			t.Errorf("%s is %v, error %v, want %v", name, got, err, want)
		}
	}
	for _, name := range []string{"", "Always", "never"} {
		if _, err := filestore.ParseSync(name); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%q: got error %v, want ErrInvalid", name, err)
		}
	}
}
