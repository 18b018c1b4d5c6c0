package redisstore_test

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// The benchmarks below are of one kind of work: many sessions that append
// batches of events at the same time.
const (
	speedSessions = 64
	speedBatch    = 16
	speedBytes    = 256
)

// BenchmarkCommit appends through the store. An operation is a batch.
func BenchmarkCommit(b *testing.B) {
	b.Run("alone", func(b *testing.B) { benchmarkCommit(b, false) })
	b.Run("followed", func(b *testing.B) { benchmarkCommit(b, true) })
}

func benchmarkCommit(b *testing.B, followed bool) {
	b.Helper()
	server, client := benchmarkRedis(b)
	s, err := redisstore.Open(b.Context(), client, redisstore.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	frames := make([][]byte, speedBatch)
	for i := range frames {
		frames[i] = bytes.Repeat([]byte{'x'}, speedBytes)
	}
	leases := make([]store.Lease, speedSessions)
	for i := range leases {
		id := wire.SessionID(fmt.Sprintf("s%d", i))
		if err := s.Create(b.Context(), store.NewSession{ID: id, User: "u"}); err != nil {
			b.Fatal(err)
		}
		if leases[i], err = s.Claim(b.Context(), id, "r", time.Hour); err != nil {
			b.Fatal(err)
		}
	}
	var tails sync.WaitGroup
	before := spent(b, server)
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for i, l := range leases {
		last := uint64(share(b.N, i) * speedBatch)
		if followed && last > 0 {
			tails.Go(func() { readTo(b, s, l.Session, last) })
		}
		wg.Go(func() { commitMany(b, s, l, frames, share(b.N, i)) })
	}
	wg.Wait()
	tails.Wait()
	report(b, server, before)
}

func commitMany(b *testing.B, s *redisstore.Store, l store.Lease, frames [][]byte, batches int) {
	b.Helper()
	top := l.Top()
	for n := range batches {
		r, err := s.Commit(b.Context(), l, store.Batch{Number: uint64(n + 1), Prev: top, Events: frames})
		if err != nil {
			b.Error(err)
			return
		}
		top = r.Top
	}
}

// readTo follows a session until it has seen an event.
func readTo(b *testing.B, s *redisstore.Store, id wire.SessionID, seq uint64) {
	b.Helper()
	for news, err := range s.Tail(b.Context(), id, wire.Position{}) {
		if err != nil {
			b.Error(err)
			return
		}
		if n := len(news.Events); n > 0 && news.Events[n-1].At.Seq >= seq {
			return
		}
	}
}

// BenchmarkPlainXAdd appends each event with a plain XADD in pipelines of as
// many as a batch has, which is what [BenchmarkCommit] is measured against. An
// operation is as many events as a batch has.
func BenchmarkPlainXAdd(b *testing.B) {
	server, client := benchmarkRedis(b)
	frame := bytes.Repeat([]byte{'x'}, speedBytes)
	before := spent(b, server)
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for i := range speedSessions {
		wg.Go(func() {
			args := &redis.XAddArgs{Stream: fmt.Sprintf("s%d", i), MaxLen: 10_000, Approx: true, Values: []any{"d", frame}}
			for range share(b.N, i) {
				_, err := client.Pipelined(b.Context(), func(p redis.Pipeliner) error {
					for range speedBatch {
						p.XAdd(context.Background(), args)
					}
					return nil
				})
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	report(b, server, before)
}

func benchmarkRedis(b *testing.B) (*redistest.Server, redis.UniversalClient) {
	b.Helper()
	server := redistest.Standalone(b)
	o, err := redisstore.ParseURL(server.URL())
	if err != nil {
		b.Fatal(err)
	}
	client := redis.NewUniversalClient(o)
	b.Cleanup(func() { _ = client.Close() })
	return server, client
}

// share is how many of n operations session i does.
func share(n, i int) int { return (n + speedSessions - 1 - i) / speedSessions }

// cpu is processor time: that of the server and that of this process. It says
// more than a rate on a machine that others use, too.
type cpu struct{ server, client float64 }

func spent(b *testing.B, server *redistest.Server) cpu {
	b.Helper()
	info, err := server.Client(b).Info(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	var c cpu
	for line := range strings.Lines(info) {
		for _, field := range []string{"used_cpu_sys:", "used_cpu_user:"} {
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), field); ok {
				seconds, err := strconv.ParseFloat(text, 64)
				if err != nil {
					b.Fatal(err)
				}
				c.server += seconds
			}
		}
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	c.client = float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
	return c
}

func report(b *testing.B, server *redistest.Server, before cpu) {
	b.Helper()
	after := spent(b, server)
	b.ReportMetric(float64(b.N*speedBatch)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric((after.server-before.server)*1e6/float64(b.N), "redis-µs/op")
	b.ReportMetric((after.client-before.client)*1e6/float64(b.N), "go-µs/op")
}
