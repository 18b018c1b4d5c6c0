package session_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// statuses are what a tab was told of the store and has not asked for yet.
func (w *tab) statuses() []bool {
	for len(w.events) > 0 {
		w.seen = append(w.seen, <-w.events)
	}
	var all []bool
	for _, s := range find[wire.StoreStatus](w.seen) {
		all = append(all, s.Available)
	}
	return all
}

// told checks what a tab was told of the store so far.
func (w *tab) told(t *testing.T, when string, want ...bool) {
	t.Helper()
	synctest.Wait()
	if got := w.statuses(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s the tab was told %v of the store, want %v", when, got, want)
	}
}

// The store is away for an owner: its tabs stay, are told once, also those that
// come meanwhile, and once when it is back. What they said is done then.
func TestTabsOfAnOwnerAreTold(t *testing.T) {
	t.Parallel()
	for _, outage := range []time.Duration{2900 * time.Millisecond, time.Minute} { // it stays the owner, or does not
		for _, busy := range []bool{false, true} {
			t.Run(fmt.Sprint(outage, busy), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					m := openMeddler(t)
					h, _ := startHub(t, m, "a", session.Config{})
					create(t, h, "ses-1")
					r := enter(t, h, "ses-1")
					w := watch(t, r, "c")
					ask(t, r, says("c", "before", emit(window("one"))))
					time.Sleep(time.Minute)
					w.told(t, "before the outage")
					began := time.Now()
					m.cut.Store(true)
					if busy {
						deliver(t, r, says("c", "during", emit(window("two"))))
					}
					time.Sleep(2 * time.Second)
					w.told(t, "after 2 s", false)
					late := w
					if !busy { // else nobody knows what a snapshot should say
						time.Sleep(outage - time.Since(began) - 500*time.Millisecond)
						late = watch(t, r, "late")
						next(t, late, any1[wire.SessionState])
						late.told(t, "on its arrival", false)
						deliver(t, r, says("c", "during", emit(window("two"))))
					}
					time.Sleep(outage - time.Since(began))
					w.told(t, "during the outage", false)
					m.cut.Store(false)
					time.Sleep(3 * time.Second)
					w.told(t, "after the outage", false, true)
					late.told(t, "after the outage", false, true)
					settled(t, r)
					inOrder(t, m, "before", "during")
					state, err := r.Snapshot(t.Context(), nil)
					ok(t, err)
					if state.Owner != "a" || len(state.Windows) != 2 {
						t.Errorf("afterwards the state is %+v", state)
					}
					if changes := len(find[wire.OwnerChanged](history(t, m))); (changes == 1) != (outage < 5*time.Second) {
						t.Errorf("the session had %d owners", changes)
					}
					time.Sleep(time.Hour)
					w.told(t, "long after", false, true)
				})
			})
		}
	}
}

// The store is away for a follower alone.
func TestTabsOfAFollowerAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		near, far := meddle(s), meddle(s)
		a, _ := startHub(t, near, "a", session.Config{})
		b, _ := startHub(t, far, "b", session.Config{})
		create(t, a, "ses-1")
		owner, follower := enter(t, a, "ses-1"), enter(t, b, "ses-1")
		wa, wb := watch(t, owner, "conn-a"), watch(t, follower, "conn-b")
		time.Sleep(time.Minute)
		far.cut.Store(true)
		time.Sleep(3 * time.Second)
		wa.told(t, "with a store")
		wb.told(t, "without a store", false)
		late := watch(t, follower, "late")
		next(t, late, any1[wire.SessionState])
		late.told(t, "on its arrival", false)
		if err := follower.Deliver(t.Context(), says("conn-b", "m1", emit(window("w")))); code(err) != wire.CodeStoreUnavailable {
			t.Errorf("a command is taken: %v", err)
		}
		time.Sleep(time.Hour)
		far.cut.Store(false)
		time.Sleep(3 * time.Second)
		wb.told(t, "afterwards", false, true)
		wa.told(t, "afterwards")
		deliver(t, follower, says("conn-b", "m1", emit(window("w"))))
		next(t, wb, func(p wire.Emitted) bool { return p.MessageID == "m1" })
		if n := len(find[wire.OwnerChanged](history(t, s))); n != 1 {
			t.Errorf("the session had %d owners", n)
		}
	})
}

// A part of the store is away: only those are told whose sessions it has.
func TestOnlyTabsOfTheLostPartAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		m.parts = func(id wire.SessionID) int { return int(id[len(id)-1] - '0') }
		h, _ := startHub(t, m, "a", session.Config{})
		var tabs []*tab
		for _, id := range []wire.SessionID{"ses-1", "ses-2"} {
			create(t, h, id)
			tabs = append(tabs, watch(t, enter(t, h, id), "c"))
		}
		m.lost.Store(2)
		time.Sleep(10 * time.Second)
		tabs[0].told(t, "of the part that answers")
		tabs[1].told(t, "of the lost part", false)
		m.lost.Store(-1)
		time.Sleep(3 * time.Second)
		tabs[0].told(t, "afterwards")
		tabs[1].told(t, "afterwards", false, true)
	})
}

// A session of another replica that nobody here looks at is soon forgotten, and
// then costs nothing at all.
func TestFollowerWithoutTabsCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		m := meddle(s)
		a, _ := startHub(t, s, "a", session.Config{})
		b, _ := startHub(t, m, "b", session.Config{})
		create(t, a, "ses-1")
		owner := enter(t, a, "ses-1")
		for round := range 3 {
			follower, err := b.Open(t.Context(), "ses-1")
			ok(t, err)
			w := watch(t, follower, "conn-b")
			next(t, w, any1[wire.SessionState])
			time.Sleep(time.Minute)
			if got := b.Load(); got != (session.Load{Followed: 1, Tabs: 1}) || m.tails.Load() != 1 {
				t.Errorf("with a tab there are %+v and %d tails", got, m.tails.Load())
			}
			w.leave()
			follower.Close()
			time.Sleep(2 * time.Second) // the page is loaded again
			again, err := b.Open(t.Context(), "ses-1")
			ok(t, err)
			if m.tails.Load() != 1 {
				t.Error("a page that is loaded again has the session loaded again")
			}
			again.Close()
			time.Sleep(6 * time.Second)
			synctest.Wait()
			if got := b.Load(); got != (session.Load{}) || m.tails.Load() != 0 {
				t.Errorf("round %d: without a tab there are %+v and %d tails", round, got, m.tails.Load())
			}
			before := m.calls.Load()
			for i := range 10 {
				ask(t, owner, says("c", wire.MessageID(fmt.Sprintf("m%d-%d", round, i)), emit(wire.RefreshApps{})))
				time.Sleep(time.Minute)
			}
			if n := m.calls.Load() - before; n != 0 {
				t.Errorf("round %d: a hub with nothing to do asked the store %d times", round, n)
			}
			if state, err := owner.Snapshot(t.Context(), nil); err != nil || state.Connections != 0 {
				t.Errorf("round %d: the owner counts %d tabs, %v", round, state.Connections, err)
			}
		}
	})
}
