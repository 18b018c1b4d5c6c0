package session_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// Idle sessions cost the store nothing: a hub that owns or follows 40 of them with tabs makes as many
// calls as with one.
func TestIdleSessionsAreFree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		m, n := newFaultStore(s), newFaultStore(s)
		a, _ := startHub(t, m, "a", session.Config{})
		b, _ := startHub(t, n, "b", session.Config{})
		opened := 0
		open := func(sessions int) {
			for ; opened < sessions; opened++ {
				id := wire.SessionID(fmt.Sprintf("ses-%d", opened+1))
				createSession(t, a, id)
				attachTab(t, openHandle(t, a, id), wire.ConnectionID(fmt.Sprintf("conn-a-%d", opened)))
				attachTab(t, openHandle(t, b, id), wire.ConnectionID(fmt.Sprintf("conn-b-%d", opened)))
			}
		}
		calls := func(of *faultStore) int64 {
			before := of.calls.Load()
			time.Sleep(10 * time.Minute)
			return of.calls.Load() - before
		}
		open(1)
		time.Sleep(time.Minute)
		one := []int64{calls(m), calls(n)}
		open(40)
		time.Sleep(time.Minute)
		for i, of := range []*faultStore{m, n} {
			// The intervals of renewals have jitter.
			if many := calls(of); many > one[i]*11/10 {
				t.Errorf("%s: got %d calls in ten minutes with 40 sessions, want as many as with one, %d", []string{"owner", "follower"}[i], many, one[i])
			}
		}
	})
}
