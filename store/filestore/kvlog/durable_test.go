package kvlog_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// damages collects what a log tells.
type damages struct{ list []kvlog.Damage }

func (d *damages) config(cfg kvlog.Config) kvlog.Config {
	d.list = nil
	cfg.OnDamage = func(x kvlog.Damage) { d.list = append(d.list, x) }
	return cfg
}

func (d *damages) reports() []string {
	var names []string
	for _, x := range d.list {
		names = append(names, x.Report)
	}
	slices.Sort(names)
	return names
}

// unnamed is the damage without a bucket; there must be some.
func (d *damages) unnamed(t *testing.T) kvlog.Damage {
	t.Helper()
	for _, x := range d.list {
		if x.Bucket == "" {
			return x
		}
	}
	t.Fatalf("damages are %v, want one without a bucket", d.list)
	return kvlog.Damage{}
}

// keptOf are the files of a log of several segments or of one, which was closed.
func keptOf(t *testing.T, batches int) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	l := open(t, dir, smallSegments())
	for i := range batches {
		put(t, l, fmt.Sprint("bucket", i), "key", strings.Repeat("x", 1000))
	}
	ok(t, l.Close())
	return files(t, dir)
}

// Every Open reports an emptied segment in the same way and leaves the file as it is; the
// log goes on in a new segment.
func TestEmptySegment(t *testing.T) {
	t.Parallel()
	for _, batches := range []int{2, 12} {
		kept := keptOf(t, batches)
		names := segments(kept)
		if many := len(names) > 2; many != (batches > 10) {
			t.Fatalf("%d batches are in %d segments, want more than two only for more than ten batches", batches, len(names))
		}
		for i, name := range names {
			for _, size := range []int{0, kvlog.SegmentHeader - 1} {
				for _, older := range []bool{false, true} { // without a durable file
					if older && i == len(names)-1 && i > 0 {
						continue // a crash of an older program leaves that
					}
					t.Run(fmt.Sprint(name, " of ", len(names), " with ", size, " older ", older), func(t *testing.T) {
						t.Parallel()
						changed := maps.Clone(kept)
						changed[name] = kept[name][:size]
						if older {
							delete(changed, kvlog.DurableName)
						}
						dir := restore(t, changed)
						var found damages
						l := open(t, dir, found.config(smallSegments()))
						first := found.reports()
						if len(found.unnamed(t).Report) == 0 {
							t.Errorf("the damage has no report, want one: %v", found.list)
						}
						want := read(t, l)
						goesOn(t, dir, l, want)
						if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() != int64(size) {
							t.Errorf("the damaged segment is %v, error %v; want %d bytes", info, err, size)
						}
						l = open(t, dir, found.config(smallSegments()))
						if again := found.reports(); !slices.Equal(again, first) {
							t.Errorf("the next Open tells of %v, want %v", again, first)
						}
						ok(t, l.Close())
					})
				}
			}
		}
	}
}

// TestLostSegments deletes all segments, or the newest.
func TestLostSegments(t *testing.T) {
	t.Parallel()
	kept := keptOf(t, 12)
	names := segments(kept)
	for _, gone := range [][]string{names, names[len(names)-1:]} {
		changed := maps.Clone(kept)
		for _, name := range gone {
			delete(changed, name)
		}
		dir := restore(t, changed)
		var found damages
		l := open(t, dir, found.config(smallSegments()))
		first := found.reports()
		if d := found.unnamed(t); !strings.Contains(d.Reason, "missing") {
			t.Errorf("%d segments are gone and the damage is %v, want that they are missing", len(gone), d)
		}
		goesOn(t, dir, l, read(t, l))
		for _, name := range gone {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				t.Errorf("segment %s is there again, want it gone", name)
			}
		}
		l = open(t, dir, found.config(smallSegments()))
		if again := found.reports(); !slices.Equal(again, first) {
			t.Errorf("the next Open tells of %v, want %v", again, first)
		}
		ok(t, l.Close())
	}
}

// TestTruncatedLog cuts the newest segment in half. It was on disk, so that this is
// damage, whether the log was closed or its process killed.
func TestTruncatedLog(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*kvlog.Log) error{"closed": (*kvlog.Log).Close, "killed": (*kvlog.Log).Kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := quickDir(t)
			cfg := kvlog.Config{Sync: kvlog.SyncAlways}
			l := open(t, dir, cfg)
			for i := range 10 {
				put(t, l, fmt.Sprint("bucket", i), "key", strings.Repeat("x", 100))
			}
			ok(t, leave(l))
			path := filepath.Join(dir, "00000001.seg")
			info, err := os.Stat(path)
			ok(t, err)
			ok(t, os.Truncate(path, info.Size()/2))
			var found damages
			l = open(t, dir, found.config(cfg))
			first, left := found.reports(), read(t, l)
			d := found.unnamed(t)
			if len(left) == 0 || len(left) > 5 {
				t.Errorf("%d of 10 buckets are left of the first half, want 1 to 5", len(left))
			}
			for name := range left {
				if !slices.Contains(d.Suspects, name) {
					t.Errorf("suspects are %v, want all buckets that are left, also %s", d.Suspects, name)
				}
			}
			put(t, l, "bucket0", "later", "x")
			left["bucket0"]["later"] = "x"
			goesOn(t, dir, l, left)
			l = open(t, dir, found.config(cfg))
			if again := found.reports(); !slices.Equal(again, first) {
				t.Errorf("the next Open tells of %v, want %v", again, first)
			}
			if s := found.unnamed(t).Suspects; slices.Contains(s, "bucket0") || !slices.Contains(s, "bucket1") {
				t.Errorf("suspects are %v, want none that has later records", s)
			}
			ok(t, l.Close())
		})
	}
}

// TestTornRecord tears the newest record, of which an fsync was not done yet, as a
// crash does. That is no damage.
func TestTornRecord(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		l := open(t, dir, kvlog.Config{})
		put(t, l, "a", "key", "value")
		time.Sleep(time.Second)
		put(t, l, "b", "key", strings.Repeat("x", 1000))
		ok(t, l.Kill())
		path := filepath.Join(dir, "00000001.seg")
		info, err := os.Stat(path)
		ok(t, err)
		ok(t, os.Truncate(path, info.Size()-500))
		var found damages
		l = open(t, dir, found.config(kvlog.Config{}))
		if got := read(t, l); len(found.list) > 0 || len(got) != 1 {
			t.Errorf("log holds %v, damages %v; want the first record and no damage", got, found.list)
		}
		ok(t, l.Close())
	})
}
