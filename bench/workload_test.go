package bench_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// The workload of the append figures.
const (
	sessions  = 64
	perBatch  = 16
	frameSize = 256
	rounds    = 5
	warmUp    = 300 * time.Millisecond
	roundTime = 2 * time.Second
)

// engine is the part of a store that the benchmarks use.
type engine interface {
	Create(ctx context.Context, s store.NewSession) error
	Claim(ctx context.Context, id wire.SessionID, by wire.ReplicaID, ttl time.Duration) (store.Lease, error)
	Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error)
	Read(ctx context.Context, id wire.SessionID, after wire.Position, limit int) ([]store.Event, error)
}

// frame returns a line of JSON of frameSize bytes.
func frame() []byte {
	f := []byte(`{"type":"AGENT_RESPONSE","data":{"delta":"`)
	f = append(f, bytes.Repeat([]byte{'x'}, frameSize-len(f)-3)...)
	return append(f, `"}}`...)
}

// writer commits batches for one session, like its owner.
type writer struct {
	eng   engine
	lease store.Lease
	batch store.Batch
}

// newWriters creates n sessions and claims them.
func newWriters(b *testing.B, eng engine, name string, n int) []*writer {
	b.Helper()
	ws := make([]*writer, n)
	for i := range ws {
		id := wire.SessionID(fmt.Sprintf("%s-%d", name, i))
		if err := eng.Create(b.Context(), store.NewSession{ID: id, User: "bench"}); err != nil {
			b.Fatal(err)
		}
		lease, err := eng.Claim(b.Context(), id, "bench", time.Hour)
		if err != nil {
			b.Fatal(err)
		}
		ws[i] = &writer{eng: eng, lease: lease, batch: store.Batch{
			Prev:   lease.Top(),
			Events: slices.Repeat([][]byte{frame()}, perBatch),
		}}
	}
	return ws
}

// commit appends one batch.
func (w *writer) commit(ctx context.Context) error {
	w.batch.Number++
	receipt, err := w.eng.Commit(ctx, w.lease, w.batch)
	if err != nil {
		return fmt.Errorf("batch %d of %s: %w", w.batch.Number, w.lease.Session, err)
	}
	w.batch.Prev = receipt.Top
	return nil
}

// rate runs every worker in a loop for a round, after a warm-up, and returns the iterations per second
// of all workers together.
func rate(b *testing.B, workers []func(context.Context) error) float64 {
	b.Helper()
	var count atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for _, work := range workers {
		wg.Go(func() {
			for !stop.Load() {
				if err := work(b.Context()); err != nil {
					b.Error(err)
					return
				}
				count.Add(1)
			}
		})
	}
	<-time.After(warmUp)
	before, start := count.Load(), time.Now()
	<-time.After(roundTime)
	done, took := count.Load()-before, time.Since(start)
	stop.Store(true)
	wg.Wait()
	return float64(done) / took.Seconds()
}

func commits(ws []*writer) []func(context.Context) error {
	fns := make([]func(context.Context) error, len(ws))
	for i, w := range ws {
		fns[i] = w.commit
	}
	return fns
}

func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return s[len(s)/2]
}

// openRedis starts a Redis server and opens a store on it.
func openRedis(b *testing.B) (*redisstore.Sessions, redis.UniversalClient) {
	b.Helper()
	server := redistest.Standalone(b)
	opts, err := redisstore.ParseURL("redis://" + server.Addr)
	if err != nil {
		b.Fatal(err)
	}
	client := redis.NewUniversalClient(opts)
	b.Cleanup(func() { _ = client.Close() })
	st, err := redisstore.Open(b.Context(), client, redisstore.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = st.Close() })
	return st.Sessions, client
}

func openFile(b *testing.B) *filestore.Sessions {
	b.Helper()
	st, err := filestore.Open(b.TempDir(), filestore.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = st.Close() })
	return st.Sessions
}
