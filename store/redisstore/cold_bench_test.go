package redisstore_test

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
)

// BenchmarkOpenColdSession claims and loads a session that is in an object of a folder, as a hub that opens it. Before
// each operation the session is packed and moved out, which does not count.
func BenchmarkOpenColdSession(b *testing.B) {
	for _, rows := range []int{10, 500} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) { benchmarkCold(b, rows) })
	}
}

func benchmarkCold(b *testing.B, rows int) {
	b.Helper()
	o, err := redisstore.ParseURL(redistest.Standalone(b).URL())
	if err != nil {
		b.Fatal(err)
	}
	client := redis.NewUniversalClient(o)
	b.Cleanup(func() { _ = client.Close() })
	cfg := config("cold")
	cfg.Objects = &folder{dir: b.TempDir()}
	s, err := redisstore.Open(b.Context(), client, cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	if err := s.Sessions.Create(b.Context(), store.NewSession{ID: "s", User: "user"}); err != nil {
		b.Fatal(err)
	}
	lease, err := s.Sessions.Claim(b.Context(), "s", "a", time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	top := lease.Top()
	for n := range rows {
		frame := fmt.Appendf(nil, `{"n":%d,"text":%q}`, n, rand.Text()+strings.Repeat(" "+rand.Text()[:4], 80))
		r, err := s.Sessions.Commit(b.Context(), lease, store.Batch{
			Number: uint64(n) + 1, Prev: top, Events: [][]byte{frame}, Ops: []store.Op{store.Push("rows", frame), store.Set("t", strconv.Itoa(n), frame)},
		})
		if err != nil {
			b.Fatal(err)
		}
		top = r.Top
	}
	for b.Loop() {
		b.StopTimer()
		if err := s.Sessions.Pack(b.Context(), lease); err != nil {
			b.Fatal(err)
		}
		if done, err := s.Cold.Cool(b.Context(), "s", later()); err != nil || !done {
			b.Fatalf("cool: %v, error %v, want true", done, err)
		}
		b.StartTimer()
		if lease, err = s.Sessions.Claim(b.Context(), "s", "a", time.Hour); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Sessions.Load(b.Context(), "s"); err != nil {
			b.Fatal(err)
		}
	}
}
