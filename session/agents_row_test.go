package session_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// asks waits for a row that asks.
func (d *testDesktop) asks(kind wire.Ask) wire.UIRow {
	d.t.Helper()
	return when(d.t, d.diary, func(u wire.MessageUpdated) bool { return u.Message.Ask == kind }).Message
}

// answeredRow waits until a row is answered, and returns what it says then.
func (d *testDesktop) answeredRow(ts wire.Millis) map[string]any {
	d.t.Helper()
	u := when(d.t, d.diary, func(u wire.MessageUpdated) bool { return u.Message.TS == ts && u.Message.IsAnswered })
	if u.Message.ID == 0 || u.Message.MonitorID == "" {
		d.t.Errorf("the row lost its id: %+v", u.Message)
	}
	return saysRow(d.t, u.Message)
}

func saysRow(t *testing.T, row wire.UIRow) map[string]any {
	t.Helper()
	var text map[string]any
	if err := json.Unmarshal([]byte(row.Text), &text); err != nil {
		t.Fatalf("the row says %q: %v", row.Text, err)
	}
	return text
}

// A question of an agent is a row, whose answer is that of the dialog. The first
// counts, whichever way it comes.
func TestPermissionsAreRows(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer wire.AskResponse
		said   string
	}{
		"yes":     {wire.AskResponse{Response: wire.AnswerYes}, "Added hook"},
		"no":      {wire.AskResponse{Response: wire.AnswerNo}, "The user said no"},
		"words":   {wire.AskResponse{Response: wire.AnswerMessage, Text: "use the other one"}, "The user said no: use the other one"},
		"object":  {wire.AskResponse{Response: wire.AnswerObject, Text: `{"confirmed":true}`}, "Added hook"},
		"no, but": {wire.AskResponse{Response: wire.AnswerObject, Text: `{"confirmed":false,"rememberChoice":"once"}`}, "The user said no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := agentHub(t, onFiles(t), hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.say(first, "m1", hook)
			q := when(t, d.diary, any1[wire.ApprovalRequest])
			row := d.asks(wire.AskTool)
			if text := saysRow(t, row); text["dialogId"] != string(q.DialogID) || text["tool"] != "system:set_config" || row.IsAnswered {
				t.Errorf("the row is %+v", row)
			}
			for id, bad := range map[wire.MessageID]wire.AskResponse{
				"bad-1": {TS: row.TS, Response: wire.AnswerObject, Text: "yes"},
				"bad-2": {TS: row.TS, Response: wire.AnswerObject, Text: `{"confirmed":true,"rememberChoice":"x"}`},
			} {
				d.send(id, bad)
				if r := when(t, d.diary, about[wire.MessageRejected](id)); r.Code != wire.CodeHITLInvalidResponse {
					t.Errorf("%+v is answered with %+v", bad, r)
				}
			}
			test.answer.TS = row.TS
			d.send("a1", test.answer)
			c := when(t, d.diary, any1[wire.DialogClosed])
			if c.DialogID != q.DialogID || c.Reason != wire.ClosedAnswered {
				t.Errorf("the dialog ended as %+v", c)
			}
			d.answeredRow(row.TS)
			deliver(t, d.handle, says("other", "late", wire.AskResponse{TS: row.TS, Response: wire.AnswerYes}))
			if r := when(t, d.diary, about[wire.MessageRejected]("late")); r.Code != wire.CodeHITLRequestExpired || r.To != "other" {
				t.Errorf("who comes later is answered with %+v", r)
			}
			d.send("none", wire.AskResponse{TS: 1, Response: wire.AnswerYes})
			if r := when(t, d.diary, about[wire.MessageRejected]("none")); r.Code != wire.CodeSessionInvalidState {
				t.Errorf("no row is answered with %+v", r)
			}
			d.rest()
			if got := d.said("m1"); !strings.Contains(got, test.said) {
				t.Errorf("the agent says %q", got)
			}
		})
	}
}

// Prompts are rows too, and a row is answered however its prompt was.
func TestPromptsAreRows(t *testing.T) {
	t.Parallel()
	o := agentHub(t, onFiles(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	for i, test := range []struct {
		by   func(row wire.UIRow, p wire.PromptID) wire.ClientPayload
		said string
		way  wire.CloseReason
	}{
		{func(row wire.UIRow, _ wire.PromptID) wire.ClientPayload {
			return wire.AskResponse{TS: row.TS, Response: wire.AnswerMessage, Text: "b"}
		}, `{"selected":["b"]}`, wire.ClosedAnswered},
		{func(row wire.UIRow, _ wire.PromptID) wire.ClientPayload {
			return wire.AskResponse{TS: row.TS, Response: wire.AnswerObject, Text: `{"selectedValues":["a"]}`}
		}, `{"selected":["a"]}`, wire.ClosedAnswered},
		{func(row wire.UIRow, _ wire.PromptID) wire.ClientPayload {
			return wire.AskResponse{TS: row.TS, Response: wire.AnswerNo}
		}, "did not answer", wire.ClosedDismissed},
		{func(_ wire.UIRow, p wire.PromptID) wire.ClientPayload {
			return wire.UserPromptResponse{PromptID: p, SelectedValues: []string{"a"}}
		}, `{"selected":["a"]}`, wire.ClosedAnswered},
		{func(_ wire.UIRow, _ wire.PromptID) wire.ClientPayload { return wire.Interrupt{} }, "", wire.ClosedCancelled},
		{func(_ wire.UIRow, p wire.PromptID) wire.ClientPayload {
			return wire.Emit{Actions: []wire.Action{wire.PromptDismiss{ID: p}}}
		}, "did not answer", wire.ClosedCancelled},
	} {
		id := wire.MessageID("m" + string(rune('0'+i)))
		d.say(first, id, "/ask Which? | a | b")
		p := d.asked("main-monitor-0-" + wire.AgentID(id))
		row := when(t, d.diary, func(u wire.MessageUpdated) bool {
			return u.Message.Ask == wire.AskFollowup && u.Message.MessageID == id
		}).Message
		text := saysRow(t, row)
		if text["promptId"] != string(p.ID) || !strings.HasPrefix(text["question"].(string), "Which?") || len(text["suggest"].([]any)) != 2 { //nolint:forcetypeassert // it fails then
			t.Errorf("the row is %+v", row)
		}
		if i == 0 {
			d.send("bad", wire.AskResponse{TS: row.TS, Response: wire.AnswerMessage, Text: "c"})
			if r := when(t, d.diary, about[wire.MessageRejected]("bad")); r.Code != wire.CodeHITLInvalidResponse {
				t.Errorf("what does not fit is answered with %+v", r)
			}
		}
		d.send("", test.by(row, p.ID))
		if got := d.answeredRow(row.TS); got["outcome"] != string(test.way) {
			t.Errorf("%d: the row says %v", i, got)
		}
		d.ends(id)
		if got := d.said(id); !strings.Contains(got, test.said) {
			t.Errorf("the agent says %q", got)
		}
	}
	d.rest()
}

// What somebody says to an agent that waits for words is the answer. It permits
// nothing.
func TestMessageAnswersPrompt(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := agentHub(t, open(t), hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.say(first, "m1", "/ask Say something")
			p := d.asked("main-monitor-0-m1")
			a, _ := d.ask("m2", wire.UserMessage{Content: "something"}).(wire.MessageAccepted)
			if a.How != wire.TakenSteered || a.AgentID != "main-monitor-0-m1" {
				t.Errorf("it is taken as %+v", a)
			}
			c := when(t, d.diary, any1[wire.PromptClosed])
			if c.PromptID != p.ID || c.Reason != wire.ClosedAnswered || c.AnsweredBy != "conn" || c.MessageID != "m2" {
				t.Errorf("the prompt ended as %+v", c)
			}
			d.ends("m1")
			if got := d.said("m1"); !strings.Contains(got, `{"text":"something"}`) {
				t.Errorf("the agent says %q", got)
			}
			row := when(t, d.diary, func(u wire.MessageUpdated) bool { return u.Message.MessageID == "m2" }).Message
			if row.ProgressStatus == nil || row.Say != wire.SayUserFeedback {
				t.Errorf("its row is %+v", row)
			}
			if again, _ := d.ask("m2", wire.UserMessage{Content: "something"}).(wire.MessageAccepted); !again.Duplicate {
				t.Errorf("the same again is %+v", again)
			}
			d.rest()
		})
	}
}

func TestMessagesPermitNothingHere(t *testing.T) {
	t.Parallel()
	o := agentHub(t, onFiles(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	d.say(first, "m1", "/nosteer", hook)
	q := when(t, d.diary, any1[wire.ApprovalRequest])
	d.say(first, "m2", "yes")
	d.say(first, "m3", "/ask Which? | a | b")
	// Which is chosen, not written: a message is none of its options.
	d.asked("ephemeral-monitor-0-m3")
	if now := d.snapshot(); len(now.Dialogs) != 1 {
		t.Errorf("open are %+v", now.Dialogs)
	}
	d.send("", wire.DialogFeedback{DialogID: q.DialogID})
	d.send("", wire.Interrupt{})
	d.rest()
	if got := d.said("m1"); strings.Contains(got, "Added") {
		t.Errorf("the agent says %q", got)
	}
}

// tasks are the events about what tasks wait for, as text.
func (d *testDesktop) tasks() string {
	var b strings.Builder
	for _, e := range d.all() {
		switch p := e.Data.(type) {
		case wire.TaskInteractive:
			b.WriteString("interactive:" + string(p.TaskID) + " ")
		case wire.TaskResumable:
			b.WriteString("resumable:" + string(p.TaskID) + " ")
		case wire.TaskIdle:
			b.WriteString("idle:" + string(p.TaskID) + " ")
		case wire.TaskActive:
			b.WriteString("active:" + string(p.TaskID) + " ")
		case wire.TaskAskResponded:
			b.WriteString("responded:" + string(p.TaskID) + " ")
		}
	}
	return b.String()
}

// A task counts as waiting when it has waited for two seconds, also if it changes
// hands meanwhile; one that is answered at once never does.
func TestTasksWaitForPeople(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]bool{"one owner": false, "two owners": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := agentHub(t, inBubble(t), hubConfig{})
				d := o.newDesktop(t, "ses-1")
				d.say(first, "m1", "/ask Quick? | a | b")
				p := d.asked("main-monitor-0-m1")
				d.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"a"}})
				d.ends("m1")
				d.say(first, "m2", "/ask Slow? | a | b")
				p = d.asked("main-monitor-0-m2")
				began := time.Now()
				if crash {
					o = o.again(t, hubConfig{replica: "b"})
					d = o.enter(t, "ses-1")
				}
				when(t, d.diary, any1[wire.TaskInteractive])
				if waited := time.Since(began); !crash && waited.Round(100*time.Millisecond) != 2*time.Second {
					t.Errorf("it waits after %v", waited)
				}
				d.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"a"}})
				d.ends("m2")
				d.rest()
				if got, want := d.tasks(), "responded:t1 interactive:t2 active:t2 responded:t2 "; got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			})
		})
	}
}

// Rules decide before anybody is asked: they approve, deny, or leave it to people,
// who are asked when too much was spent. Their decisions are rows.
func TestRulesDecideBeforePeople(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := agentHub(t, open(t), hubConfig{})
			d := o.newDesktop(t, "ses-1")
			rules := wire.AutoApproval{
				AutoApprovalEnabled: true, AlwaysAllowWrite: true, AlwaysAllowWriteOutsideWorkspace: true, AlwaysAllowWriteProtected: true,
			}
			d.send("r1", wire.SetAutoApproval{Rules: rules})
			c := when(t, d.diary, any1[wire.AutoApprovalChanged])
			if !c.Rules.AlwaysAllowWriteProtected || c.By != "conn" || c.MessageID != "r1" {
				t.Errorf("everybody hears %+v", c)
			}
			d.say(first, "m1", hook)
			d.ends("m1")
			if got := d.said("m1"); !strings.Contains(got, "Added hook") {
				t.Errorf("the agent says %q", got)
			}
			row := d.asks(wire.AskTool)
			if text := saysRow(t, row); !row.IsAnswered || text["rules"] != "approve" {
				t.Errorf("the row is %+v", row)
			}
			if n := len(find[wire.ApprovalRequest](d.all())); n != 0 {
				t.Errorf("somebody was asked %d times", n)
			}
			guest := says("guest", "r2", wire.SetAutoApproval{Rules: rules})
			guest.From.User = "eve"
			invited := says("phone", "r2i", wire.SetAutoApproval{Rules: rules})
			invited.From.Invited = true
			for id, other := range map[wire.MessageID]session.Command{"r2": guest, "r2i": invited} {
				deliver(t, d.handle, other)
				if r := when(t, d.diary, about[wire.MessageRejected](id)); r.Code != wire.CodeForbidden {
					t.Errorf("%s is answered with %+v", other.From.Connection, r)
				}
			}
			o = o.again(t, hubConfig{})
			d = o.enter(t, "ses-1")
			if now := d.snapshot().AutoApproval; now == nil || !now.AlwaysAllowWrite {
				t.Errorf("the next owner has the rules %+v", now)
			}
			d.say(first, "m2", hook)
			d.ends("m2")
			if got := d.said("m2"); !strings.Contains(got, "Added hook") {
				t.Errorf("the agent says %q", got)
			}
			d.send("r3", wire.SetAutoApproval{})
			d.say(first, "m3", hook)
			q := when(t, d.diary, any1[wire.ApprovalRequest])
			d.send("", wire.DialogFeedback{DialogID: q.DialogID})
			d.rest()
		})
	}
}

// Nobody answers for those who are there.
func TestFirstOptionAfterAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := agentHub(t, inBubble(t), hubConfig{})
		d := o.newDesktop(t, "ses-1")
		d.send("r", wire.SetAutoApproval{Rules: wire.AutoApproval{
			AutoApprovalEnabled: true, AlwaysAllowFollowupQuestions: true, FollowupAutoApproveTimeoutMs: 10_000,
		}})
		began := time.Now()
		d.say(first, "m1", "/ask Which? | a | b")
		d.ends("m1")
		if waited := time.Since(began).Round(time.Second); waited != 10*time.Second || d.said("m1") != `{"selected":["a"]}` {
			t.Errorf("after %v the agent says %q", waited, d.said("m1"))
		}
		began = time.Now()
		d.say(first, "m2", "/ask Which? | a | b")
		d.asked("main-monitor-0-m2")
		d.send("", wire.UserInteractions{Interactions: []wire.UserInteraction{{Type: wire.DidClickIcon}}})
		d.ends("m2")
		if waited := time.Since(began).Round(time.Second); waited != 5*time.Minute {
			t.Errorf("somebody who is there had %v", waited)
		}
		d.rest()
	})
}

// When too much was spent people decide, and a yes begins anew.
func TestLimitsOfRules(t *testing.T) {
	t.Parallel()
	o := agentHub(t, onFiles(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	d.send("r", wire.SetAutoApproval{Rules: wire.AutoApproval{
		AutoApprovalEnabled: true, AlwaysAllowWrite: true, AlwaysAllowWriteOutsideWorkspace: true, AlwaysAllowWriteProtected: true,
		AllowedMaxRequests: 1,
	}})
	d.say(first, "m1", "/usage 10 10", hook)
	row := d.asks(wire.AskAutoApprovalMaxReqReached)
	if text := saysRow(t, row); text["type"] != "requests" || text["count"] != "1" {
		t.Errorf("the row is %+v", row)
	}
	d.send("a", wire.AskResponse{TS: row.TS, Response: wire.AnswerYes})
	d.answeredRow(row.TS)
	d.ends("m1")
	if got := d.said("m1"); !strings.Contains(got, "Added hook") {
		t.Errorf("the agent says %q", got)
	}
	d.say(first, "m2", hook) // the end of the turn before has used up what there was
	row = when(t, d.diary, func(u wire.MessageUpdated) bool {
		return u.Message.Ask == wire.AskAutoApprovalMaxReqReached && u.Message.MessageID == "m2"
	}).Message
	d.send("b", wire.AskResponse{TS: row.TS, Response: wire.AnswerNo})
	d.ends("m2")
	if got := d.said("m2"); !strings.Contains(got, "The user said no") {
		t.Errorf("the agent says %q", got)
	}
	d.rest()
}
