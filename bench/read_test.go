package bench_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
)

// trips counts the round trips of a client: a command or a whole pipeline is one.
type trips struct{ n atomic.Int64 }

func (t *trips) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (t *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		t.n.Add(1)
		return next(ctx, cmd)
	}
}

func (t *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		t.n.Add(1)
		return next(ctx, cmds)
	}
}

// BenchmarkRead1000 reads 1,000 events after a cursor, like a reconnecting
// tab, and counts the round trips to Redis.
func BenchmarkRead1000(b *testing.B) {
	b.Run("redis", func(b *testing.B) {
		st, client := openRedis(b)
		var t trips
		client.AddHook(&t)
		w := fill(b, st)
		read(b, w) // the first one brings the script along
		t.n.Store(0)
		for b.Loop() {
			read(b, w)
		}
		b.ReportMetric(float64(t.n.Load())/float64(b.N), "round-trips/op")
	})
	b.Run("file", func(b *testing.B) {
		w := fill(b, openFile(b))
		for b.Loop() {
			read(b, w)
		}
	})
}

const missed = 1000

// fill creates a session with a few more events than the benchmark reads.
func fill(b *testing.B, eng engine) *writer {
	b.Helper()
	w := newWriters(b, eng, "read", 1)[0]
	for range missed/perBatch + 2 {
		if err := w.commit(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	return w
}

func read(b *testing.B, w *writer) {
	b.Helper()
	after := w.batch.Prev
	after.Seq -= missed
	events, err := w.eng.Read(b.Context(), w.lease.Session, after, missed)
	if err != nil {
		b.Fatal(err)
	}
	if len(events) != missed {
		b.Fatalf("read %d events, want %d", len(events), missed)
	}
}
