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

// slowly is a store that takes its time to delete.
type slowly struct{ *meddler }

func (s slowly) Delete(ctx context.Context, l store.Lease) error {
	time.Sleep(50 * time.Millisecond)
	return s.meddler.Delete(ctx, l)
}

func TestDeleteWhileOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := startHub(t, slowly{openMeddler(t)}, "a", session.Config{})
		create(t, h, "ses-1")
		r := enter(t, h, "ses-1")
		w := watch(t, r, "tab")
		settled(t, r)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ok(t, h.Delete(ctx, "ses-1"))
		if c := <-w.closed; c != wire.CloseExpired {
			t.Errorf("the tab was closed with %d", c)
		}
		if _, err := h.Info(ctx, "ses-1"); code(err) != wire.CodeSessionNotFound {
			t.Errorf("got error %v", err)
		}
	})
}

func TestDeleteAfterTheOwnerDied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, stop := pair(t, openStore(t))
		_, err := a.Open(t.Context(), "ses-1")
		ok(t, err)
		stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		ok(t, b.Delete(ctx, "ses-1"))
	})
}

// Who renames through a follower is answered even when another name follows at
// once.
func TestOrdersThroughAFollower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, _ := pair(t, openStore(t))
		settled(t, enter(t, a, "ses-1"))
		enter(t, b, "ses-1")
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

// What cannot be read is set aside, and not tried again and again.
func TestUnreadableSessionIsSetAside(t *testing.T) {
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
				create(t, h, "ses-1")
				l, err := s.Claim(t.Context(), "ses-1", "x", time.Second)
				ok(t, err)
				_, err = s.Commit(t.Context(), l, store.Batch{Number: 1, Prev: l.Top(), Working: new(true), Ops: []store.Op{op}})
				ok(t, err)
				ok(t, s.Release(t.Context(), l))
				time.Sleep(10 * time.Minute)
				i, err := s.Session(t.Context(), "ses-1")
				ok(t, err)
				if i.Quarantined == "" || i.Until.After(time.Now()) {
					t.Errorf("the session is %+v", i)
				}
				if n := len(find[wire.OwnerChanged](history(t, s))); n != 2 {
					t.Errorf("%d owners are in the log, want ours and the one that set it aside", n)
				}
				if _, err := h.Open(t.Context(), "ses-1"); code(err) != wire.CodeSessionInvalidState {
					t.Errorf("got error %v", err)
				}
			})
		})
	}
}

// moody is a store in which a session cannot be loaded.
type moody struct {
	*meddler
	err   error
	loads int
}

func (m *moody) Load(context.Context, wire.SessionID) (store.State, error) {
	m.loads++
	return store.State{}, m.err
}

// The sweeper tries what goes wrong less and less often, and gives it free each
// time.
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
				m := &moody{meddler: openMeddler(t), err: c.err}
				h, _ := startHub(t, m, "a", session.Config{SweepEvery: 500 * time.Millisecond})
				create(t, h, "ses-1")
				l, err := m.Claim(t.Context(), "ses-1", "x", time.Second)
				ok(t, err)
				_, err = m.Commit(t.Context(), l, store.Batch{Number: 1, Prev: l.Top(), Working: new(true)})
				ok(t, err)
				ok(t, m.Release(t.Context(), l))
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if m.loads == 0 || m.loads > c.most {
					t.Errorf("the session was loaded %d times in 10 min, want at most %d", m.loads, c.most)
				}
				i, err := m.Session(t.Context(), "ses-1")
				ok(t, err)
				if i.Owner != "" || i.Quarantined != "" {
					t.Errorf("the session is %+v", i)
				}
			})
		})
	}
}
