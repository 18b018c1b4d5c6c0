package membership_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// hub is a replica that records its states.
type hub struct {
	*membership.Membership
	told chan string
	// finish ends a drain when it is closed.
	finish chan struct{}
	stop   context.CancelFunc
	ended  chan struct{}
}

// parts are the parts of a store that a replica uses.
type parts struct {
	listing membership.Announcements
	docs    membership.Documents
}

func openFile(t *testing.T) parts {
	t.Helper()
	s, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return parts{s.Replicas, s.Documents}
}

// start runs a replica until the test ends.
func start(t *testing.T, s parts, id wire.ReplicaID, tune ...func(*membership.Config)) *hub {
	t.Helper()
	h := &hub{told: make(chan string, 16), finish: make(chan struct{}, 16), ended: make(chan struct{})}
	cfg := membership.Config{
		ID: id, Version: "v1", URL: "http://" + string(id),
		Load: func() membership.Load { return membership.Load{Owned: 3} },
		Drain: func(ctx context.Context) error {
			h.told <- "drain"
			select {
			case <-h.finish:
				return nil
			case <-ctx.Done():
				h.told <- "gave up"
				return ctx.Err()
			}
		},
		Serve: func() { h.told <- "serve" },
	}
	for _, f := range tune {
		f(&cfg)
	}
	h.Membership = membership.New(cfg, s.listing, s.docs)
	var ctx context.Context
	ctx, h.stop = context.WithCancel(t.Context())
	go func() { defer close(h.ended); h.Run(ctx) }()
	t.Cleanup(h.end)
	return h
}

// end stops a replica in order.
func (h *hub) end() { h.stop(); <-h.ended }

func (h *hub) hears(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-h.told:
		if got != want {
			t.Fatalf("state is %q, want %q", got, want)
		}
	case <-time.After(2 * time.Minute):
		t.Fatalf("the state never became %q", want)
	}
}

func (h *hub) hearsNothing(t *testing.T) {
	t.Helper()
	select {
	case got := <-h.told:
		t.Fatalf("got state %q, want no change", got)
	default:
	}
}

func states(t *testing.T, h *hub) map[wire.ReplicaID]membership.State {
	t.Helper()
	all, err := h.Replicas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[wire.ReplicaID]membership.State{}
	for _, c := range all {
		found[c.ID] = c.State
	}
	return found
}

func ask(t *testing.T, h *hub, id wire.ReplicaID, order string, o membership.Order) {
	t.Helper()
	if err := h.Order(t.Context(), id, membership.ReplicaOrder{ID: order, Order: o}); err != nil {
		t.Fatal(err)
	}
}

func TestDrainsAndServesAsOrdered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openFile(t)
		a, b := start(t, s, "a"), start(t, s, "b")
		synctest.Wait()
		if got := states(t, a); got["a"] != membership.Serving || got["b"] != membership.Serving || len(got) != 2 {
			t.Fatalf("replicas alive: got %v, want a and b serving", got)
		}
		ask(t, a, "b", "w-1", membership.OrderDrain)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		b.hears(t, "drain")
		if got := states(t, a)["b"]; got != membership.Draining {
			t.Errorf("b is %s, want draining", got)
		}
		b.finish <- struct{}{}
		synctest.Wait()
		if got := states(t, a)["b"]; got != membership.Drained {
			t.Errorf("b is %s, want drained", got)
		}
		ask(t, a, "b", "w-1", membership.OrderDrain) // again
		ask(t, a, "b", "w-2", membership.OrderDrain) // nothing left to do
		time.Sleep(5 * time.Second)
		synctest.Wait()
		b.hearsNothing(t)
		ask(t, a, "b", "w-3", membership.OrderServe)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		b.hears(t, "serve")
		if got := states(t, a)["b"]; got != membership.Serving {
			t.Errorf("b is %s, want serving", got)
		}
		a.hearsNothing(t)
	})
}

func TestServeEndsADrainUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := start(t, openFile(t), "a")
		synctest.Wait()
		ask(t, a, "a", "w-1", membership.OrderDrain)
		synctest.Wait()
		a.hears(t, "drain")
		ask(t, a, "a", "w-2", membership.OrderServe)
		synctest.Wait()
		a.hears(t, "gave up")
		a.hears(t, "serve")
		if got := a.Card().State; got != membership.Serving {
			t.Errorf("state: got %s, want %s", got, membership.Serving)
		}
	})
}

// A drain that exceeds its grace period is not done, and is retried until it is.
func TestDrainThatTakesTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := start(t, openFile(t), "a")
		synctest.Wait()
		ask(t, a, "a", "w-1", membership.OrderDrain)
		for range 3 {
			time.Sleep(23 * time.Second) // the grace, and the next round
			synctest.Wait()
			a.hears(t, "drain")
			a.hears(t, "gave up")
			if got := a.Card().State; got != membership.Draining {
				t.Errorf("state %s, want draining", got)
			}
		}
		a.hears(t, "drain")
		ask(t, a, "a", "w-2", membership.OrderDrain) // it is under way
		synctest.Wait()
		a.hearsNothing(t)
		a.finish <- struct{}{}
		synctest.Wait()
		if got := a.Card().State; got != membership.Drained {
			t.Errorf("state %s, want drained", got)
		}
		time.Sleep(time.Minute)
		a.hearsNothing(t)
	})
}

// A drain that cannot start is retried once per round.
func TestDrainThatFailsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := make(chan struct{}, 1000)
		a := start(t, openFile(t), "a", func(c *membership.Config) {
			c.Drain = func(context.Context) error { tries <- struct{}{}; return errors.New("not now") }
		})
		synctest.Wait()
		ask(t, a, "a", "w-1", membership.OrderDrain)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(tries); n < 20 || n > 50 {
			t.Errorf("attempts to drain in a minute: got %d, want 20 to 50", n)
		}
		ask(t, a, "a", "w-2", membership.OrderServe)
		synctest.Wait()
		a.hears(t, "serve")
		before := len(tries)
		time.Sleep(time.Minute)
		if n := len(tries) - before; n != 0 || a.Card().State != membership.Serving {
			t.Errorf("after the drain was ended: got %d attempts and state %s, want none and %s", n, a.Card().State, membership.Serving)
		}
	})
}

// A process ignores orders for an earlier process of the same replica; a stopping process ignores all
// orders.
func TestOrdersForOtherReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openFile(t)
		a := start(t, s, "a")
		b := start(t, s, "b")
		synctest.Wait()
		b.stop()
		<-b.ended
		if err := a.Order(t.Context(), "b", membership.ReplicaOrder{ID: "w-0", Order: membership.OrderDrain}); !errors.Is(err, membership.ErrUnknown) {
			t.Errorf("an order for a stopped replica: got error %v, want %v", err, membership.ErrUnknown)
		}
		b = start(t, s, "b")
		synctest.Wait()
		ask(t, a, "b", "w-1", membership.OrderDrain)
		b.end() // before it looked
		b = start(t, s, "b")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		b.hearsNothing(t)
		if got := states(t, a)["b"]; got != membership.Serving {
			t.Errorf("b is %s, want serving", got)
		}
		ask(t, a, "b", "w-2", membership.OrderDrain)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		b.hears(t, "drain")
		b.Leave()
		b.hears(t, "gave up")
		ask(t, a, "b", "w-3", membership.OrderServe)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		b.hearsNothing(t)
		if got := states(t, a)["b"]; got != membership.Draining {
			t.Errorf("b is %s, want draining", got)
		}
	})
}

// flaky is a store that can be unavailable.
type flaky struct {
	membership.Announcements
	mu   sync.Mutex
	away bool
}

func (f *flaky) set(away bool) { f.mu.Lock(); defer f.mu.Unlock(); f.away = away }

func (f *flaky) Announce(ctx context.Context, r store.Replica, ttl time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return store.ErrUnavailable
	}
	return f.Announcements.Announce(ctx, r, ttl)
}

func TestAliveReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openFile(t)
		link := &flaky{Announcements: s.listing}
		a, b := start(t, parts{link, s.docs}, "a"), start(t, s, "b")
		if !a.Alive("b") || !a.Alive("unknown") {
			t.Error("b and an unknown replica before the first announcement: got dead, want alive")
		}
		time.Sleep(10 * time.Second)
		if !a.Alive("a") || !a.Alive("b") {
			t.Error("a and b: got one of them dead, want both alive")
		}
		if !a.Alive("c") {
			t.Error("c, which may have come since the last look: got dead, want alive")
		}
		time.Sleep(3 * time.Second)
		if a.Alive("c") {
			t.Error("c, which never was there: got alive, want dead")
		}
		c := start(t, s, "c")
		time.Sleep(3 * time.Second)
		if !a.Alive("c") {
			t.Error("c, which has come: got dead, want alive")
		}
		c.end()
		time.Sleep(3 * time.Second)
		_ = a.Alive("c")
		time.Sleep(3 * time.Second)
		if a.Alive("c") {
			t.Error("c, which has withdrawn: got alive, want dead")
		}
		link.set(true)
		b.end()
		time.Sleep(30 * time.Second)
		if !a.Alive("b") || !a.Alive("c") {
			t.Error("b and c while the store is unavailable: got one of them dead, want both alive")
		}
		link.set(false)
		time.Sleep(3 * time.Second)
		if !a.Alive("b") {
			t.Error("b, which had no time to announce itself: got dead, want alive")
		}
		time.Sleep(10 * time.Second)
		_ = a.Alive("b")
		time.Sleep(3 * time.Second)
		if a.Alive("b") {
			t.Error("b, which has ended: got alive, want dead")
		}
	})
}

func TestMembershipOnRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	open := func() parts {
		s, err := redisstore.Open(t.Context(), server.Client(t), redisstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return parts{s.Replicas, s.Documents}
	}
	quick := func(c *membership.Config) { c.Every = 20 * time.Millisecond }
	a, b := start(t, open(), "a", quick), start(t, open(), "b", quick)
	await := func(want map[wire.ReplicaID]membership.State) {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		deadline := time.After(2 * time.Minute)
		for {
			got := states(t, a)
			if len(got) == len(want) && !slices.ContainsFunc([]wire.ReplicaID{"a", "b"}, func(id wire.ReplicaID) bool { return got[id] != want[id] }) {
				return
			}
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("alive: %v, want %v", got, want)
			}
		}
	}
	await(map[wire.ReplicaID]membership.State{"a": membership.Serving, "b": membership.Serving})
	ask(t, a, "b", "w-1", membership.OrderDrain)
	b.hears(t, "drain")
	b.finish <- struct{}{}
	await(map[wire.ReplicaID]membership.State{"a": membership.Serving, "b": membership.Drained})
	ask(t, a, "b", "w-2", membership.OrderServe)
	b.hears(t, "serve")
	await(map[wire.ReplicaID]membership.State{"a": membership.Serving, "b": membership.Serving})
	b.end()
	await(map[wire.ReplicaID]membership.State{"a": membership.Serving})
	if err := a.Order(t.Context(), "b", membership.ReplicaOrder{ID: "w-3", Order: membership.OrderDrain}); !errors.Is(err, membership.ErrUnknown) {
		t.Errorf("an order for a stopped replica: got error %v, want %v", err, membership.ErrUnknown)
	}
}
