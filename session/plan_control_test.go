package session_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// hangingPlan is a plan whose first todo runs until it is stopped.
const hangingPlan = `{"id":"one","task":"/hang"},{"id":"two","task":"/say 2","depends_on":["one"]}`

// Every accepted control command for a plan is answered, and so is its repetition.
func TestPlanControls(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := planHub(t, open(t), session.Config{}).newDesktop(t, "ses-1")
			d.wantRefused("c0", wire.ControlPause{}, wire.CodeSessionInvalidState, "")
			d.approvePlan(d.submitPlan(hangingPlan))
			waitEvent(t, d.eventLog, anyOf[wire.TodoStarted])
			orders := []struct {
				id    wire.MessageID
				order wire.ClientPayload
			}{
				{"pause", wire.ControlPause{Reason: "tea"}},
				{"resume", wire.ControlResume{}},
				{"add", wire.ControlResume{Modifications: []json.RawMessage{json.RawMessage(`{"action":"add","todo_id":"three","task":"/say 3","depends_on":["two"]}`)}}},
				{"say", wire.ControlResume{Modifications: []json.RawMessage{json.RawMessage(`"add something"`)}}},
				{"skip", wire.ControlSkip{TodoID: "one", Reason: "too slow"}},
			}
			for _, o := range orders {
				if no, is := d.sendAndWait(o.id, o.order).(wire.MessageRejected); is {
					t.Fatalf("%s is answered with %+v, want it accepted", o.id, no)
				}
				again := d.sendAndWaitAs("other", o.id, o.order)
				_, done := again.(wire.TodoCompleted) // which a todo that runs is not at once
				if a, is := again.(wire.MessageAccepted); !done && (!is || !a.Duplicate || a.To != "other") {
					t.Errorf("%s once more is answered with %+v, want a duplicate to other", o.id, again)
				}
				if o.id == "pause" {
					if now := d.snapshot(); now.Status != wire.SessionPaused || now.Plan.PauseReason != "tea" {
						t.Errorf("a paused plan is %+v, the session %s, want reason tea and %s", now.Plan, now.Status, wire.SessionPaused)
					}
				}
			}
			d.answerPlanUntil(isPlanEnd)
			if end := waitEvent(t, d.eventLog, anyOf[wire.PlanComplete]); end.Status != "partial" || end.Statistics.Skipped != 1 {
				t.Errorf("the plan ends with %+v, want partial with one skipped todo", end)
			}
			d.waitIdle()
		})
	}
}

// A failed plan continues when its todo is retried or skipped, on behalf of that message.
func TestPlanIsRetried(t *testing.T) {
	t.Parallel()
	d := planHub(t, newFileDeployment(t), session.Config{}).newDesktop(t, "ses-1")
	d.approvePlan(d.submitPlan(`{"id":"one","task":"/fail","max_retries":0},{"id":"two","task":"/say 2","depends_on":["one"]}`))
	if r := d.waitTurnEnd("m1"); r.Outcome != wire.OutcomeFailed {
		t.Fatalf("the turn ends with %+v, want %s", r, wire.OutcomeFailed)
	}
	if a, is := d.sendAndWait("again", wire.ControlRetry{TodoID: "one"}).(wire.MessageAccepted); !is || a.Duplicate || a.AgentID != "plan-1" {
		t.Errorf("the order is answered with %+v, want plan-1 to take it, no duplicate", a)
	}
	d.waitTurnEnd("again")
	d.send("", wire.ControlSkip{TodoID: "one"}) // without a message id
	waitEvent(t, d.eventLog, func(p wire.PlanComplete) bool { return p.Status == "partial" && p.MessageID != "" })
	d.waitIdle()
}

// Commands that end turns end the plan or pause it.
func TestPlanIsStopped(t *testing.T) {
	t.Parallel()
	const other = wire.MonitorID("monitor-1")
	for name, c := range map[string]struct {
		order wire.ClientPayload
		ends  string // the reason of the end; empty if it is paused
	}{
		"interrupt":         {wire.Interrupt{}, ""},
		"interrupt monitor": {wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: other}, ""},
		"interrupt plan":    {wire.InterruptAgent{AgentID: "plan-1"}, "the user interrupted it"},
		"reset":             {wire.Reset{}, "the desktop was reset"},
		"remove monitor":    {wire.RemoveMonitor{MonitorID: other}, "the monitor was removed"},
		"rewind":            {wire.Rewind{MonitorID: other}, "a rewind removed its message"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := planHub(t, newFileDeployment(t), session.Config{}).newDesktop(t, "ses-1")
			d.sendAndWait("m1", wire.UserMessage{MonitorID: other, Mode: wire.ModePlan, Content: `/plan {"todos":[` + hangingPlan + `]}`})
			d.approvePlan(waitEvent(t, d.eventLog, anyOf[wire.HITLPlanReview]))
			waitEvent(t, d.eventLog, anyOf[wire.TodoStarted])
			if r, is := c.order.(wire.Rewind); is {
				r.TS = waitEvent(t, d.eventLog, func(u wire.MessageUpdated) bool { return u.Message.Say == wire.SayUserFeedback }).Message.TS
				c.order = r
			}
			d.send("x", c.order)
			if c.ends != "" {
				if r := d.waitTurnEnd("m1"); r.Outcome != wire.OutcomeInterrupted || !strings.Contains(r.Reason, c.ends) {
					t.Errorf("the turn ends with %+v, want %s because of %q", r, wire.OutcomeInterrupted, c.ends)
				}
				waitEvent(t, d.eventLog, func(p wire.PlanFailure) bool { return p.Status == "cancelled" })
				d.waitIdle()
				if now := d.snapshot(); now.Status != wire.SessionIdle || len(now.HITLRequests) > 0 || (now.Plan != nil) != (name == "interrupt plan") {
					t.Errorf("left are the plan %+v, %d requests and status %s, want no requests, %s, and a plan: %v", now.Plan, len(now.HITLRequests), now.Status, wire.SessionIdle, name == "interrupt plan")
				}
				return
			}
			if p := waitEvent(t, d.eventLog, anyOf[wire.HITLPaused]); p.PausedBy != "interrupt" {
				t.Errorf("the plan is paused with %+v, want it by interrupt", p)
			}
			d.sendAndWait("skip", wire.ControlSkip{TodoID: "one"})
			d.sendAndWait("go", wire.ControlResume{})
			d.waitTurnEnd("m1")
			d.waitIdle()
		})
	}
}

// Questions without an answer end with the default, or fail their todo.
func TestPlanDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSyncDeployment(t)
		cfg := planConfig(hubConfig{session: session.Config{
			Plan: workflow.Config{AnswerTime: time.Minute}, SweepEvery: time.Second, DormantAfter: 10 * time.Second,
		}})
		o := startAgentHub(t, s, cfg)
		d := o.newDesktop(t, "ses-1")
		began := time.Now()
		r := d.submitPlan(fullPlan)
		d.waitTurnEnd("m1")
		if waited := time.Since(began).Round(time.Second); waited != time.Minute {
			t.Errorf("the review waited for %v, want 1m", waited)
		}
		if f := waitEvent(t, d.eventLog, anyOf[wire.PlanFailure]); f.Status != "cancelled" || f.Error.Code != "HITL_TIMEOUT" {
			t.Errorf("the plan ends with %+v, want cancelled with HITL_TIMEOUT", f)
		}
		if c := waitEvent(t, d.eventLog, anyOf[wire.HITLClosed]); c.RequestID != r.RequestID || c.Reason != wire.ClosedExpired {
			t.Errorf("the review is closed as %+v, want %s as %s", c, r.RequestID, wire.ClosedExpired)
		}
		d.wantRefused("late", wire.HITLPlanResponse{RequestID: r.RequestID, Action: wire.PlanApprove}, wire.CodeHITLRequestExpired, "request_id")

		// Without handles, after a crash: the next hub finds the question by itself.
		d.beginPlan("m2", `{"id":"one","task":"/say 1","inputs":[{"field":"n","question":"How many?","input_type":"number","default_value":7}]}`)
		second := waitEvent(t, d.eventLog, func(q wire.HITLPlanReview) bool { return q.RequestID != r.RequestID })
		d.approvePlan(second)
		waitEvent(t, d.eventLog, anyOf[wire.HITLInputRequest])
		d.handle.Close()
		o.restart(t, cfg)
		d.waitTurnEnd("m2")
		if c := waitEvent(t, d.eventLog, func(c wire.HITLClosed) bool { return c.Reason == wire.ClosedExpired && c.RequestID != r.RequestID }); string(c.Value) != "7" {
			t.Errorf("the question is closed as %+v, want the default value 7", c)
		}
		if end := waitEvent(t, d.eventLog, anyOf[wire.PlanComplete]); end.Status != "success" {
			t.Errorf("the plan ends with %+v, want success", end)
		}
	})
}

// Editing the message of a plan starts a plan of the new text.
func TestPlanOfAnEditedMessage(t *testing.T) {
	t.Parallel()
	d := planHub(t, newFileDeployment(t), session.Config{}).newDesktop(t, "ses-1")
	d.approvePlan(d.submitPlan(hangingPlan))
	waitEvent(t, d.eventLog, anyOf[wire.TodoStarted])
	edit := wire.EditMessage{TS: d.rowOf("/hang").TS, Text: `/plan {"todos":[{"id":"other","task":"/say otherwise"}]}`}
	if a, is := d.sendAndWait("e1", edit).(wire.MessageAccepted); !is {
		t.Fatalf("the edit is answered with %+v, want it accepted", a)
	}
	review := waitEvent(t, d.eventLog, func(r wire.HITLPlanReview) bool { return r.Plan.Todos[0].ID == "other" })
	d.approvePlan(review)
	d.waitTurnEnd("e1")
	if state := d.snapshot(); len(state.Todos) != 1 {
		t.Errorf("the todos are %+v, want only that of the edit", state.Todos)
	}
}
