package agentpool_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func claim(session wire.SessionID) agentpool.Claim {
	return agentpool.Claim{Session: session, User: "ada", Holder: "main"}
}

// expectUse fails the test unless a semaphore has these numbers of holders and waiters.
func expectUse(t *testing.T, s agentpool.Semaphores, name string, held, waiting int) {
	t.Helper()
	synctest.Wait()
	u, err := s.Slots(t.Context(), name)
	if want := (store.SlotUse{Held: held, Waiting: waiting}); err != nil || u != want {
		t.Fatalf("semaphore %s is %+v, want %+v, error %v", name, u, want, err)
	}
}

// acquired waits for a slot in the background.
func acquired(ctx context.Context, l *agentpool.Limiter, c agentpool.Claim) <-chan *agentpool.Slot {
	got := make(chan *agentpool.Slot, 1)
	go func() { // ends with its context at the latest
		defer close(got)
		if s, err := l.Acquire(ctx, c); err == nil {
			got <- s
		}
	}()
	return got
}

func TestLimiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		l := newLimiter(t, s, agentpool.Limits{Agents: 2})
		if got := l.Limits(); got.Agents != 2 || got.TTL != 10*time.Second {
			t.Errorf("limits are %+v, want those of the configuration", got)
		}
		if got := agentpool.NewLimiter(s, agentpool.Limits{}, nil).Limits().Agents; got != 10 {
			t.Errorf("%d agents unless set, want 10", got)
		}
		one, err := l.Try(t.Context(), claim("ses-1"))
		ok(t, err)
		two, err := l.Acquire(t.Context(), claim("ses-1")) // at once, under the limit
		ok(t, err)
		if _, err := l.Try(t.Context(), claim("ses-2")); !errors.Is(err, agentpool.ErrFull) {
			t.Fatalf("a third slot: error %v, want a refusal", err)
		}
		use, err := l.Use(t.Context())
		if err != nil || use != (store.SlotUse{Held: 2}) {
			t.Fatalf("use is %+v, error %v; want 2 held", use, err)
		}
		three := acquired(t.Context(), l, claim("ses-2"))
		expectUse(t, s, "agents", 2, 1)
		one.Release()
		got := <-three
		expectUse(t, s, "agents", 2, 0) // the count stays at the limit
		for range 3 {
			one.Release()
		}
		expectUse(t, s, "agents", 2, 0)
		two.Release()
		got.Release()
		expectUse(t, s, "agents", 0, 0)
		one.Release()
		expectUse(t, s, "agents", 0, 0)
	})
}

// A cancelled Acquire releases everything and does not affect other calls: neither a deadline nor
// the end of one session rejects the calls of another.
func TestCancelledAcquire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		l := newLimiter(t, s, agentpool.Limits{Agents: 1, PerSession: 5, PerUser: 5})
		first, err := l.Try(t.Context(), claim("ses-1"))
		ok(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Acquire(ctx, claim("ses-1")); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("waiting ends with %v, want the cause of the context", err)
		}
		expectUse(t, s, "agents", 1, 0)
		expectUse(t, s, "agents:session:ses-1", 1, 0)
		reset, drop := context.WithCancel(t.Context())
		gone := []<-chan *agentpool.Slot{acquired(reset, l, claim("ses-1")), acquired(reset, l, claim("ses-1"))}
		other := acquired(t.Context(), l, claim("ses-2"))
		expectUse(t, s, "agents", 1, 3)
		drop()
		for _, g := range gone {
			if slot := <-g; slot != nil {
				t.Error("a canceled Acquire got a slot, want none")
			}
		}
		expectUse(t, s, "agents", 1, 1)
		first.Release()
		slot := <-other
		slot.Release()
		expectUse(t, s, "agents", 0, 0)
		expectUse(t, s, "agents:user:ada", 0, 0)
	})
}

func TestCaps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		m := &interceptedStore{Semaphores: s}
		l := newLimiter(t, m, agentpool.Limits{Agents: 4, PerSession: 2, PerUser: 3})
		take := func(c agentpool.Claim) *agentpool.Slot {
			t.Helper()
			slot, err := l.Try(t.Context(), c)
			ok(t, err)
			return slot
		}
		full := func(c agentpool.Claim, which string) {
			t.Helper()
			if _, err := l.Try(t.Context(), c); !errors.Is(err, agentpool.ErrFull) || !strings.Contains(err.Error(), which) {
				t.Fatalf("want %s to be full: %v", which, err)
			}
		}
		one := take(claim("ses-1"))
		if got := semaphoresOf(m.asked); !slices.Equal(got, []string{"agents:session:ses-1", "agents:user:ada", "agents"}) {
			t.Errorf("semaphores are acquired in the order %v, want session, user, agents", got)
		}
		two := take(claim("ses-1"))
		full(claim("ses-1"), "agents:session:ses-1")
		three := take(claim("ses-2"))
		full(claim("ses-2"), "agents:user:ada")
		expectUse(t, s, "agents:session:ses-2", 1, 0) // nothing stays of what was refused
		four := take(agentpool.Claim{Session: "ses-3", User: "bob"})
		full(agentpool.Claim{Session: "ses-4"}, "agents")
		expectUse(t, s, "agents:session:ses-4", 0, 0)
		expectUse(t, s, "agents", 4, 0)
		four.Release()
		synctest.Wait()
		noUser := take(agentpool.Claim{Session: "ses-1-"}) // without a user there is no cap of one
		expectUse(t, s, "agents:user:", 0, 0)
		for _, slot := range []*agentpool.Slot{one, two, three, noUser} {
			slot.Release()
		}
		expectUse(t, s, "agents", 0, 0)
		expectUse(t, s, "agents:session:ses-1", 0, 0)
		expectUse(t, s, "agents:user:ada", 0, 0)
	})
}

func semaphoresOf(asked []store.SlotRequest) (names []string) {
	for _, r := range asked {
		names = append(names, r.Semaphore)
	}
	return names
}

// Users and agents may have names that a store does not accept.
func TestInvalidStoreNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		l := newLimiter(t, s, agentpool.Limits{PerUser: 1})
		for _, name := range []string{strings.Repeat("x", 1000), "line\nbreak", "\x00", "ünïcödé"} {
			c := agentpool.Claim{Session: "ses-1", User: name, Holder: name}
			slot, err := l.Try(t.Context(), c)
			ok(t, err)
			if _, err := l.Try(t.Context(), c); !errors.Is(err, agentpool.ErrFull) {
				t.Errorf("a second agent of %q: error %v, want a refusal", name, err)
			}
			slot.Release()
		}
		expectUse(t, s, "agents", 0, 0)
		for _, acquire := range []func(context.Context, agentpool.Claim) (*agentpool.Slot, error){l.Try, l.Acquire} {
			if _, err := acquire(t.Context(), agentpool.Claim{Session: "bad\nsession"}); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("a session with a line break: error %v, want %v", err, store.ErrInvalid)
			}
		}
	})
}

// A busy session does not starve another one, across replicas.
func TestFairness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b := newLimiter(t, s, agentpool.Limits{Agents: 2}), newLimiter(t, s, agentpool.Limits{Agents: 2})
		var order []string
		var mu sync.Mutex
		var wg sync.WaitGroup
		waiting := 0
		wait := func(l *agentpool.Limiter, session wire.SessionID) {
			t.Helper()
			wg.Go(func() {
				slot, err := l.Acquire(t.Context(), claim(session))
				if err != nil {
					t.Errorf("waiting: %v", err)
					return
				}
				mu.Lock()
				order = append(order, string(session))
				mu.Unlock()
				time.Sleep(time.Second)
				slot.Release()
			})
			waiting++
			expectUse(t, s, "agents", 2, waiting)
		}
		var busy []*agentpool.Slot
		for range 2 {
			slot, err := a.Try(t.Context(), claim("busy"))
			ok(t, err)
			busy = append(busy, slot)
		}
		for range 6 {
			wait(a, "busy")
		}
		for range 3 {
			wait(b, "quiet")
		}
		for _, slot := range busy {
			slot.Release()
			time.Sleep(time.Millisecond)
		}
		wg.Wait()
		if got := strings.Join(order, " "); got != "quiet busy quiet busy quiet busy busy busy busy" {
			t.Errorf("slots were acquired in the order %s, want quiet and busy in turn, then busy", got)
		}
	})
}

// Two limiters never share a holder.
func TestHolders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &interceptedStore{Semaphores: openStore(t)}
		a, b := newLimiter(t, m, agentpool.Limits{}), newLimiter(t, m, agentpool.Limits{})
		for range 3 {
			for _, l := range []*agentpool.Limiter{a, b} {
				slot, err := l.Try(t.Context(), claim("ses-1"))
				ok(t, err)
				defer slot.Release()
			}
		}
		seen := map[string]bool{}
		for _, r := range m.asked {
			if seen[r.Holder] || !strings.HasSuffix(r.Holder, " main") {
				t.Errorf("holder %q is used twice or not of main, want a holder of its own that ends with main", r.Holder)
			}
			seen[r.Holder] = true
		}
	})
}
