package engines

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	bolt "go.etcd.io/bbolt"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

const (
	sessions  = 64
	perBatch  = 16
	frameSize = 256
	logEvents = 10_000
	keep      = logEvents / perBatch // batches in a full log
)

// engine commits batches of sessions.
type engine interface {
	// commit appends batch n of a session, with two fields, and drops the
	// oldest batch if the log is full.
	commit(session, n int) error
	close() error
}

// noContext is for calls that are never canceled.
var noContext = context.Background()

var frames = slices.Repeat([][]byte{bytes.Repeat([]byte("x"), frameSize)}, perBatch)

func entryKey(session, n int) []byte { return fmt.Appendf(nil, "s%02d/e/%08d", session, n) }

func fieldKey(session, f int) []byte { return fmt.Appendf(nil, "s%02d/t/%d", session, f) }

func metaKey(session int) []byte { return fmt.Appendf(nil, "s%02d/m", session) }

// sealed is the stored form of a batch's frames and field is that of a field.
func sealed() []byte { return store.Schema{}.Seal(nil, bytes.Join(frames, []byte{'\n'})) }

func field(n int) []byte {
	return store.Schema{}.Seal(nil, binary.BigEndian.AppendUint64(make([]byte, 0, 64), uint64(n)))
}

var metaValue = bytes.Repeat([]byte("m"), 120)

// file is the store as it is.
type file struct {
	store  *filestore.Store
	leases [sessions]store.Lease
	tops   [sessions]wire.Position
}

func openFile(sync filestore.Sync) opener {
	return func(tb testing.TB, dir string) engine {
		tb.Helper()
		s, err := filestore.Open(dir, filestore.Config{Sync: sync, Limits: store.Limits{LogEvents: logEvents}})
		ok(tb, err)
		f := &file{store: s}
		for i := range sessions {
			id := wire.SessionID(fmt.Sprintf("s%02d", i))
			ok(tb, s.Sessions.Create(tb.Context(), store.NewSession{ID: id, User: "bench"}))
			f.leases[i], err = s.Sessions.Claim(tb.Context(), id, "bench", time.Hour)
			ok(tb, err)
			f.tops[i] = f.leases[i].Top()
		}
		return f
	}
}

func (f *file) commit(session, n int) error {
	r, err := f.store.Sessions.Commit(noContext, f.leases[session], store.Batch{
		Number: uint64(n), Prev: f.tops[session], Events: frames,
		Ops: []store.Op{store.Set("t", "0", field(n)), store.Set("t", "1", field(n))},
	})
	f.tops[session] = r.Top
	return err
}

func (f *file) close() error { return f.store.Close() }

// log is the store's log without the store.
type log struct{ log *kvlog.Log }

func openLog(sync kvlog.Sync) opener {
	return func(tb testing.TB, dir string) engine {
		tb.Helper()
		l, err := kvlog.Open(dir, kvlog.Config{Sync: sync})
		ok(tb, err)
		return log{l}
	}
}

func (l log) commit(session, n int) error {
	b := kvlog.NewBatch(fmt.Sprintf("s%02d", session))
	b.Put(string(entryKey(session, n)), sealed())
	b.Put(string(fieldKey(session, 0)), field(n))
	b.Put(string(fieldKey(session, 1)), field(n))
	b.Put(string(metaKey(session)), metaValue)
	b.Delete(string(entryKey(session, n-keep)))
	return l.log.Apply(b)
}

func (l log) close() error { return l.log.Close() }

// bbolt groups concurrent commits by its Batch.
type bbolt struct{ db *bolt.DB }

func openBolt(noSync bool) opener {
	return func(tb testing.TB, dir string) engine {
		tb.Helper()
		db, err := bolt.Open(filepath.Join(dir, "bolt.db"), 0o600, &bolt.Options{NoSync: noSync, FreelistType: bolt.FreelistMapType, NoFreelistSync: true})
		ok(tb, err)
		db.MaxBatchDelay = time.Millisecond
		ok(tb, db.Update(func(tx *bolt.Tx) error {
			for i := range sessions {
				if _, err := tx.CreateBucket(fmt.Appendf(nil, "s%02d", i)); err != nil {
					return err
				}
			}
			return nil
		}))
		return bbolt{db}
	}
}

func (d bbolt) commit(session, n int) error {
	entry := sealed()
	return d.db.Batch(func(tx *bolt.Tx) error {
		t := tx.Bucket(fmt.Appendf(nil, "s%02d", session))
		for _, kv := range [][2][]byte{
			{entryKey(session, n), entry}, {fieldKey(session, 0), field(n)}, {fieldKey(session, 1), field(n)}, {metaKey(session), metaValue},
		} {
			if err := t.Put(kv[0], kv[1]); err != nil {
				return err
			}
		}
		return t.Delete(entryKey(session, n-keep))
	})
}

func (d bbolt) close() error { return d.db.Close() }

// lsm is Pebble with its defaults and a larger memtable.
type lsm struct {
	db   *pebble.DB
	opts *pebble.WriteOptions
}

func openPebble(opts *pebble.WriteOptions) opener {
	return func(tb testing.TB, dir string) engine {
		tb.Helper()
		db, err := pebble.Open(dir, &pebble.Options{MemTableSize: 32 << 20, Logger: quiet{}})
		ok(tb, err)
		return lsm{db, opts}
	}
}

// quiet is a logger that discards its messages.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

func (p lsm) commit(session, n int) error {
	b := p.db.NewBatch()
	for _, kv := range [][2][]byte{
		{entryKey(session, n), sealed()}, {fieldKey(session, 0), field(n)}, {fieldKey(session, 1), field(n)}, {metaKey(session), metaValue},
	} {
		if err := b.Set(kv[0], kv[1], nil); err != nil {
			return err
		}
	}
	if err := b.Delete(entryKey(session, n-keep), nil); err != nil {
		return err
	}
	return b.Commit(p.opts)
}

func (p lsm) close() error { return p.db.Close() }

func ok(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

type candidate struct {
	name string
	open opener
}

type opener func(tb testing.TB, dir string) engine

// candidates returns the engines. Those that lose nothing in a process crash come first; Pebble
// without sync keeps its log in the process and is listed for comparison only.
func candidates() []candidate {
	return []candidate{
		{"filestore/always", openFile(filestore.SyncAlways)},
		{"filestore/interval", openFile(filestore.SyncInterval)},
		{"filestore/off", openFile(filestore.SyncOff)},
		{"kvlog/interval", openLog(kvlog.SyncInterval)},
		{"bbolt/sync", openBolt(false)},
		{"bbolt/nosync", openBolt(true)},
		{"pebble/sync", openPebble(pebble.Sync)},
		{"pebble/nosync", openPebble(pebble.NoSync)},
	}
}

// BenchmarkCommit runs all sessions as fast as they can.
func BenchmarkCommit(b *testing.B) {
	for _, c := range candidates() {
		b.Run(c.name, func(b *testing.B) {
			dir := b.TempDir()
			e := c.open(b, dir)
			var next atomic.Int64
			latencies := make([][]time.Duration, sessions)
			var wg sync.WaitGroup
			b.ResetTimer()
			start := time.Now()
			for s := range sessions {
				wg.Go(func() {
					for n := 1; next.Add(1) <= int64(b.N); n++ {
						begin := time.Now()
						if err := e.commit(s, n); err != nil {
							b.Error(err)
							return
						}
						latencies[s] = append(latencies[s], time.Since(begin))
					}
				})
			}
			wg.Wait()
			took := time.Since(start)
			b.StopTimer()
			report(b, took, latencies)
			b.ReportMetric(float64(size(b, dir))/float64(b.N*perBatch*frameSize), "disk/data")
			ok(b, e.close())
		})
	}
}

// BenchmarkPaced runs all sessions at 50,000 events a second together.
func BenchmarkPaced(b *testing.B) {
	for _, c := range candidates() {
		b.Run(c.name, func(b *testing.B) {
			e := c.open(b, b.TempDir())
			const rate = 50_000 / perBatch // batches a second
			period := time.Second * sessions / rate
			latencies := make([][]time.Duration, sessions)
			var next atomic.Int64
			var wg sync.WaitGroup
			start := time.Now()
			for s := range sessions {
				wg.Go(func() {
					due := start.Add(period * time.Duration(s) / sessions)
					for n := 1; next.Add(1) <= int64(b.N); n++ {
						<-time.After(time.Until(due))
						begin := time.Now()
						if err := e.commit(s, n); err != nil {
							b.Error(err)
							return
						}
						latencies[s] = append(latencies[s], time.Since(begin))
						due = due.Add(period)
					}
				})
			}
			wg.Wait()
			report(b, time.Since(start), latencies)
			ok(b, e.close())
		})
	}
}

// BenchmarkOpen opens a store that holds 64 full logs, about 170 MB.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	e := openFile(filestore.SyncOff)(b, dir)
	for s := range sessions {
		for n := range keep {
			ok(b, e.commit(s, n+1))
		}
	}
	ok(b, e.close())
	bytes := size(b, dir)
	b.SetBytes(bytes)
	for b.Loop() {
		s, err := filestore.Open(dir, filestore.Config{})
		ok(b, err)
		ok(b, s.Close())
	}
}

func report(b *testing.B, took time.Duration, latencies [][]time.Duration) {
	b.Helper()
	all := slices.Concat(latencies...)
	slices.Sort(all)
	if len(all) == 0 {
		return
	}
	b.ReportMetric(float64(len(all)*perBatch)/took.Seconds(), "events/s")
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(0, "ns/op")
}

func size(tb testing.TB, dir string) (n int64) {
	tb.Helper()
	ok(tb, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return nil // a file may go meanwhile
	}))
	return n
}
