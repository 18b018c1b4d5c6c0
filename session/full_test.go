package session_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

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
		a, err := r.Ask(t.Context(), says("c", "m1", emit(window("second"))))
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
