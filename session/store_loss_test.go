package session_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Redis loses everything. The owner of a session still has all of it and writes it again; no tab is
// closed, and the running turn ends.
func TestRedisLosesEverything(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(*testing.T, *redistest.Server){
		"flushed": func(t *testing.T, s *redistest.Server) {
			t.Helper()
			requireNoError(t, s.Client(t).FlushAll(t.Context()).Err())
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
				s := deploymentOn(t, server)
				cfg := hubConfig{logger: discardLogger()}
				a := startAgentHub(t, s, cfg)
				cfg.replica = "b"
				b := startAgentHub(t, s, cfg)
				d := a.newDesktop(t, "ses-1")
				far := openHandle(t, b.Hub, "ses-1")
				wa, wb := attachTab(t, d.handle, "conn-a"), attachTab(t, far, "conn-b")
				d.sendText(firstMonitor, "m1", openWindowDirective("w"), "/say hello")
				d.waitTurnEnd("m1")
				if busy {
					d.sendText(firstMonitor, "m2", "/nosteer", "/say one", "/sleep 300ms", "/say two", "/sleep 300ms", "/say three")
					d.waitTurnOutput("m2")
				}
				before := deliverBarrier(t, d.handle)
				forget(t, server)
				// A tab that had not seen the end of the turn before the loss gets it with the
				// state.
				told := map[*tab]bool{}
				for _, w := range []*tab{wa, wb} { // the state starts over
					state := nextEvent(t, w, func(s wire.SessionState) bool { return s.LastMessageID.Epoch > before.Epoch })
					told[w] = slices.ContainsFunc(state.RecentMessages, func(r wire.UIRow) bool {
						return r.MessageID == "m2" && r.Say == wire.SayAPIReqFinished && strings.Contains(r.Text, `"outcome":"completed"`)
					})
				}
				deliver(t, far, command("conn-b", "m3", emit(window("late"))))
				for _, w := range []*tab{wa, wb} {
					nextEvent(t, w, func(p wire.Actions) bool { return p.MessageID == "m3" })
					if busy && !told[w] {
						e := nextEvent(t, w, func(r wire.AgentResponse) bool { return r.IsComplete && r.MessageID == "m2" })
						if e.Outcome != wire.OutcomeCompleted {
							t.Errorf("the turn ended with %+v, want outcome %s", e, wire.OutcomeCompleted)
						}
					}
				}
				// A repetition has no effect: the ledger was written again.
				again := d.sendAndWait("m1", wire.UserMessage{MonitorID: firstMonitor, Content: openWindowDirective("w") + "\n/say hello"})
				if p, is := again.(wire.MessageAccepted); !is || !p.Duplicate {
					t.Errorf("a message that is sent again is answered with %+v, want a duplicate", again)
				}
				waitPosition(t, far, deliverBarrier(t, d.handle))
				now := d.snapshot()
				if got := d.windows(firstMonitor); fmt.Sprint(got) != "[late w]" || now.Owner != "a" || now.Title != "Desk" {
					t.Errorf("the windows are %v, the state is %+v, want [late w] and Desk with the owner a", got, now)
				}
				if now.LastMessageID.Compare(before) <= 0 {
					t.Errorf("positions went back from %v to %v, want a later one", before, now.LastMessageID)
				}
				i, err := a.Info(t.Context(), "ses-1")
				requireNoError(t, err)
				if i.User != "ada" || i.Title != "Desk" {
					t.Errorf("the directory has %+v, want Desk of ada", i)
				}
				// A third replica finds the owner's whole state.
				kept, err := s.Load(t.Context(), "ses-1")
				requireNoError(t, err)
				state, err := desktop.Restore("ses-1", kept.At, kept.Tables)
				requireNoError(t, err)
				if x := state.Snapshot(); len(x.Windows) != 2 || len(x.RecentMessages) != len(now.RecentMessages) {
					t.Errorf("the store has the windows %+v and rows %+v, want 2 windows and %d rows", x.Windows, x.RecentMessages, len(now.RecentMessages))
				}
				if got := readArchive(t, b.Hub, firstMonitor, 3); joinTexts(got) != joinTexts(now.RecentMessages) {
					t.Errorf("the archive has %s, shown are %s, want the same", joinTexts(got), joinTexts(now.RecentMessages))
				}
				if got := d.conversation(s, "main-monitor-0"); got == "" {
					t.Error("got an empty conversation, want the one before the loss")
				}
				for _, w := range []*tab{wa, wb} {
					select {
					case code := <-w.closed:
						t.Errorf("a tab was closed with %d, want it open", code)
					default:
					}
				}
			})
		}
	}
}

// A deleted session is not created again by an owner that has not noticed the deletion.
func TestDeletedSessionIsNotRecreated(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			a, _ := startHub(t, s, "a", session.Config{})
			createSession(t, a, "ses-1")
			r := openHandle(t, a, "ses-1")
			w := attachTab(t, r, "c")
			deliverBarrier(t, r)
			for deleted := false; !deleted; {
				lease, err := s.Claim(t.Context(), "ses-1", "a", time.Minute) // with the owner's name
				requireNoError(t, err)
				err = s.Delete(t.Context(), lease)
				if deleted = err == nil; !deleted && !errors.Is(err, store.ErrFenced) { // fenced: the owner has claimed it again
					t.Fatal(err)
				}
			}
			if code := <-w.closed; code != wire.CloseExpired {
				t.Errorf("the tab is closed with %d, want %d", code, wire.CloseExpired)
			}
			if _, err := a.Open(t.Context(), "ses-1"); errorCode(err) != wire.CodeSessionNotFound {
				t.Errorf("opening a deleted session gives %v, want code %s", err, wire.CodeSessionNotFound)
			}
		})
	}
}

// A session that is created under a lost id does not get the lost contents, and tabs of the lost
// session do not see the new one.
func TestNewSessionUnderALostID(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	s := deploymentOn(t, server)
	a, _ := startHub(t, s, "a", session.Config{})
	b, _ := startHub(t, s.openStore(t), "b", session.Config{})
	createSession(t, a, "ses-1")
	r := openHandle(t, a, "ses-1")
	w := attachTab(t, r, "c")
	deliverAndWait(t, r, command("c", "m1", emit(window("secret"))))
	requireNoError(t, server.Client(t).FlushAll(t.Context()).Err())
	// The owner renews its lease at intervals, so it has not noticed the loss yet.
	_, err := b.Create(t.Context(), session.NewSession{ID: "ses-1", User: "eve", Title: "Mine"})
	requireNoError(t, err)
	if code := <-w.closed; code != wire.CloseExpired {
		t.Errorf("the tab is closed with %d, want %d", code, wire.CloseExpired)
	}
	mine := openHandle(t, b, "ses-1")
	deliverBarrier(t, mine)
	state, err := mine.Snapshot(t.Context(), nil)
	requireNoError(t, err)
	if len(state.Windows) != 0 || state.Title != "Mine" {
		t.Errorf("the new session shows %+v, want the title Mine and no windows", state)
	}
}
