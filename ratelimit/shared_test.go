package ratelimit_test

import (
	"context"
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
			t.Errorf("wait of a connect above the limit: got %v, want more than 0 and at most 62 s", wait)
		}
		if k.Connect(t.Context(), "ann", true) != 0 {
			t.Error("resume after fresh connects: got a wait, want none")
		}
		if k.Connect(t.Context(), "bob\n{x}"+strings.Repeat("b", 1000), false) != 0 {
			t.Error("connect of another user: got a wait, want none")
		}
	}
}

func TestConnectWithoutStore(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"unavailable": store.ErrUnavailable, "late": context.DeadlineExceeded, "corrupt": store.ErrCorrupt,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				counts := &broken{Counts: openStore(t)}
				k := ratelimit.New(ratelimit.Config{}, counts)
				for range 4 {
					if k.Connect(t.Context(), "ann", false) != 0 {
						t.Fatal("connect below the limit: got a wait, want none")
					}
				}
				counts.fail(failure)
				counts.calls.Store(0)
				passed := 0
				for range 20 {
					if k.Connect(t.Context(), "ann", false) == 0 {
						passed++
					}
				}
				if passed != 6 { // those before count
					t.Errorf("%d more passed, want 6", passed)
				}
				if n := counts.calls.Load(); n != 20 {
					t.Errorf("got %d calls of the store, want one per connect, 20", n)
				}
				time.Sleep(62 * time.Second)
				if k.Connect(t.Context(), "ann", false) != 0 {
					t.Error("connect after a minute: got a wait, want none")
				}
			})
		})
	}
}

// A store that does not answer delays a connection by one second.
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
			t.Errorf("connects with a slow store: got %d passed after %v, want 10 within a second", passed.Load(), took)
		}
	})
}

// stuck is a store that never answers.
type stuck struct{}

func (stuck) Take(ctx context.Context, _ string, _ int, _ time.Duration) (time.Duration, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}
