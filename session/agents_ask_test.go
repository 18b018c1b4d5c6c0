package session_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/wire"
)

// waitPrompt waits for the prompt of an agent.
func (d *testDesktop) waitPrompt(agent wire.AgentID) wire.PromptShow {
	d.t.Helper()
	p := waitEvent(d.t, d.eventLog, func(p wire.Actions) bool {
		_, is := p.Actions[0].(wire.PromptShow)
		return is && p.AgentID == agent
	})
	return p.Actions[0].(wire.PromptShow) //nolint:forcetypeassert // see above
}

// setHookCall adds a hook, for which an agent needs a permission.
const setHookCall = `/call system:set_config {"section":"hooks","event":"tool_use","label":"L","action":` +
	`{"type":"os_action","payload":{"type":"app.badge","appId":"x","count":1}}}`

// An agent gets the first valid answer; later and invalid answers are refused.
func TestAgentGetsFirstValidAnswer(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := startAgentHub(t, s, hubConfig{})
			other := startAgentHub(t, s, hubConfig{replica: "b"})
			d := o.newDesktop(t, "ses-1")
			far := other.openDesktop(t, "ses-1") // a follower
			w := attachTab(t, far.handle, "far")
			d.sendText(firstMonitor, "m1", "/ask Which? | a | b")
			p := d.waitPrompt("main-monitor-0-m1")
			if !strings.HasPrefix(p.Message, "Which?") || len(p.Options) != 2 {
				t.Errorf(`the question is %+v, want "Which?" with two options`, p)
			}
			nextEvent(t, w, func(p wire.Actions) bool { return p.AgentID == "main-monitor-0-m1" })
			deliver(t, d.handle, command("near", "wrong", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"c"}}))
			if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("wrong")); r.Code != wire.CodeHITLInvalidResponse || r.To != "near" {
				t.Errorf("what does not fit is answered with %+v, want code %s to the connection near", r, wire.CodeHITLInvalidResponse)
			}
			deliver(t, far.handle, command("far", "right", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"b"}}))
			c := waitEvent(t, d.eventLog, anyOf[wire.PromptClosed])
			if c.AnsweredBy != "far" || c.PromptID != p.ID || c.Reason != wire.ClosedAnswered {
				t.Errorf("all tabs get %+v, want prompt %s closed as %s by far", c, p.ID, wire.ClosedAnswered)
			}
			deliver(t, d.handle, command("near", "late", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"a"}}))
			if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("late")); r.Code != wire.CodeHITLRequestExpired {
				t.Errorf("a later answer gets %+v, want code %s", r, wire.CodeHITLRequestExpired)
			}
			d.waitIdle()
			if got := d.turnText("m1"); got != `{"selected":["b"]}` {
				t.Errorf(`the agent says %q, want the answer of far, {"selected":["b"]}`, got)
			}
			d.sendText(firstMonitor, "m2", "/ask Say something")
			p = d.waitPrompt("main-monitor-0-m2")
			d.send("", wire.UserPromptResponse{PromptID: p.ID, Text: "something"})
			d.waitTurnEnd("m2")
			d.sendText(firstMonitor, "m3", "/ask Say nothing")
			p = d.waitPrompt("main-monitor-0-m3")
			d.send("", wire.UserPromptResponse{PromptID: p.ID, Dismissed: true})
			d.waitIdle()
			all := d.turnText("m2") + d.turnText("m3")
			if !strings.Contains(all, `{"text":"something"}`) || !strings.Contains(all, "did not answer") {
				t.Errorf("the agent says %q, want the text of one answer, and that the other was dismissed", all)
			}
		})
	}
}

// A remembered permission is not asked for again, in any session of the user.
func TestPermissionsAreRemembered(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		remember  wire.RememberChoice
		confirmed bool
		asked     int
		said      string
	}{
		{"", true, 2, "Added hook"},
		{wire.RememberOnce, true, 2, "Added hook"},
		{wire.RememberAlways, true, 1, "Added hook"},
		{wire.RememberOnce, false, 2, "The user said no"},
		{wire.RememberDenyAlways, false, 1, "The user said no"},
	} {
		t.Run(fmt.Sprintf("%s %v", test.remember, test.confirmed), func(t *testing.T) {
			t.Parallel()
			o := startAgentHub(t, newFileDeployment(t), hubConfig{})
			asked := 0
			for _, id := range []wire.SessionID{"ses-1", "ses-2"} {
				d := o.newDesktop(t, id)
				d.sendText(firstMonitor, "m", setHookCall)
				if test.asked == 2 || id == "ses-1" {
					q := waitEvent(t, d.eventLog, anyOf[wire.ApprovalRequest])
					d.send("", wire.DialogFeedback{DialogID: q.DialogID, Confirmed: test.confirmed, RememberChoice: test.remember})
				}
				d.waitIdle()
				asked += len(payloads[wire.ApprovalRequest](d.all()))
				if got := d.turnText("m"); !strings.Contains(got, test.said) {
					t.Errorf("in %s the agent says %q, want %q", id, got, test.said)
				}
			}
			if asked != test.asked {
				t.Errorf("it asked %d times, want %d", asked, test.asked)
			}
		})
	}
}

// The answer of a sender that was invited to one session sets no rule for other sessions.
func TestInvitedSendersAnswerForOneCall(t *testing.T) {
	t.Parallel()
	for choice, yes := range map[wire.RememberChoice]bool{wire.RememberAlways: true, wire.RememberDenyAlways: false} {
		t.Run(string(choice), func(t *testing.T) {
			t.Parallel()
			o := startAgentHub(t, newFileDeployment(t), hubConfig{})
			for _, id := range []wire.SessionID{"ses-1", "ses-2"} {
				d := o.newDesktop(t, id)
				d.sendText(firstMonitor, "m", setHookCall)
				q := waitEvent(t, d.eventLog, anyOf[wire.ApprovalRequest])
				answer := command("phone", "", wire.DialogFeedback{DialogID: q.DialogID, Confirmed: yes, RememberChoice: choice})
				answer.From.Invited = true
				deliver(t, d.handle, answer)
				d.waitTurnEnd("m")
				if got := d.turnText("m"); strings.Contains(got, "Added hook") != yes {
					t.Errorf("in %s the agent says %q, want the hook to be added: %v", id, got, yes)
				}
				d.waitIdle()
			}
		})
	}
}

// A permission that is not answered within a minute is denied; a prompt expires after five.
func TestUnansweredQuestionsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSyncDeployment(t)
		o := startAgentHub(t, s, hubConfig{})
		d := o.newDesktop(t, "ses-1")
		began := time.Now()
		d.sendText(firstMonitor, "m1", setHookCall)
		d.waitTurnEnd("m1")
		if waited := time.Since(began).Round(time.Second); waited != time.Minute {
			t.Errorf("the approval waited for %v, want 1m", waited)
		}
		if got := d.turnText("m1"); !strings.Contains(got, "here was no answer in time") {
			t.Errorf("the agent says %q, want that there was no answer in time", got)
		}
		c := waitEvent(t, d.eventLog, anyOf[wire.DialogClosed])
		if c.Reason != wire.ClosedExpired || c.Confirmed {
			t.Errorf("the dialog ended as %+v, want reason %s, not confirmed", c, wire.ClosedExpired)
		}
		d.send("late", wire.DialogFeedback{DialogID: c.DialogID, Confirmed: true, RememberChoice: wire.RememberAlways})
		if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("late")); r.Code != wire.CodeHITLRequestExpired {
			t.Errorf("a later answer gets %+v, want code %s", r, wire.CodeHITLRequestExpired)
		}
		began = time.Now()
		d.sendText(firstMonitor, "m2", "/ask Which? | a | b")
		d.waitTurnEnd("m2")
		if waited := time.Since(began).Round(time.Second); waited != 5*time.Minute {
			t.Errorf("the question waited for %v, want 5m", waited)
		}
		if got := d.turnText("m2"); !strings.Contains(got, "did not answer") {
			t.Errorf("the agent says %q, want that the user did not answer", got)
		}
		d.waitIdle()
	})
}

// A question is withdrawn when its turn is interrupted, its monitor is removed or the desktop is
// reset.
func TestQuestionsAreWithdrawnWithTheirTurn(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]wire.ClientPayload{
		"interrupt": wire.Interrupt{}, "reset": wire.Reset{}, "remove": wire.RemoveMonitor{MonitorID: "monitor-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := startAgentHub(t, newFileDeployment(t), hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.sendAndWait("e", wire.Emit{MonitorID: "monitor-1", Actions: []wire.Action{window("w")}})
			d.sendText("monitor-1", "m1", setHookCall)
			d.send("m2", wire.WindowMessage{MonitorID: "monitor-1", WindowID: "w", Content: "/ask Which? | a | b"})
			q := waitEvent(t, d.eventLog, anyOf[wire.ApprovalRequest])
			p := d.waitPrompt("window-w")
			d.send("", end)
			d.waitIdle()
			if c := waitEvent(t, d.eventLog, anyOf[wire.DialogClosed]); c.DialogID != q.DialogID || c.Reason != wire.ClosedCancelled {
				t.Errorf("the dialog ended as %+v, want %s closed as %s", c, q.DialogID, wire.ClosedCancelled)
			}
			if c := waitEvent(t, d.eventLog, anyOf[wire.PromptClosed]); c.PromptID != p.ID || c.Reason != wire.ClosedCancelled {
				t.Errorf("the prompt ended as %+v, want %s closed as %s", c, p.ID, wire.ClosedCancelled)
			}
			if now := d.snapshot(); len(now.Dialogs)+len(now.Prompts) != 0 {
				t.Errorf("open are still %+v %+v, want no dialogs and no prompts", now.Dialogs, now.Prompts)
			}
			d.send("late", wire.DialogFeedback{DialogID: q.DialogID, Confirmed: true})
			if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("late")); r.Code != wire.CodeHITLRequestExpired {
				t.Errorf("a later answer gets %+v, want code %s", r, wire.CodeHITLRequestExpired)
			}
			for _, id := range []wire.MessageID{"m1", "m2"} {
				if e := d.waitTurnEnd(id); e.Outcome != wire.OutcomeInterrupted {
					t.Errorf("%s ended with %+v, want outcome %s", id, e, wire.OutcomeInterrupted)
				}
			}
			if n := len(payloads[wire.DialogClosed](d.all())) + len(payloads[wire.PromptClosed](d.all())); n != 2 {
				t.Errorf("two questions ended %d times, want 2", n)
			}
		})
	}
}

// When an agent asks for a text, its oldest queued message is the answer. That message has one
// answer and one end; later messages stay queued.
func TestQueuedMessageAnswersPrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := startAgentHub(t, newSyncDeployment(t), hubConfig{limits: agentpool.Limits{Agents: 1}})
		d := o.newDesktop(t, "ses-1")
		d.sendText(firstMonitor, "m1", "/nosteer", "/say wait", "/sleep 500ms", "/ask Which? | a | b", "/ask Say something", "/say done")
		d.waitTurnOutput("m1")
		d.sendText(firstMonitor, "m2", "something")
		d.sendText(firstMonitor, "m3", "/say later")
		waitEvent(t, d.eventLog, isAbout[wire.MessageQueued]("m3"))
		// A prompt with options only takes no text.
		p := d.waitPrompt("main-monitor-0-m1")
		d.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"a"}})
		d.waitTurnEnd("m1")
		a := waitEvent(t, d.eventLog, isAbout[wire.MessageAccepted]("m2"))
		if a.How != wire.TakenSteered || a.AgentID != "main-monitor-0-m1" {
			t.Errorf("m2 is accepted with %+v, want it steered to main-monitor-0-m1", a)
		}
		closed := payloads[wire.PromptClosed](d.all())
		if len(closed) != 2 || closed[1].Reason != wire.ClosedAnswered || closed[1].AnsweredBy != "conn" || closed[1].MessageID != "m2" {
			t.Errorf("the prompts ended as %+v, want two, the second answered by conn with m2", closed)
		}
		if got := d.turnText("m1"); !strings.Contains(got, `{"text":"something"}`) || !strings.Contains(got, "done") {
			t.Errorf("the agent says %q, want the text of m2 as the answer, and done", got)
		}
		row := waitEvent(t, d.eventLog, func(u wire.MessageUpdated) bool { return u.Message.MessageID == "m2" && u.Action == wire.RowUpdated }).Message
		if row.ProgressStatus == nil || row.Text != "something" {
			t.Errorf(`the row of m2 is %+v, want the text "something" and a progress status`, row)
		}
		d.waitTurnEnd("m3")
		d.waitIdle()
		if got := d.turnText("m3"); got != "later" {
			t.Errorf(`the later sender gets %q, want "later"`, got)
		}
		if n := len(payloads[wire.MessageQueued](d.all())); n != 2 || len(payloads[wire.MessageRejected](d.all())) > 0 {
			t.Errorf("%d messages were queued and %d rejected, want 2 and 0", n, len(payloads[wire.MessageRejected](d.all())))
		}
	})
}
