package session_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// fullPlan is a plan with every feature: two parallel todos, one that fails twice, one that asks
// for dates, one that needs an approval.
const fullPlan = `{"id":"one","task":"/say 1"},{"id":"two","task":"/say 2"},
	{"id":"three","task":"/say 3","depends_on":["one","two"],"inputs":[{"field":"period","question":"Which days?","input_type":"date","range":true,"required":true}]},
	{"id":"four","task":"/fail 2 oh no","depends_on":["one"]},
	{"id":"five","task":"/say 5","depends_on":["three","four"],"requires_approval":true}`

// planConfig configures a hub with plans: a failed todo is retried at once.
func planConfig(cfg hubConfig) hubConfig {
	cfg.session.Plan.Tools = tools.Profiles()
	if cfg.session.Plan.RetryFirst == 0 {
		cfg.session.Plan.RetryFirst = time.Millisecond
	}
	if cfg.session.AnswersPerMinute == 0 {
		cfg.session.AnswersPerMinute = -1
	}
	return cfg
}

func planHub(t *testing.T, s *deployment, cfg session.Config) *agentHub {
	t.Helper()
	return startAgentHub(t, s, planConfig(hubConfig{session: cfg}))
}

// submitPlan sends m1, a message with the plan that the demo provider makes of it, and waits for
// the review.
func (d *testDesktop) submitPlan(todos string) wire.HITLPlanReview {
	d.t.Helper()
	d.beginPlan("m1", todos)
	return waitEvent(d.t, d.eventLog, anyOf[wire.HITLPlanReview])
}

// beginPlan is submitPlan without waiting for the review.
func (d *testDesktop) beginPlan(id wire.MessageID, todos string) {
	d.t.Helper()
	a := d.sendAndWait(id, wire.UserMessage{Mode: wire.ModePlan, Content: `/plan {"todos":[` + todos + `]}`})
	if _, taken := a.(wire.MessageAccepted); !taken {
		d.t.Fatalf("%s is answered with %+v, want it accepted", id, a)
	}
}

// approvePlan approves the review of a plan.
func (d *testDesktop) approvePlan(r wire.HITLPlanReview) {
	d.t.Helper()
	a := d.sendAndWait("yes-"+wire.MessageID(r.RequestID), wire.HITLPlanResponse{RequestID: r.RequestID, Action: wire.PlanApprove})
	if closed, is := a.(wire.HITLClosed); !is || closed.Action != string(wire.PlanApprove) || closed.AnsweredBy != "conn" {
		d.t.Fatalf("the review is answered with %+v, want it closed as %s by conn", a, wire.PlanApprove)
	}
}

// wantRefused sends a message and checks its refusal.
func (d *testDesktop) wantRefused(id wire.MessageID, data wire.ClientPayload, code wire.Code, field string) {
	d.t.Helper()
	a := d.sendAndWaitAs("other", id, data)
	no, is := a.(wire.MessageRejected)
	if !is || no.Code != code || no.Field != field || no.To != "other" {
		d.t.Errorf("%s is answered with %+v, want %d about %q", id, a, code, field)
	}
}

// answerPlanUntil answers the questions of the plan until a matching event. It repeats earlier
// answers, which has no effect.
func (d *testDesktop) answerPlanUntil(until func(wire.ServerPayload) bool) {
	d.t.Helper()
	late := time.NewTimer(d.waitLimit)
	defer late.Stop()
	for n := 0; ; {
		events, more := d.from(n)
		for _, e := range events {
			d.answerPlanQuestion(e.Data)
			if until(e.Data) {
				return
			}
		}
		n += len(events)
		select {
		case <-more:
		case <-late.C:
			d.t.Fatalf("the plan makes no progress, want a question or an end:\n%s", d.dump())
		}
	}
}

// answerPlanQuestion answers a question of a plan.
func (d *testDesktop) answerPlanQuestion(p wire.ServerPayload) {
	d.t.Helper()
	switch q := p.(type) {
	case wire.HITLPlanReview:
		d.send("to-"+wire.MessageID(q.RequestID), wire.HITLPlanResponse{RequestID: q.RequestID, Action: wire.PlanApprove})
	case wire.HITLApprovalRequest:
		d.send("to-"+wire.MessageID(q.RequestID), wire.HITLApprovalResponse{RequestID: q.RequestID, Action: wire.TodoApprove})
	case wire.HITLInputRequest:
		d.send("to-"+wire.MessageID(q.RequestID), wire.HITLInputResponse{
			RequestID: q.RequestID, Value: json.RawMessage(`{"from":"2026-01-01","to":"2026-01-31"}`),
		})
	}
}

// isPlanEnd reports whether an event ends a plan.
func isPlanEnd(p wire.ServerPayload) bool {
	r, is := p.(wire.AgentResponse)
	return is && r.IsComplete && r.AgentID == "plan-1"
}

// wantPlanDone checks that fullPlan was completed for m1, each todo once.
func (d *testDesktop) wantPlanDone() {
	d.t.Helper()
	done := map[wire.TodoID]int{}
	ends, starts := 0, map[wire.TodoID]int{}
	for _, e := range d.all() {
		switch p := e.Data.(type) {
		case wire.TodoStarted:
			if starts[p.TodoID]++; done[p.TodoID] > 0 {
				d.t.Errorf("%s begins again although it is done, want no start after the end", p.TodoID)
			}
		case wire.TodoCompleted:
			done[p.TodoID]++
		case wire.PlanComplete:
			if ends++; p.Status != "success" || p.Statistics.Completed != 5 || p.MessageID != "m1" {
				d.t.Errorf("the plan ends with %+v, want success of m1 with 5 completed todos", p)
			}
		case wire.PlanFailure:
			d.t.Errorf("the plan fails with %+v, want no failure", p)
		}
	}
	if len(done) != 5 || ends != 1 {
		d.t.Errorf("done are %v, and the plan ended %d times, want 5 todos and one end:\n%s", done, ends, d.dump())
	}
	for id, n := range done {
		if n != 1 {
			d.t.Errorf("%s was done %d times, want once", id, n)
		}
	}
	checkOutcomes(d.t, d.all())
}
