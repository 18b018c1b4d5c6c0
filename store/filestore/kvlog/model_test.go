package kvlog_test

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// machine drives a log and a map with the same operations.
type machine struct {
	dir  string
	cfg  kvlog.Config
	log  *kvlog.Log
	want content
	// places are where batches found their buckets, also those dropped since.
	places map[string]kvlog.BucketRef
}

func (m *machine) batch(t *rapid.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "bucket")
	key := rapid.Custom(func(t *rapid.T) string {
		k := fmt.Sprintf("%02d", rapid.IntRange(0, 40).Draw(t, "key"))
		if rapid.IntRange(0, 9).Draw(t, "pinned") == 0 {
			k = "\x00" + k
		}
		return k
	})
	b := new(kvlog.Batch)
	b.Reset(name, m.places[name])
	have := m.want[name]
	if have == nil {
		have = map[string]string{}
		m.want[name] = have
	}
	for range rapid.IntRange(0, 12).Draw(t, "ops") {
		k := key.Draw(t, "key")
		switch rapid.IntRange(0, 5).Draw(t, "op") {
		case 0:
			b.Delete(k)
			delete(have, k)
		case 1:
			hi := key.Draw(t, "hi")
			b.DeleteRange(k, hi)
			for h := range have {
				if h >= k && h < hi {
					delete(have, h)
				}
			}
		default:
			v := strings.Repeat(rapid.StringMatching("[a-z]").Draw(t, "letter"), rapid.IntRange(0, 300).Draw(t, "size"))
			b.Put(k, []byte(v))
			have[k] = v
		}
	}
	if len(have) == 0 {
		delete(m.want, name)
	}
	ok(t, m.log.Apply(b))
	m.places[name] = b.BucketRef()
}

func (m *machine) drop(t *rapid.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "bucket")
	ok(t, m.log.Apply(kvlog.Drop(name)))
	delete(m.want, name)
}

func (m *machine) reopen(t *rapid.T) {
	ok(t, m.log.Close())
	m.log, m.places = open(t, m.dir, m.cfg), map[string]kvlog.BucketRef{}
}

func (m *machine) kill(t *rapid.T) {
	ok(t, m.log.Kill())
	m.log, m.places = open(t, m.dir, m.cfg), map[string]kvlog.BucketRef{}
}

// wait lets buckets be folded or dropped ones be purged.
func (m *machine) wait(t *rapid.T) {
	time.Sleep(rapid.SampledFrom([]time.Duration{time.Second, 3 * time.Second, 12 * time.Second}).Draw(t, "time"))
	synctest.Wait()
}

func (m *machine) check(t *rapid.T) {
	synctest.Wait() // compaction is done
	if got := read(t, m.log); !got.equal(m.want) {
		t.Fatalf("log holds\n%v, want\n%v", got, m.want)
	}
	ok(t, m.log.Audit())
	total, live := m.log.Sums()
	if bound := 2*live + kvlog.SlackSegments*m.cfg.SegmentBytes; total > bound {
		t.Fatalf("log has %d bytes, want at most %d for %d live", total, bound, live)
	}
}

// TestLogIsAMapOfMaps drives a log with compaction, folding, purging and
// reopening, and compares it with maps at every step.
func TestLogIsAMapOfMaps(t *testing.T) {
	t.Parallel()
	for _, mode := range []kvlog.Sync{kvlog.SyncInterval, kvlog.SyncAlways, kvlog.SyncOff} {
		t.Run(fmt.Sprint("sync ", mode), func(t *testing.T) {
			t.Parallel()
			root := quickDir(t)
			synctest.Test(t, func(t *testing.T) {
				rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) { // hides Deadline, which a bubble lacks
					dir := filepath.Join(root, rand.Text())
					cfg := smallSegments()
					cfg.Sync, cfg.EvictAfter, cfg.PurgeAfter = mode, 2*time.Second, 10*time.Second
					cfg.OnDamage = func(d kvlog.Damage) { t.Fatalf("damage %v was reported, want none", d) }
					m := &machine{dir: dir, cfg: cfg, log: open(t, dir, cfg), want: content{}, places: map[string]kvlog.BucketRef{}}
					defer func() { _ = m.log.Close() }()
					t.Repeat(map[string]func(*rapid.T){
						"batch": m.batch, "batch2": m.batch, "batch3": m.batch, "batch4": m.batch,
						"drop": m.drop, "reopen": m.reopen, "kill": m.kill, "wait": m.wait, "": m.check,
					})
				})
			})
		})
	}
}
