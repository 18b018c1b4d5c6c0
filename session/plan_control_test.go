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

// hanging is a plan whose first todo takes until it is stopped.
const hanging = `{"id":"one","task":"/hang"},{"id":"two","task":"/say 2","depends_on":["one"]}`

// Every order to a plan that is accepted is answered, and so is the same once more.
func TestPlanControls(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := planHub(t, open(t), session.Config{}).newDesktop(t, "ses-1")
			d.refused("c0", wire.ControlPause{}, wire.CodeSessionInvalidState, "")
			d.approve(d.plan(hanging))
			when(t, d.diary, any1[wire.TodoStarted])
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
				if no, is := d.ask(o.id, o.order).(wire.MessageRejected); is {
					t.Fatalf("%s is answered with %+v", o.id, no)
				}
				again := d.askAs("other", o.id, o.order)
				_, done := again.(wire.TodoCompleted) // which a todo that runs is not at once
				if a, is := again.(wire.MessageAccepted); !done && (!is || !a.Duplicate || a.To != "other") {
					t.Errorf("%s once more is answered with %+v", o.id, again)
				}
				if o.id == "pause" {
					if now := d.snapshot(); now.Status != wire.SessionPaused || now.Plan.PauseReason != "tea" {
						t.Errorf("a plan that stands still is %+v, %s", now.Plan, now.Status)
					}
				}
			}
			d.drive(isEnd)
			if end := when(t, d.diary, any1[wire.PlanComplete]); end.Status != "partial" || end.Statistics.Skipped != 1 {
				t.Errorf("it ends with %+v", end)
			}
			d.rest()
		})
	}
}

// A plan that failed goes on when its todo is ordered again, or skipped: for that
// message.
func TestPlanIsRetried(t *testing.T) {
	t.Parallel()
	d := planHub(t, onFiles(t), session.Config{}).newDesktop(t, "ses-1")
	d.approve(d.plan(`{"id":"one","task":"/fail","max_retries":0},{"id":"two","task":"/say 2","depends_on":["one"]}`))
	if r := d.ends("m1"); r.Outcome != wire.OutcomeFailed {
		t.Fatalf("it ends with %+v", r)
	}
	if a, is := d.ask("again", wire.ControlRetry{TodoID: "one"}).(wire.MessageAccepted); !is || a.Duplicate || a.AgentID != "plan-1" {
		t.Errorf("the order is answered with %+v", a)
	}
	d.ends("again")
	d.send("", wire.ControlSkip{TodoID: "one"}) // without a name
	when(t, d.diary, func(p wire.PlanComplete) bool { return p.Status == "partial" && p.MessageID != "" })
	d.rest()
}

// What ends turns ends the plan, or makes it stand still.
func TestPlanIsStopped(t *testing.T) {
	t.Parallel()
	const other = wire.MonitorID("monitor-1")
	for name, c := range map[string]struct {
		order wire.ClientPayload
		ends  string // the reason of the end; empty if it stands still
	}{
		"interrupt":         {wire.Interrupt{}, ""},
		"interrupt monitor": {wire.Interrupt{Scope: wire.ScopeMonitor, MonitorID: other}, ""},
		"interrupt plan":    {wire.InterruptAgent{AgentID: "plan-1"}, "the user interrupted it"},
		"reset":             {wire.Reset{}, "the desktop was reset"},
		"remove monitor":    {wire.RemoveMonitor{MonitorID: other}, "the monitor was removed"},
		"rewind":            {wire.Rewind{MonitorID: other}, "its message was taken back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := planHub(t, onFiles(t), session.Config{}).newDesktop(t, "ses-1")
			d.ask("m1", wire.UserMessage{MonitorID: other, Mode: wire.ModePlan, Content: `/plan {"todos":[` + hanging + `]}`})
			d.approve(when(t, d.diary, any1[wire.HITLPlanReview]))
			when(t, d.diary, any1[wire.TodoStarted])
			if r, is := c.order.(wire.Rewind); is {
				r.TS = when(t, d.diary, func(u wire.MessageUpdated) bool { return u.Message.Say == wire.SayUserFeedback }).Message.TS
				c.order = r
			}
			d.send("x", c.order)
			if c.ends != "" {
				if r := d.ends("m1"); r.Outcome != wire.OutcomeInterrupted || !strings.Contains(r.Reason, c.ends) {
					t.Errorf("it ends with %+v", r)
				}
				when(t, d.diary, func(p wire.PlanFailure) bool { return p.Status == "cancelled" })
				d.rest()
				if now := d.snapshot(); now.Status != wire.SessionIdle || len(now.HITLRequests) > 0 || (now.Plan != nil) != (name == "interrupt plan") {
					t.Errorf("left are %+v, %s", now.Plan, now.Status)
				}
				return
			}
			if p := when(t, d.diary, any1[wire.HITLPaused]); p.PausedBy != "interrupt" {
				t.Errorf("it stands still: %+v", p)
			}
			d.ask("skip", wire.ControlSkip{TodoID: "one"})
			d.ask("go", wire.ControlResume{})
			d.ends("m1")
			d.rest()
		})
	}
}

// Questions that nobody answers end: with the default, or with what asked them.
func TestPlanDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inBubble(t)
		cfg := planConfig(hubConfig{session: session.Config{
			Plan: workflow.Config{AnswerTime: time.Minute}, SweepEvery: time.Second, DormantAfter: 10 * time.Second,
		}})
		o := agentHub(t, s, cfg)
		d := o.newDesktop(t, "ses-1")
		began := time.Now()
		r := d.plan(allOfIt)
		d.ends("m1")
		if waited := time.Since(began).Round(time.Second); waited != time.Minute {
			t.Errorf("it waited for %v", waited)
		}
		if f := when(t, d.diary, any1[wire.PlanFailure]); f.Status != "cancelled" || f.Error.Code != "HITL_TIMEOUT" {
			t.Errorf("it ends with %+v", f)
		}
		if c := when(t, d.diary, any1[wire.HITLClosed]); c.RequestID != r.RequestID || c.Reason != wire.ClosedExpired {
			t.Errorf("the review is closed as %+v", c)
		}
		d.refused("late", wire.HITLPlanResponse{RequestID: r.RequestID, Action: wire.PlanApprove}, wire.CodeHITLRequestExpired, "request_id")

		// Nobody looks, and the hub crashes: the next one finds the question by itself.
		d.begin("m2", `{"id":"one","task":"/say 1","inputs":[{"field":"n","question":"How many?","input_type":"number","default_value":7}]}`)
		second := when(t, d.diary, func(q wire.HITLPlanReview) bool { return q.RequestID != r.RequestID })
		d.approve(second)
		when(t, d.diary, any1[wire.HITLInputRequest])
		d.handle.Close()
		o.again(t, cfg)
		d.ends("m2")
		if c := when(t, d.diary, func(c wire.HITLClosed) bool { return c.Reason == wire.ClosedExpired && c.RequestID != r.RequestID }); string(c.Value) != "7" {
			t.Errorf("the question is closed as %+v", c)
		}
		if end := when(t, d.diary, any1[wire.PlanComplete]); end.Status != "success" {
			t.Errorf("it ends with %+v", end)
		}
	})
}

// Who says something else where a plan was asked for gets a plan of that.
func TestPlanOfAnEditedMessage(t *testing.T) {
	t.Parallel()
	d := planHub(t, onFiles(t), session.Config{}).newDesktop(t, "ses-1")
	d.approve(d.plan(hanging))
	when(t, d.diary, any1[wire.TodoStarted])
	edit := wire.EditMessage{TS: d.rowOf("/hang").TS, Text: `/plan {"todos":[{"id":"other","task":"/say otherwise"}]}`}
	if a, is := d.ask("e1", edit).(wire.MessageAccepted); !is {
		t.Fatalf("the edit is answered with %+v", a)
	}
	review := when(t, d.diary, func(r wire.HITLPlanReview) bool { return r.Plan.Todos[0].ID == "other" })
	d.approve(review)
	d.ends("e1")
	if state := d.snapshot(); len(state.Todos) != 1 {
		t.Errorf("the todos are %+v", state.Todos)
	}
}
