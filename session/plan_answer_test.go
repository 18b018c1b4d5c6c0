package session_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// Two tabs answer: the first answer counts, the second is refused, and a repetition gets the first
// answer again, for its sender only.
func TestPlanAnswers(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := planHub(t, open(t), session.Config{}).newDesktop(t, "ses-1")
			r := d.submitPlan(fullPlan)
			yes := wire.HITLPlanResponse{RequestID: r.RequestID, Action: wire.PlanApprove}
			d.wantRefused("a1", wire.HITLPlanResponse{RequestID: "hitl_none", Action: wire.PlanApprove}, wire.CodeHITLInvalidResponse, "request_id")
			d.wantRefused("a2", wire.HITLPlanResponse{RequestID: r.RequestID, Action: wire.PlanModify}, wire.CodeHITLInvalidResponse, "instruction")
			d.approvePlan(r)
			d.wantRefused("a3", wire.HITLPlanResponse{RequestID: r.RequestID, Action: wire.PlanReject}, wire.CodeHITLRequestExpired, "request_id")
			d.wantRefused("a3", wire.HITLPlanResponse{RequestID: r.RequestID, Action: wire.PlanReject}, wire.CodeHITLRequestExpired, "request_id")
			for range 2 {
				again := d.sendAndWaitAs("third", "yes-"+wire.MessageID(r.RequestID), yes)
				if a, is := again.(wire.MessageAccepted); !is || !a.Duplicate || a.To != "third" {
					t.Errorf("a repeated answer gets %+v, want a duplicate to third", again)
				}
			}
			d.wantRefused("yes-"+wire.MessageID(r.RequestID), wire.HITLPlanResponse{RequestID: r.RequestID, Action: wire.PlanReject}, wire.CodeSessionInvalidState, "")
			d.answerPlanUntil(isPlanEnd)
			d.wantPlanDone()
			if n := len(payloads[wire.HITLClosed](d.all())); n != 3 {
				t.Errorf("three questions were closed %d times, want 3", n)
			}
		})
	}
}

// The number of answers per minute is limited.
func TestPlanAnswersAreLimited(t *testing.T) {
	t.Parallel()
	d := planHub(t, newFileDeployment(t), session.Config{AnswersPerMinute: 30}).newDesktop(t, "ses-1")
	for i := range 15 {
		d.wantRefused(wire.MessageID("a"+string(rune('a'+i))), wire.HITLInputResponse{RequestID: "none"}, wire.CodeHITLInvalidResponse, "request_id")
	}
	d.wantRefused("b", wire.HITLInputResponse{RequestID: "none"}, wire.CodeRateLimited, "")
}

// A guest can review and answer, but approves nothing that costs.
func TestPlanOfAGuest(t *testing.T) {
	t.Parallel()
	d := planHub(t, newFileDeployment(t), session.Config{}).newDesktop(t, "ses-1")
	d.approvePlan(d.submitPlan(`{"id":"one","task":"/say 1","requires_approval":true}`))
	q := waitEvent(t, d.eventLog, anyOf[wire.HITLApprovalRequest])
	guest := func(id wire.MessageID, data wire.ClientPayload) wire.ServerPayload {
		return deliverAndWait(t, d.handle, session.Command{
			From: session.Sender{Connection: "guest", User: "bob"}, Message: wire.Message{ID: id, Data: data},
		}).Data
	}
	for id, meddling := range map[wire.MessageID]wire.ClientPayload{
		"g1": wire.HITLApprovalResponse{RequestID: q.RequestID, Action: wire.TodoApprove},
		"g2": wire.ControlResume{Modifications: []json.RawMessage{[]byte(`{"action":"update","todo_id":"one","requires_approval":false}`)}},
		"g3": wire.ControlRetry{TodoID: "one"},
		"g4": wire.HITLPlanResponse{RequestID: "hitl_1", Action: wire.PlanModify, Instruction: "add something"},
	} {
		if no, is := guest(id, meddling).(wire.MessageRejected); !is || no.Code != wire.CodeForbidden {
			t.Errorf("a guest's %T is answered with %+v, want code %s", meddling, no, wire.CodeForbidden)
		}
	}
	if c, is := guest("g5", wire.HITLApprovalResponse{RequestID: q.RequestID, Action: wire.TodoSkip}).(wire.HITLClosed); !is || c.Action != "skip" {
		t.Errorf("a guest's skip is answered with %+v, want the action skip", c)
	}
	d.waitTurnEnd("m1")
}

// An open question of a plan counts as one that waits for a person.
func TestPlanQuestionsAreCounted(t *testing.T) {
	t.Parallel()
	o := planHub(t, newFileDeployment(t), session.Config{StalledAfter: time.Nanosecond})
	d := o.newDesktop(t, "ses-1")
	d.submitPlan(fullPlan)
	deliverBarrier(t, d.handle)
	if l := o.Gauges(); l.Plans != 1 || l.Waiting != 1 || l.Stalled != 0 || l.Oldest.IsZero() {
		t.Errorf("with a plan under review the gauges are %+v, want one plan that waits, with a time", l)
	}
	if all := o.Statuses(t.Context()); len(all) != 1 || all[0].Questions != 1 || !all[0].Working {
		t.Errorf("the statuses are %+v, want one that works and has a question", all)
	}
	i, err := o.Inspect(t.Context(), "ses-1")
	if requireNoError(t, err); len(i.Requests) != 1 || i.Status.Questions != 1 {
		t.Errorf("the inspected session is %+v, want one request", i)
	}
	d.sendAndWait("c1", wire.ControlCancel{})
	if l := o.Gauges(); l.Plans != 0 || l.Waiting != 0 {
		t.Errorf("after the cancellation the gauges are %+v, want no plans and nothing waiting", l)
	}
}
