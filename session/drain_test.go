package session_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// A replica is drained and undrained, repeatedly.
func TestUndrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b, _ := startPair(t, s)
		owner, follower := openHandle(t, a, "ses-1"), openHandle(t, b, "ses-1")
		wa, wb := attachTab(t, owner, "conn-a"), attachTab(t, follower, "conn-b")
		a.Undrain() // without effect
		for i, step := range []struct {
			drained, other *session.Hub
			taker          wire.ReplicaID
		}{{a, b, "b"}, {b, a, "a"}, {a, b, "b"}} {
			step.drained.Drain(t.Context())
			for _, w := range []*tab{wa, wb} {
				nextEvent(t, w, func(p wire.OwnerChanged) bool { return p.Replica == step.taker })
			}
			time.Sleep(time.Second)
			want := session.Load{Followed: 1, Tabs: 1}
			if got := step.drained.Load(); got != want {
				t.Errorf("round %d: after a drain there are %+v, want %+v", i, got, want)
			}
			if got := step.other.Load(); got != (session.Load{Owned: 1, Tabs: 1}) {
				t.Errorf("round %d: the other one has %+v, want one owned session with one tab", i, got)
			}
			if _, err := step.drained.Open(t.Context(), "ses-1"); errorCode(err) != wire.CodeStoreUnavailable {
				t.Errorf("round %d: opening a session on a draining hub gives %v, want code %s", i, err, wire.CodeStoreUnavailable)
			}
			step.drained.Undrain()
			time.Sleep(time.Second)
			if got := step.drained.Load(); got != want { // what another replica claimed stays there
				t.Errorf("round %d: after Undrain there are %+v, want still %+v", i, got, want)
			}
			openHandle(t, step.drained, "ses-1").Close()
		}
	})
}

// After Undrain, sessions that no other replica claimed are claimed again by the replica that has
// them open or opens them.
func TestUndrainAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := startHub(t, openStore(t), "a", session.Config{})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		deliverBarrier(t, r)
		for range 5 { // repeated panics would suspend the session
			h.Drain(t.Context())
			synctest.Wait()
			if got := h.Load(); got != (session.Load{Followed: 1}) {
				t.Errorf("after a drain there are %+v, want one followed session", got)
			}
			h.Undrain()
			deliverBarrier(t, r)
			if got := h.Load(); got != (session.Load{Owned: 1}) {
				t.Errorf("after Undrain there are %+v, want one owned session", got)
			}
		}
	})
}

// Undrain ends a pending Drain.
func TestUndrainEndsDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		h, _ := startHub(t, m, "a", session.Config{})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		deliverBarrier(t, r)
		over := make(chan struct{})
		m.onCommit(func(_ context.Context, _ store.Lease, _ store.Batch, do commitFunc) (store.Receipt, error) {
			<-over
			return do()
		})
		deliver(t, r, command("c", "m", emit(window("w"))))
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			h.Drain(t.Context())
		}()
		synctest.Wait()
		select {
		case <-drained:
			t.Fatal("got a hand-over in the middle of a step, want it after the step")
		default:
		}
		h.Undrain()
		<-drained
		close(over)
		deliverBarrier(t, r)
		if got := h.Load(); got != (session.Load{Owned: 1}) {
			t.Errorf("afterwards there are %+v, want one owned session", got)
		}
	})
}

// slowLoadStore is a store that loads no session until the gate is closed.
type slowLoadStore struct {
	testStore
	gate chan struct{}
}

func (s *slowLoadStore) Load(ctx context.Context, id wire.SessionID) (store.State, error) {
	<-s.gate
	return s.testStore.Load(ctx, id)
}

// A session that is claimed and still being loaded counts as owned: a drain that ends before it is
// handed over must not look complete.
func TestDrainCountsASessionThatIsLoading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &slowLoadStore{testStore: openStore(t), gate: make(chan struct{})}
		h, _ := startHub(t, slow, "a", session.Config{})
		createSession(t, h, "ses-1")
		opened := make(chan struct{})
		go func() {
			defer close(opened)
			if r, err := h.Open(t.Context(), "ses-1"); err == nil {
				r.Close()
			}
		}()
		synctest.Wait()
		limited, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		h.Drain(limited)
		if got, want := h.Load(), (session.Load{Owned: 1}); got != want {
			t.Errorf("got load %+v while the session is loaded, want %+v", got, want)
		}
		if !h.Owns("ses-1") {
			t.Error("got false from Owns while the session is loaded, want true")
		}
		close(slow.gate)
		<-opened
	})
}

// A session whose release is refused, because its lease is not the current one, is not logged as handed
// over.
func TestRefusedReleaseIsNoHandover(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]bool{"accepted": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := openFaultStore(t)
				var logged bytes.Buffer // read after the hub has stopped
				a, stop := startHub(t, m, "a", session.Config{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
				createSession(t, a, "ses-1")
				deliverBarrier(t, openHandle(t, a, "ses-1"))
				var claim error
				if refused {
					m.setHooks(hooks{releasing: func() {
						_, claim = m.testStore.Claim(context.Background(), "ses-1", "a", time.Minute)
					}})
				}
				a.Drain(t.Context())
				stop()
				requireNoError(t, claim)
				if got := strings.Contains(logged.String(), "session handed over"); got == refused {
					t.Errorf("the log says that the session was handed over: %t, want %t:\n%s", got, !refused, logged.String())
				}
			})
		})
	}
}
