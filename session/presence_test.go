package session_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// present is how many tabs a session says that it has.
func present(t *testing.T, r *session.Handle) int {
	t.Helper()
	state, err := r.Snapshot(t.Context(), nil)
	ok(t, err)
	return state.Connections
}

// A replica stops in order: whoever owns the session knows at once that its tabs
// are gone, whether it owned the session itself or not.
func TestTabsOfAReplicaThatStops(t *testing.T) {
	t.Parallel()
	for _, stops := range []string{"owner", "follower"} {
		for _, leave := range []bool{true, false} { // tabs are closed first, or not
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
					create(t, hubs["owner"], "ses-1")
					for _, who := range []string{"owner", "follower"} {
						handles[who] = enter(t, hubs[who], "ses-1")
						tabs[who] = watch(t, handles[who], wire.ConnectionID(who))
					}
					rest := handles["owner"]
					if stops == "owner" {
						rest = handles["follower"]
					}
					time.Sleep(time.Minute)
					if n := present(t, rest); n != 2 {
						t.Errorf("present are %d", n)
					}
					hubs[stops].Drain(t.Context())
					time.Sleep(700 * time.Millisecond) // the one that follows now has told the other
					if leave {
						tabs[stops].leave()
					}
					stop[stops]()
					time.Sleep(1500 * time.Millisecond)
					if n := present(t, rest); n != 1 {
						t.Errorf("after one replica has stopped present are %d", n)
					}
				})
			})
		}
	}
}

// A replica is gone without a word. Its tabs are forgotten as soon as it is known
// not to run; one that is alive is believed.
func TestTabsOfAReplicaThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		far := meddle(s)
		var gone atomic.Bool
		a, _ := startHub(t, s, "a", session.Config{Alive: func(r wire.ReplicaID) bool { return r == "c" || !gone.Load() }})
		b, stop := startHub(t, far, "b", session.Config{})
		c, _ := startHub(t, s, "c", session.Config{})
		create(t, a, "ses-1")
		owner := enter(t, a, "ses-1")
		watch(t, enter(t, b, "ses-1"), "conn-b")
		watch(t, enter(t, c, "ses-1"), "conn-c")
		time.Sleep(time.Minute)
		if n := present(t, owner); n != 2 {
			t.Errorf("present are %d", n)
		}
		far.cut.Store(true)
		stop()
		time.Sleep(10 * time.Second)
		if n := present(t, owner); n != 2 {
			t.Errorf("before anything is known present are %d", n)
		}
		gone.Store(true)
		time.Sleep(3 * time.Second)
		if n := present(t, owner); n != 1 {
			t.Errorf("after a replica is known to be gone present are %d", n)
		}
		time.Sleep(time.Hour)
		if n := present(t, owner); n != 1 {
			t.Errorf("long after present are %d", n)
		}
	})
}
