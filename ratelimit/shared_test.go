package ratelimit_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/store"
)

func TestConnectsAreSharedByReplicas(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	var replicas []*ratelimit.Limiter
	for range 4 {
		replicas = append(replicas, ratelimit.New(ratelimit.Config{}, s))
	}
	var passed atomic.Int32
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			if replicas[i%4].Connect(t.Context(), "ann", false) == 0 {
				passed.Add(1)
			}
		})
	}
	wg.Wait()
	if n := passed.Load(); n != 10 {
		t.Errorf("%d of 200 passed, want 10", n)
	}
	for _, k := range replicas {
		if wait := k.Connect(t.Context(), "ann", false); wait <= 0 || wait > 62*time.Second {
			t.Errorf("wait %v", wait)
		}
		if k.Connect(t.Context(), "ann", true) != 0 {
			t.Error("a resume has to wait for fresh ones")
		}
		if k.Connect(t.Context(), "bob\n{x}"+strings.Repeat("b", 1000), false) != 0 {
			t.Error("somebody else has to wait")
		}
	}
}

func TestConnectWithoutStore(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"away": store.ErrUnavailable, "contended": store.ErrConflict, "late": context.DeadlineExceeded, "corrupt": store.ErrCorrupt,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				docs := &broken{Documents: openStore(t)}
				k := ratelimit.New(ratelimit.Config{}, docs)
				for range 4 {
					if k.Connect(t.Context(), "ann", false) != 0 {
						t.Fatal("has to wait")
					}
				}
				docs.fail(failure)
				docs.puts.Store(0)
				passed := 0
				for range 20 {
					if k.Connect(t.Context(), "ann", false) == 0 {
						passed++
					}
				}
				if passed != 6 { // those before count
					t.Errorf("%d more passed, want 6", passed)
				}
				if n := docs.puts.Load(); n > 20*11 || (n > 0) != errors.Is(failure, store.ErrConflict) {
					t.Errorf("the store was tried %d times", n)
				}
				time.Sleep(62 * time.Second)
				if k.Connect(t.Context(), "ann", false) != 0 {
					t.Error("has to wait after a minute")
				}
			})
		})
	}
}

// A store that does not answer costs a second.
func TestConnectWithSlowStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := ratelimit.New(ratelimit.Config{}, stuck{})
		start := time.Now()
		var wg sync.WaitGroup
		var passed atomic.Int32
		for range 20 {
			wg.Go(func() {
				if k.Connect(t.Context(), "ann", false) == 0 {
					passed.Add(1)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took > time.Second || passed.Load() != 10 {
			t.Errorf("%d passed after %v", passed.Load(), took)
		}
	})
}

// stuck is a store that never answers.
type stuck struct{}

func (stuck) Get(ctx context.Context, _, _ string) (store.Document, error) {
	<-ctx.Done()
	return store.Document{}, ctx.Err()
}

func (stuck) Put(ctx context.Context, _ store.Document) (uint64, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// Counts that make no sense let people in rather than lock them out.
func TestConnectWithStrangeCounts(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"not JSON": "x", "far future": `[{"at":99999999999,"n":1000}]`, "negative": `[{"at":1,"n":-5}]`, "long ago": `[{"at":1,"n":1000}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t)
			k := ratelimit.New(ratelimit.Config{}, s)
			if k.Connect(t.Context(), "ann", false) != 0 {
				t.Fatal("has to wait")
			}
			page, err := s.Documents(t.Context(), "quota", "", 2)
			if err != nil || len(page.Items) != 1 || page.Items[0].TTL <= time.Minute || page.Items[0].TTL > 2*time.Minute {
				t.Fatalf("got %+v, %v", page, err)
			}
			d := page.Items[0]
			d.Data = []byte(data)
			if _, err := s.Put(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if wait := k.Connect(t.Context(), "ann", false); wait != 0 {
				t.Errorf("wait %v", wait)
			}
		})
	}
}
