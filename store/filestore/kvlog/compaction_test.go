package kvlog_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// TestCompactionUnderLoad writes and reads while segments are created and compacted, and
// checks the folder's size all the time.
func TestCompactionUnderLoad(t *testing.T) {
	t.Parallel()
	const writers, batches, keys = 4, 800, 60
	dir := quickDir(t)
	cfg := kvlog.Config{SegmentBytes: 64 << 10}
	l := openFor(t, dir, cfg)
	var wg sync.WaitGroup
	excess := make([]float64, writers)
	for w := range writers {
		name := fmt.Sprint("bucket", w)
		wg.Go(func() {
			churn(t, l, name, batches, keys, func() {
				total, live := l.Sums()
				excess[w] = max(excess[w], float64(total-2*live)/float64(cfg.SegmentBytes))
			})
		})
		wg.Go(func() {
			for range batches / 4 {
				for key, value := range readBucket(t, l, name) {
					if !strings.HasPrefix(value, key+":") {
						t.Errorf("%s is %.20q, want a value that begins with its key", key, value)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	most := slices.Max(excess)
	if most > kvlog.SlackSegments {
		t.Errorf("folder had %.1f segments more than twice its live bytes, want at most %d", most, kvlog.SlackSegments)
	}
	ok(t, l.Audit())
	want := read(t, l)
	ok(t, l.Close())
	l = openFor(t, dir, cfg)
	if got := read(t, l); !got.equal(want) {
		t.Error("log holds other keys or values after it was opened again, want the same")
	}
	ok(t, l.Audit())
}

// churn overwrites and deletes keys of a bucket, each value beginning with its
// key, and calls look after every batch.
func churn(t *testing.T, l *kvlog.Log, bucket string, batches, keys int, look func()) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(len(bucket))))
	for range batches {
		b := kvlog.NewBatch(bucket)
		for range r.IntN(6) {
			key := fmt.Sprint("key", r.IntN(keys))
			b.Put(key, append([]byte(key+":"), bytes.Repeat([]byte("x"), r.IntN(2000))...))
		}
		if r.IntN(10) == 0 {
			b.DeleteRange("key1", "key2")
		}
		if err := l.Apply(b); err != nil {
			t.Errorf("batch: %v", err)
			return
		}
		look()
	}
}

// TestReadersKeepTheirSegments reads a selection after its segments were deleted.
func TestReadersKeepTheirSegments(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		l := openFor(t, dir, smallSegments())
		put(t, l, "b", "key", "old")
		s, err := l.Select("b", func(x *kvlog.Index, keep func(kvlog.Entry)) {
			e, _ := x.Get("key")
			keep(e)
		})
		ok(t, err)
		first, _ := s.Location(0)
		for range 100 {
			put(t, l, "b", "key", strings.Repeat("x", 1000))
		}
		synctest.Wait()
		if _, err := os.Stat(filepath.Join(dir, first)); err == nil {
			t.Fatalf("segment %s is still there, want it compacted", first)
		}
		values, err := s.Values(0, 1)
		ok(t, err)
		if string(values[0]) != "old" {
			t.Errorf("value is %q, want old", values[0])
		}
		s.Close()
	})
}

// TestEviction evicts the indexes of unused buckets and uses the buckets again.
func TestEviction(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		cfg := kvlog.Config{EvictAfter: time.Minute}
		l := openFor(t, dir, cfg)
		want := content{}
		for i := range 20 {
			name := fmt.Sprint("bucket", i)
			want[name] = map[string]string{}
			b := kvlog.NewBatch(name)
			for k := range 100 {
				key := fmt.Sprint("key", k)
				if k%50 == 0 {
					key = "\x00" + key
				}
				b.Put(key, []byte(name+key))
				want[name][key] = name + key
			}
			ok(t, l.Apply(b))
		}
		put(t, l, "small", "key", "value")
		want["small"] = map[string]string{"key": "value"}
		evicted := func(n int) {
			t.Helper()
			if got, all := l.Evicted(); got != n || all != 21 {
				t.Fatalf("%d of %d buckets are evicted, want %d", got, all, n)
			}
		}
		evicted(0)
		time.Sleep(30 * time.Second)
		put(t, l, "bucket0", "key1", "changed")
		want["bucket0"]["key1"] = "changed"
		time.Sleep(45 * time.Second)
		evicted(19)
		time.Sleep(time.Minute)
		evicted(20)
		for range 2 {
			pins, err := l.Pins("bucket3")
			ok(t, err)
			values, err := pins.Values(0, len(pins.Entries()))
			ok(t, err)
			if len(values) != 2 || string(values[0]) != "bucket3\x00key0" {
				t.Errorf("pinned values are %q, want two, the first of key0 of bucket3", values)
			}
			pins.Close()
			evicted(20) // reading pins did not load the index
			ok(t, l.Audit())
			ok(t, l.Close())
			l = openFor(t, dir, cfg)
			evicted(20)
		}
		ok(t, l.Apply(kvlog.Drop("bucket7")))
		delete(want, "bucket7")
		if got := read(t, l); !got.equal(want) {
			t.Errorf("log holds\n%v, want\n%v", got, want)
		}
		ok(t, l.Audit())
	})
}

// TestRefOfDroppedBucket uses the BucketRef of a bucket that was evicted and then dropped.
func TestRefOfDroppedBucket(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		l := openFor(t, dir, kvlog.Config{})
		put(t, l, "b", "key", "value")
		b := kvlog.NewBatch("b")
		ok(t, l.Apply(b))

		gate, dropped := make(chan struct{}), make(chan error, 1)
		ok(t, l.Submit(func(error) { <-gate }, kvlog.NewBatch("a")))
		synctest.Wait()
		ok(t, l.Submit(func(error) {
			ok(t, l.Submit(func(err error) { dropped <- err }, kvlog.Drop("b")))
		}, kvlog.NewBatch("a")))
		go func() { ok(t, l.Evict("b")) }()
		synctest.Wait()
		close(gate)
		ok(t, <-dropped)

		b.Reset("b", b.BucketRef())
		b.Put("other", []byte("value"))
		ok(t, l.Apply(b))
		if got := readBucket(t, l, "b"); !maps.Equal(got, map[string]string{"other": "value"}) {
			t.Errorf("bucket holds %v, want only other", got)
		}
		ok(t, l.Audit())
	})
}

// TestDamagedIndexRecord damages an index record, so that the index is rebuilt from the
// log.
func TestDamagedIndexRecord(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		l := openFor(t, dir, kvlog.Config{EvictAfter: time.Minute})
		want := content{"b": {}}
		for i := range 40 {
			put(t, l, "b", fmt.Sprint("key", i), "value")
			want["b"][fmt.Sprint("key", i)] = "value"
			if i == 20 {
				ok(t, l.Apply(kvlog.Drop("b")))
				clear(want["b"])
			}
		}
		time.Sleep(2 * time.Minute)
		path, off, size := l.WhereIndexRecord("b")
		if path == "" {
			t.Fatal("the index of the bucket is in memory, want it evicted")
		}
		flip(t, path, off+size/2)
		if got := read(t, l); !got.equal(want) {
			t.Errorf("log holds\n%v, want\n%v", got, want)
		}
		ok(t, l.Audit())
	})
}

// TestDamageFoundByCompaction damages a value while the log is open. When its segment is
// compacted, the bucket is reported, the segment quarantined, and all other values are
// kept.
func TestDamageFoundByCompaction(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		var damages []kvlog.Damage
		cfg := smallSegments()
		cfg.OnDamage = func(d kvlog.Damage) { damages = append(damages, d) }
		l := openFor(t, dir, cfg)
		for i := range 5 {
			put(t, l, fmt.Sprint("b", i), "key", "value")
		}
		path, off, _ := l.Where("b2", "key")
		flip(t, path, off)
		for range 100 {
			put(t, l, "busy", "key", strings.Repeat("x", 1000))
		}
		synctest.Wait()
		if len(damages) != 1 || damages[0].Bucket != "b2" {
			t.Fatalf("damages are %v, want that of b2", damages)
		}
		if _, err := os.Stat(filepath.Join(dir, "aside", filepath.Base(path))); err != nil {
			t.Errorf("damaged segment was not kept: %v", err)
		}
		for range 2 {
			got := read(t, l)
			for _, i := range []int{0, 1, 3, 4} {
				if name := fmt.Sprint("b", i); got[name]["key"] != "value" {
					t.Errorf("%s holds %v, want the value", name, got[name])
				}
			}
			if len(got["b2"]) > 0 {
				t.Errorf("damaged bucket holds %v, want nothing", got["b2"])
			}
			ok(t, l.Audit())
			ok(t, l.Close())
			l = openFor(t, dir, cfg)
		}
		if len(damages) != 1 {
			t.Errorf("damages are %v after opening again, want one", damages)
		}
	})
}

// TestCompactionOfDeletedFile deletes a segment file under an open log, one with a damaged
// value in it and one without.
func TestCompactionOfDeletedFile(t *testing.T) {
	t.Parallel()
	for _, damaged := range []bool{false, true} {
		dir := quickDir(t)
		synctest.Test(t, func(t *testing.T) {
			cfg := smallSegments()
			l := openFor(t, dir, cfg)
			put(t, l, "b", "key", "value")
			path, off, _ := l.Where("b", "key")
			if damaged {
				flip(t, path, off)
			}
			ok(t, os.Remove(path))
			for range 100 {
				put(t, l, "busy", "key", strings.Repeat("x", 1000))
			}
			synctest.Wait()
			total, live := l.Sums()
			if bound := 2*live + kvlog.SlackSegments*cfg.SegmentBytes; total > bound {
				t.Errorf("log has %d bytes, want at most %d", total, bound)
			}
			ok(t, l.Audit())
		})
	}
}

// TestPurge searches the files for the bytes of a dropped bucket.
func TestPurge(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		l := openFor(t, dir, kvlog.Config{})
		secret := []byte("the secret of a deleted session")
		onDisk := func() bool {
			for _, data := range files(t, dir) {
				if bytes.Contains(data, secret) {
					return true
				}
			}
			return false
		}
		put(t, l, "other", "key", "value")
		put(t, l, "deleted", "key", string(secret))
		ok(t, l.Apply(kvlog.Drop("deleted")))
		time.Sleep(23 * time.Hour)
		if !onDisk() {
			t.Error("the test does not see what it should not see later")
		}
		time.Sleep(2 * time.Hour)
		if onDisk() {
			t.Error("deleted data is on disk after a day, want it purged")
		}
		if got := read(t, l); !got.equal(content{"other": {"key": "value"}}) {
			t.Errorf("log holds %v, want only the other bucket", got)
		}
	})
}

// TestPurgeThroughRestarts reopens the log more often than purges are due. The time to the
// purge does not start again, and one purge covers all earlier drops.
func TestPurgeThroughRestarts(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		l := open(t, dir, kvlog.Config{})
		secret := []byte("the secret of a deleted session")
		put(t, l, "deleted", "key", string(secret))
		put(t, l, "deleted later", "key", "value")
		ok(t, l.Apply(kvlog.Drop("deleted")))
		for hour := range 25 {
			ok(t, l.Apply(batch("other", "key", "value")))
			if hour == 12 {
				ok(t, l.Apply(kvlog.Drop("deleted later")))
			}
			ok(t, l.Close())
			l = openFor(t, dir, kvlog.Config{})
			time.Sleep(time.Hour)
		}
		purged := files(t, dir)
		for name, data := range purged {
			if bytes.Contains(data, secret) {
				t.Errorf("deleted data is in %s after a day, want it purged", name)
			}
		}
		time.Sleep(48 * time.Hour)
		if before, after := segments(purged), segments(files(t, dir)); !slices.Equal(before, after) {
			t.Errorf("segments were %v after the purge and %v later, want the same: one purge is enough", before, after)
		}
	})
}

// flip changes one bit of a file.
func flip(t *testing.T, path string, off int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	ok(t, err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, off)
	ok(t, err)
	b[0] ^= 4
	_, err = f.WriteAt(b, off)
	ok(t, err)
	ok(t, f.Close())
}
