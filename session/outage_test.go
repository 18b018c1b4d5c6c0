package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// onServer is a site on a Redis.
func onServer(t *testing.T, server *redistest.Server) *site {
	t.Helper()
	return newSite(t, func(t *testing.T) engine {
		t.Helper()
		s, err := redisstore.Open(t.Context(), server.Client(t), redisstore.Config{})
		ok(t, err)
		t.Cleanup(func() { ok(t, s.Close()) })
		return s
	})
}

// fluent checks that a tab saw every event once and in order, and was told that
// the store was away and back, in turns.
func (w *tab) fluent(t *testing.T, name string) {
	t.Helper()
	select {
	case code := <-w.closed:
		t.Errorf("%s was closed with %d", name, code)
	default:
	}
	gone := w.statuses()
	for i, available := range gone {
		if available != (i%2 == 1) {
			t.Errorf("%s was told %v", name, gone)
		}
	}
	var last wire.Position
	for _, e := range w.seen {
		if e.At.IsZero() {
			continue
		}
		if e.At.Compare(last) <= 0 {
			t.Errorf("%s saw %v after %v", name, e.At, last)
		}
		last = e.At
	}
}

// Redis is killed in the middle of a turn and comes back with what it had. The
// tabs of both replicas stay, and the turn ends as if nothing had happened.
func TestRedisIsKilledInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	for name, outlast := range map[string]bool{"shortly": false, "longer than a lease": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Standalone(t, "--appendonly", "yes", "--appendfsync", "always")
			s := onServer(t, server)
			cfg := hubConfig{logger: silence(), session: session.Config{Lease: 6 * time.Second}}
			if outlast {
				cfg.session.Lease = 2 * time.Second
			}
			a := agentHub(t, s, cfg)
			cfg.replica = "b"
			b := agentHub(t, s, cfg)
			d := a.newDesktop(t, "ses-1")
			wa, wb := watch(t, d.handle, "conn-a"), watch(t, enter(t, b.Hub, "ses-1"), "conn-b")
			lines, words := []string{"/nosteer", opening("w")}, []string{}
			for i := range 60 {
				word := fmt.Sprintf("word-%d", i)
				words = append(words, word)
				lines = append(lines, "/say "+word, "/sleep 20ms")
			}
			d.say(first, "m1", lines...)
			d.begins("m1")
			server.Kill(t)
			gone := func(w *tab) { t.Helper(); next(t, w, func(s wire.StoreStatus) bool { return !s.Available }) }
			gone(wa)
			gone(wb)
			if outlast { // the owner stops by itself, and its agents with it
				for end := time.Now().Add(s.patience); a.Load().Owned > 0; <-time.After(time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal("an owner without a store goes on")
					}
				}
			}
			deliver(t, d.handle, says("conn-a", "m2", emit(window("meanwhile"))))
			server.Restart(t)
			back := func(w *tab) { t.Helper(); next(t, w, func(s wire.StoreStatus) bool { return s.Available }) }
			back(wa)
			back(wb)
			if e := d.ends("m1"); e.Outcome != wire.OutcomeCompleted {
				t.Errorf("the turn ended with %+v", e)
			}
			d.rest()
			if got := d.said("m1"); strings.Join(strings.Fields(got), " ") != strings.Join(words, " ") {
				t.Errorf("the turn said %q", got)
			}
			if got := d.windows(first); fmt.Sprint(got) != "[meanwhile w]" {
				t.Errorf("the windows are %v", got)
			}
			for name, w := range map[string]*tab{"the owner's tab": wa, "the follower's tab": wb} {
				next(t, w, func(r wire.AgentResponse) bool { return r.IsComplete && r.MessageID == "m1" })
				w.fluent(t, name)
			}
		})
	}
}
