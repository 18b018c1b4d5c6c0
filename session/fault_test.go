package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

type commitFunc = func() (store.Receipt, error)

// has reports whether a batch has an event with some text.
func has(b store.Batch, text string) bool {
	for _, f := range b.Events {
		if bytes.Contains(f, []byte(text)) {
			return true
		}
	}
	return false
}

func TestNothingIsShownBeforeItIsCommitted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		h, _ := startHub(t, m, "a", session.Config{})
		create(t, h, "ses-1")
		create(t, h, "ses-2")
		r := enter(t, h, "ses-1")
		w := watch(t, r, "c")
		next(t, w, any1[wire.SessionState])
		time.Sleep(time.Second)
		before := snapshotBytes(t, r)
		var tries atomic.Int64
		m.onCommit(func(ctx context.Context, l store.Lease, _ store.Batch, do commitFunc) (store.Receipt, error) {
			if l.Session != "ses-1" {
				return do()
			}
			switch tries.Add(1) {
			case 1: // it hangs
				<-ctx.Done()
				return store.Receipt{}, ctx.Err()
			case 2: // it is done, but the answer is lost
				_, err := do()
				ok(t, err)
				return store.Receipt{}, store.ErrUnavailable
			case 3:
				return store.Receipt{}, store.ErrNoSpace
			}
			return do()
		})
		deliver(t, r, says("c", "m1", emit(window("win"))))
		synctest.Wait()
		if !bytes.Equal(before, snapshotBytes(t, r)) {
			t.Error("a snapshot shows what is not committed")
		}
		select {
		case e := <-w.events:
			if _, is := e.Data.(wire.Actions); is {
				t.Error("a tab is shown what is not committed")
			}
		default:
		}
		// Another session does not notice.
		ask(t, enter(t, h, "ses-2"), says("c", "m1", emit(window("win"))))
		next(t, w, func(p wire.Emitted) bool { return p.MessageID == "m1" })
		if n := tries.Load(); n != 4 {
			t.Errorf("the batch was tried %d times, want 4", n)
		}
		if n := len(find[wire.Actions](history(t, m))); n != 1 {
			t.Errorf("the actions are in the log %d times", n)
		}
	})
}

// An owner that has lost its session goes on as a follower, and what it had not
// committed is done by the new owner, once.
func TestFencedOwnerFollows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, _ := startHub(t, m, "a", session.Config{})
		b, _ := startHub(t, m, "b", session.Config{})
		create(t, a, "ses-1")
		r := enter(t, a, "ses-1")
		w := watch(t, r, "conn-a")
		time.Sleep(time.Second)
		// It can neither renew nor commit until the other has the session.
		m.onRenew(func(l store.Lease) error {
			if l.Replica == "a" {
				return store.ErrUnavailable
			}
			return nil
		})
		var others atomic.Bool
		m.onClaim(func(replica wire.ReplicaID) error {
			if replica == "a" && !others.Load() {
				return store.ErrUnavailable
			}
			return nil
		})
		m.onCommit(func(ctx context.Context, l store.Lease, _ store.Batch, do commitFunc) (store.Receipt, error) {
			if l.Replica == "a" {
				<-ctx.Done()
				return store.Receipt{}, store.ErrUnavailable
			}
			return do()
		})
		// Both are in one step, of which nobody knows what became: what has no
		// name is not done again.
		_, err := r.DeliverAll(t.Context(), []session.Command{
			says("conn-a", "m1", emit(window("win"))), says("conn-a", "", emit(window("unnamed"))),
		})
		ok(t, err)
		rb := enter(t, b, "ses-1")
		await(t, m, "ses-1", func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		others.Store(true)
		if e := next(t, w, any1[wire.Emitted]); e.MessageID != "m1" {
			t.Errorf("the sender hears %+v", e)
		}
		synctest.Wait()
		actions := find[wire.Actions](history(t, m))
		if len(actions) != 1 || actions[0].MessageID != "m1" {
			t.Errorf("the actions in the log are %+v", actions)
		}
		m.onCommit(nil)
		upTo(t, r, settled(t, rb))
		if x, y := snapshotBytes(t, r), snapshotBytes(t, rb); !bytes.Equal(x, y) {
			t.Errorf("snapshots differ:\n%s\n%s", x, y)
		}
	})
}

// The store has lost acknowledged batches: the owner writes everything again and
// everybody gets a fresh snapshot.
func TestForgottenWritesAreWrittenAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, _ := startHub(t, m, "a", session.Config{})
		b, _ := startHub(t, m, "b", session.Config{})
		create(t, a, "ses-1")
		r := enter(t, a, "ses-1")
		w := watch(t, r, "conn-a")
		fill(t, r)
		rb := enter(t, b, "ses-1")
		wb := watch(t, rb, "conn-b")
		time.Sleep(2 * time.Second)
		// From here on the store acknowledges and forgets.
		var lost atomic.Int64
		var gap atomic.Bool
		m.onCommit(func(_ context.Context, l store.Lease, batch store.Batch, do commitFunc) (store.Receipt, error) {
			if l.Replica != "a" || batch.Number < 3 && lost.Load() > 0 {
				return do()
			}
			if gap.Load() {
				return do() // which finds out
			}
			lost.Add(1)
			return store.Receipt{Top: wire.Position{Epoch: batch.Prev.Epoch, Seq: batch.Prev.Seq + uint64(len(batch.Events))}}, nil
		})
		ask(t, r, says("conn-a", "lost", emit(window("lost"))))
		gap.Store(true)
		got := ask(t, r, says("conn-a", "after", emit(window("after"))))
		if p, is := got.Data.(wire.Actions); !is || p.MessageID != "after" {
			t.Errorf("the command that met the gap is answered with %+v", got.Data)
		}
		if lost.Load() == 0 {
			t.Fatal("nothing was lost")
		}
		next(t, w, func(s wire.SessionState) bool { return s.Reason == wire.SnapshotUnknown && len(s.Windows) == 4 })
		next(t, w, func(e wire.Emitted) bool { return e.MessageID == "after" })
		next(t, wb, func(s wire.SessionState) bool { return s.Reason == wire.SnapshotUnknown && len(s.Windows) == 4 })
		m.onCommit(nil)
		upTo(t, rb, settled(t, r))
		x, y := snapshotBytes(t, r), snapshotBytes(t, rb)
		if !bytes.Equal(x, y) || !strings.Contains(string(x), `"lost"`) {
			t.Errorf("snapshots after the loss:\n%s\n%s", x, y)
		}
		// Messages are still known.
		if a := ask(t, r, says("conn-a", "lost", emit(window("lost")))); !isA[wire.MessageRepeated](a.Data) {
			t.Errorf("a message that was lost and written again is answered with %+v", a.Data)
		}
		a.Drain(t.Context()) // and who loads it has it all
		await(t, m, "ses-1", func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		next(t, wb, func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		settled(t, rb)
		state, err := rb.Snapshot(t.Context(), nil)
		ok(t, err)
		if len(state.Windows) != 4 {
			t.Errorf("the next owner has the windows %+v", state.Windows)
		}
	})
}

// bomb is a message that no door lets through: nobody can write it down.
type bomb struct{ wire.Inbound }

func TestPanicIsForOneCommand(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"mailbox", "inbox"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			m := openMeddler(t)
			a, b, _ := pair(t, m)
			owner := enter(t, a, "ses-1")
			create(t, a, "ses-2")
			other := enter(t, a, "ses-2")
			w := watch(t, owner, "conn-a")
			r, bad := owner, says("c", "bad", bomb{})
			if way == "inbox" {
				r, bad = enter(t, b, "ses-1"), says("c", "bad", emit(window("boom")))
				m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
					if has(b, "boom") {
						panic("boom")
					}
					return do()
				})
			}
			ask(t, r, says("c", "m1", emit(window("before"))))
			deliver(t, r, bad)
			deliver(t, r, says("c", "m2", emit(window("after"))))
			if p := rejection(t, m, "bad"); p.Code != wire.CodeExecutionFailed || p.To != "c" {
				t.Errorf("the command that panicked is answered with %+v", p)
			}
			next(t, w, func(p wire.Actions) bool { return p.MessageID == "m2" })
			settled(t, r)
			if n := len(find[wire.MessageRejected](history(t, m))); n != 1 {
				t.Errorf("%d refusals are in the log, want 1", n)
			}
			state, err := owner.Snapshot(t.Context(), nil)
			ok(t, err)
			if len(state.Windows) != 2 {
				t.Errorf("the windows are %+v", state.Windows)
			}
			ask(t, other, says("c", "m1", emit(window("before"))))
		})
	}
}

func TestTooManyPanicsCloseTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		h, _ := startHub(t, s, "a", session.Config{})
		create(t, h, "ses-1")
		r := enter(t, h, "ses-1")
		w := watch(t, r, "c")
		for i := range 3 {
			deliver(t, r, says("c", wire.MessageID(fmt.Sprintf("bad%d", i)), bomb{}))
			time.Sleep(time.Second)
		}
		if c := <-w.closed; c != wire.CloseInternal {
			t.Errorf("the tab is closed with %d", c)
		}
		if _, err := h.Open(t.Context(), "ses-1"); code(err) != wire.CodeSessionInvalidState {
			t.Errorf("the session opens with error %v", err)
		}
		time.Sleep(time.Minute)
		ask(t, enter(t, h, "ses-1"), says("c", "m", emit(window("win"))))
	})
}

func TestWhatTheStoreRefusesIsRefused(t *testing.T) {
	t.Parallel()
	m := openMeddler(t)
	h, _ := startHub(t, m, "a", session.Config{})
	create(t, h, "ses-1")
	r := enter(t, h, "ses-1")
	var steps atomic.Int64
	m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
		if has(b, "ACTIONS") && has(b, "huge") && !has(b, "MESSAGE_REJECTED") {
			steps.Add(1)
			return store.Receipt{}, store.ErrTooLarge
		}
		return do()
	})
	gate := make(chan struct{})
	held := sync.OnceFunc(func() { <-gate })
	inner := m.commit
	m.onCommit(func(ctx context.Context, l store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
		held()
		return inner(ctx, l, b, do)
	})
	deliver(t, r, says("c", "m0", emit(window("first"))))
	deliver(t, r, says("c", "m1", emit(window("small"))))
	deliver(t, r, says("c", "m2", emit(window("huge"))))
	deliver(t, r, says("c", "m3", emit(window("other"))))
	close(gate)
	if p := rejection(t, m, "m2"); p.Code != wire.CodeMessageTooLarge || p.To != "c" {
		t.Errorf("what is too large is answered with %+v", p)
	}
	settled(t, r)
	state, err := r.Snapshot(t.Context(), nil)
	ok(t, err)
	if len(state.Windows) != 3 || steps.Load() == 0 {
		t.Errorf("after %d refusals the windows are %+v", steps.Load(), state.Windows)
	}
}

func TestFullMailboxWaits(t *testing.T) {
	t.Parallel()
	m := openMeddler(t)
	h, _ := startHub(t, m, "a", session.Config{})
	create(t, h, "ses-1")
	r := enter(t, h, "ses-1")
	settled(t, r)
	gate, stuck := make(chan struct{}), make(chan struct{}, 1)
	m.onCommit(func(_ context.Context, _ store.Lease, _ store.Batch, do commitFunc) (store.Receipt, error) {
		select {
		case stuck <- struct{}{}:
		default:
		}
		<-gate
		return do()
	})
	deliver(t, r, says("c", "", emit(wire.RefreshApps{})))
	<-stuck
	for range 1024 {
		deliver(t, r, says("c", "", emit(wire.RefreshApps{})))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Deliver(ctx, says("c", "", emit(wire.RefreshApps{}))); code(err) != wire.CodeQueueFull || !errors.Is(err, context.Canceled) {
		t.Errorf("a full mailbox answers %v", err)
	}
	late := make(chan error)
	go func() { late <- r.Deliver(t.Context(), says("c", "late", emit(wire.RefreshApps{}))) }()
	close(gate)
	ok(t, <-late)
	settled(t, r)
	if n := len(find[wire.Actions](history(t, m))); n != 1+1+1024+1+1 {
		t.Errorf("%d of 1028 commands are in the log", n)
	}
}

func TestQuarantinedAndUnknownSessions(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	h, _ := startHub(t, s, "a", session.Config{})
	create(t, h, "ses-1")
	r := enter(t, h, "ses-1")
	w := watch(t, r, "c")
	ok(t, s.Quarantine(t.Context(), "ses-1", "it smells"))
	deliver(t, r, says("c", "m", emit(window("win"))))
	if c := <-w.closed; c != wire.CloseInternal {
		t.Errorf("the tab of a quarantined session is closed with %d", c)
	}
	if _, err := h.Open(t.Context(), "ses-1"); code(err) != wire.CodeSessionInvalidState {
		t.Errorf("a quarantined session opens with error %v", err)
	}
	if err := h.Delete(t.Context(), "ses-1"); code(err) != wire.CodeSessionInvalidState {
		t.Errorf("a quarantined session is deleted with error %v", err)
	}
	ok(t, s.Quarantine(t.Context(), "ses-1", ""))
	ask(t, enter(t, h, "ses-1"), says("c", "m", emit(window("win"))))
	for _, id := range []wire.SessionID{"ses-none", "../x", ""} {
		if _, err := h.Open(t.Context(), id); code(err) != wire.CodeSessionNotFound && code(err) != wire.CodeInvalidMessage {
			t.Errorf("session %q opens with error %v", id, err)
		}
	}
}
