package session_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// takeStoreStatuses returns the STORE_STATUS events that a tab has received since the last call.
func (w *tab) takeStoreStatuses() []bool {
	for len(w.events) > 0 {
		w.seen = append(w.seen, <-w.events)
	}
	var all []bool
	for _, s := range payloads[wire.StoreStatus](w.seen) {
		all = append(all, s.Available)
	}
	return all
}

// checkStoreStatuses checks the STORE_STATUS events of a tab.
func (w *tab) checkStoreStatuses(t *testing.T, when string, want ...bool) {
	t.Helper()
	synctest.Wait()
	if got := w.takeStoreStatuses(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s the tab got %v of the store, want %v", when, got, want)
	}
}

// The store is unavailable for an owner: its tabs stay attached and are notified once, also those
// that attach meanwhile, and once when it is available again. Then their commands are executed.
func TestOwnerNotifiesTabsOfStoreStatus(t *testing.T) {
	t.Parallel()
	for _, outage := range []time.Duration{2900 * time.Millisecond, time.Minute} { // it stays the owner, or does not
		for _, busy := range []bool{false, true} {
			t.Run(fmt.Sprint(outage, busy), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					m := openFaultStore(t)
					h, _ := startHub(t, m, "a", session.Config{})
					createSession(t, h, "ses-1")
					r := openHandle(t, h, "ses-1")
					w := attachTab(t, r, "c")
					deliverAndWait(t, r, command("c", "before", emit(window("one"))))
					time.Sleep(time.Minute)
					w.checkStoreStatuses(t, "before the outage")
					began := time.Now()
					m.cut.Store(true)
					if busy {
						deliver(t, r, command("c", "during", emit(window("two"))))
					}
					time.Sleep(2 * time.Second)
					w.checkStoreStatuses(t, "after 2 s", false)
					late := w
					if !busy { // else the expected snapshot is unknown
						time.Sleep(outage - time.Since(began) - 500*time.Millisecond)
						late = attachTab(t, r, "late")
						nextEvent(t, late, anyOf[wire.SessionState])
						late.checkStoreStatuses(t, "on its arrival", false)
						deliver(t, r, command("c", "during", emit(window("two"))))
					}
					time.Sleep(outage - time.Since(began))
					w.checkStoreStatuses(t, "during the outage", false)
					m.cut.Store(false)
					time.Sleep(3 * time.Second)
					w.checkStoreStatuses(t, "after the outage", false, true)
					late.checkStoreStatuses(t, "after the outage", false, true)
					deliverBarrier(t, r)
					checkOrder(t, m, "before", "during")
					state, err := r.Snapshot(t.Context(), nil)
					requireNoError(t, err)
					if state.Owner != "a" || len(state.Windows) != 2 {
						t.Errorf("afterwards the state is %+v, want the owner a and 2 windows", state)
					}
					if changes := len(payloads[wire.OwnerChanged](readLog(t, m))); (changes == 1) != (outage < 5*time.Second) {
						t.Errorf("after an outage of %v the session had %d owners, want one only if it was shorter than 5s", outage, changes)
					}
					time.Sleep(time.Hour)
					w.checkStoreStatuses(t, "long after", false, true)
				})
			})
		}
	}
}

// The store is unavailable for a follower only.
func TestFollowerNotifiesTabsOfStoreStatus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		near, far := newFaultStore(s), newFaultStore(s)
		a, _ := startHub(t, near, "a", session.Config{})
		b, _ := startHub(t, far, "b", session.Config{})
		createSession(t, a, "ses-1")
		owner, follower := openHandle(t, a, "ses-1"), openHandle(t, b, "ses-1")
		wa, wb := attachTab(t, owner, "conn-a"), attachTab(t, follower, "conn-b")
		time.Sleep(time.Minute)
		far.cut.Store(true)
		time.Sleep(3 * time.Second)
		wa.checkStoreStatuses(t, "with a store")
		wb.checkStoreStatuses(t, "without a store", false)
		late := attachTab(t, follower, "late")
		nextEvent(t, late, anyOf[wire.SessionState])
		late.checkStoreStatuses(t, "on its arrival", false)
		deliver(t, follower, command("conn-b", "m1", emit(window("w")))) // kept until the store is back
		time.Sleep(time.Hour)
		far.cut.Store(false)
		time.Sleep(3 * time.Second)
		wb.checkStoreStatuses(t, "afterwards", false, true)
		wa.checkStoreStatuses(t, "afterwards")
		nextEvent(t, wb, func(p wire.Emitted) bool { return p.MessageID == "m1" })
		if n := len(payloads[wire.OwnerChanged](readLog(t, s))); n != 1 {
			t.Errorf("the session had %d owners, want 1", n)
		}
	})
}

// A partition of the store is unavailable: only the tabs of its sessions are notified.
func TestStoreStatusOfOnePartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		m.parts = func(id wire.SessionID) int { return int(id[len(id)-1] - '0') }
		h, _ := startHub(t, m, "a", session.Config{})
		var tabs []*tab
		for _, id := range []wire.SessionID{"ses-1", "ses-2"} {
			createSession(t, h, id)
			tabs = append(tabs, attachTab(t, openHandle(t, h, id), "c"))
		}
		m.lost.Store(2)
		time.Sleep(10 * time.Second)
		tabs[0].checkStoreStatuses(t, "of the part that answers")
		tabs[1].checkStoreStatuses(t, "of the lost part", false)
		m.lost.Store(-1)
		time.Sleep(3 * time.Second)
		tabs[0].checkStoreStatuses(t, "afterwards")
		tabs[1].checkStoreStatuses(t, "afterwards", false, true)
	})
}

// A followed session without handles is soon unloaded, and then costs nothing.
func TestUnusedFollowerIsUnloaded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		m := newFaultStore(s)
		a, _ := startHub(t, s, "a", session.Config{})
		b, _ := startHub(t, m, "b", session.Config{})
		createSession(t, a, "ses-1")
		owner := openHandle(t, a, "ses-1")
		for round := range 3 {
			follower, err := b.Open(t.Context(), "ses-1")
			requireNoError(t, err)
			w := attachTab(t, follower, "conn-b")
			nextEvent(t, w, anyOf[wire.SessionState])
			time.Sleep(time.Minute)
			if got := b.Load(); got != (session.Load{Followed: 1, Tabs: 1}) || m.tails.Load() != 1 {
				t.Errorf("with a tab there are %+v and %d tails, want one followed session with one tab and 1 tail", got, m.tails.Load())
			}
			w.detach()
			follower.Close()
			time.Sleep(2 * time.Second) // the page is reloaded
			again, err := b.Open(t.Context(), "ses-1")
			requireNoError(t, err)
			if m.tails.Load() != 1 {
				t.Errorf("got %d tails after a page was loaded again, want 1", m.tails.Load())
			}
			again.Close()
			time.Sleep(6 * time.Second)
			synctest.Wait()
			if got := b.Load(); got != (session.Load{}) || m.tails.Load() != 0 {
				t.Errorf("round %d: without a tab there are %+v and %d tails, want none", round, got, m.tails.Load())
			}
			before := m.calls.Load()
			for i := range 10 {
				deliverAndWait(t, owner, command("c", wire.MessageID(fmt.Sprintf("m%d-%d", round, i)), emit(wire.RefreshApps{})))
				time.Sleep(time.Minute)
			}
			if n := m.calls.Load() - before; n != 0 {
				t.Errorf("round %d: a hub with nothing to do asked the store %d times, want 0", round, n)
			}
			if state, err := owner.Snapshot(t.Context(), nil); err != nil || state.Connections != 0 {
				t.Errorf("round %d: the owner counts %d tabs, %v, want 0", round, state.Connections, err)
			}
		}
	})
}
