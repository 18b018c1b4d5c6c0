package session_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// A new owner that has no room for its first step shows what there is.
func TestFullStoreIsOpened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		h, _ := startHub(t, m, "a", session.Config{})
		_, err := h.Create(t.Context(), session.NewSession{ID: "ses-1", User: "ada", Title: "mine"}) // which its owner says first
		ok(t, err)
		var full atomic.Bool
		full.Store(true)
		m.onCommit(func(_ context.Context, _ store.Lease, _ store.Batch, do commitFunc) (store.Receipt, error) {
			if full.Load() {
				return store.Receipt{}, store.ErrNoSpace
			}
			return do()
		})
		r := enter(t, h, "ses-1")
		w := watch(t, r, "late")
		next(t, w, any1[wire.SessionState])
		full.Store(false)
		next(t, w, func(p wire.SessionRenamed) bool { return p.Title == "mine" })
		ask(t, r, says("c", "m1", emit(window("second"))))
	})
}

// A store without room is no reason to let people wait: whoever says something is
// told to try again, reading goes on, and so does all the rest when there is room.
func TestFullStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		h, _ := startHub(t, m, "a", session.Config{})
		create(t, h, "ses-1")
		r := enter(t, h, "ses-1")
		ask(t, r, says("c", "m0", emit(window("first"))))
		var full atomic.Bool
		full.Store(true)
		m.onCommit(func(_ context.Context, _ store.Lease, _ store.Batch, do commitFunc) (store.Receipt, error) {
			if full.Load() {
				return store.Receipt{}, store.ErrNoSpace
			}
			return do()
		})
		// The first learns of it as the owner does.
		a, err := r.DeliverAndWait(t.Context(), says("c", "m1", emit(window("second"))))
		ok(t, err)
		if no, is := a.Data.(wire.MessageRejected); !is || no.Code != wire.CodeStoreUnavailable || no.MessageID != "m1" {
			t.Errorf("who waits is told %+v, want that the store is away", a.Data)
		}
		for range 2000 { // more than a mailbox takes
			err := r.Deliver(t.Context(), says("c", "m2", emit(window("third"))))
			if e, is := errors.AsType[*session.Error](err); !is || e.Code != wire.CodeStoreUnavailable {
				t.Fatalf("who comes later is told %v, want that the store is away", err)
			}
		}
		if n, err := r.DeliverAll(t.Context(), []session.Command{says("c", "m2", emit(window("third")))}); n != 0 || !errors.Is(err, store.ErrNoSpace) {
			t.Errorf("%d are delivered, error %v", n, err)
		}
		w := watch(t, r, "late") // reads work
		next(t, w, any1[wire.SessionState])
		full.Store(false)
		next(t, w, func(a wire.Actions) bool { return a.MessageID == "m1" })
		for _, id := range []wire.MessageID{"m1", "m2"} {
			ask(t, r, says("c", id, emit(window(wire.WindowID("second")))))
		}
		if n := len(find[wire.Actions](history(t, m))); n != 3 {
			t.Errorf("%d actions are in the log, want each of the three once", n)
		}
	})
}

// Redis refuses a claim when it is full, also of a session that another replica owns.
// Replicas without the session show it all the same, and take part in it when there
// is room again.
func TestFullStoreIsFollowed(t *testing.T) {
	t.Parallel()
	for _, owned := range []bool{true, false} {
		t.Run(fmt.Sprintf("owned %v", owned), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := openMeddler(t)
				a, stop := startHub(t, m, "a", session.Config{})
				b, _ := startHub(t, m, "b", session.Config{})
				create(t, a, "ses-1")
				r := enter(t, a, "ses-1")
				ask(t, r, says("c", "m0", emit(window("first"))))
				if !owned {
					stop()
				}
				m.onClaim(func(wire.ReplicaID) error { return store.ErrNoSpace })
				m.hook(hooks{send: func(store.Command, func() (bool, error)) (bool, error) { return false, store.ErrNoSpace }})
				far := enter(t, b, "ses-1")
				state, err := far.Snapshot(t.Context(), nil)
				if err != nil || len(state.Windows) != 1 {
					t.Errorf("a replica that cannot claim shows %d windows, error %v; want 1", len(state.Windows), err)
				}
				next(t, watch(t, far, "late"), any1[wire.SessionState])
				err = far.Deliver(t.Context(), says("d", "m1", emit(window("second"))))
				if e, is := errors.AsType[*session.Error](err); !is || e.Reason != "the store is full; try again in a moment" {
					t.Errorf("who speaks there is told %v, want that the store is full", err)
				}
				m.onClaim(nil)
				m.hook(hooks{})
				time.Sleep(time.Minute)
				ask(t, far, says("d", "m1", emit(window("second"))))
				if owners := len(find[wire.OwnerChanged](history(t, m))); owned == (owners != 1) {
					t.Errorf("the session had %d owners", owners)
				}
			})
		})
	}
}

// While the store is away, a replica shows the sessions it follows to their users.
func TestFollowerServesWithoutAStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		near, far := meddle(s), meddle(s)
		a, _ := startHub(t, near, "a", session.Config{})
		b, _ := startHub(t, far, "b", session.Config{})
		create(t, a, "ses-1")
		create(t, a, "ses-2")
		ok(t, a.Share(t.Context(), "ses-1", "bob", session.ShareViewer))
		ask(t, enter(t, a, "ses-1"), says("c", "m0", emit(window("first"))))
		enter(t, b, "ses-1")
		far.cut.Store(true)
		time.Sleep(time.Minute)
		info, err := b.Info(t.Context(), "ses-1")
		if err != nil || info.User != "ada" || !info.Stale || len(info.Shares) != 0 {
			t.Errorf("a followed session without a store is %+v, error %v; want that of ada, stale and without shares", info, err)
		}
		if _, err := b.Info(t.Context(), "ses-2"); code(err) != wire.CodeStoreUnavailable {
			t.Errorf("a session that is not loaded is found without a store: %v", err)
		}
		state, err := enter(t, b, "ses-1").Snapshot(t.Context(), nil)
		if err != nil || len(state.Windows) != 1 {
			t.Errorf("a followed session has %d windows without a store, error %v; want 1", len(state.Windows), err)
		}
	})
}
