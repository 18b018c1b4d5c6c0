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
	server, s := benchmarkStore(b)
	leases := benchmarkLeases(b, s, speedSessions)
	var tails sync.WaitGroup
	before := spent(b, server)
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for i, l := range leases {
		n := share(b.N, i, speedSessions)
		last := uint64(n * speedBatch)
		if followed && last > 0 {
			tails.Go(func() { readTo(b, s, l.Session, last) })
		}
		wg.Go(func() { commitMany(b, s, l, store.Batch{Events: frames(speedBatch, speedBytes)}, n) })
	}
	wg.Wait()
	tails.Wait()
	report(b, server, before, speedBatch)
}

// BenchmarkOwners is what a busy hub does: owners that listen for commands commit
// events and the window these have changed. An operation is a batch.
func BenchmarkOwners(b *testing.B) {
	for _, sessions := range []int{64, 500} {
		b.Run(strconv.Itoa(sessions), func(b *testing.B) { benchmarkOwners(b, sessions) })
	}
}

func benchmarkOwners(b *testing.B, sessions int) {
	b.Helper()
	const events, eventBytes, windowBytes = 8, 400, 200
	server, s := benchmarkStore(b)
	leases := benchmarkLeases(b, s, sessions)
	ctx, end := context.WithCancel(b.Context())
	var owners, listeners sync.WaitGroup
	for _, l := range leases {
		listeners.Go(func() {
			for commands := range s.Sessions.Receive(ctx, l) {
				if len(commands) > 0 {
					b.Errorf("the owner received %d commands, want none: none was sent", len(commands))
				}
			}
		})
	}
	for client := server.Client(b); ; { // until all are heard
		channels, err := client.PubSubShardChannels(ctx, "*").Result()
		if err != nil {
			b.Fatal(err)
		}
		if len(channels) == sessions {
			break
		}
	}
	before := spent(b, server)
	b.ReportAllocs()
	b.ResetTimer()
	for i, l := range leases {
		owners.Go(func() {
			commitMany(b, s, l, store.Batch{
				Events: frames(events, eventBytes),
				Ops:    []store.Op{store.Set("contents", "monitor-0/w", bytes.Repeat([]byte{'y'}, windowBytes))},
			}, share(b.N, i, sessions))
		})
	}
	owners.Wait()
	report(b, server, before, events)
	end()
	listeners.Wait()
}

func benchmarkLeases(b *testing.B, s *redisstore.Store, sessions int) []store.Lease {
	b.Helper()
	leases := make([]store.Lease, sessions)
	for i := range leases {
		id := wire.SessionID(fmt.Sprintf("ses-t6iqt52ds2njcjdyy5k3%06d", i))
		if err := s.Sessions.Create(b.Context(), store.NewSession{ID: id, User: "u"}); err != nil {
			b.Fatal(err)
		}
		var err error
		if leases[i], err = s.Sessions.Claim(b.Context(), id, "CDLUYDZ3FZXE46RZ55KNMRSFEE", time.Hour); err != nil {
			b.Fatal(err)
		}
	}
	return leases
}

func frames(n, size int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = bytes.Repeat([]byte{'x'}, size)
	}
	return all
}

// commitMany commits the same batch again and again.
func commitMany(b *testing.B, s *redisstore.Store, l store.Lease, batch store.Batch, times int) {
	b.Helper()
	batch.Prev = l.Top()
	for range times {
		batch.Number++
		r, err := s.Sessions.Commit(b.Context(), l, batch)
		if err != nil {
			b.Error(err)
			return
		}
		batch.Prev = r.Top
	}
}

// readTo follows a session until it has seen an event.
func readTo(b *testing.B, s *redisstore.Store, id wire.SessionID, seq uint64) {
	b.Helper()
	for news, err := range s.Sessions.Tail(b.Context(), id, wire.Position{}) {
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
			for range share(b.N, i, speedSessions) {
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
	report(b, server, before, speedBatch)
}

func benchmarkStore(b *testing.B) (*redistest.Server, *redisstore.Store) {
	b.Helper()
	server, client := benchmarkRedis(b)
	s, err := redisstore.Open(b.Context(), client, redisstore.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return server, s
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

// share is how many of n operations session i of some does.
func share(n, i, sessions int) int { return (n + sessions - 1 - i) / sessions }

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

func report(b *testing.B, server *redistest.Server, before cpu, events int) {
	b.Helper()
	after := spent(b, server)
	b.ReportMetric(float64(b.N*events)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric((after.server-before.server)*1e6/float64(b.N), "redis-µs/op")
	b.ReportMetric((after.client-before.client)*1e6/float64(b.N), "go-µs/op")
}
