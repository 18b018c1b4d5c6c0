package kvlog_test

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// history is a log that was written batch by batch and left behind.
type history struct {
	files  map[string][]byte
	states []content          // after each batch, the first before any
	sizes  []map[string]int64 // of the files after each batch
}

// write makes a history of n batches of different shapes. Its log is left as
// leave does.
func write(t *testing.T, n int, cfg kvlog.Config, leave func(*kvlog.Log) error) history {
	t.Helper()
	return writeAndSettle(t, n, cfg, leave, func() {})
}

// writeAndSettle is write that calls settle after every batch.
func writeAndSettle(t *testing.T, n int, cfg kvlog.Config, leave func(*kvlog.Log) error, settle func()) history {
	t.Helper()
	dir := t.TempDir()
	l := open(t, dir, cfg)
	h := history{states: []content{{}}, sizes: []map[string]int64{sizes(t, dir)}}
	for i := range n {
		// The later ones are in new buckets, and leave nothing to compact.
		late := i >= 128
		name := fmt.Sprint("bucket", i%3)
		if late {
			name = fmt.Sprint("bucket", i/8, i%3)
		}
		b, next := kvlog.NewBatch(name), h.states[i].clone()
		m := next[name]
		if m == nil {
			m = map[string]string{}
			next[name] = m
		}
		for k := range i%4 + 1 {
			number := (i + k) % 7
			if late {
				number = 4*i + k
			}
			key, value := fmt.Sprint("key", number), fmt.Sprint(i, strings.Repeat("v", (i*13)%50))
			b.Put(key, []byte(value))
			m[key] = value
		}
		if i%5 == 4 {
			b.Delete("key3")
			delete(m, "key3")
		}
		ok(t, l.Apply(b))
		settle()
		h.states, h.sizes = append(h.states, next), append(h.sizes, sizes(t, dir))
	}
	ok(t, leave(l))
	h.files = files(t, dir)
	delete(h.files, kvlog.DurableName) // as a power cut may, so that records alone tell what was on disk
	return h
}

func sizes(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for name, data := range files(t, dir) {
		if filepath.Ext(name) == ".seg" {
			out[name] = int64(len(data))
		}
	}
	return out
}

// last returns the name of the newest segment.
func (h history) last() string { return slices.Max(slices.Collect(maps.Keys(h.sizes[len(h.sizes)-1]))) }

// batches returns how many batches were in the log when a segment held at most
// so many bytes.
func (h history) batches(name string, size int64) (n int) {
	for i, s := range h.sizes {
		if s[name] <= size {
			n = i
		}
	}
	return n
}

// with returns the files with one of them changed.
func (h history) with(name string, data []byte) map[string][]byte {
	out := maps.Clone(h.files)
	out[name] = data
	return out
}

// goesOn ends the test when a log does not take and keep another batch.
func goesOn(t *testing.T, dir string, l *kvlog.Log, want content) {
	t.Helper()
	put(t, l, "more", "key", "value")
	want = want.clone()
	want["more"] = map[string]string{"key": "value"}
	for range 2 {
		if got := read(t, l); !got.equal(want) {
			t.Fatalf("log holds\n%v, want\n%v", got, want)
		}
		ok(t, l.Close())
		l = open(t, dir, kvlog.Config{Sync: kvlog.SyncOff})
	}
	ok(t, l.Close())
}

// TestTruncationAtEveryByte cuts a log off everywhere in its newest records. What
// is left is exactly the batches that were whole.
func TestTruncationAtEveryByte(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]kvlog.Config{
		"one segment": {}, "always": {Sync: kvlog.SyncAlways}, "many segments": smallSegments(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 14
			if cfg.SegmentBytes > 0 {
				n = 60 // not yet enough for compaction, which would add records of its own
			}
			h := write(t, n, cfg, (*kvlog.Log).Kill)
			last := h.last()
			end := len(h.files[last])
			for cut := max(0, end-1200); cut <= end; cut++ {
				dir := restore(t, h.with(last, h.files[last][:cut]))
				var damages []kvlog.Damage
				l := open(t, dir, kvlog.Config{Sync: kvlog.SyncOff, OnDamage: func(d kvlog.Damage) { damages = append(damages, d) }})
				want := h.states[h.batches(last, int64(cut))]
				if got := read(t, l); !got.equal(want) || len(damages) > 0 {
					t.Fatalf("cut at %d: log holds\n%v, want\n%v, damages %v", cut, got, want, damages)
				}
				if cut%17 == 0 {
					goesOn(t, dir, l, want)
				} else {
					ok(t, l.Kill())
				}
			}
		})
	}
}

// TestTruncationBeforeTheNewestSegment cuts the segment before the newest one
// off everywhere, as a power cut does when the system had written the newest one
// first. What is left is the batches up to there, or the log reports damage if what is
// missing was known to be on disk.
func TestTruncationBeforeTheNewestSegment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		batches   int
		leave     func(*kvlog.Log) error
		compacted bool
		damage    bool // every cut is, because all is known to be on disk
	}{
		{"nothing compacted", 60, (*kvlog.Log).Kill, false, false},
		{"first segment compacted", 190, (*kvlog.Log).Kill, true, false},
		{"nothing compacted, closed", 60, (*kvlog.Log).Close, false, true},
		{"first segment compacted, closed", 190, (*kvlog.Log).Close, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var h history
			synctest.Test(t, func(t *testing.T) {
				cfg := smallSegments()
				cfg.SyncEvery = time.Hour
				h = writeAndSettle(t, c.batches, cfg, c.leave, synctest.Wait)
			})
			names := segments(h.files)
			if compacted := names[0] != "00000001.seg"; compacted != c.compacted || len(names) < 2 {
				t.Fatalf("segments are %v, want compaction: %v", names, c.compacted)
			}
			name := names[len(names)-2]
			ends := map[int64]bool{}
			for _, s := range h.sizes {
				ends[s[name]] = true
			}
			all, whole := 0, 0
			for cut := kvlog.SegmentHeader; cut < len(h.files[name]); cut++ {
				if !ends[int64(cut)] && cut%5 > 0 {
					continue // between records not every byte is of interest
				}
				all++
				dir := restore(t, h.with(name, h.files[name][:cut]))
				told := 0
				l := open(t, dir, kvlog.Config{Sync: kvlog.SyncOff, OnDamage: func(kvlog.Damage) { told++ }})
				if told > 0 {
					ok(t, l.Kill())
					continue
				}
				want := h.states[h.batches(name, int64(cut))]
				if got := read(t, l); !got.equal(want) {
					t.Fatalf("cut at %d: log holds\n%v, want\n%v", cut, got, want)
				}
				if whole++; whole%17 == 0 {
					goesOn(t, dir, l, want)
				} else {
					ok(t, l.Kill())
				}
			}
			if want := map[bool]int{false: all}[c.damage]; whole != want {
				t.Errorf("%d of %d cuts were no damage, want %d", whole, all, want)
			}
		})
	}
}

// TestFlippedBitsInSafeData flips bits in a log that was closed and so is known
// to be on disk whole. Nothing but the records hit may suffer, and whoever
// suffers is named or at least reported.
func TestFlippedBitsInSafeData(t *testing.T) {
	t.Parallel()
	h := write(t, 14, kvlog.Config{}, (*kvlog.Log).Close)
	last := h.last()
	final := h.states[len(h.states)-1]
	mark := h.sizes[len(h.sizes)-1][last]
	for off := range h.files[last] {
		data := bytes.Clone(h.files[last])
		data[off] ^= 1 << (off % 8)
		dir := restore(t, h.with(last, data))
		var damages []kvlog.Damage
		cfg := kvlog.Config{Sync: kvlog.SyncOff, OnDamage: func(d kvlog.Damage) { damages = append(damages, d) }}
		l := open(t, dir, cfg)
		got := read(t, l)
		if int64(off) >= mark {
			if !got.equal(final) || len(damages) > 0 {
				t.Fatalf("bit flipped at %d in the mark: log holds\n%v, want\n%v, damages %v", off, got, final, damages)
			}
			ok(t, l.Kill())
			continue
		}
		if len(damages) == 0 {
			t.Fatalf("bit flipped at %d was not reported, want a damage", off)
		}
		h.checkDamaged(t, off, got, damages)
		reports, err := filepath.Glob(filepath.Join(dir, "aside", "*.txt"))
		if err != nil || len(reports) != len(damages) {
			t.Fatalf("bit flipped at %d: %d reports for %d damages, error %v, want one for each", off, len(reports), len(damages), err)
		}
		for _, d := range damages {
			if !slices.Contains(reports, filepath.Join(dir, "aside", d.Report)) {
				t.Fatalf("bit flipped at %d: damage %+v names none of the reports, want one of %v", off, d, reports)
			}
		}
		kept, err := filepath.Glob(filepath.Join(dir, "aside", "*"))
		ok(t, err)
		if off%17 > 0 {
			ok(t, l.Kill())
			continue
		}
		first := slices.Clone(damages)
		goesOn(t, dir, l, got)
		damages = nil
		again := open(t, dir, cfg)
		if !slices.EqualFunc(damages, first, func(a, b kvlog.Damage) bool { return a.Report == b.Report && a.String() == b.String() }) {
			t.Fatalf("bit flipped at %d: damages were %v and later %v, want the same", off, first, damages)
		}
		if later, err := filepath.Glob(filepath.Join(dir, "aside", "*")); err != nil || len(later) != len(kept) {
			t.Fatalf("bit flipped at %d: aside holds %v, then %v, error %v, want the same files", off, kept, later, err)
		}
		ok(t, again.Close())
	}
}

// checkDamaged compares what is left of a log with what was in it. A bucket that
// no damage names must be whole, but for its newest record if there is damage
// without a name.
func (h history) checkDamaged(t *testing.T, off int, got content, damages []kvlog.Damage) {
	t.Helper()
	named, unnamed := map[string]bool{}, false
	for _, d := range damages {
		named[d.Bucket] = true
		unnamed = unnamed || d.Bucket == ""
		if d.File == "" || d.Reason == "" {
			t.Errorf("bit flipped at %d: damage %+v has no file or no reason, want both", off, d)
		}
	}
	final := h.states[len(h.states)-1]
	for name, keys := range final {
		before := h.states[len(h.states)-4][name] // every third batch is of this bucket
		whole := maps.Equal(got[name], keys) || unnamed && maps.Equal(got[name], before)
		if !named[name] && !whole {
			t.Fatalf("bit flipped at %d: %s holds\n%v, want\n%v, damages %v", off, name, got[name], keys, damages)
		}
	}
	for name, keys := range got {
		for key, value := range keys {
			if !slices.ContainsFunc(h.states, func(s content) bool { v, ok := s[name][key]; return ok && v == value }) {
				t.Fatalf("bit flipped at %d: %s/%s is %q, want a value that it had before", off, name, key, value)
			}
		}
	}
}

// TestFlippedBitsInUnsafeData flips bits in a log whose end was not reported to
// be on disk, as a power cut may do. The log ends before the first bad record, and
// what came after it is kept aside.
func TestFlippedBitsInUnsafeData(t *testing.T) {
	t.Parallel()
	h := write(t, 10, kvlog.Config{Sync: kvlog.SyncOff}, (*kvlog.Log).Kill)
	last := h.last()
	for off := range h.files[last] {
		data := bytes.Clone(h.files[last])
		data[off] ^= 1 << (off % 8)
		dir := restore(t, h.with(last, data))
		var damages []kvlog.Damage
		l := open(t, dir, kvlog.Config{Sync: kvlog.SyncOff, OnDamage: func(d kvlog.Damage) { damages = append(damages, d) }})
		n := h.batches(last, int64(off))
		if off < kvlog.SegmentHeader {
			// The header was synced when the log was created.
			if got := read(t, l); !got.equal(h.states[10]) || len(damages) != 1 {
				t.Fatalf("bit flipped at %d: log holds\n%v, damages %v, want one damage and\n%v", off, got, damages, h.states[10])
			}
			ok(t, l.Kill())
			continue
		}
		if got := read(t, l); !got.equal(h.states[n]) || len(damages) > 0 {
			t.Fatalf("bit flipped at %d: log holds\n%v, want the first %d batches\n%v, damages %v", off, got, n, h.states[n], damages)
		}
		kept, err := filepath.Glob(filepath.Join(dir, "aside", "cut-*.bin"))
		if want := map[bool]int{true: 1}[n < 9]; err != nil || len(kept) != want {
			t.Fatalf("bit flipped at %d: kept %v, error %v, want %d files", off, kept, err, want)
		}
		if off%17 == 0 {
			goesOn(t, dir, l, h.states[n])
		} else {
			ok(t, l.Kill())
		}
	}
}

// TestIntervalTellsSafeFromUnsafe damages a log on both sides of an fsync.
func TestIntervalTellsSafeFromUnsafe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var ends []int64
	synctest.Test(t, func(t *testing.T) {
		l := open(t, dir, kvlog.Config{})
		for i := range 6 {
			put(t, l, fmt.Sprint("bucket", i), "key", "value")
			total, _ := l.Sums()
			if ends = append(ends, total); i == 2 {
				time.Sleep(time.Second)
			}
		}
		ok(t, l.Kill())
	})
	saved := files(t, dir)
	name := segments(saved)[0]
	for i, want := range []struct{ buckets, damages int }{{5, 1}, {5, 1}, {5, 1}, {3, 0}, {4, 0}, {5, 0}} {
		data := bytes.Clone(saved[name])
		data[ends[i]-1] ^= 1 // in the body of record i
		changed := maps.Clone(saved)
		changed[name] = data
		damages := 0
		l := openFor(t, restore(t, changed), kvlog.Config{OnDamage: func(kvlog.Damage) { damages++ }})
		if got := len(read(t, l)); got != want.buckets || damages != want.damages {
			t.Errorf("record %d damaged: %d buckets and %d damages, want %+v", i, got, damages, want)
		}
	}
}

// TestMissingSegments deletes segments.
func TestMissingSegments(t *testing.T) {
	t.Parallel()
	h := write(t, 60, smallSegments(), (*kvlog.Log).Close)
	names := segments(h.files)
	if len(names) < 2 {
		t.Fatalf("log has %d segments, want more", len(names))
	}
	for i, name := range names[:len(names)-1] {
		changed := maps.Clone(h.files)
		delete(changed, name)
		var damages []kvlog.Damage
		l := openFor(t, restore(t, changed), kvlog.Config{OnDamage: func(d kvlog.Damage) { damages = append(damages, d) }})
		if len(damages) == 0 {
			t.Errorf("segment %d is missing and no damage was reported, want one", i)
		}
		h.checkDamaged(t, i, read(t, l), append(damages, kvlog.Damage{File: name, Reason: "gone"}))
	}
}
