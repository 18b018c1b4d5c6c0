package adminview_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// failingStore is a store that refuses all claims, or panics.
type failingStore struct {
	engine
	refuses, panics atomic.Bool
}

func (a *failingStore) ClaimShared(ctx context.Context, id wire.SessionID, by store.Incarnation, ttl time.Duration) (store.Lease, error) {
	if a.refuses.Load() {
		return store.Lease{}, store.ErrUnavailable
	}
	return a.engine.ClaimShared(ctx, id, by, ttl)
}

func (a *failingStore) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	switch {
	case a.refuses.Load():
		return store.Receipt{}, store.ErrFenced
	case a.panics.Load():
		panic("boom")
	}
	return a.engine.Commit(ctx, l, b)
}

// silentSource is a store that does not answer for one session while it has a gate.
type silentSource struct {
	engine
	of   wire.SessionID
	gate atomic.Pointer[chan struct{}]
	asks atomic.Int64
}

func (r *silentSource) Session(ctx context.Context, id wire.SessionID) (store.Info, error) {
	if gate := r.gate.Load(); gate != nil && id == r.of {
		r.asks.Add(1)
		<-*gate
	}
	return r.engine.Session(ctx, id)
}

// A read of the store that starts with a subscriber may end without one, and then with a new one.
func TestAnswersWithoutSubscribers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &silentSource{engine: openStore(t), of: "ses-2"}
		a := start(t, s, "a")
		says(t, a.opened(t, "ses-1"), "m1")
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			for range a.Watch(ctx, adminview.Interest{Rows: true}) {
			}
		})
		time.Sleep(3 * time.Second)
		says(t, a.opened(t, "ses-2"), "m1")
		gate := make(chan struct{})
		s.gate.Store(&gate)
		time.Sleep(3 * time.Second)
		if s.asks.Load() == 0 {
			t.Fatal("the store was not read")
		}
		cancel()
		wg.Wait()
		time.Sleep(3 * time.Second)
		s.gate.Store(nil)
		close(gate)
		time.Sleep(3 * time.Second)
		a.until(t, adminview.Interest{Rows: true}, func(tb *table) bool { return len(tb.rows) == 2 })
	})
}

// A session with waiting users that its hub cannot claim is stuck, not idle.
func TestASessionBetweenOwnersIsStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &failingStore{engine: openStore(t)}
		a, b := start(t, s, "a"), start(t, s, "b")
		handle := a.opened(t, "ses-1")
		says(t, handle, "m1")
		s.refuses.Store(true)
		ok(t, handle.Deliver(t.Context(), emits("m2")))
		for _, wait := range []time.Duration{3 * time.Second, 10 * time.Second, time.Minute} {
			time.Sleep(wait)
			d, err := b.Detail(t.Context(), "ses-1")
			ok(t, err)
			if r := d.Row; r.Status != adminview.Stuck || r.Doing != "claim" || r.DoingMS < 2000 || r.User != "ada" {
				t.Errorf("row after another %v: got %+v, want it stuck in claim for 2 s or longer, of ada", wait, r)
			}
		}
		s.refuses.Store(false)
		says(t, handle, "m3")
		b.until(t, adminview.Interest{Rows: true}, func(tb *table) bool {
			row := tb.rows["ses-1"]
			return row.Status == adminview.Idle && row.Doing == "" && row.Windows == 3
		})
	})
}

// A session that fails repeatedly is closed for a while and reported as stuck.
func TestASessionThatIsClosedIsStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &failingStore{engine: openStore(t)}
		a, b := start(t, s, "a"), start(t, s, "b")
		handle := a.opened(t, "ses-1")
		says(t, handle, "m1")
		s.panics.Store(true)
		ok(t, handle.Deliver(t.Context(), emits("m2")))
		b.until(t, adminview.Interest{Rows: true}, func(tb *table) bool {
			row := tb.rows["ses-1"]
			return row.Status == adminview.Stuck && row.Doing == "closed" && row.Owner == "a" && alerted(tb.overview, "stuck")
		})
		s.panics.Store(false)
		b.until(t, adminview.Interest{Rows: true}, func(tb *table) bool { return tb.rows["ses-1"].Status == adminview.Dormant })
	})
}

// However many of the watched sessions do not answer, the other
// reports of a replica stay fresh.
func TestManyStuckSessionsDelayNoReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b := start(t, s, "a"), start(t, s, "b")
		var ids []wire.SessionID
		for i := range 40 {
			id := wire.SessionID(fmt.Sprintf("s-%02d", i))
			says(t, a.opened(t, id), "m1")
			ids = append(ids, id)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var wg sync.WaitGroup
		var last time.Time
		var worst time.Duration
		silent := false
		wg.Go(func() {
			for u := range b.Watch(ctx, adminview.Interest{Rows: true}) {
				if u.Overview == nil {
					continue
				}
				silent = silent || alerted(*u.Overview, "silentReplica")
				for _, r := range u.Overview.Replicas {
					if r.ID != "a" || r.SampledAt == 0 {
						continue
					}
					at := time.UnixMilli(int64(r.SampledAt))
					if !last.IsZero() {
						worst = max(worst, at.Sub(last))
					}
					last = at
				}
			}
		})
		for _, id := range ids {
			wg.Go(func() {
				for range b.Watch(ctx, adminview.Interest{Session: id}) {
				}
			})
		}
		time.Sleep(5 * time.Second)
		gate := make(chan struct{})
		a.store.blocked.Store(&gate)
		for _, id := range ids {
			handle, err := a.hub.Open(t.Context(), id)
			ok(t, err)
			defer handle.Close()
			ok(t, handle.Deliver(t.Context(), emits("m2")))
		}
		time.Sleep(30 * time.Second)
		a.store.blocked.Store(nil)
		close(gate)
		cancel()
		wg.Wait()
		// A round with stuck sessions takes 200 ms longer, and appears in the next round of the reader.
		if worst > 1500*time.Millisecond || silent {
			t.Errorf("time between reports of a: got %v, silent %v, want at most 1.5s and never silent", worst, silent)
		}
	})
}
