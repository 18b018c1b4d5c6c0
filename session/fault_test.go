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

// batchContains reports whether a batch has an event with a text.
func batchContains(b store.Batch, text string) bool {
	for _, f := range b.Events {
		if bytes.Contains(f, []byte(text)) {
			return true
		}
	}
	return false
}

func TestEventsAreCommittedBeforeTheyArePublished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		h, _ := startHub(t, m, "a", session.Config{})
		createSession(t, h, "ses-1")
		createSession(t, h, "ses-2")
		r := openHandle(t, h, "ses-1")
		w := attachTab(t, r, "c")
		nextEvent(t, w, anyOf[wire.SessionState])
		time.Sleep(time.Second)
		before := snapshotBytes(t, r)
		var tries atomic.Int64
		m.onCommit(func(ctx context.Context, l store.Lease, _ store.Batch, do commitFunc) (store.Receipt, error) {
			if l.Session != "ses-1" {
				return do()
			}
			switch tries.Add(1) {
			case 1: // the commit hangs
				<-ctx.Done()
				return store.Receipt{}, ctx.Err()
			case 2: // the commit succeeds, but the answer is lost
				_, err := do()
				requireNoError(t, err)
				return store.Receipt{}, store.ErrUnavailable
			case 3:
				return store.Receipt{}, store.ErrNoSpace
			}
			return do()
		})
		deliver(t, r, command("c", "m1", emit(window("win"))))
		synctest.Wait()
		if !bytes.Equal(before, snapshotBytes(t, r)) {
			t.Error("got a snapshot with uncommitted changes, want the committed state")
		}
		select {
		case e := <-w.events:
			if _, is := e.Data.(wire.Actions); is {
				t.Errorf("got event %+v of an uncommitted step at a tab, want none", e)
			}
		default:
		}
		// Another session is not affected.
		deliverAndWait(t, openHandle(t, h, "ses-2"), command("c", "m1", emit(window("win"))))
		nextEvent(t, w, func(p wire.Emitted) bool { return p.MessageID == "m1" })
		if n := tries.Load(); n != 4 {
			t.Errorf("the batch was tried %d times, want 4", n)
		}
		if n := len(payloads[wire.Actions](readLog(t, m))); n != 1 {
			t.Errorf("the actions are in the log %d times, want once", n)
		}
	})
}

// An owner that has lost its session continues as a follower, and the new owner executes once what
// it had not committed.
func TestFencedOwnerFollows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, _ := startHub(t, m, "a", session.Config{})
		b, _ := startHub(t, m, "b", session.Config{})
		createSession(t, a, "ses-1")
		r := openHandle(t, a, "ses-1")
		w := attachTab(t, r, "conn-a")
		time.Sleep(time.Second)
		// The owner can neither renew nor commit until the other replica has the session.
		m.onRenew(func(replica wire.ReplicaID) error {
			if replica == "a" {
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
		// Both are in one step whose commit is uncertain: the command without an id is not executed
		// again.
		_, err := r.DeliverAll(t.Context(), []session.Command{
			command("conn-a", "m1", emit(window("win"))), command("conn-a", "", emit(window("unnamed"))),
		})
		requireNoError(t, err)
		rb := openHandle(t, b, "ses-1")
		waitLogged(t, m, "ses-1", func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		others.Store(true)
		if e := nextEvent(t, w, anyOf[wire.Emitted]); e.MessageID != "m1" {
			t.Errorf("the sender gets %+v, want the reply to m1", e)
		}
		synctest.Wait()
		actions := payloads[wire.Actions](readLog(t, m))
		if len(actions) != 1 || actions[0].MessageID != "m1" {
			t.Errorf("the actions in the log are %+v, want only those of m1", actions)
		}
		m.onCommit(nil)
		waitPosition(t, r, deliverBarrier(t, rb))
		if x, y := snapshotBytes(t, r), snapshotBytes(t, rb); !bytes.Equal(x, y) {
			t.Errorf("snapshots differ, want the same:\n%s\n%s", x, y)
		}
	})
}

// The store has lost acknowledged batches: the owner writes everything again and all tabs get a new
// snapshot.
func TestLostCommitsAreWrittenAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, _ := startHub(t, m, "a", session.Config{})
		b, _ := startHub(t, m, "b", session.Config{})
		createSession(t, a, "ses-1")
		r := openHandle(t, a, "ses-1")
		w := attachTab(t, r, "conn-a")
		fillDesktop(t, r)
		rb := openHandle(t, b, "ses-1")
		wb := attachTab(t, rb, "conn-b")
		time.Sleep(2 * time.Second)
		// From here on the store acknowledges commits and loses them.
		var lost atomic.Int64
		var gap atomic.Bool
		m.onCommit(func(_ context.Context, l store.Lease, batch store.Batch, do commitFunc) (store.Receipt, error) {
			if l.Replica != "a" || batch.Number < 3 && lost.Load() > 0 {
				return do()
			}
			if gap.Load() {
				return do() // fails because of the lost batches
			}
			lost.Add(1)
			return store.Receipt{Top: wire.Position{Epoch: batch.Prev.Epoch, Seq: batch.Prev.Seq + uint64(len(batch.Events))}}, nil
		})
		deliverAndWait(t, r, command("conn-a", "lost", emit(window("lost"))))
		gap.Store(true)
		got := deliverAndWait(t, r, command("conn-a", "after", emit(window("after"))))
		if p, is := got.Data.(wire.Actions); !is || p.MessageID != "after" {
			t.Errorf("the command that met the gap is answered with %+v, want its own Actions", got.Data)
		}
		if lost.Load() == 0 {
			t.Fatal("got 0 lost commits, want some")
		}
		nextEvent(t, w, func(s wire.SessionState) bool { return s.Reason == wire.SnapshotUnknown && len(s.Windows) == 4 })
		nextEvent(t, w, func(e wire.Emitted) bool { return e.MessageID == "after" })
		nextEvent(t, wb, func(s wire.SessionState) bool { return s.Reason == wire.SnapshotUnknown && len(s.Windows) == 4 })
		m.onCommit(nil)
		waitPosition(t, rb, deliverBarrier(t, r))
		x, y := snapshotBytes(t, r), snapshotBytes(t, rb)
		if !bytes.Equal(x, y) || !strings.Contains(string(x), `"lost"`) {
			t.Errorf("snapshots after the loss, want the same, with the window lost:\n%s\n%s", x, y)
		}
		// The ledger still has the messages.
		if a := deliverAndWait(t, r, command("conn-a", "lost", emit(window("lost")))); !isA[wire.MessageRepeated](a.Data) {
			t.Errorf("a message that was lost and written again is answered with %+v, want a MessageRepeated", a.Data)
		}
		a.Drain(t.Context()) // the next owner loads everything
		waitLogged(t, m, "ses-1", func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		nextEvent(t, wb, func(o wire.OwnerChanged) bool { return o.Replica == "b" })
		deliverBarrier(t, rb)
		state, err := rb.Snapshot(t.Context(), nil)
		requireNoError(t, err)
		if len(state.Windows) != 4 {
			t.Errorf("the next owner has the windows %+v, want 4", state.Windows)
		}
	})
}

// panicMessage is a message that no protocol accepts: encoding it panics.
type panicMessage struct{ wire.Inbound }

func TestPanicRefusesOneCommand(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"mailbox", "inbox"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			m := openFaultStore(t)
			a, b, _ := startPair(t, m)
			owner := openHandle(t, a, "ses-1")
			createSession(t, a, "ses-2")
			other := openHandle(t, a, "ses-2")
			w := attachTab(t, owner, "conn-a")
			r, bad := owner, command("c", "bad", panicMessage{})
			if way == "inbox" {
				r, bad = openHandle(t, b, "ses-1"), command("c", "bad", emit(window("boom")))
				m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
					if batchContains(b, "boom") {
						panic("boom")
					}
					return do()
				})
			}
			deliverAndWait(t, r, command("c", "m1", emit(window("before"))))
			deliver(t, r, bad)
			deliver(t, r, command("c", "m2", emit(window("after"))))
			if p := waitRejection(t, m, "bad"); p.Code != wire.CodeExecutionFailed || p.To != "c" {
				t.Errorf("the command that panicked is answered with %+v, want code %s to c", p, wire.CodeExecutionFailed)
			}
			nextEvent(t, w, func(p wire.Actions) bool { return p.MessageID == "m2" })
			deliverBarrier(t, r)
			if n := len(payloads[wire.MessageRejected](readLog(t, m))); n != 1 {
				t.Errorf("%d refusals are in the log, want 1", n)
			}
			state, err := owner.Snapshot(t.Context(), nil)
			requireNoError(t, err)
			if len(state.Windows) != 2 {
				t.Errorf("the windows are %+v, want 2", state.Windows)
			}
			deliverAndWait(t, other, command("c", "m1", emit(window("before"))))
		})
	}
}

func TestTooManyPanicsSuspendTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		h, _ := startHub(t, s, "a", session.Config{})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		w := attachTab(t, r, "c")
		for i := range 3 {
			deliver(t, r, command("c", wire.MessageID(fmt.Sprintf("bad%d", i)), panicMessage{}))
			time.Sleep(time.Second)
		}
		if c := <-w.closed; c != wire.CloseInternal {
			t.Errorf("the tab is closed with %d, want %d", c, wire.CloseInternal)
		}
		if _, err := h.Open(t.Context(), "ses-1"); errorCode(err) != wire.CodeSessionInvalidState {
			t.Errorf("the session opens with error %v, want code %s", err, wire.CodeSessionInvalidState)
		}
		time.Sleep(time.Minute)
		deliverAndWait(t, openHandle(t, h, "ses-1"), command("c", "m", emit(window("win"))))
	})
}

func TestStepRefusedByTheStore(t *testing.T) {
	t.Parallel()
	m := openFaultStore(t)
	h, _ := startHub(t, m, "a", session.Config{})
	createSession(t, h, "ses-1")
	r := openHandle(t, h, "ses-1")
	var steps atomic.Int64
	m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
		if batchContains(b, "ACTIONS") && batchContains(b, "huge") && !batchContains(b, "MESSAGE_REJECTED") {
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
	deliver(t, r, command("c", "m0", emit(window("first"))))
	deliver(t, r, command("c", "m1", emit(window("small"))))
	deliver(t, r, command("c", "m2", emit(window("huge"))))
	deliver(t, r, command("c", "m3", emit(window("other"))))
	close(gate)
	if p := waitRejection(t, m, "m2"); p.Code != wire.CodeMessageTooLarge || p.To != "c" {
		t.Errorf("what is too large is answered with %+v, want code %s to c", p, wire.CodeMessageTooLarge)
	}
	deliverBarrier(t, r)
	state, err := r.Snapshot(t.Context(), nil)
	requireNoError(t, err)
	if len(state.Windows) != 3 || steps.Load() == 0 {
		t.Errorf("after %d refusals the windows are %+v, want at least one refusal and 3 windows", steps.Load(), state.Windows)
	}
}

func TestFullMailboxBlocks(t *testing.T) {
	t.Parallel()
	m := openFaultStore(t)
	h, _ := startHub(t, m, "a", session.Config{})
	createSession(t, h, "ses-1")
	r := openHandle(t, h, "ses-1")
	deliverBarrier(t, r)
	gate, stuck := make(chan struct{}), make(chan struct{}, 1)
	m.onCommit(func(_ context.Context, _ store.Lease, _ store.Batch, do commitFunc) (store.Receipt, error) {
		select {
		case stuck <- struct{}{}:
		default:
		}
		<-gate
		return do()
	})
	deliver(t, r, command("c", "", emit(wire.RefreshApps{})))
	<-stuck
	for range 1024 {
		deliver(t, r, command("c", "", emit(wire.RefreshApps{})))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Deliver(ctx, command("c", "", emit(wire.RefreshApps{}))); errorCode(err) != wire.CodeQueueFull || !errors.Is(err, context.Canceled) {
		t.Errorf("a full mailbox answers %v, want code %s because the context is cancelled", err, wire.CodeQueueFull)
	}
	late := make(chan error)
	go func() { late <- r.Deliver(t.Context(), command("c", "late", emit(wire.RefreshApps{}))) }()
	close(gate)
	requireNoError(t, <-late)
	deliverBarrier(t, r)
	if n := len(payloads[wire.Actions](readLog(t, m))); n != 1+1+1024+1+1 {
		t.Errorf("%d of 1028 commands are in the log, want all", n)
	}
}

func TestQuarantinedAndUnknownSessions(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	h, _ := startHub(t, s, "a", session.Config{})
	createSession(t, h, "ses-1")
	r := openHandle(t, h, "ses-1")
	w := attachTab(t, r, "c")
	requireNoError(t, s.Quarantine(t.Context(), "ses-1", "it smells"))
	deliver(t, r, command("c", "m", emit(window("win"))))
	if c := <-w.closed; c != wire.CloseInternal {
		t.Errorf("the tab of a quarantined session is closed with %d, want %d", c, wire.CloseInternal)
	}
	if _, err := h.Open(t.Context(), "ses-1"); errorCode(err) != wire.CodeSessionInvalidState {
		t.Errorf("a quarantined session opens with error %v, want code %s", err, wire.CodeSessionInvalidState)
	}
	if err := h.Delete(t.Context(), "ses-1"); errorCode(err) != wire.CodeSessionInvalidState {
		t.Errorf("a quarantined session is deleted with error %v, want code %s", err, wire.CodeSessionInvalidState)
	}
	requireNoError(t, s.Quarantine(t.Context(), "ses-1", ""))
	deliverAndWait(t, openHandle(t, h, "ses-1"), command("c", "m", emit(window("win"))))
	for _, id := range []wire.SessionID{"ses-none", "../x", ""} {
		if _, err := h.Open(t.Context(), id); errorCode(err) != wire.CodeSessionNotFound && errorCode(err) != wire.CodeInvalidMessage {
			t.Errorf("session %q opens with error %v, want code %s or %s", id, err, wire.CodeSessionNotFound, wire.CodeInvalidMessage)
		}
	}
}
