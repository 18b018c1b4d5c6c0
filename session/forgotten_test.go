package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// Redis forgets everything. The owner of a session still has all of it and writes
// it again; nobody's tab is closed, and the turn that was under way ends.
func TestRedisForgetsEverything(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(*testing.T, *redistest.Server){
		"flushed": func(t *testing.T, s *redistest.Server) {
			t.Helper()
			ok(t, s.Client(t).FlushAll(t.Context()).Err())
		},
		"killed without persistence": func(t *testing.T, s *redistest.Server) {
			t.Helper()
			s.Kill(t)
			s.Restart(t)
		},
	} {
		for _, busy := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", busy), func(t *testing.T) {
				t.Parallel()
				server := redistest.Standalone(t)
				s := onServer(t, server)
				cfg := hubConfig{logger: silence()}
				a := agentHub(t, s, cfg)
				cfg.replica = "b"
				b := agentHub(t, s, cfg)
				d := a.newDesktop(t, "ses-1")
				far := enter(t, b.Hub, "ses-1")
				wa, wb := watch(t, d.handle, "conn-a"), watch(t, far, "conn-b")
				d.say(first, "m1", opening("w"), "/say hello")
				d.ends("m1")
				if busy {
					d.say(first, "m2", "/nosteer", "/say one", "/sleep 300ms", "/say two", "/sleep 300ms", "/say three")
					d.begins("m2")
				}
				before := settled(t, d.handle)
				forget(t, server)
				// Who had not seen the end of the turn when it was forgotten is told with
				// the state.
				told := map[*tab]bool{}
				for _, w := range []*tab{wa, wb} { // the state begins anew
					state := next(t, w, func(s wire.SessionState) bool { return s.LastMessageID.Epoch > before.Epoch })
					told[w] = slices.ContainsFunc(state.RecentMessages, func(r wire.UIRow) bool {
						return r.MessageID == "m2" && r.Say == wire.SayAPIReqFinished && strings.Contains(r.Text, `"outcome":"completed"`)
					})
				}
				deliver(t, far, says("conn-b", "m3", emit(window("late"))))
				for _, w := range []*tab{wa, wb} {
					next(t, w, func(p wire.Actions) bool { return p.MessageID == "m3" })
					if busy && !told[w] {
						e := next(t, w, func(r wire.AgentResponse) bool { return r.IsComplete && r.MessageID == "m2" })
						if e.Outcome != wire.OutcomeCompleted {
							t.Errorf("the turn ended with %+v", e)
						}
					}
				}
				// The same again has no effect: what was done is known.
				again := d.ask("m1", wire.UserMessage{MonitorID: first, Content: opening("w") + "\n/say hello"})
				if p, is := again.(wire.MessageAccepted); !is || !p.Duplicate {
					t.Errorf("a message that is sent again is answered with %+v", again)
				}
				upTo(t, far, settled(t, d.handle))
				now := d.snapshot()
				if got := d.windows(first); fmt.Sprint(got) != "[late w]" || now.Owner != "a" || now.Title != "Desk" {
					t.Errorf("the windows are %v, the state is %+v", got, now)
				}
				if now.LastMessageID.Compare(before) <= 0 {
					t.Errorf("positions went back from %v to %v", before, now.LastMessageID)
				}
				i, err := a.Info(t.Context(), "ses-1")
				ok(t, err)
				if i.User != "ada" || i.Title != "Desk" {
					t.Errorf("the directory has %+v", i)
				}
				// A third replica finds everything that the owner has.
				kept, err := s.Load(t.Context(), "ses-1")
				ok(t, err)
				state, err := desktop.Restore("ses-1", kept.At, kept.Tables)
				ok(t, err)
				if x := state.Snapshot(); len(x.Windows) != 2 || len(x.RecentMessages) != len(now.RecentMessages) {
					t.Errorf("kept are %+v and %+v", x.Windows, x.RecentMessages)
				}
				if got := archived(t, b.Hub, first, 3); texts(got) != texts(now.RecentMessages) {
					t.Errorf("the archive has %s, shown are %s", texts(got), texts(now.RecentMessages))
				}
				if got := d.conversation(s, "main-monitor-0"); got == "" {
					t.Error("the conversation is gone")
				}
				for _, w := range []*tab{wa, wb} {
					select {
					case code := <-w.closed:
						t.Errorf("a tab was closed with %d", code)
					default:
					}
				}
			})
		}
	}
}

// What was deleted stays so, also for an owner that has not heard of it.
func TestDeletedIsNotForgotten(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			a, _ := startHub(t, s, "a", session.Config{})
			create(t, a, "ses-1")
			r := enter(t, a, "ses-1")
			w := watch(t, r, "c")
			settled(t, r)
			lease, err := s.Claim(t.Context(), "ses-1", "a", time.Minute) // somebody of the same name
			ok(t, err)
			ok(t, s.Delete(t.Context(), lease))
			if code := <-w.closed; code != wire.CloseExpired {
				t.Errorf("the tab is closed with %d", code)
			}
			if _, err := a.Open(t.Context(), "ses-1"); code(err) != wire.CodeSessionNotFound {
				t.Errorf("a deleted session is opened: %v", err)
			}
		})
	}
}

// Whoever makes a session under an id that was lost does not get what was in it,
// and tabs of the lost one are not shown the new one.
func TestAnotherSessionUnderALostID(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	s := onServer(t, server)
	a, _ := startHub(t, s, "a", session.Config{})
	b, _ := startHub(t, s.open(t), "b", session.Config{})
	create(t, a, "ses-1")
	r := enter(t, a, "ses-1")
	w := watch(t, r, "c")
	ask(t, r, says("c", "m1", emit(window("secret"))))
	ok(t, server.Client(t).FlushAll(t.Context()).Err())
	// The owner renews its lease now and then, so nobody has noticed yet.
	_, err := b.Create(t.Context(), session.NewSession{ID: "ses-1", User: "eve", Title: "Mine"})
	ok(t, err)
	if code := <-w.closed; code != wire.CloseExpired {
		t.Errorf("the tab is closed with %d", code)
	}
	mine := enter(t, b, "ses-1")
	settled(t, mine)
	state, err := mine.Snapshot(t.Context(), nil)
	ok(t, err)
	if len(state.Windows) != 0 || state.Title != "Mine" {
		t.Errorf("the new session shows %+v", state)
	}
}
