package session_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// isolate keeps replica a from its leases until the switch is on.
func isolate(m *meddler, over *atomic.Bool) {
	m.onRenew(func(l store.Lease) error {
		if l.Replica == "a" && !over.Load() {
			return store.ErrUnavailable
		}
		return nil
	})
	m.onClaim(func(r wire.ReplicaID) error {
		if r == "a" && !over.Load() {
			return store.ErrUnavailable
		}
		return nil
	})
}

// inOrder checks that nothing was refused and the named messages are in the log
// in their order, once each.
func inOrder(t *testing.T, s session.Store, ids ...wire.MessageID) {
	t.Helper()
	var got []string
	for _, e := range history(t, s) {
		switch p := e.Data.(type) {
		case wire.Actions:
			if !strings.HasPrefix(string(p.MessageID), "settled") {
				got = append(got, string(p.MessageID))
			}
		case wire.MessageRejected:
			t.Errorf("%s is refused: %s", p.MessageID, p.Reason)
		}
	}
	if want := fmt.Sprint(ids); fmt.Sprint(got) != want {
		t.Errorf("the log has %v, want %v", got, want)
	}
}

// What a connection said to an owner that is gone comes before what it says to
// the next one.
func TestOrderAtTakeOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, b, stop := pair(t, m)
		_, err := a.Open(t.Context(), "ses-1")
		ok(t, err)
		r := enter(t, b, "ses-1")
		time.Sleep(time.Second)
		stop()
		deliver(t, r, says("conn-b", "first", emit(window("w1"))))
		var claimed, done atomic.Bool
		m.hook(hooks{
			claimed: func(l store.Lease, _ error) error {
				claimed.Store(l.Replica == "b")
				return nil
			},
			loaded: func() {
				if claimed.Load() && !done.Swap(true) {
					deliver(t, r, says("conn-b", "second", emit(wire.WindowClose{WindowID: "w1"})))
				}
			},
		})
		time.Sleep(10 * time.Second)
		settled(t, r)
		inOrder(t, m, "first", "second")
	})
}

// What waits for the store is not overtaken by what is said later.
func TestOrderWhileTheStoreHesitates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, b, _ := pair(t, m)
		r := enter(t, a, "ses-1")
		settled(t, r)
		time.Sleep(time.Second)
		var over atomic.Bool
		isolate(m, &over)
		enter(t, b, "ses-1")
		await(t, m, "ses-1", func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		var sends atomic.Int64
		m.hook(hooks{send: func(c store.Command, do func() (bool, error)) (bool, error) {
			if bytes.Contains(c.Data, []byte("window.create")) && sends.Add(1) == 1 {
				return false, store.ErrUnavailable
			}
			return do()
		}})
		deliver(t, r, says("conn-a", "first", emit(window("w1")))) // between two owners
		over.Store(true)
		for sends.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		deliver(t, r, says("conn-a", "second", emit(wire.WindowClose{WindowID: "w1"})))
		time.Sleep(10 * time.Second)
		inOrder(t, m, "first", "second")
	})
}

// A command without an id is sent to the next owner, which does it; the sender
// never hears that it arrived, and becomes the owner itself.
func TestForwardedCommandIsDoneOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, b, _ := pair(t, m)
		r := enter(t, a, "ses-1")
		ask(t, r, says("conn-a", "w", emit(window("win"))))
		time.Sleep(time.Second)
		var over atomic.Bool
		isolate(m, &over)
		enter(t, b, "ses-1")
		await(t, m, "ses-1", func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		var sends atomic.Int64
		m.hook(hooks{send: func(c store.Command, do func() (bool, error)) (bool, error) {
			if bytes.Contains(c.Data, []byte("PLUS")) && sends.Add(1) == 1 {
				_, err := do()
				ok(t, err)
				return false, store.ErrUnavailable
			}
			return do()
		}})
		more := wire.WindowUpdateContent{WindowID: "win", Operation: wire.UpdateAppend{Data: []byte(`" PLUS"`)}}
		deliver(t, r, says("conn-a", "", emit(more)))
		over.Store(true)
		await(t, m, "ses-1", func(p wire.Actions) bool { _, is := p.Actions[0].(wire.WindowUpdateContent); return is })
		b.Drain(t.Context())
		await(t, m, "ses-1", func(o wire.OwnerChanged) bool { return !o.Prev.IsZero() && o.Replica == "a" })
		time.Sleep(5 * time.Second)
		settled(t, r)
		state, err := r.Snapshot(t.Context(), nil)
		ok(t, err)
		if c, is := state.Windows[0].Content.(wire.TextContent); !is || c.Data != "hello PLUS" {
			t.Errorf("the window says %+v", state.Windows[0].Content)
		}
		if sends.Load() < 2 {
			t.Errorf("the command was sent %d times", sends.Load())
		}
	})
}

// A command that was taken is done although its sender is gone before the store
// is back.
func TestCommandOutlivesItsTab(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, _ := startHub(t, m, "a", session.Config{})
		create(t, a, "ses-1")
		r := enter(t, a, "ses-1")
		settled(t, r)
		time.Sleep(time.Second)
		var back atomic.Bool
		isolate(m, &back)
		m.onCommit(func(_ context.Context, _ store.Lease, _ store.Batch, do commitFunc) (store.Receipt, error) {
			if !back.Load() {
				return store.Receipt{}, store.ErrUnavailable
			}
			return do()
		})
		deliver(t, r, says("c", "m1", emit(window("w"))))
		r.Close()
		time.Sleep(15 * time.Second)
		back.Store(true)
		await(t, m, "ses-1", func(p wire.Actions) bool { return p.MessageID == "m1" })
	})
}

// A command that comes while the session is handed over reaches the next owner.
func TestCommandOutlivesTheDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, stop := startHub(t, m, "a", session.Config{})
		create(t, a, "ses-1")
		r, err := a.Open(t.Context(), "ses-1")
		ok(t, err)
		settled(t, r)
		m.hook(hooks{released: func() {
			deliver(t, r, says("c", "late", emit(window("w"))))
			r.Close()
		}})
		a.Drain(t.Context())
		m.hook(hooks{})
		stop()
		b, _ := startHub(t, m, "b", session.Config{})
		enter(t, b, "ses-1")
		await(t, m, "ses-1", func(p wire.Actions) bool { return p.MessageID == "late" })
	})
}

// A replica that follows a session nobody here uses takes it all the same when it
// has work and no owner.
func TestSweeperFindsFollowers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, stop := startHub(t, s, "a", session.Config{})
		b, _ := startHub(t, s, "b", session.Config{SweepEvery: 500 * time.Millisecond})
		create(t, a, "ses-1")
		r, err := a.Open(t.Context(), "ses-1")
		ok(t, err)
		follower, err := b.Open(t.Context(), "ses-1")
		ok(t, err)
		ask(t, r, says("c", "e", emit(wire.DialogConfirm{ID: "d"})))
		time.Sleep(time.Second)
		follower.Close()
		stop()
		began := time.Now()
		await(t, s, "ses-1", any1[wire.DialogClosed])
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the dialog is closed after %v", took)
		}
	})
}

// A lease that is just running out is one that can be claimed soon.
func TestLeaseWithNothingLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, b, stop := pair(t, m)
		_, err := a.Open(t.Context(), "ses-1")
		ok(t, err)
		var once atomic.Bool
		m.hook(hooks{claimed: func(_ store.Lease, err error) error {
			if err != nil && !once.Swap(true) {
				return &store.OwnedError{By: "a"}
			}
			return nil
		}})
		r := enter(t, b, "ses-1")
		stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := r.DeliverAndWait(ctx, says("c", "m", emit(window("w")))); err != nil {
			t.Errorf("nobody takes over: %v", err)
		}
	})
}

// Loading takes almost as long as a lease lasts.
func TestSlowLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, _ := startHub(t, m, "a", session.Config{})
		create(t, a, "ses-1")
		var loads atomic.Int64
		m.hook(hooks{loaded: func() {
			loads.Add(1)
			time.Sleep(5500 * time.Millisecond)
		}})
		r := enter(t, a, "ses-1")
		ask(t, r, says("c", "m", emit(window("w"))))
		time.Sleep(time.Minute)
		if n := loads.Load(); n != 1 {
			t.Errorf("the session was loaded %d times", n)
		}
	})
}

// Where a window was moved to last is kept when the session is loaded again.
func TestLastPlaceOutlivesAReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, _ := startHub(t, m, "a", session.Config{})
		create(t, a, "ses-1")
		r := enter(t, a, "ses-1")
		ask(t, r, says("c", "w", emit(window("w"))))
		for x := range 3 {
			deliver(t, r, says("c", "", wire.UserInteractions{Interactions: []wire.UserInteraction{{
				Type: wire.DidMoveWindow, WindowID: "w", Bounds: &wire.Bounds{X: float64(100 + x), Y: 1, W: 300, H: 200},
			}}}))
			synctest.Wait()
		}
		deliver(t, r, says("c", "bad", bomb{}))
		time.Sleep(5 * time.Second)
		state, err := r.Snapshot(t.Context(), nil)
		ok(t, err)
		if x := state.Windows[0].Bounds.X; x != 102 {
			t.Errorf("the window is at %v, want 102", x)
		}
	})
}

// Who loads a session and who has followed it since agree on toasts whose time
// was over after the newest event.
func TestLoadedToasts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b, _ := pair(t, s)
		c, _ := startHub(t, s, "c", session.Config{})
		r := enter(t, a, "ses-1")
		ask(t, r, says("c", "m", emit(wire.ToastShow{Toast: wire.Toast{ID: "t", Message: "hi", Duration: 5000}})))
		other := enter(t, b, "ses-1")
		time.Sleep(time.Second)
		a.Drain(t.Context())
		await(t, s, "ses-1", func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		time.Sleep(6 * time.Second)
		ok(t, b.Share(t.Context(), "ses-1", "bob", session.ShareViewer)) // which is no event
		if x, y := snapshotBytes(t, other), snapshotBytes(t, enter(t, c, "ses-1")); !bytes.Equal(x, y) {
			t.Errorf("snapshots differ:\n%s\n%s", x, y)
		}
	})
}

// A command that went wrong here is refused by whoever owns the session next.
func TestRefusalIsForwarded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, b, _ := pair(t, m)
		r := enter(t, a, "ses-1")
		settled(t, r)
		time.Sleep(time.Second)
		var over atomic.Bool
		isolate(m, &over)
		deliver(t, r, says("conn-a", "bad", bomb{}))
		enter(t, b, "ses-1")
		await(t, m, "ses-1", func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		over.Store(true)
		if p := rejection(t, m, "bad"); p.To != "conn-a" || p.Code != wire.CodeExecutionFailed {
			t.Errorf("the command is answered with %+v", p)
		}
	})
}
