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

// cutLeases fails the lease calls of replica a until the switch is on.
func cutLeases(m *faultStore, over *atomic.Bool) {
	m.onRenew(func(replica wire.ReplicaID) error {
		if replica == "a" && !over.Load() {
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

// checkOrder checks that nothing was refused and that the messages are in the log in order, once
// each.
func checkOrder(t *testing.T, s testStore, ids ...wire.MessageID) {
	t.Helper()
	var got []string
	for _, e := range readLog(t, s) {
		switch p := e.Data.(type) {
		case wire.Actions:
			if !strings.HasPrefix(string(p.MessageID), "settled") {
				got = append(got, string(p.MessageID))
			}
		case wire.MessageRejected:
			t.Errorf("%s is refused: %s, want no refusals", p.MessageID, p.Reason)
		}
	}
	if want := fmt.Sprint(ids); fmt.Sprint(got) != want {
		t.Errorf("the log has %v, want %v", got, want)
	}
}

// Commands that a connection sent to the previous owner come before those that it sends to the next
// one.
func TestCommandOrderAtTakeover(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, b, stop := startPair(t, m)
		_, err := a.Open(t.Context(), "ses-1")
		requireNoError(t, err)
		r := openHandle(t, b, "ses-1")
		time.Sleep(time.Second)
		stop()
		deliver(t, r, command("conn-b", "first", emit(window("w1"))))
		var claimed, done atomic.Bool
		m.setHooks(hooks{
			claimed: func(l store.Lease, _ error) error {
				claimed.Store(l.Replica == "b")
				return nil
			},
			loaded: func() {
				if claimed.Load() && !done.Swap(true) {
					deliver(t, r, command("conn-b", "second", emit(wire.WindowClose{WindowID: "w1"})))
				}
			},
		})
		time.Sleep(10 * time.Second)
		deliverBarrier(t, r)
		checkOrder(t, m, "first", "second")
	})
}

// Commands that wait for the store are not overtaken by later ones.
func TestCommandOrderWhileTheStoreIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, b, _ := startPair(t, m)
		r := openHandle(t, a, "ses-1")
		deliverBarrier(t, r)
		time.Sleep(time.Second)
		var over atomic.Bool
		cutLeases(m, &over)
		openHandle(t, b, "ses-1")
		waitLogged(t, m, "ses-1", func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		var sends atomic.Int64
		m.setHooks(hooks{send: func(c store.Command, do func() (bool, error)) (bool, error) {
			if bytes.Contains(c.Data, []byte("window.create")) && sends.Add(1) == 1 {
				return false, store.ErrUnavailable
			}
			return do()
		}})
		deliver(t, r, command("conn-a", "first", emit(window("w1")))) // while there is no owner
		over.Store(true)
		for sends.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		deliver(t, r, command("conn-a", "second", emit(wire.WindowClose{WindowID: "w1"})))
		time.Sleep(10 * time.Second)
		checkOrder(t, m, "first", "second")
	})
}

// A command without an id is sent to the next owner, which executes it; the sending replica does
// not learn that it arrived, and becomes the owner itself.
func TestForwardedCommandIsExecutedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, b, _ := startPair(t, m)
		r := openHandle(t, a, "ses-1")
		deliverAndWait(t, r, command("conn-a", "w", emit(window("win"))))
		time.Sleep(time.Second)
		var over atomic.Bool
		cutLeases(m, &over)
		openHandle(t, b, "ses-1")
		waitLogged(t, m, "ses-1", func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		var sends atomic.Int64
		m.setHooks(hooks{send: func(c store.Command, do func() (bool, error)) (bool, error) {
			if bytes.Contains(c.Data, []byte("PLUS")) && sends.Add(1) == 1 {
				_, err := do()
				requireNoError(t, err)
				return false, store.ErrUnavailable
			}
			return do()
		}})
		more := wire.WindowUpdateContent{WindowID: "win", Operation: wire.UpdateAppend{Data: []byte(`" PLUS"`)}}
		deliver(t, r, command("conn-a", "", emit(more)))
		over.Store(true)
		waitLogged(t, m, "ses-1", func(p wire.Actions) bool { _, is := p.Actions[0].(wire.WindowUpdateContent); return is })
		b.Drain(t.Context())
		waitLogged(t, m, "ses-1", func(o wire.OwnerChanged) bool { return !o.Prev.IsZero() && o.Replica == "a" })
		time.Sleep(5 * time.Second)
		deliverBarrier(t, r)
		state, err := r.Snapshot(t.Context(), nil)
		requireNoError(t, err)
		if c, is := state.Windows[0].Content.(wire.TextContent); !is || c.Data != "hello PLUS" {
			t.Errorf(`the window says %+v, want "hello PLUS"`, state.Windows[0].Content)
		}
		if sends.Load() < 2 {
			t.Errorf("the command was sent %d times, want at least 2", sends.Load())
		}
	})
}

// An accepted command is executed although its tab is closed before the store is available again.
func TestCommandSurvivesItsTab(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, _ := startHub(t, m, "a", session.Config{})
		createSession(t, a, "ses-1")
		r := openHandle(t, a, "ses-1")
		deliverBarrier(t, r)
		time.Sleep(time.Second)
		var back atomic.Bool
		cutLeases(m, &back)
		m.onCommit(func(_ context.Context, _ store.Lease, _ store.Batch, do commitFunc) (store.Receipt, error) {
			if !back.Load() {
				return store.Receipt{}, store.ErrUnavailable
			}
			return do()
		})
		deliver(t, r, command("c", "m1", emit(window("w"))))
		r.Close()
		time.Sleep(15 * time.Second)
		back.Store(true)
		waitLogged(t, m, "ses-1", func(p wire.Actions) bool { return p.MessageID == "m1" })
	})
}

// A command that arrives during a handover reaches the next owner.
func TestCommandSurvivesTheDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, stop := startHub(t, m, "a", session.Config{})
		createSession(t, a, "ses-1")
		r, err := a.Open(t.Context(), "ses-1")
		requireNoError(t, err)
		deliverBarrier(t, r)
		m.setHooks(hooks{released: func() {
			deliver(t, r, command("c", "late", emit(window("w"))))
			r.Close()
		}})
		a.Drain(t.Context())
		m.setHooks(hooks{})
		stop()
		b, _ := startHub(t, m, "b", session.Config{})
		openHandle(t, b, "ses-1")
		waitLogged(t, m, "ses-1", func(p wire.Actions) bool { return p.MessageID == "late" })
	})
}

// A follower without handles claims the session when it has work and no owner.
func TestSweeperFindsFollowers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, stop := startHub(t, s, "a", session.Config{})
		b, _ := startHub(t, s, "b", session.Config{SweepEvery: 500 * time.Millisecond})
		createSession(t, a, "ses-1")
		r, err := a.Open(t.Context(), "ses-1")
		requireNoError(t, err)
		follower, err := b.Open(t.Context(), "ses-1")
		requireNoError(t, err)
		deliverAndWait(t, r, command("c", "e", emit(wire.DialogConfirm{ID: "d"})))
		time.Sleep(time.Second)
		follower.Close()
		stop()
		began := time.Now()
		waitLogged(t, s, "ses-1", anyOf[wire.DialogClosed])
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the dialog is closed after %v, want at most 1m", took)
		}
	})
}

// A lease that is about to expire can be claimed soon.
func TestLeaseAboutToExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, b, stop := startPair(t, m)
		_, err := a.Open(t.Context(), "ses-1")
		requireNoError(t, err)
		var once atomic.Bool
		m.setHooks(hooks{claimed: func(_ store.Lease, err error) error {
			if err != nil && !once.Swap(true) {
				return &store.OwnedError{By: "a"}
			}
			return nil
		}})
		r := openHandle(t, b, "ses-1")
		stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := r.DeliverAndWait(ctx, command("c", "m", emit(window("w")))); err != nil {
			t.Errorf("no replica takes over: %v", err)
		}
	})
}

// Loading takes almost as long as a lease lasts.
func TestSlowLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, _ := startHub(t, m, "a", session.Config{})
		createSession(t, a, "ses-1")
		var loads atomic.Int64
		m.setHooks(hooks{loaded: func() {
			loads.Add(1)
			time.Sleep(5500 * time.Millisecond)
		}})
		r := openHandle(t, a, "ses-1")
		deliverAndWait(t, r, command("c", "m", emit(window("w"))))
		time.Sleep(time.Minute)
		if n := loads.Load(); n != 1 {
			t.Errorf("the session was loaded %d times, want once", n)
		}
	})
}

// The last position of a moved window is kept when the session is loaded again.
func TestLastPositionSurvivesAReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, _ := startHub(t, m, "a", session.Config{})
		createSession(t, a, "ses-1")
		r := openHandle(t, a, "ses-1")
		deliverAndWait(t, r, command("c", "w", emit(window("w"))))
		for x := range 3 {
			deliver(t, r, command("c", "", wire.UserInteractions{Interactions: []wire.UserInteraction{{
				Type: wire.DidMoveWindow, WindowID: "w", Bounds: &wire.Bounds{X: float64(100 + x), Y: 1, W: 300, H: 200},
			}}}))
			synctest.Wait()
		}
		deliver(t, r, command("c", "bad", panicMessage{}))
		time.Sleep(5 * time.Second)
		state, err := r.Snapshot(t.Context(), nil)
		requireNoError(t, err)
		if x := state.Windows[0].Bounds.X; x != 102 {
			t.Errorf("the window is at %v, want 102", x)
		}
	})
}

// A replica that loads a session and one that has followed it agree on toasts that expired after
// the newest event.
func TestExpiredToastsAfterLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b, _ := startPair(t, s)
		c, _ := startHub(t, s, "c", session.Config{})
		r := openHandle(t, a, "ses-1")
		deliverAndWait(t, r, command("c", "m", emit(wire.ToastShow{Toast: wire.Toast{ID: "t", Message: "hi", Duration: 5000}})))
		other := openHandle(t, b, "ses-1")
		time.Sleep(time.Second)
		a.Drain(t.Context())
		waitLogged(t, s, "ses-1", func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		time.Sleep(6 * time.Second)
		requireNoError(t, b.Share(t.Context(), "ses-1", "bob", session.ShareViewer)) // makes no event
		if x, y := snapshotBytes(t, other), snapshotBytes(t, openHandle(t, c, "ses-1")); !bytes.Equal(x, y) {
			t.Errorf("snapshots differ, want the same:\n%s\n%s", x, y)
		}
	})
}

// A command that failed here is refused by the next owner.
func TestRefusalIsForwarded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, b, _ := startPair(t, m)
		r := openHandle(t, a, "ses-1")
		deliverBarrier(t, r)
		time.Sleep(time.Second)
		var over atomic.Bool
		cutLeases(m, &over)
		deliver(t, r, command("conn-a", "bad", panicMessage{}))
		openHandle(t, b, "ses-1")
		waitLogged(t, m, "ses-1", func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		over.Store(true)
		if p := waitRejection(t, m, "bad"); p.To != "conn-a" || p.Code != wire.CodeExecutionFailed {
			t.Errorf("the command is answered with %+v, want code %s to conn-a", p, wire.CodeExecutionFailed)
		}
	})
}
