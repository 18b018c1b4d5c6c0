package agentpool_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
)

// Slots of a dead replica expire, and slots of a live one are renewed.
func TestExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		limits := agentpool.Limits{Agents: 2, PerSession: 2, PerUser: 2}
		alive := newLimiter(t, s, limits)
		dead := agentpool.NewLimiter(s, limits, nil) // Run is not called
		kept, err := alive.Try(t.Context(), claim("ses-1"))
		ok(t, err)
		_, err = dead.Try(t.Context(), claim("ses-2"))
		ok(t, err)
		next := acquired(t.Context(), alive, claim("ses-3"))
		time.Sleep(9 * time.Second)
		expectUse(t, s, "agents:user:ada", 2, 1)
		time.Sleep(2 * time.Second)
		slot := <-next
		time.Sleep(time.Hour)
		expectUse(t, s, "agents", 2, 0)
		expectUse(t, s, "agents:session:ses-1", 1, 0)
		for _, held := range []*agentpool.Slot{kept, slot} {
			select {
			case <-held.Lost():
				t.Error("a renewed slot is lost, want it held")
			default:
			}
			held.Release()
		}
		expectUse(t, s, "agents", 0, 0)
	})
}

// Acquired parts of a slot are renewed while Acquire waits for the rest.
func TestPartialSlotIsRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		l := newLimiter(t, s, agentpool.Limits{Agents: 1, PerSession: 1})
		first, err := l.Try(t.Context(), claim("ses-1"))
		ok(t, err)
		next := acquired(t.Context(), l, claim("ses-2"))
		time.Sleep(time.Hour)
		expectUse(t, s, "agents:session:ses-2", 1, 0)
		first.Release()
		slot := <-next
		slot.Release()
		expectUse(t, s, "agents:session:ses-2", 0, 0)
	})
}

// A part that was lost while Acquire waited for the rest is acquired again.
func TestLostPartialSlotIsAcquiredAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		m := &interceptedStore{Semaphores: s}
		l := newLimiter(t, m, agentpool.Limits{Agents: 1, PerSession: 1})
		first, err := l.Try(t.Context(), claim("ses-1"))
		ok(t, err)
		next := acquired(t.Context(), l, claim("ses-2"))
		expectUse(t, s, "agents", 1, 1)
		half := m.asked[2]
		ok(t, s.ReleaseSlot(t.Context(), store.Slot{Semaphore: half.Semaphore, Holder: half.Holder}))
		half.Holder = "thief"
		thief, err := s.Acquire(t.Context(), half)
		ok(t, err)
		time.Sleep(5 * time.Second)
		expectUse(t, s, "agents:session:ses-2", 1, 1)
		expectUse(t, s, "agents", 1, 0)
		ok(t, s.ReleaseSlot(t.Context(), thief))
		first.Release()
		slot := <-next
		slot.Release()
		expectUse(t, s, "agents", 0, 0)
		expectUse(t, s, "agents:session:ses-2", 0, 0)
	})
}

// A slot that the store lost is acquired again; it is lost only if another holder has it.
func TestSlotLostByTheStore(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{Agents: 1}, func(r *rig) {
		t := r.t
		slot, err := r.limiter.Try(t.Context(), claim("ses-1"))
		ok(t, err)
		ok(t, r.store.ReleaseSlot(t.Context(), store.Slot{Semaphore: "agents", Holder: r.meddler.asked[0].Holder}))
		time.Sleep(5 * time.Second)
		expectUse(t, r.store, "agents", 1, 0)
		select {
		case <-slot.Lost():
			t.Fatal("a free slot was lost, want it held")
		default:
		}
		r.takeSlots()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		select {
		case <-slot.Lost():
		default:
			t.Error("a slot of another holder is not lost, want it lost")
		}
		slot.Release()
		expectUse(t, r.store, "agents", 1, 0) // the thief's
		r.releaseTaken()
	})
}

// Releasing a slot during its renewal leaves no holder.
func TestReleaseWhileRenewing(t *testing.T) {
	t.Parallel()
	for name, released := range map[string]func(m *interceptedStore, slot *agentpool.Slot){
		"before": func(m *interceptedStore, slot *agentpool.Slot) {
			m.renew = func(_ store.Slot, do func() error) error {
				slot.Release()
				time.Sleep(time.Second)
				return do()
			}
		},
		"after": func(m *interceptedStore, slot *agentpool.Slot) {
			m.renew = func(_ store.Slot, do func() error) error {
				defer slot.Release()
				return do()
			}
		},
		"while it is taken again": func(m *interceptedStore, slot *agentpool.Slot) {
			m.renew = func(store.Slot, func() error) error { return store.ErrFenced }
			m.acquire = func(_ store.SlotRequest, do func() error) error {
				slot.Release()
				time.Sleep(time.Second)
				return do()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, agentpool.Limits{Agents: 1}, func(r *rig) {
				t := r.t
				slot, err := r.limiter.Try(t.Context(), claim("ses-1"))
				ok(t, err)
				r.meddler.change(func() { released(r.meddler, slot) })
				time.Sleep(5 * time.Second)
				expectUse(t, r.store, "agents", 0, 0)
			})
		})
	}
}

// While the store is unavailable, Acquire waits and Try fails.
func TestStoreUnavailable(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{Agents: 3}, func(r *rig) {
		t := r.t
		held, err := r.limiter.Try(t.Context(), claim("ses-1"))
		ok(t, err)
		back, err := r.limiter.Try(t.Context(), claim("ses-1"))
		ok(t, err)
		unavailable := fmt.Errorf("a test: %w", store.ErrUnavailable)
		r.meddler.change(func() {
			r.meddler.acquire = func(store.SlotRequest, func() error) error { return unavailable }
			r.meddler.renew = func(store.Slot, func() error) error { return unavailable }
			r.meddler.release = r.meddler.renew
		})
		if _, err := r.limiter.Try(t.Context(), claim("ses-1")); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, agentpool.ErrFull) {
			t.Errorf("Try returns %v, want the error of the store", err)
		}
		next := acquired(t.Context(), r.limiter, claim("ses-2"))
		back.Release()
		if r.TryReserve() != nil {
			t.Error("TryReserve returned a slot of an unavailable store, want none")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		select {
		case <-next:
			t.Fatal("Acquire ended with an unavailable store, want it to wait")
		case <-held.Lost():
			t.Fatal("a slot is lost while the store is unavailable, want it held")
		default:
		}
		r.meddler.change(func() { r.meddler.acquire, r.meddler.renew, r.meddler.release = nil, nil, nil })
		slot := <-next
		time.Sleep(2 * time.Second)
		expectUse(t, r.store, "agents", 2, 0) // what was given back meanwhile is
		time.Sleep(time.Minute)
		expectUse(t, r.store, "agents", 2, 0)
		slot.Release()
		held.Release()
		expectUse(t, r.store, "agents", 0, 0)
	})
}

// Retries of a release are bounded.
func TestReleaseIsBounded(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{Agents: 1}, func(r *rig) {
		t := r.t
		slot, err := r.limiter.Try(t.Context(), claim("ses-1"))
		ok(t, err)
		tries := 0
		r.meddler.change(func() {
			r.meddler.release = func(store.Slot, func() error) error {
				tries++
				return store.ErrUnavailable
			}
		})
		slot.Release()
		time.Sleep(time.Minute)
		expectUse(t, r.store, "agents", 0, 0) // it has expired
		if tries < 2 || tries > 20 {
			t.Errorf("%d attempts to release the slot, want 2 to 20", tries)
		}
	})
}

// A closed store ends waiting.
func TestStoreClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff})
		ok(t, err)
		l := newLimiter(t, s.Semaphores, agentpool.Limits{Agents: 1})
		slot, err := l.Try(t.Context(), claim("ses-1"))
		ok(t, err)
		next := acquired(t.Context(), l, claim("ses-2"))
		expectUse(t, s.Semaphores, "agents", 1, 1)
		ok(t, s.Close())
		if got := <-next; got != nil {
			t.Error("Acquire returned a slot of a closed store, want none")
		}
		slot.Release()
		if _, err := l.Use(t.Context()); !errors.Is(err, store.ErrClosed) {
			t.Errorf("use of a closed store: error %v, want the error of the store", err)
		}
	})
}
