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

// A new owner that has no space for its first step serves the stored state.
func TestFullStoreIsOpened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		h, _ := startHub(t, m, "a", session.Config{})
		_, err := h.Create(t.Context(), session.NewSession{ID: "ses-1", User: "ada", Title: "mine"}) // which its owner says first
		requireNoError(t, err)
		var full atomic.Bool
		full.Store(true)
		m.onCommit(func(_ context.Context, _ store.Lease, _ store.Batch, do commitFunc) (store.Receipt, error) {
			if full.Load() {
				return store.Receipt{}, store.ErrNoSpace
			}
			return do()
		})
		r := openHandle(t, h, "ses-1")
		w := attachTab(t, r, "late")
		nextEvent(t, w, anyOf[wire.SessionState])
		full.Store(false)
		nextEvent(t, w, func(p wire.SessionRenamed) bool { return p.Title == "mine" })
		deliverAndWait(t, r, command("c", "m1", emit(window("second"))))
	})
}

// With a full store clients do not wait: commands are refused with a request to retry, reading
// works, and everything works again when there is space.
func TestFullStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		h, _ := startHub(t, m, "a", session.Config{})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		deliverAndWait(t, r, command("c", "m0", emit(window("first"))))
		var full atomic.Bool
		full.Store(true)
		m.onCommit(func(_ context.Context, _ store.Lease, _ store.Batch, do commitFunc) (store.Receipt, error) {
			if full.Load() {
				return store.Receipt{}, store.ErrNoSpace
			}
			return do()
		})
		// The first command is refused when the owner's commit fails.
		a, err := r.DeliverAndWait(t.Context(), command("c", "m1", emit(window("second"))))
		requireNoError(t, err)
		if no, is := a.Data.(wire.MessageRejected); !is || no.Code != wire.CodeStoreUnavailable || no.MessageID != "m1" {
			t.Errorf("the waiting caller gets %+v, want store unavailable", a.Data)
		}
		for range 2000 { // more than a mailbox holds
			err := r.Deliver(t.Context(), command("c", "m2", emit(window("third"))))
			if e, is := errors.AsType[*session.Error](err); !is || e.Code != wire.CodeStoreUnavailable {
				t.Fatalf("a later caller gets %v, want store unavailable", err)
			}
		}
		if n, err := r.DeliverAll(t.Context(), []session.Command{command("c", "m2", emit(window("third")))}); n != 0 || !errors.Is(err, store.ErrNoSpace) {
			t.Errorf("%d are delivered, error %v, want 0 and %v", n, err, store.ErrNoSpace)
		}
		w := attachTab(t, r, "late") // reads work
		nextEvent(t, w, anyOf[wire.SessionState])
		if s := nextEvent(t, w, anyOf[wire.StoreStatus]); s.Available || !s.Full {
			t.Errorf("of the full store the tab gets %+v, want that it is full", s)
		}
		m.cut.Store(true) // what still answers may become unavailable
		if s := nextEvent(t, w, anyOf[wire.StoreStatus]); s.Available || s.Full {
			t.Errorf("of the store that does not answer the tab gets %+v, want that it is unavailable and not full", s)
		}
		m.cut.Store(false)
		if s := nextEvent(t, w, anyOf[wire.StoreStatus]); s.Available || !s.Full {
			t.Errorf("of the store that answers again the tab gets %+v, want that it is full", s)
		}
		full.Store(false)
		if s := nextEvent(t, w, anyOf[wire.StoreStatus]); !s.Available || s.Full {
			t.Errorf("of the store with space the tab gets %+v, want that it is available", s)
		}
		nextEvent(t, w, func(a wire.Actions) bool { return a.MessageID == "m1" })
		for _, id := range []wire.MessageID{"m1", "m2"} {
			deliverAndWait(t, r, command("c", id, emit(window(wire.WindowID("second")))))
		}
		if n := len(payloads[wire.Actions](readLog(t, m))); n != 3 {
			t.Errorf("%d actions are in the log, want each of the three once", n)
		}
	})
}

// A full Redis refuses claims, also of a session that another replica owns. Replicas without the
// session follow it all the same, and can send commands when there is space again.
func TestFullStoreIsFollowed(t *testing.T) {
	t.Parallel()
	for _, owned := range []bool{true, false} {
		t.Run(fmt.Sprintf("owned %v", owned), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := openFaultStore(t)
				a, stop := startHub(t, m, "a", session.Config{})
				b, _ := startHub(t, m, "b", session.Config{})
				createSession(t, a, "ses-1")
				r := openHandle(t, a, "ses-1")
				deliverAndWait(t, r, command("c", "m0", emit(window("first"))))
				if !owned {
					stop()
				}
				m.onClaim(func(wire.ReplicaID) error { return store.ErrNoSpace })
				m.setHooks(hooks{send: func(store.Command, func() (bool, error)) (bool, error) { return false, store.ErrNoSpace }})
				far := openHandle(t, b, "ses-1")
				state, err := far.Snapshot(t.Context(), nil)
				if err != nil || len(state.Windows) != 1 {
					t.Errorf("a replica that cannot claim shows %d windows, error %v; want 1", len(state.Windows), err)
				}
				nextEvent(t, attachTab(t, far, "late"), anyOf[wire.SessionState])
				requireNoError(t, far.Deliver(t.Context(), command("d", "kept", emit(window("kept")))))
				time.Sleep(time.Second)
				err = far.Deliver(t.Context(), command("d", "m1", emit(window("second"))))
				if e, is := errors.AsType[*session.Error](err); !is || e.Reason != "the store is full; try again in a moment" {
					t.Errorf("a sender there gets %v, want that the store is full", err)
				}
				m.onClaim(nil)
				m.setHooks(hooks{})
				time.Sleep(time.Minute)
				deliverAndWait(t, far, command("d", "m1", emit(window("second"))))
				if owners := len(payloads[wire.OwnerChanged](readLog(t, m))); owned == (owners != 1) {
					t.Errorf("the session had %d owners, want one: %v", owners, owned)
				}
			})
		})
	}
}

// While the store is unavailable, a replica serves the sessions that it follows.
func TestFollowerServesWithoutAStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		near, far := newFaultStore(s), newFaultStore(s)
		a, _ := startHub(t, near, "a", session.Config{})
		b, _ := startHub(t, far, "b", session.Config{})
		createSession(t, a, "ses-1")
		createSession(t, a, "ses-2")
		requireNoError(t, a.Share(t.Context(), "ses-1", "bob", session.ShareViewer))
		deliverAndWait(t, openHandle(t, a, "ses-1"), command("c", "m0", emit(window("first"))))
		openHandle(t, b, "ses-1")
		far.cut.Store(true)
		time.Sleep(time.Minute)
		info, err := b.Info(t.Context(), "ses-1")
		if err != nil || info.User != "ada" || !info.Stale || len(info.Shares) != 0 {
			t.Errorf("a followed session without a store is %+v, error %v; want that of ada, stale and without shares", info, err)
		}
		if _, err := b.Info(t.Context(), "ses-2"); errorCode(err) != wire.CodeStoreUnavailable {
			t.Errorf("a session that is not loaded gives %v without a store, want code %s", err, wire.CodeStoreUnavailable)
		}
		state, err := openHandle(t, b, "ses-1").Snapshot(t.Context(), nil)
		if err != nil || len(state.Windows) != 1 {
			t.Errorf("a followed session has %d windows without a store, error %v; want 1", len(state.Windows), err)
		}
	})
}
