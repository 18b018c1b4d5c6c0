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

// asked waits for the prompt of an agent.
func (d *testDesktop) asked(agent wire.AgentID) wire.PromptShow {
	d.t.Helper()
	p := when(d.t, d.diary, func(p wire.Actions) bool {
		_, is := p.Actions[0].(wire.PromptShow)
		return is && p.AgentID == agent
	})
	return p.Actions[0].(wire.PromptShow) //nolint:forcetypeassert // see above
}

// A hook is what an agent may only add with permission.
const hook = `/call system:set_config {"section":"hooks","event":"tool_use","label":"L","action":` +
	`{"type":"os_action","payload":{"type":"app.badge","appId":"x","count":1}}}`

// An agent asks, and gets the first answer that fits; who comes later or says
// something that does not fit is told so.
func TestFirstFittingAnswerIsTheAgents(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			o := agentHub(t, s, hubConfig{})
			other := agentHub(t, s, hubConfig{replica: "b"})
			d := o.newDesktop(t, "ses-1")
			far := other.enter(t, "ses-1") // a follower
			w := watch(t, far.handle, "far")
			d.say(first, "m1", "/ask Which? | a | b")
			p := d.asked("main-monitor-0-m1")
			if !strings.HasPrefix(p.Message, "Which?") || len(p.Options) != 2 {
				t.Errorf("the question is %+v", p)
			}
			next(t, w, func(p wire.Actions) bool { return p.AgentID == "main-monitor-0-m1" })
			deliver(t, d.handle, says("near", "wrong", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"c"}}))
			if r := when(t, d.diary, about[wire.MessageRejected]("wrong")); r.Code != wire.CodeHITLInvalidResponse || r.To != "near" {
				t.Errorf("what does not fit is answered with %+v", r)
			}
			deliver(t, far.handle, says("far", "right", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"b"}}))
			c := when(t, d.diary, any1[wire.PromptClosed])
			if c.AnsweredBy != "far" || c.PromptID != p.ID || c.Reason != wire.ClosedAnswered {
				t.Errorf("everybody hears %+v", c)
			}
			deliver(t, d.handle, says("near", "late", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"a"}}))
			if r := when(t, d.diary, about[wire.MessageRejected]("late")); r.Code != wire.CodeHITLRequestExpired {
				t.Errorf("who comes later is answered with %+v", r)
			}
			d.rest()
			if got := d.said("m1"); got != `{"selected":["b"]}` {
				t.Errorf("the agent says %q", got)
			}
			d.say(first, "m2", "/ask Say something")
			p = d.asked("main-monitor-0-m2")
			d.send("", wire.UserPromptResponse{PromptID: p.ID, Text: "something"})
			d.ends("m2")
			d.say(first, "m3", "/ask Say nothing")
			p = d.asked("main-monitor-0-m3")
			d.send("", wire.UserPromptResponse{PromptID: p.ID, Dismissed: true})
			d.rest()
			all := d.said("m2") + d.said("m3")
			if !strings.Contains(all, `{"text":"something"}`) || !strings.Contains(all, "did not answer") {
				t.Errorf("the agent says %q", all)
			}
		})
	}
}

// A decision that is meant for good is not asked for again, in no session of the
// user.
func TestPermissionsForGood(t *testing.T) {
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
			o := agentHub(t, onFiles(t), hubConfig{})
			asked := 0
			for _, id := range []wire.SessionID{"ses-1", "ses-2"} {
				d := o.newDesktop(t, id)
				d.say(first, "m", hook)
				if test.asked == 2 || id == "ses-1" {
					q := when(t, d.diary, any1[wire.ApprovalRequest])
					d.send("", wire.DialogFeedback{DialogID: q.DialogID, Confirmed: test.confirmed, RememberChoice: test.remember})
				}
				d.rest()
				asked += len(find[wire.ApprovalRequest](d.all()))
				if got := d.said("m"); !strings.Contains(got, test.said) {
					t.Errorf("in %s the agent says %q", id, got)
				}
			}
			if asked != test.asked {
				t.Errorf("it asked %d times", asked)
			}
		})
	}
}

// Who was let into one session only decides nothing for the others.
func TestInvitedDecideOnce(t *testing.T) {
	t.Parallel()
	for choice, yes := range map[wire.RememberChoice]bool{wire.RememberAlways: true, wire.RememberDenyAlways: false} {
		t.Run(string(choice), func(t *testing.T) {
			t.Parallel()
			o := agentHub(t, onFiles(t), hubConfig{})
			for _, id := range []wire.SessionID{"ses-1", "ses-2"} {
				d := o.newDesktop(t, id)
				d.say(first, "m", hook)
				q := when(t, d.diary, any1[wire.ApprovalRequest])
				answer := says("phone", "", wire.DialogFeedback{DialogID: q.DialogID, Confirmed: yes, RememberChoice: choice})
				answer.From.Invited = true
				deliver(t, d.handle, answer)
				d.ends("m")
				if got := d.said("m"); strings.Contains(got, "Added hook") != yes {
					t.Errorf("in %s the agent says %q", id, got)
				}
				d.rest()
			}
		})
	}
}

// Silence is no, after a minute; a prompt waits five.
func TestSilenceIsNo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inBubble(t)
		o := agentHub(t, s, hubConfig{})
		d := o.newDesktop(t, "ses-1")
		began := time.Now()
		d.say(first, "m1", hook)
		d.ends("m1")
		if waited := time.Since(began).Round(time.Second); waited != time.Minute {
			t.Errorf("it waited for %v", waited)
		}
		if got := d.said("m1"); !strings.Contains(got, "nobody answered in time") && !strings.Contains(got, "Nobody answered in time") {
			t.Errorf("the agent says %q", got)
		}
		c := when(t, d.diary, any1[wire.DialogClosed])
		if c.Reason != wire.ClosedExpired || c.Confirmed {
			t.Errorf("the dialog ended as %+v", c)
		}
		d.send("late", wire.DialogFeedback{DialogID: c.DialogID, Confirmed: true, RememberChoice: wire.RememberAlways})
		if r := when(t, d.diary, about[wire.MessageRejected]("late")); r.Code != wire.CodeHITLRequestExpired {
			t.Errorf("who comes later is answered with %+v", r)
		}
		began = time.Now()
		d.say(first, "m2", "/ask Which? | a | b")
		d.ends("m2")
		if waited := time.Since(began).Round(time.Second); waited != 5*time.Minute {
			t.Errorf("it waited for %v", waited)
		}
		if got := d.said("m2"); !strings.Contains(got, "did not answer") {
			t.Errorf("the agent says %q", got)
		}
		d.rest()
	})
}

// Questions go with the turn that asks: when it is interrupted, when its monitor
// goes, when the desktop is reset.
func TestQuestionsAreTakenBack(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]wire.ClientPayload{
		"interrupt": wire.Interrupt{}, "reset": wire.Reset{}, "remove": wire.RemoveMonitor{MonitorID: "monitor-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := agentHub(t, onFiles(t), hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.ask("e", wire.Emit{MonitorID: "monitor-1", Actions: []wire.Action{window("w")}})
			d.say("monitor-1", "m1", hook)
			d.send("m2", wire.WindowMessage{MonitorID: "monitor-1", WindowID: "w", Content: "/ask Which? | a | b"})
			q := when(t, d.diary, any1[wire.ApprovalRequest])
			p := d.asked("window-w")
			d.send("", end)
			d.rest()
			if c := when(t, d.diary, any1[wire.DialogClosed]); c.DialogID != q.DialogID || c.Reason != wire.ClosedCancelled {
				t.Errorf("the dialog ended as %+v", c)
			}
			if c := when(t, d.diary, any1[wire.PromptClosed]); c.PromptID != p.ID || c.Reason != wire.ClosedCancelled {
				t.Errorf("the prompt ended as %+v", c)
			}
			if now := d.snapshot(); len(now.Dialogs)+len(now.Prompts) != 0 {
				t.Errorf("open are still %+v %+v", now.Dialogs, now.Prompts)
			}
			d.send("late", wire.DialogFeedback{DialogID: q.DialogID, Confirmed: true})
			if r := when(t, d.diary, about[wire.MessageRejected]("late")); r.Code != wire.CodeHITLRequestExpired {
				t.Errorf("who comes later is answered with %+v", r)
			}
			for _, id := range []wire.MessageID{"m1", "m2"} {
				if e := d.ends(id); e.Outcome != wire.OutcomeInterrupted {
					t.Errorf("%s ended with %+v", id, e)
				}
			}
			if n := len(find[wire.DialogClosed](d.all())) + len(find[wire.PromptClosed](d.all())); n != 2 {
				t.Errorf("two questions ended %d times", n)
			}
		})
	}
}

// What waits for an agent when that asks for words is the answer, the oldest of it;
// it has one answer and one end, and what comes later waits on.
func TestWhatWaitsAnswersPrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := agentHub(t, inBubble(t), hubConfig{limits: agentpool.Limits{Agents: 1}})
		d := o.newDesktop(t, "ses-1")
		d.say(first, "m1", "/nosteer", "/say wait", "/sleep 500ms", "/ask Which? | a | b", "/ask Say something", "/say done")
		d.begins("m1")
		d.say(first, "m2", "something")
		d.say(first, "m3", "/say later")
		when(t, d.diary, about[wire.MessageQueued]("m3"))
		// One of the options is chosen, not written.
		p := d.asked("main-monitor-0-m1")
		d.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"a"}})
		d.ends("m1")
		a := when(t, d.diary, about[wire.MessageAccepted]("m2"))
		if a.How != wire.TakenSteered || a.AgentID != "main-monitor-0-m1" {
			t.Errorf("it is taken as %+v", a)
		}
		closed := find[wire.PromptClosed](d.all())
		if len(closed) != 2 || closed[1].Reason != wire.ClosedAnswered || closed[1].AnsweredBy != "conn" || closed[1].MessageID != "m2" {
			t.Errorf("the prompts ended as %+v", closed)
		}
		if got := d.said("m1"); !strings.Contains(got, `{"text":"something"}`) || !strings.Contains(got, "done") {
			t.Errorf("the agent says %q", got)
		}
		row := when(t, d.diary, func(u wire.MessageUpdated) bool { return u.Message.MessageID == "m2" && u.Action == wire.RowUpdated }).Message
		if row.ProgressStatus == nil || row.Text != "something" {
			t.Errorf("its row is %+v", row)
		}
		d.ends("m3")
		d.rest()
		if got := d.said("m3"); got != "later" {
			t.Errorf("who came later hears %q", got)
		}
		if n := len(find[wire.MessageQueued](d.all())); n != 2 || len(find[wire.MessageRejected](d.all())) > 0 {
			t.Errorf("%d were told that they wait", n)
		}
	})
}
