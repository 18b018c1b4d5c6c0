package kvlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// disk is a file system that can be full and whose fsync can fail.
type disk struct {
	mu      sync.Mutex
	left    int // bytes that fit; negative: no limit
	syncErr error
	cutErr  error
	synced  []string // names of the files that were
}

func newDisk() *disk { return &disk{left: -1} }

func (d *disk) set(change func(*disk)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
}

func (d *disk) open(path string, flag int) (kvlog.File, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	return faulty{f, d}, nil
}

type faulty struct {
	*os.File
	disk *disk
}

func (f faulty) WriteAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.left < 0 || f.disk.left >= len(p) {
		if f.disk.left >= 0 {
			f.disk.left -= len(p)
		}
		return f.File.WriteAt(p, off)
	}
	// What is written now is taken back by the log, or it is a bug.
	n, err := f.File.WriteAt(p[:f.disk.left], off)
	return n, errors.Join(err, syscall.ENOSPC)
}

func (f faulty) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.syncErr != nil {
		return f.disk.syncErr
	}
	f.disk.synced = append(f.disk.synced, strings.TrimSuffix(filepath.Base(f.Name()), ".tmp"))
	return f.File.Sync()
}

func (f faulty) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.cutErr != nil {
		return f.disk.cutErr
	}
	return f.File.Truncate(size)
}

func batch(bucket, key, value string) *kvlog.Batch {
	b := kvlog.NewBatch(bucket)
	b.Put(key, []byte(value))
	return b
}

// TestFullDisk fills the disk at every byte of a batch.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, mode := range []kvlog.Sync{kvlog.SyncInterval, kvlog.SyncAlways, kvlog.SyncOff} {
		t.Run(fmt.Sprint("sync ", mode), func(t *testing.T) {
			t.Parallel()
			d, dir := newDisk(), quickDir(t)
			cfg := smallSegments()
			cfg.Sync, cfg.OpenFile = mode, d.open
			cfg.OnDamage = func(d kvlog.Damage) { t.Errorf("damage %v was reported, want none", d) }
			l := openFor(t, dir, cfg)
			want := content{"b": {}}
			for room := range 200 {
				d.set(func(d *disk) { d.left = room })
				err := l.Apply(batch("b", "big", strings.Repeat("x", 300)))
				is(t, err, kvlog.ErrNoSpace)
				if got := read(t, l)["b"]["big"]; got != "" {
					t.Fatalf("a refused batch is visible with room for %d bytes, want it refused as a whole", room)
				}
				d.set(func(d *disk) { d.left = -1 })
				if room%3 == 0 {
					key := strconv.Itoa(room)
					put(t, l, "b", key, "small")
					want["b"][key] = "small"
				}
			}
			ok(t, l.Close())
			l = openFor(t, dir, cfg)
			if got := read(t, l); !got.equal(want) {
				t.Errorf("log holds\n%v, want\n%v", got, want)
			}
		})
	}
}

// TestFullDiskTakesWhatFits has a large and a small batch in one group.
func TestFullDiskTakesWhatFits(t *testing.T) {
	t.Parallel()
	d := newDisk()
	l := openFor(t, quickDir(t), kvlog.Config{OpenFile: d.open, Sync: kvlog.SyncOff})
	// The committer is kept busy while others queue up behind it.
	busy, release := make(chan struct{}), make(chan struct{})
	ok(t, l.Submit(func(error) { close(busy); <-release }, batch("b", "first", "x")))
	<-busy
	d.set(func(d *disk) { d.left = 500 })
	errs := make(chan error, 3)
	for i, value := range []string{"small", strings.Repeat("x", 1000), "small"} {
		ok(t, l.Submit(func(err error) { errs <- err }, batch("b", strconv.Itoa(i), value)))
	}
	close(release)
	ok(t, <-errs)
	is(t, <-errs, kvlog.ErrNoSpace)
	ok(t, <-errs)
	if got := len(read(t, l)["b"]); got != 3 {
		t.Errorf("log holds %d keys, want 3", got)
	}
}

// TestCompactionWaitsForSpace fills the disk when compaction is due.
func TestCompactionWaitsForSpace(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		cfg := smallSegments()
		cfg.OpenFile = d.open
		l := openFor(t, dir, cfg)
		want := content{"b": {}}
		for i := range 30 {
			key, value := fmt.Sprint("kept", i%7), strings.Repeat("x", 900+i)
			want["b"][key] = value
			put(t, l, "b", key, value)
		}
		d.set(func(d *disk) { d.left = 0 })
		for i := range 7 {
			is(t, l.Apply(batch("b", fmt.Sprint("kept", i), "smaller")), kvlog.ErrNoSpace)
		}
		time.Sleep(time.Minute)
		if got := read(t, l); !got.equal(want) {
			t.Errorf("log on a full disk holds\n%v, want\n%v", got, want)
		}
		d.set(func(d *disk) { d.left = -1 })
		time.Sleep(time.Minute)
		for i := range 30 {
			put(t, l, "b", fmt.Sprint("kept", i%7), "small")
		}
		synctest.Wait()
		total, live := l.Sums()
		if bound := 2*live + kvlog.SlackSegments*cfg.SegmentBytes; total > bound {
			t.Errorf("log has %d bytes after there was space, want at most %d", total, bound)
		}
	})
}

// TestFailedSync makes an fsync fail. After that it is unknown what is on disk,
// so the log refuses writes until it is opened again.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	broken := errors.New("i/o error")
	for _, mode := range []kvlog.Sync{kvlog.SyncAlways, kvlog.SyncInterval} {
		dir := quickDir(t)
		synctest.Test(t, func(t *testing.T) {
			d := newDisk()
			l := openFor(t, dir, kvlog.Config{Sync: mode, OpenFile: d.open})
			put(t, l, "b", "before", "value")
			time.Sleep(time.Second)
			d.set(func(d *disk) { d.syncErr = broken })
			err := l.Apply(batch("b", "during", "value"))
			if mode == kvlog.SyncInterval {
				ok(t, err) // it was written, and the mode promises no more
				is(t, l.Sync(t.Context()), broken)
			} else {
				is(t, err, broken)
			}
			d.set(func(d *disk) { d.syncErr = nil })
			for range 3 {
				is(t, l.Apply(batch("b", "after", "value")), kvlog.ErrBroken)
				is(t, l.Sync(t.Context()), kvlog.ErrBroken)
				is(t, l.Err(), kvlog.ErrBroken)
				time.Sleep(time.Second)
			}
			if got := read(t, l)["b"]["before"]; got != "value" {
				t.Errorf("a broken log reads %q, want the value from before", got)
			}
			ok(t, l.Close())
			l = openFor(t, dir, kvlog.Config{Sync: mode, OpenFile: d.open})
			put(t, l, "b", "after", "value")
			if got := read(t, l)["b"]; got["before"] != "value" || got["after"] != "value" {
				t.Errorf("log holds %v after it was opened again, want the values from before and after", got)
			}
		})
	}
}

// TestBrokenLogIsQuiet has compaction find that the log is broken. It logs
// that once, and not every second from then on.
func TestBrokenLogIsQuiet(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		d, cfg := newDisk(), smallSegments()
		cfg.OpenFile, cfg.SyncEvery = d.open, time.Hour
		cfg.Logger = slog.New(slog.NewTextHandler(&lines, nil))
		l := openFor(t, dir, cfg)
		d.set(func(d *disk) { d.syncErr = errors.New("i/o error") })
		var err error
		for i := 0; i < 100 && err == nil; i++ {
			err = l.Apply(batch("b", "key", strings.Repeat("x", 1000)))
		}
		is(t, err, kvlog.ErrBroken)
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := strings.Count(lines.String(), "\n"); n != 1 {
			t.Errorf("a broken log wrote %d lines, want 1:\n%s", n, lines.String())
		}
	})
}

// TestHalfWrittenRecordThatStays cannot take back a half-written record. The
// next Open does.
func TestHalfWrittenRecordThatStays(t *testing.T) {
	t.Parallel()
	d, dir := newDisk(), quickDir(t)
	l := openFor(t, dir, kvlog.Config{OpenFile: d.open})
	put(t, l, "b", "before", "value")
	d.set(func(d *disk) { d.left, d.cutErr = 20, errors.New("i/o error") })
	is(t, l.Apply(batch("b", "during", "value")), kvlog.ErrBroken)
	d.set(func(d *disk) { d.left, d.cutErr = -1, nil })
	is(t, l.Apply(batch("b", "after", "value")), kvlog.ErrBroken)
	ok(t, l.Close())
	l = openFor(t, dir, kvlog.Config{OpenFile: d.open})
	if got := read(t, l); !got.equal(content{"b": {"before": "value"}}) {
		t.Errorf("log holds %v, want only the batch from before", got)
	}
	put(t, l, "b", "after", "value")
}

// TestSyncWaits asks for durability of single batches.
func TestSyncWaits(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		l := openFor(t, dir, kvlog.Config{SyncEvery: time.Hour})
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				put(t, l, "b", strconv.Itoa(i), "value")
				ok(t, l.Sync(t.Context()))
			})
		}
		wg.Wait()
		if took := time.Since(start); took != 0 {
			t.Errorf("durability took %v, want it at once", took)
		}
	})
}

// TestSyncOffSyncsFullSegments fills one segment. It is synced as soon as the
// next one has a record.
func TestSyncOffSyncsFullSegments(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		d, cfg := newDisk(), smallSegments()
		cfg.OpenFile, cfg.Sync = d.open, kvlog.SyncOff
		l := openFor(t, dir, cfg)
		d.set(func(d *disk) { d.synced = nil })
		for i := range 5 {
			put(t, l, "b", strconv.Itoa(i), strings.Repeat("x", 1000))
		}
		synctest.Wait()
		d.set(func(d *disk) {
			if want := []string{"00000002.seg", "00000001.seg"}; !slices.Equal(d.synced, want) {
				t.Errorf("synced were %v, want the header of the new segment and the full one, %v", d.synced, want)
			}
		})
	})
}

// TestReadRacingClose closes the log between finding an entry and reading it.
func TestReadRacingClose(t *testing.T) {
	t.Parallel()
	l := open(t, quickDir(t), kvlog.Config{})
	put(t, l, "b", "key", "value")
	s, err := l.Select("b", func(x *kvlog.Index, keep func(kvlog.Entry)) {
		e, _ := x.Get("key")
		keep(e)
		ok(t, l.Kill())
	})
	ok(t, err)
	defer s.Close()
	_, err = s.Values(0, 1)
	is(t, err, kvlog.ErrClosed)
}

// TestClosed asks everything of a closed log.
func TestClosed(t *testing.T) {
	t.Parallel()
	l := openFor(t, quickDir(t), kvlog.Config{})
	put(t, l, "b", "key", "value")
	ok(t, l.Close())
	ok(t, l.Close())
	is(t, l.Apply(batch("b", "key", "value")), kvlog.ErrClosed)
	is(t, l.Sync(t.Context()), kvlog.ErrClosed)
	is(t, l.Err(), kvlog.ErrClosed)
	_, err := l.Select("b", func(*kvlog.Index, func(kvlog.Entry)) {})
	is(t, err, kvlog.ErrClosed)
	_, err = l.Pins("b")
	is(t, err, kvlog.ErrClosed)
}

// TestRefusals are batches and settings that make no sense.
func TestRefusals(t *testing.T) {
	t.Parallel()
	l := openFor(t, quickDir(t), kvlog.Config{})
	is(t, l.Apply(batch("", "key", "value")), kvlog.ErrTooLarge)
	is(t, l.Apply(batch(strings.Repeat("b", 256), "key", "value")), kvlog.ErrTooLarge)
	for _, cfg := range []kvlog.Config{{SegmentBytes: 1}, {SegmentBytes: 2 << 30}, {SyncEvery: -1}, {Sync: 9}} {
		if l, err := kvlog.Open(filepath.Join(t.TempDir(), "new"), cfg); err == nil {
			t.Errorf("config %+v was accepted, want an error (error of Close %v)", cfg, l.Close())
		}
	}
}
