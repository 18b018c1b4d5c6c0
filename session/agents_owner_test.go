package session_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// restart starts a hub with the same name after a crash.
func (o *agentHub) restart(t *testing.T, cfg hubConfig) *agentHub {
	t.Helper()
	o.stop()
	return startAgentHub(t, o.deployment, cfg)
}

// A hub crashes during turns: queued messages run, running turns continue, open questions stay
// open, and nothing happens twice.
func TestTurnsSurviveACrash(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			cfg := hubConfig{limits: agentpool.Limits{Agents: 2}}
			o := startAgentHub(t, s, cfg)
			d := o.newDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m1", "/nosteer", "/say one", openWindowDirective("w"), `/call window:update {"windowId":"w","operation":"append","content":" more"}`,
				"/ask Which? | a | b", "/say after", openWindowDirective("w2"))
			p := d.waitPrompt("main-monitor-0-m1")
			d.sendText("monitor-1", "a1", "/nosteer", setHookCall)
			q := waitEvent(t, d.eventLog, anyOf[wire.ApprovalRequest])
			for i := range 3 {
				d.sendAndWait(wire.MessageID(fmt.Sprintf("q%d", i)), wire.UserMessage{Content: fmt.Sprintf("/say queued %d", i)})
			}
			before := d.snapshot()
			o = o.restart(t, cfg)
			d = o.openDesktop(t, "ses-1")
			now := d.snapshot()
			if len(now.Prompts) != 1 || now.Prompts[0].ID != p.ID || now.Prompts[0].Deadline != before.Prompts[0].Deadline {
				t.Errorf("the prompts were %+v and are %+v, want %s with the same deadline", before.Prompts, now.Prompts, p.ID)
			}
			if len(now.Dialogs) != 1 || now.Dialogs[0].DialogID != q.DialogID || now.Dialogs[0].Deadline != before.Dialogs[0].Deadline {
				t.Errorf("the dialogs were %+v and are %+v, want %s with the same deadline", before.Dialogs, now.Dialogs, q.DialogID)
			}
			d.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"b"}})
			d.send("", wire.DialogFeedback{DialogID: q.DialogID, Confirmed: true})
			d.waitIdle()
			if got := d.turnText("m1"); !strings.HasPrefix(got, "one\n") || !strings.HasSuffix(got, "{\"selected\":[\"b\"]}\nafter") {
				t.Errorf(`the turn said %q, want "one", the answer b and "after"`, got)
			}
			if got := d.turnText("a1"); !strings.Contains(got, "Added hook-1") {
				t.Errorf("the other turn said %q, want that hook-1 was added", got)
			}
			for i := range 3 {
				if got := d.turnText(wire.MessageID(fmt.Sprintf("q%d", i))); got != fmt.Sprintf("queued %d", i) {
					t.Errorf(`the queued message q%d said %q, want "queued %d"`, i, got, i)
				}
			}
			for _, w := range d.snapshot().Windows {
				if w.WindowID == "w" && w.Content != (wire.MarkdownContent{Data: "hello more"}) {
					t.Errorf(`the window shows %+v, want "hello more"`, w.Content)
				}
			}
			if got := d.windows(firstMonitor); fmt.Sprint(got) != "[w w2]" {
				t.Errorf("the windows are %v, want [w w2]", got)
			}
			asked := 0
			for _, p := range payloads[wire.Actions](d.all()) {
				if _, is := p.Actions[0].(wire.PromptShow); is {
					asked++
				}
			}
			if n := len(payloads[wire.ApprovalRequest](d.all())); n != 1 || asked != 1 {
				t.Errorf("two questions were asked %d and %d times, want once each", asked, n)
			}
		})
	}
}

// A tool of which it is unknown whether it ran is not run again. The user is asked whether to
// continue the turn.
func TestAToolThatMayHaveRun(t *testing.T) {
	t.Parallel()
	for _, yes := range []bool{true, false} {
		t.Run(strconv.FormatBool(yes), func(t *testing.T) {
			t.Parallel()
			for name, open := range deployments() {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					s := open(t)
					o := startAgentHub(t, s, hubConfig{})
					d := o.newDesktop(t, "ses-1")
					d.appWindow(firstMonitor)
					d.send("", wire.AppProtocolReady{WindowID: "app"})
					d.sendText(firstMonitor, "m1", "/nosteer", "/say one", appCommand, "/say two")
					d.waitAppRequest("m1")
					o = o.restart(t, hubConfig{})
					d = o.openDesktop(t, "ses-1")
					e := d.waitTurnEnd("m1")
					if e.Outcome != wire.OutcomeInterrupted || !strings.Contains(e.Reason, "window:app_command may or may not have run") {
						t.Errorf("it ended with %+v, want outcome %s because window:app_command may or may not have run", e, wire.OutcomeInterrupted)
					}
					cut := waitEvent(t, d.eventLog, anyOf[wire.TurnInterrupted])
					if !cut.Resumable || cut.MessageID != "m1" || cut.AgentID != "main-monitor-0-m1" {
						t.Errorf("all tabs get %+v, want the resumable turn of m1 by main-monitor-0-m1", cut)
					}
					row := waitEvent(t, d.eventLog, func(u wire.MessageUpdated) bool { return u.Message.Ask == wire.AskResumeTask }).Message
					if row.MonitorID != firstMonitor || row.IsAnswered {
						t.Errorf("the question is %+v, want it open on %s", row, firstMonitor)
					}
					response := wire.AnswerNo
					if yes {
						response = wire.AnswerYes
					}
					d.send("", wire.AskResponse{TS: row.TS, Response: response})
					waitEvent(t, d.eventLog, func(u wire.MessageUpdated) bool { return u.Message.TS == row.TS && u.Message.IsAnswered })
					resumed := wire.MessageID(fmt.Sprintf("resume-%d", row.TS))
					if yes {
						q := d.waitAppRequest(resumed) // the demo provider repeats all its directives
						d.answerApp("tab", q, wire.AppCommandResponse{Result: json.RawMessage(`"moved"`)})
						d.waitTurnEnd(resumed)
					}
					d.waitIdle()
					if messageOutcomes(d.all())[resumed] != nil != yes {
						t.Errorf("the turn went on: %v, want %v", !yes, yes)
					}
					if n := len(payloads[wire.AppProtocolRequest](d.all())); n != 1 && !yes || n != 2 && yes {
						t.Errorf("the app was asked %d times, want one, and two if the turn goes on (%v)", n, yes)
					}
					if got := d.turnText("m1"); got != "one" {
						t.Errorf(`the first turn said %q, want "one"`, got)
					}
				})
			}
		})
	}
}

// Owners lose the session again and again while a turn runs. Each of its actions happens once.
func TestActionsHappenOnceAcrossOwners(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{logger: discardLogger()})
			for n := range 4 {
				t.Run(strconv.Itoa(n), func(t *testing.T) {
					t.Parallel()
					d := o.newDesktop(t, wire.SessionID(fmt.Sprintf("ses-%d", n)))
					lines := []string{"/nosteer", openWindowDirective("w")}
					var want strings.Builder
					want.WriteString("hello")
					for i := range 30 {
						lines = append(lines, fmt.Sprintf(`/call window:update {"windowId":"w","operation":"append","content":" %d"}`, i), "/sleep 1ms")
						fmt.Fprintf(&want, " %d", i)
					}
					d.sendText(firstMonitor, "m", append(lines, "/say done")...)
					for i := range 2 { // a turn is started three times at most
						at := 5 + 9*i + n
						waitEvent(t, d.eventLog, func(p wire.ToolProgress) bool { return strings.Contains(string(p.ToolInput), fmt.Sprintf(`" %d"`, at)) })
						_, err := o.store.Claim(t.Context(), d.id, "a", time.Minute) // ends the present lease
						requireNoError(t, err)
					}
					if e := d.waitTurnEnd("m"); e.Outcome != wire.OutcomeCompleted || !strings.HasSuffix(d.turnText("m"), "done") {
						t.Errorf(`it said %q and ended with %+v, want an end with "done" and %s`, d.turnText("m"), e, wire.OutcomeCompleted)
					}
					d.waitIdle()
					if w := d.snapshot().Windows; len(w) != 1 || w[0].Content != (wire.MarkdownContent{Data: want.String()}) {
						t.Errorf("the window shows %+v, want one with the content %q", w, want.String())
					}
				})
			}
		})
	}
}

// A session is handed over during a turn: a running tool may end, and the turn continues at the
// next owner.
func TestDrainInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			a := startAgentHub(t, s, hubConfig{})
			b := startAgentHub(t, s, hubConfig{replica: "b"})
			d := a.newDesktop(t, "ses-1")
			far := b.openDesktop(t, "ses-1")
			d.appWindow(firstMonitor)
			d.send("", wire.AppProtocolReady{WindowID: "app"})
			d.sendText(firstMonitor, "m1", "/nosteer", "/say one", appCommand, openWindowDirective("w"), "/say two")
			q := d.waitAppRequest("m1")
			done := make(chan struct{})
			go func() {
				defer close(done)
				a.Drain(t.Context())
			}()
			waitEvent(t, d.eventLog, anyOf[wire.AppProtocolRequest])
			far.answerApp("tab", q, wire.AppCommandResponse{Result: json.RawMessage(`"moved"`)}) // through the inbox
			<-done
			waitEvent(t, far.eventLog, func(o wire.OwnerChanged) bool { return o.Replica == "b" })
			far.waitTurnEnd("m1")
			far.waitIdle()
			if got := far.turnText("m1"); got != "one\n\"moved\"\ntwo" {
				t.Errorf("the turn said %q, want one, the result of the app in quotes, two", got)
			}
			if n := len(payloads[wire.AppProtocolRequest](far.all())); n != 1 {
				t.Errorf("the app was asked %d times, want 1", n)
			}
			if got := far.windows(firstMonitor); fmt.Sprint(got) != "[app w]" {
				t.Errorf("the windows are %v, want [app w]", got)
			}
		})
	}
}

// The owner dies. The follower takes over when the lease has expired, and continues all turns.
func TestFollowerContinuesTurns(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			// The lease is long enough for a busy machine to renew it in time.
			a := startAgentHub(t, s, hubConfig{session: session.Config{Lease: 3 * time.Second}, logger: discardLogger()})
			b := startAgentHub(t, s, hubConfig{replica: "b"})
			a.newDesktop(t, "ses-1")
			far := b.openDesktop(t, "ses-1")
			far.sendText(firstMonitor, "m1", "/nosteer", "/think hmm", "/say one", openWindowDirective("w"), "/say two", "/ask Which? | a | b")
			p := far.waitPrompt("main-monitor-0-m1")
			a.stop()
			far.sendText(firstMonitor, "m2", "/say three")
			waitEvent(t, far.eventLog, func(o wire.OwnerChanged) bool { return o.Replica == "b" })
			far.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"a"}})
			far.waitIdle()
			if got := far.turnText("m1"); got != "one\ntwo\n{\"selected\":[\"a\"]}" {
				t.Errorf("the turn said %q, want one, two and the answer a", got)
			}
			if far.turnText("m2") != "three" {
				t.Errorf(`the message that came meanwhile said %q, want "three"`, far.turnText("m2"))
			}
		})
	}
}
