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

// deploymentOn is a deployment on a Redis server.
func deploymentOn(t *testing.T, server *redistest.Server) *deployment {
	t.Helper()
	return newDeployment(t, func(t *testing.T) agentStore {
		t.Helper()
		s, err := redisstore.Open(t.Context(), server.Client(t), redisstore.Config{})
		requireNoError(t, err)
		t.Cleanup(func() { requireNoError(t, s.Close()) })
		return joinRedis(s)
	})
}

// checkUnbroken checks that a tab saw every event once and in order, and alternating STORE_STATUS.
func (w *tab) checkUnbroken(t *testing.T, name string) {
	t.Helper()
	select {
	case code := <-w.closed:
		t.Errorf("%s was closed with %d, want it open", name, code)
	default:
	}
	gone := w.takeStoreStatuses()
	for i, available := range gone {
		if available != (i%2 == 1) {
			t.Errorf("%s got the store statuses %v, want unavailable and available in turn", name, gone)
		}
	}
	var last wire.Position
	for _, e := range w.seen {
		if e.At.IsZero() {
			continue
		}
		if e.At.Compare(last) <= 0 {
			t.Errorf("%s saw %v after %v, want ascending positions", name, e.At, last)
		}
		last = e.At
	}
}

// Redis is killed during a turn and restarted with its data. The tabs of both replicas stay
// attached, and the turn ends normally.
func TestRedisIsKilledInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	for name, outlast := range map[string]bool{"shortly": false, "longer than a lease": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Standalone(t, "--appendonly", "yes", "--appendfsync", "always")
			s := deploymentOn(t, server)
			cfg := hubConfig{logger: discardLogger(), session: session.Config{Lease: 6 * time.Second}}
			if outlast {
				cfg.session.Lease = 2 * time.Second
			}
			a := startAgentHub(t, s, cfg)
			cfg.replica = "b"
			b := startAgentHub(t, s, cfg)
			d := a.newDesktop(t, "ses-1")
			wa, wb := attachTab(t, d.handle, "conn-a"), attachTab(t, openHandle(t, b.Hub, "ses-1"), "conn-b")
			lines, words := []string{"/nosteer", openWindowDirective("w")}, []string{}
			for i := range 60 {
				word := fmt.Sprintf("word-%d", i)
				words = append(words, word)
				lines = append(lines, "/say "+word, "/sleep 20ms")
			}
			d.sendText(firstMonitor, "m1", lines...)
			d.waitTurnOutput("m1")
			server.Kill(t)
			gone := func(w *tab) { t.Helper(); nextEvent(t, w, func(s wire.StoreStatus) bool { return !s.Available }) }
			gone(wa)
			gone(wb)
			if outlast { // the owner stops by itself, with its agents
				for end := time.Now().Add(s.waitLimit); a.Load().Owned > 0; <-time.After(time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal("got an owner that goes on without a store, want its end")
					}
				}
			}
			deliver(t, d.handle, command("conn-a", "m2", emit(window("meanwhile"))))
			server.Restart(t)
			back := func(w *tab) { t.Helper(); nextEvent(t, w, func(s wire.StoreStatus) bool { return s.Available }) }
			back(wa)
			back(wb)
			if e := d.waitTurnEnd("m1"); e.Outcome != wire.OutcomeCompleted {
				t.Errorf("the turn ended with %+v, want outcome %s", e, wire.OutcomeCompleted)
			}
			d.waitIdle()
			if got := d.turnText("m1"); strings.Join(strings.Fields(got), " ") != strings.Join(words, " ") {
				t.Errorf("the turn said %q, want %q", got, strings.Join(words, " "))
			}
			if got := d.windows(firstMonitor); fmt.Sprint(got) != "[meanwhile w]" {
				t.Errorf("the windows are %v, want [meanwhile w]", got)
			}
			for name, w := range map[string]*tab{"the owner's tab": wa, "the follower's tab": wb} {
				nextEvent(t, w, func(r wire.AgentResponse) bool { return r.IsComplete && r.MessageID == "m1" })
				w.checkUnbroken(t, name)
			}
		})
	}
}
