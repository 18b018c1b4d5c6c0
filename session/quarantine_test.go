package session_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// slowDeleteStore is a store with slow deletes.
type slowDeleteStore struct{ *faultStore }

func (s slowDeleteStore) Delete(ctx context.Context, l store.Lease) error {
	time.Sleep(50 * time.Millisecond)
	return s.faultStore.Delete(ctx, l)
}

func TestDeleteWhileOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := startHub(t, slowDeleteStore{openFaultStore(t)}, "a", session.Config{})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		w := attachTab(t, r, "tab")
		deliverBarrier(t, r)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		requireNoError(t, h.Delete(ctx, "ses-1"))
		if c := <-w.closed; c != wire.CloseExpired {
			t.Errorf("the tab was closed with %d, want %d", c, wire.CloseExpired)
		}
		if _, err := h.Info(ctx, "ses-1"); errorCode(err) != wire.CodeSessionNotFound {
			t.Errorf("got error %v, want code %s", err, wire.CodeSessionNotFound)
		}
	})
}

func TestDeleteAfterTheOwnerDied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, stop := startPair(t, openStore(t))
		_, err := a.Open(t.Context(), "ses-1")
		requireNoError(t, err)
		stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		requireNoError(t, b.Delete(ctx, "ses-1"))
	})
}

// A rename through a follower returns even when another rename follows at once.
func TestOrdersThroughAFollower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := startPair(t, openStore(t))
		deliverBarrier(t, openHandle(t, a, "ses-1"))
		openHandle(t, b, "ses-1")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		const n = 10
		res := make(chan error, 3*n)
		for i := range n {
			go func() { res <- b.Rename(ctx, "ses-1", strconv.Itoa(i)) }()
			go func() { res <- b.Share(ctx, "ses-1", "bob", session.ShareViewer) }()
			go func() { res <- b.Share(ctx, "ses-1", "bob", session.ShareOperator) }()
		}
		for range cap(res) {
			if err := <-res; err != nil {
				t.Error(err)
			}
		}
	})
}

// A session that cannot be read is quarantined and not loaded again and again.
func TestUnreadableSessionIsQuarantined(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]store.Op{
		"window": store.Set("windows", "monitor-0/x", []byte("garbage")),
		"ledger": store.Set("ledger", "x", []byte("garbage")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := openStore(t)
				h, _ := startHub(t, s, "a", session.Config{SweepEvery: 500 * time.Millisecond})
				createSession(t, h, "ses-1")
				l, err := s.Claim(t.Context(), "ses-1", "x", time.Second)
				requireNoError(t, err)
				_, err = s.Commit(t.Context(), l, store.Batch{Number: 1, Prev: l.Top(), Working: new(true), Ops: []store.Op{op}})
				requireNoError(t, err)
				requireNoError(t, s.Release(t.Context(), l))
				time.Sleep(10 * time.Minute)
				i, err := s.Session(t.Context(), "ses-1")
				requireNoError(t, err)
				if i.Quarantined == "" || i.Until.After(time.Now()) {
					t.Errorf("the session is %+v, want it quarantined, with an ended lease", i)
				}
				if n := len(payloads[wire.OwnerChanged](readLog(t, s))); n != 2 {
					t.Errorf("%d owners are in the log, want ours and the one that set it aside", n)
				}
				if _, err := h.Open(t.Context(), "ses-1"); errorCode(err) != wire.CodeSessionInvalidState {
					t.Errorf("got error %v, want code %s", err, wire.CodeSessionInvalidState)
				}
			})
		})
	}
}

// An owner without work ends its session when another replica quarantines it, so that the tabs learn of
// it.
func TestIdleOwnerLearnsOfAQuarantine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		h, _ := startHub(t, s, "a", session.Config{})
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		w := attachTab(t, r, "tab")
		deliverBarrier(t, r)
		requireNoError(t, s.Quarantine(t.Context(), "ses-1", "because"))
		if c := <-w.closed; c != wire.CloseInternal {
			t.Errorf("the tab was closed with %d, want %d", c, wire.CloseInternal)
		}
		if _, err := h.Open(t.Context(), "ses-1"); errorCode(err) != wire.CodeSessionInvalidState {
			t.Errorf("got error %v, want code %s", err, wire.CodeSessionInvalidState)
		}
	})
}

// unloadableStore is a store in which a session cannot be loaded.
type unloadableStore struct {
	*faultStore
	err   error
	loads int
}

func (m *unloadableStore) Load(context.Context, wire.SessionID) (store.State, error) {
	m.loads++
	return store.State{}, m.err
}

// The sweeper retries a failing session at growing intervals, and releases it each time.
func TestSweepBacksOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		most int
	}{
		"unavailable":  {store.ErrUnavailable, 20},
		"newer schema": {store.ErrNewerSchema, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &unloadableStore{faultStore: openFaultStore(t), err: c.err}
				h, _ := startHub(t, m, "a", session.Config{SweepEvery: 500 * time.Millisecond})
				createSession(t, h, "ses-1")
				l, err := m.Claim(t.Context(), "ses-1", "x", time.Second)
				requireNoError(t, err)
				_, err = m.Commit(t.Context(), l, store.Batch{Number: 1, Prev: l.Top(), Working: new(true)})
				requireNoError(t, err)
				requireNoError(t, m.Release(t.Context(), l))
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if m.loads == 0 || m.loads > c.most {
					t.Errorf("the session was loaded %d times in 10 min, want at most %d", m.loads, c.most)
				}
				i, err := m.Session(t.Context(), "ses-1")
				requireNoError(t, err)
				if i.Owner != "" || i.Quarantined != "" {
					t.Errorf("the session is %+v, want no owner and no quarantine", i)
				}
			})
		})
	}
}
