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

// waitQuestionRow waits for the row of a question.
func (d *testDesktop) waitQuestionRow(kind wire.Ask) wire.UIRow {
	d.t.Helper()
	return waitEvent(d.t, d.eventLog, func(u wire.MessageUpdated) bool { return u.Message.Ask == kind }).Message
}

// answeredRow waits until a row is answered and returns its decoded text.
func (d *testDesktop) answeredRow(ts wire.Millis) map[string]any {
	d.t.Helper()
	u := waitEvent(d.t, d.eventLog, func(u wire.MessageUpdated) bool { return u.Message.TS == ts && u.Message.IsAnswered })
	if u.Message.ID == 0 || u.Message.MonitorID == "" {
		d.t.Errorf("the answered row is %+v, want an id and a monitor", u.Message)
	}
	return rowAnswer(d.t, u.Message)
}

func rowAnswer(t *testing.T, row wire.UIRow) map[string]any {
	t.Helper()
	var text map[string]any
	if err := json.Unmarshal([]byte(row.Text), &text); err != nil {
		t.Fatalf("the row says %q: %v", row.Text, err)
	}
	return text
}

// A permission question is also a row, and an answer to the row answers the dialog. The first
// answer counts, whichever way it came.
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
			o := startAgentHub(t, newFileDeployment(t), hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m1", setHookCall)
			q := waitEvent(t, d.eventLog, anyOf[wire.ApprovalRequest])
			row := d.waitQuestionRow(wire.AskTool)
			if text := rowAnswer(t, row); text["dialogId"] != string(q.DialogID) || text["tool"] != "system:set_config" || row.IsAnswered {
				t.Errorf("the row is %+v, want the open question of dialog %s for system:set_config", row, q.DialogID)
			}
			for id, bad := range map[wire.MessageID]wire.AskResponse{
				"bad-1": {TS: row.TS, Response: wire.AnswerObject, Text: "yes"},
				"bad-2": {TS: row.TS, Response: wire.AnswerObject, Text: `{"confirmed":true,"rememberChoice":"x"}`},
			} {
				d.send(id, bad)
				if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected](id)); r.Code != wire.CodeHITLInvalidResponse {
					t.Errorf("%+v is answered with %+v, want code %s", bad, r, wire.CodeHITLInvalidResponse)
				}
			}
			test.answer.TS = row.TS
			d.send("a1", test.answer)
			c := waitEvent(t, d.eventLog, anyOf[wire.DialogClosed])
			if c.DialogID != q.DialogID || c.Reason != wire.ClosedAnswered {
				t.Errorf("the dialog ended as %+v, want %s closed as %s", c, q.DialogID, wire.ClosedAnswered)
			}
			d.answeredRow(row.TS)
			deliver(t, d.handle, command("other", "late", wire.AskResponse{TS: row.TS, Response: wire.AnswerYes}))
			if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("late")); r.Code != wire.CodeHITLRequestExpired || r.To != "other" {
				t.Errorf("a later answer gets %+v, want code %s to other", r, wire.CodeHITLRequestExpired)
			}
			d.send("none", wire.AskResponse{TS: 1, Response: wire.AnswerYes})
			if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("none")); r.Code != wire.CodeSessionInvalidState {
				t.Errorf("an answer for no row gets %+v, want code %s", r, wire.CodeSessionInvalidState)
			}
			d.waitIdle()
			if got := d.turnText("m1"); !strings.Contains(got, test.said) {
				t.Errorf("the agent says %q, want %q", got, test.said)
			}
		})
	}
}

// A prompt is also a row, which is updated whichever way the prompt was answered.
func TestPromptsAreRows(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{})
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
		d.sendText(firstMonitor, id, "/ask Which? | a | b")
		p := d.waitPrompt("main-monitor-0-" + wire.AgentID(id))
		row := waitEvent(t, d.eventLog, func(u wire.MessageUpdated) bool {
			return u.Message.Ask == wire.AskFollowup && u.Message.MessageID == id
		}).Message
		text := rowAnswer(t, row)
		if text["promptId"] != string(p.ID) || !strings.HasPrefix(text["question"].(string), "Which?") || len(text["suggest"].([]any)) != 2 { //nolint:forcetypeassert // it fails then
			t.Errorf(`the row is %+v, want prompt %s with "Which?" and two suggestions`, row, p.ID)
		}
		if i == 0 {
			d.send("bad", wire.AskResponse{TS: row.TS, Response: wire.AnswerMessage, Text: "c"})
			if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected]("bad")); r.Code != wire.CodeHITLInvalidResponse {
				t.Errorf("what does not fit is answered with %+v, want code %s", r, wire.CodeHITLInvalidResponse)
			}
		}
		d.send("", test.by(row, p.ID))
		if got := d.answeredRow(row.TS); got["outcome"] != string(test.way) {
			t.Errorf("%d: the row says %v, want outcome %s", i, got, test.way)
		}
		d.waitTurnEnd(id)
		if got := d.turnText(id); !strings.Contains(got, test.said) {
			t.Errorf("the agent says %q, want %q", got, test.said)
		}
	}
	d.waitIdle()
}

// A message to an agent that waits for a text is the answer. It grants no permission.
func TestMessageAnswersPrompt(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := startAgentHub(t, open(t), hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m1", "/ask Say something")
			p := d.waitPrompt("main-monitor-0-m1")
			a, _ := d.sendAndWait("m2", wire.UserMessage{Content: "something"}).(wire.MessageAccepted)
			if a.How != wire.TakenSteered || a.AgentID != "main-monitor-0-m1" {
				t.Errorf("m2 is answered with %+v, want it steered to main-monitor-0-m1", a)
			}
			c := waitEvent(t, d.eventLog, anyOf[wire.PromptClosed])
			if c.PromptID != p.ID || c.Reason != wire.ClosedAnswered || c.AnsweredBy != "conn" || c.MessageID != "m2" {
				t.Errorf("the prompt ended as %+v, want %s answered by conn with m2", c, p.ID)
			}
			d.waitTurnEnd("m1")
			if got := d.turnText("m1"); !strings.Contains(got, `{"text":"something"}`) {
				t.Errorf("the agent says %q, want the text of m2", got)
			}
			row := waitEvent(t, d.eventLog, func(u wire.MessageUpdated) bool { return u.Message.MessageID == "m2" }).Message
			if row.ProgressStatus == nil || row.Say != wire.SayUserFeedback {
				t.Errorf("the row of m2 is %+v, want %s with a progress status", row, wire.SayUserFeedback)
			}
			if again, _ := d.sendAndWait("m2", wire.UserMessage{Content: "something"}).(wire.MessageAccepted); !again.Duplicate {
				t.Errorf("the repeated m2 gets %+v, want a duplicate", again)
			}
			d.waitIdle()
		})
	}
}

func TestMessageDoesNotAnswerOptionPrompt(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	d.sendText(firstMonitor, "m1", "/nosteer", setHookCall)
	q := waitEvent(t, d.eventLog, anyOf[wire.ApprovalRequest])
	d.sendText(firstMonitor, "m2", "yes")
	d.sendText(firstMonitor, "m3", "/ask Which? | a | b")
	// The prompt has options only, so a message does not answer it.
	d.waitPrompt("ephemeral-monitor-0-m3")
	if now := d.snapshot(); len(now.Dialogs) != 1 {
		t.Errorf("the open dialogs are %+v, want one", now.Dialogs)
	}
	d.send("", wire.DialogFeedback{DialogID: q.DialogID})
	d.send("", wire.Interrupt{})
	d.waitIdle()
	if got := d.turnText("m1"); strings.Contains(got, "Added") {
		t.Errorf("the agent says %q, want no hook to be added", got)
	}
}

// taskEvents returns the events about waiting tasks, as text.
func (d *testDesktop) taskEvents() string {
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

// A task counts as waiting after two seconds, also if the session changes its owner meanwhile; a
// task that is answered at once never does.
func TestTasksWaitForPeople(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]bool{"one owner": false, "two owners": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := startAgentHub(t, newSyncDeployment(t), hubConfig{})
				d := o.newDesktop(t, "ses-1")
				d.sendText(firstMonitor, "m1", "/ask Quick? | a | b")
				p := d.waitPrompt("main-monitor-0-m1")
				d.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"a"}})
				d.waitTurnEnd("m1")
				d.sendText(firstMonitor, "m2", "/ask Slow? | a | b")
				p = d.waitPrompt("main-monitor-0-m2")
				began := time.Now()
				if crash {
					o = o.restart(t, hubConfig{replica: "b"})
					d = o.openDesktop(t, "ses-1")
				}
				waitEvent(t, d.eventLog, anyOf[wire.TaskInteractive])
				if waited := time.Since(began); !crash && waited.Round(100*time.Millisecond) != 2*time.Second {
					t.Errorf("the task becomes interactive after %v, want 2s", waited)
				}
				d.send("", wire.UserPromptResponse{PromptID: p.ID, SelectedValues: []string{"a"}})
				d.waitTurnEnd("m2")
				d.waitIdle()
				if got, want := d.taskEvents(), "responded:t1 interactive:t2 active:t2 responded:t2 "; got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			})
		})
	}
}

// Rules decide before people are asked: they approve, deny, or leave the decision to people, who
// are also asked at a limit. Decisions of rules are rows.
func TestApprovalRules(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := startAgentHub(t, open(t), hubConfig{})
			d := o.newDesktop(t, "ses-1")
			rules := wire.AutoApproval{
				AutoApprovalEnabled: true, AlwaysAllowWrite: true, AlwaysAllowWriteOutsideWorkspace: true, AlwaysAllowWriteProtected: true,
			}
			d.send("r1", wire.SetAutoApproval{Rules: &rules})
			c := waitEvent(t, d.eventLog, anyOf[wire.AutoApprovalChanged])
			if !c.Rules.AlwaysAllowWriteProtected || c.By != "conn" || c.MessageID != "r1" {
				t.Errorf("all tabs get %+v, want the rules of r1 by conn, with AlwaysAllowWriteProtected", c)
			}
			d.sendText(firstMonitor, "m1", setHookCall)
			d.waitTurnEnd("m1")
			if got := d.turnText("m1"); !strings.Contains(got, "Added hook") {
				t.Errorf("the agent says %q, want that the hook was added", got)
			}
			row := d.waitQuestionRow(wire.AskTool)
			if text := rowAnswer(t, row); !row.IsAnswered || text["rules"] != "approve" {
				t.Errorf("the row is %+v, want it answered, with the verdict approve", row)
			}
			if n := len(payloads[wire.ApprovalRequest](d.all())); n != 0 {
				t.Errorf("%d questions were asked, want 0", n)
			}
			guest := command("guest", "r2", wire.SetAutoApproval{Rules: &rules})
			guest.From.User = "eve"
			invited := command("phone", "r2i", wire.SetAutoApproval{Rules: &rules})
			invited.From.Invited = true
			for id, other := range map[wire.MessageID]session.Command{"r2": guest, "r2i": invited} {
				deliver(t, d.handle, other)
				if r := waitEvent(t, d.eventLog, isAbout[wire.MessageRejected](id)); r.Code != wire.CodeForbidden {
					t.Errorf("%s is answered with %+v, want code %s", other.From.Connection, r, wire.CodeForbidden)
				}
			}
			o = o.restart(t, hubConfig{})
			d = o.openDesktop(t, "ses-1")
			if now := d.snapshot().AutoApproval; now == nil || !now.AlwaysAllowWrite {
				t.Errorf("the next owner has the rules %+v, want AlwaysAllowWrite", now)
			}
			d.sendText(firstMonitor, "m2", setHookCall)
			d.waitTurnEnd("m2")
			if got := d.turnText("m2"); !strings.Contains(got, "Added hook") {
				t.Errorf("the agent says %q, want that the hook was added", got)
			}
			d.send("r3", wire.SetAutoApproval{Rules: &wire.AutoApproval{}})
			d.sendText(firstMonitor, "m3", setHookCall)
			q := waitEvent(t, d.eventLog, anyOf[wire.ApprovalRequest])
			d.send("", wire.DialogFeedback{DialogID: q.DialogID})
			d.waitIdle()
		})
	}
}

// Rules answer a prompt only for people who are away.
func TestFirstOptionAfterTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := startAgentHub(t, newSyncDeployment(t), hubConfig{})
		d := o.newDesktop(t, "ses-1")
		d.send("r", wire.SetAutoApproval{Rules: &wire.AutoApproval{
			AutoApprovalEnabled: true, AlwaysAllowFollowupQuestions: true, FollowupAutoApproveTimeoutMs: 10_000,
		}})
		began := time.Now()
		d.sendText(firstMonitor, "m1", "/ask Which? | a | b")
		d.waitTurnEnd("m1")
		if waited := time.Since(began).Round(time.Second); waited != 10*time.Second || d.turnText("m1") != `{"selected":["a"]}` {
			t.Errorf("after %v the agent says %q, want the first option after 10s", waited, d.turnText("m1"))
		}
		began = time.Now()
		d.sendText(firstMonitor, "m2", "/ask Which? | a | b")
		d.waitPrompt("main-monitor-0-m2")
		d.send("", wire.UserInteractions{Interactions: []wire.UserInteraction{{Type: wire.DidClickIcon}}})
		d.waitTurnEnd("m2")
		if waited := time.Since(began).Round(time.Second); waited != 5*time.Minute {
			t.Errorf("a user who is active had %v, want 5m", waited)
		}
		d.waitIdle()
	})
}

// At a limit people decide, and an approval resets the count.
func TestApprovalLimits(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	d.send("r", wire.SetAutoApproval{Rules: &wire.AutoApproval{
		AutoApprovalEnabled: true, AlwaysAllowWrite: true, AlwaysAllowWriteOutsideWorkspace: true, AlwaysAllowWriteProtected: true,
		AllowedMaxRequests: 1,
	}})
	d.sendText(firstMonitor, "m1", "/usage 10 10", setHookCall)
	row := d.waitQuestionRow(wire.AskAutoApprovalMaxReqReached)
	if text := rowAnswer(t, row); text["type"] != "requests" || text["count"] != "1" {
		t.Errorf("the row is %+v, want one request counted", row)
	}
	d.send("a", wire.AskResponse{TS: row.TS, Response: wire.AnswerYes})
	d.answeredRow(row.TS)
	d.waitTurnEnd("m1")
	if got := d.turnText("m1"); !strings.Contains(got, "Added hook") {
		t.Errorf("the agent says %q, want that the hook was added", got)
	}
	d.sendText(firstMonitor, "m2", setHookCall) // the end of the previous turn has reached the limit
	row = waitEvent(t, d.eventLog, func(u wire.MessageUpdated) bool {
		return u.Message.Ask == wire.AskAutoApprovalMaxReqReached && u.Message.MessageID == "m2"
	}).Message
	d.send("b", wire.AskResponse{TS: row.TS, Response: wire.AnswerNo})
	d.waitTurnEnd("m2")
	if got := d.turnText("m2"); !strings.Contains(got, "The user said no") {
		t.Errorf("the agent says %q, want that the user said no", got)
	}
	d.waitIdle()
}

// A limit counts every request of the model: with a limit of two, the call that leads to the third
// one asks, though the call itself needs no approval.
func TestRequestLimitAsks(t *testing.T) {
	t.Parallel()
	o := startAgentHub(t, newFileDeployment(t), hubConfig{})
	d := o.newDesktop(t, "ses-1")
	d.send("r", wire.SetAutoApproval{Rules: &wire.AutoApproval{AutoApprovalEnabled: true, AllowedMaxRequests: 2}})
	window := func(id string) string { return "/window " + id + " Title | text" }
	d.sendText(firstMonitor, "m1", "/usage 10 10", window("a"), "/usage 10 10", window("b"))
	row := d.waitQuestionRow(wire.AskAutoApprovalMaxReqReached)
	if text := rowAnswer(t, row); text["type"] != "requests" || text["count"] != "2" {
		t.Errorf("the row is %+v, want two requests counted", row)
	}
	d.send("a", wire.AskResponse{TS: row.TS, Response: wire.AnswerYes})
	d.answeredRow(row.TS)
	d.waitTurnEnd("m1")
	d.waitIdle()
}
