package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// presenceTotal is the number of tabs in a session's state.
func presenceTotal(t *testing.T, r *session.Handle) int {
	t.Helper()
	state, err := r.Snapshot(t.Context(), nil)
	requireNoError(t, err)
	return state.Connections
}

// When a replica stops, the owner of the session removes its tabs at once, whether the replica
// owned the session or followed it.
func TestTabsOfAStoppingReplica(t *testing.T) {
	t.Parallel()
	for _, stops := range []string{"owner", "follower"} {
		for _, leave := range []bool{true, false} { // with tabs closed before, and without
			t.Run(stops, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := openStore(t)
					hubs := map[string]*session.Hub{}
					stop := map[string]func(){}
					tabs := map[string]*tab{}
					handles := map[string]*session.Handle{}
					hubs["owner"], stop["owner"] = startHub(t, s, "a", session.Config{})
					hubs["follower"], stop["follower"] = startHub(t, s, "b", session.Config{})
					createSession(t, hubs["owner"], "ses-1")
					for _, who := range []string{"owner", "follower"} {
						handles[who] = openHandle(t, hubs[who], "ses-1")
						tabs[who] = attachTab(t, handles[who], wire.ConnectionID(who))
					}
					rest := handles["owner"]
					if stops == "owner" {
						rest = handles["follower"]
					}
					time.Sleep(time.Minute)
					if n := presenceTotal(t, rest); n != 2 {
						t.Errorf("present are %d, want 2", n)
					}
					hubs[stops].Drain(t.Context())
					time.Sleep(700 * time.Millisecond) // the new follower has reported its tabs
					if leave {
						tabs[stops].detach()
					}
					stop[stops]()
					time.Sleep(1500 * time.Millisecond)
					if n := presenceTotal(t, rest); n != 1 {
						t.Errorf("after one replica has stopped present are %d, want 1", n)
					}
				})
			})
		}
	}
}

// A replica dies. Its tabs are removed when its lease has ended; the tabs of a running one stay,
// although it has nothing to report.
func TestTabsOfADeadReplica(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		far := newFaultStore(s)
		a, _ := startHub(t, s, "a", session.Config{})
		b, stop := startHub(t, far, "b", session.Config{})
		c, _ := startHub(t, s, "c", session.Config{})
		createSession(t, a, "ses-1")
		owner := openHandle(t, a, "ses-1")
		attachTab(t, openHandle(t, b, "ses-1"), "conn-b")
		attachTab(t, openHandle(t, c, "ses-1"), "conn-c")
		time.Sleep(time.Minute)
		if n := presenceTotal(t, owner); n != 2 {
			t.Errorf("got %d tabs, want 2", n)
		}
		far.cut.Store(true)
		stop()
		time.Sleep(3 * time.Second)
		if n := presenceTotal(t, owner); n != 2 {
			t.Errorf("got %d tabs while the lease of the dead replica lasts, want 2", n)
		}
		time.Sleep(4 * time.Second)
		if n := presenceTotal(t, owner); n != 1 {
			t.Errorf("got %d tabs after the lease of the dead replica, want 1", n)
		}
		time.Sleep(time.Hour)
		if n := presenceTotal(t, owner); n != 1 {
			t.Errorf("got %d tabs long after, want 1", n)
		}
	})
}

// A replica that could not reach the store for longer than its lease reports its tabs again: the owner
// has dropped them.
func TestTabsOfAReplicaThatComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		far := newFaultStore(s)
		a, _ := startHub(t, s, "a", session.Config{})
		b, _ := startHub(t, far, "b", session.Config{})
		createSession(t, a, "ses-1")
		owner := openHandle(t, a, "ses-1")
		attachTab(t, openHandle(t, b, "ses-1"), "conn-b")
		time.Sleep(time.Minute)
		far.cut.Store(true)
		time.Sleep(time.Minute)
		if n := presenceTotal(t, owner); n != 0 {
			t.Errorf("got %d tabs after the lease of their replica, want 0", n)
		}
		far.cut.Store(false)
		time.Sleep(5 * time.Second)
		if n := presenceTotal(t, owner); n != 1 {
			t.Errorf("got %d tabs after their replica has come back, want 1", n)
		}
	})
}
