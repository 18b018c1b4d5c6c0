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

const (
	speedSessions = 64
	speedBatch    = 16
	speedBytes    = 256
)

func options(addr string) *redis.UniversalOptions {
	return &redis.UniversalOptions{Addrs: []string{addr}, Protocol: 2, MaxRetries: -1, ContextTimeoutEnabled: true, ReadTimeout: 3 * time.Second, DisableIdentity: true}
}

// BenchmarkCommit is what the store reaches: events/s through Commit by many
// sessions at once.
func BenchmarkCommit(b *testing.B) {
	server := redistest.Standalone(b)
	client := redis.NewUniversalClient(options(server.Addr))
	defer client.Close()
	s, err := redisstore.Open(b.Context(), client, redisstore.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
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
	b.ReportAllocs()
	before := spent(b, server)
	b.ResetTimer()
	var wg sync.WaitGroup
	for i, l := range leases {
		wg.Go(func() {
			top := l.Top()
			for n := range share(b.N, i) {
				r, err := s.Commit(b.Context(), l, store.Batch{Number: uint64(n + 1), Prev: top, Events: frames})
				if err != nil {
					b.Error(err)
					return
				}
				top = r.Top
			}
		})
	}
	wg.Wait()
	report(b, server, before)
}

// BenchmarkPlainXAdd is what it is compared with: one XADD per event, pipelined
// by the same number of goroutines.
func BenchmarkPlainXAdd(b *testing.B) {
	server := redistest.Standalone(b)
	client := redis.NewUniversalClient(options(server.Addr))
	defer client.Close()
	frame := bytes.Repeat([]byte{'x'}, speedBytes)
	b.ReportAllocs()
	before := spent(b, server)
	b.ResetTimer()
	var wg sync.WaitGroup
	for i := range speedSessions {
		wg.Go(func() {
			key := fmt.Sprintf("s%d", i)
			for range share(b.N, i) {
				_, err := client.Pipelined(b.Context(), func(p redis.Pipeliner) error {
					for range speedBatch {
						p.XAdd(context.Background(), &redis.XAddArgs{Stream: key, MaxLen: 10000, Approx: true, Values: []any{"d", frame}})
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

// BenchmarkPlainXAddWide pipelines 1,024 events in one connection's pipeline.
func BenchmarkPlainXAddWide(b *testing.B) {
	server := redistest.Standalone(b)
	client := redis.NewUniversalClient(options(server.Addr))
	defer client.Close()
	frame := bytes.Repeat([]byte{'x'}, speedBytes)
	before := spent(b, server)
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for range b.N / 64 / 2 {
				_, err := client.Pipelined(b.Context(), func(p redis.Pipeliner) error {
					for j := range 1024 {
						p.XAdd(context.Background(), &redis.XAddArgs{Stream: fmt.Sprintf("s%d", w*32+j%32), MaxLen: 10000, Approx: true, Values: []any{"d", frame}})
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

func share(n, i int) int { return (n + speedSessions - 1 - i) / speedSessions }
