package session_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// asUser sends a command of a user and waits for its answer.
func (d *testDesktop) asUser(user string, id wire.MessageID, data wire.ClientPayload) {
	d.t.Helper()
	deliverAndWait(d.t, d.handle, session.Command{
		From: session.Sender{Connection: wire.ConnectionID("of-" + user), User: user}, Message: wire.Message{ID: id, Data: data},
	})
}

// The session belongs to the new user with everything in it, on both stores, also when the request comes to
// a replica that does not own it, and after the owner has crashed. Agents run with what the new user has.
func TestSessionIsGivenToAnotherUser(t *testing.T) {
	t.Parallel()
	for name, deploy := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := deploy(t)
			var mu sync.Mutex
			var users []string
			onRunner := func(e agentpool.SessionRef) {
				mu.Lock()
				defer mu.Unlock()
				users = append(users, e.User)
			}
			a := startAgentHub(t, s, hubConfig{replica: "a", onRunner: onRunner})
			b := startAgentHub(t, s, hubConfig{replica: "b", onRunner: onRunner})
			d := a.newDesktop(t, "given")
			d.sendText(firstMonitor, "m1", openWindowDirective("w1"), `/call system:memorize {"content":"the door code is 4711"}`)
			d.waitTurnEnd("m1")
			d.send("r1", wire.SetAutoApproval{Rules: &wire.AutoApproval{AutoApprovalEnabled: true, AlwaysAllowExecute: true, AllowedCommands: []string{"rm"}}})
			waitEvent(t, d.eventLog, anyOf[wire.AutoApprovalChanged])
			d.waitIdle()

			if err := b.ChangeUser(t.Context(), "given", "ada", "bob"); errorCode(err) != wire.CodeInvalidMessage || !strings.Contains(err.Error(), "not shared") {
				t.Errorf("giving it to a user with whom it is not shared: %v, want code %s that says so", err, wire.CodeInvalidMessage)
			}
			requireNoError(t, a.Share(t.Context(), "given", "bob", session.ShareViewer))
			requireNoError(t, a.Share(t.Context(), "given", "eve", session.ShareViewer))
			if err := b.ChangeUser(t.Context(), "given", "eve", "bob"); errorCode(err) != wire.CodeForbidden {
				t.Errorf("giving away what belongs to another user: %v, want code %s", err, wire.CodeForbidden)
			}
			requireNoError(t, b.ChangeUser(t.Context(), "given", "ada", "bob"))
			if e := waitEvent(t, d.eventLog, anyOf[wire.SessionUserChanged]); e.User != "bob" || e.Previous != "ada" {
				t.Errorf("tabs get %+v, want bob after ada", e)
			}
			check := func(h *agentHub) {
				t.Helper()
				i, err := h.Info(t.Context(), "given")
				requireNoError(t, err)
				if i.User != "bob" || len(i.Shares) != 2 || i.Shares["ada"] != session.ShareOperator || i.Shares["eve"] != session.ShareViewer || !slices.Equal(i.Former, []string{"ada"}) {
					t.Errorf("the session is %+v, want it bob's, ada an operator and eve a viewer", i)
				}
				for user, want := range map[string]int{"ada": 0, "bob": 1} {
					page, err := h.List(t.Context(), store.Query{User: user, Recent: true})
					requireNoError(t, err)
					if len(page.Items) != want {
						t.Errorf("%s has %d sessions, want %d", user, len(page.Items), want)
					}
				}
			}
			check(a)
			check(b)

			// The owner before is a guest now, and the new one is not.
			rules := wire.SetAutoApproval{Rules: &wire.AutoApproval{AutoApprovalEnabled: true}}
			d.send("r2", rules)
			if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("r2")); r.Code != wire.CodeForbidden {
				t.Errorf("rules of the user before are answered with %+v, want code %s", r, wire.CodeForbidden)
			}
			d.asUser("bob", "m2", wire.UserMessage{MonitorID: firstMonitor, Content: "/call system:list_memories {}"})
			d.waitTurnEnd("m2")
			if got := d.turnText("m2"); strings.Contains(got, "4711") {
				t.Errorf("agents of the new user say %q, want no memory of the user before", got)
			}
			state := d.snapshot()
			if state.AutoApproval != nil {
				t.Errorf("the session has the rules %+v, want none of the user before", *state.AutoApproval)
			}
			if len(state.Windows) != 1 {
				t.Errorf("the desktop has %d windows, want the one from before", len(state.Windows))
			}
			mu.Lock()
			if n := len(users); n < 2 || users[0] != "ada" || users[n-1] != "bob" {
				t.Errorf("runners were made for %v, want ada first and bob last", users)
			}
			mu.Unlock()

			a.stop()
			d = b.openDesktop(t, "given")
			d.asUser("bob", "m3", wire.UserMessage{MonitorID: firstMonitor, Content: "/say still here"})
			d.waitTurnEnd("m3")
			check(b)
		})
	}
}

// Work that is under way would go on with what belongs to the new user.
func TestSessionIsNotGivenWhileAgentsWork(t *testing.T) {
	t.Parallel()
	a := startAgentHub(t, newFileDeployment(t), hubConfig{})
	d := a.newDesktop(t, "busy")
	requireNoError(t, a.Share(t.Context(), "busy", "bob", session.ShareOperator))
	d.sendText(firstMonitor, "m1", setHookCall)
	q := waitEvent(t, d.eventLog, anyOf[wire.ApprovalRequest])
	if err := a.ChangeUser(t.Context(), "busy", "ada", "bob"); errorCode(err) != wire.CodeSessionInvalidState {
		t.Errorf("giving a session whose agent waits for an answer: %v, want code %s", err, wire.CodeSessionInvalidState)
	}
	i, err := a.Info(t.Context(), "busy")
	requireNoError(t, err)
	if i.User != "ada" || i.Shares["bob"] != session.ShareOperator {
		t.Errorf("after the refusal the session is %+v, want it unchanged", i)
	}
	d.send("no", wire.DialogFeedback{DialogID: q.DialogID, Confirmed: false})
	d.waitTurnEnd("m1")
	d.waitIdle()
	requireNoError(t, a.ChangeUser(t.Context(), "busy", "ada", "bob"))
	// The same message is answered as before, because the ledger goes with the session.
	if r, is := d.sendAndWait("m1", wire.UserMessage{MonitorID: firstMonitor, Content: setHookCall}).(wire.MessageAccepted); !is || !r.Duplicate {
		t.Errorf("a message from before is answered with %+v, want a duplicate", r)
	}
}
