package workflow_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// A clarification is requested; without an answer the plan continues or ends.
func TestClarification(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		required bool
		do       func(r *rig)
		want     string
		prompt   string // expected in the prompt of the planning job
	}{
		"answered": {true, func(r *rig) {
			r.refused(r.answer(wire.HITLClarificationResponse{RequestID: "hitl_1", Value: json.RawMessage(`null`)}), wire.CodeHITLInvalidResponse, "value")
			r.refused(r.answer(wire.HITLClarificationResponse{RequestID: "hitl_1", Value: json.RawMessage(`{}`)}), wire.CodeHITLInvalidResponse, "value")
			r.refused(r.answer(wire.HITLPlanResponse{RequestID: "hitl_1", Action: wire.PlanApprove}), wire.CodeHITLInvalidResponse, "request_id")
			r.must(r.answer(wire.HITLClarificationResponse{RequestID: "hitl_1", Value: json.RawMessage(`"the red one"`)}))
		}, `
closed hitl_1 answered "the red one" by con-2
complete cognitive > planning
start planning`, "the red one"},
		"left open": {false, func(r *rig) {
			r.must(r.answer(wire.HITLClarificationResponse{RequestID: "hitl_1", Value: json.RawMessage(`null`)}))
		}, `
closed hitl_1 answered null by con-2
complete cognitive > planning
start planning`, "do it"},
		"late": {false, func(r *rig) { r.advance(5 * time.Minute) }, `
closed hitl_1 expired  by 
error 5001 {"request_id":"hitl_1"}
complete cognitive > planning
start planning`, "do it"},
		"late and required": {true, func(r *rig) { r.advance(5 * time.Minute) }, `
closed hitl_1 expired  by 
error 5001 {"request_id":"hitl_1"}
plan cancelled HITL_TIMEOUT : {}`, ""},
		"an owner later": {true, func(r *rig) {
			r.now = r.now.Add(time.Hour)
			r.crash(func(string) bool { return true })
		}, `
closed hitl_1 expired  by 
error 5001 {"request_id":"hitl_1"}
plan cancelled HITL_TIMEOUT : {}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.begin("do it")
			required, _ := json.Marshal(tc.required)
			r.completeJob("plan-1/cognitive", `{"intent":{},"clarification":{"ambiguity":"two","question":"Which?","suggestions":["a"],"required":`+string(required)+`}}`)
			if e := last[wire.HITLClarification](r); e.Required != tc.required || e.OriginalInput != "do it" || e.TimeoutSec != 300 {
				t.Fatalf(`the clarification is %+v, want required %v for "do it" within 300 s`, e, tc.required)
			}
			n := len(r.events)
			tc.do(r)
			wantLog(t, r.since(n), tc.want)
			if tc.prompt == "" {
				if r.flow.Active() || r.closed[0].Outcome != providers.Interrupted {
					t.Fatalf("the closed messages are %+v, active %v, want one interrupted and false", r.closed, r.flow.Active())
				}
				return
			}
			if j, ok := r.jobs["plan-1/planning.1"]; !ok || !strings.Contains(j.Prompt, tc.prompt) {
				t.Fatalf("the planning job is %+v, want %q in its prompt", j, tc.prompt)
			}
		})
	}
}

// A todo needs approval if the plan requires it or if its cost is high, whatever its tools are: their calls ask.
func TestApproval(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		todo string
		why  string // expected reason; "" if no approval is needed
	}{
		"flag":   {`"requires_approval":true`, "The plan requires your approval for this."},
		"reason": {`"approval_reason":"it writes"`, "it writes"},
		"cost":   {`"estimated_cost_usd":0.25`, "This is estimated to cost $0.25."},
		"cheap":  {`"estimated_cost_usd":0.24`, ""},
		"tool":   {`"tool":"shell"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := approvedPlan(t, `[{"id":"a","task":"x",`+tc.todo+`}]`)
			if tc.why == "" {
				r.completeJob("plan-1/a.1", "well")
				return
			}
			if e := last[wire.HITLApprovalRequest](r); e.Reason != tc.why || e.TodoID != "a" || e.Todo.Status != wire.TodoNeedsApproval || e.TimeoutSec != 600 {
				t.Fatalf("the approval is %+v, want that of todo a because of %q within 600 s", e, tc.why)
			}
			if len(r.jobs) > 0 {
				t.Fatalf("jobs %v run before the approval, want none", r.jobs)
			}
			r.refused(r.answer(wire.HITLApprovalResponse{RequestID: "hitl_2", TodoID: "b", Action: wire.TodoApprove}), wire.CodeHITLInvalidResponse, "todo_id")
			r.refused(r.answer(wire.HITLApprovalResponse{RequestID: "hitl_2", Action: "yes"}), wire.CodeHITLInvalidResponse, "action")
			r.must(r.answer(wire.HITLApprovalResponse{RequestID: "hitl_2", TodoID: "a", Action: wire.TodoApprove}))
			r.failJob("plan-1/a.1") // what was permitted once is, when it is tried again
			r.advance(time.Second)
			r.completeJob("plan-1/a.2", "well")
		})
	}
}

// A todo is skipped if its approval is denied or not answered in time.
func TestApprovalDeniedOrExpired(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do   func(r *rig)
		want string
	}{
		"skip": {func(r *rig) {
			r.must(r.answer(wire.HITLApprovalResponse{RequestID: "hitl_2", Action: wire.TodoSkip, Reason: "not today"}))
		}, `
closed hitl_2 answered skip by con-2
todo a skipped {"reason":"not today"} > [b]
todo b started by plan-1/b.1
progress 2: 0 done 1 running 0 pending 0 failed 0 blocked 1 skipped 50%`},
		"reject": {func(r *rig) {
			r.must(r.answer(wire.HITLApprovalResponse{RequestID: "hitl_2", Action: wire.TodoReject}))
		}, `
closed hitl_2 answered reject by con-2
todo a is cancelled
todo b is cancelled
plan cancelled PLAN_REJECTED a: {}`},
		"silence": {func(r *rig) { r.advance(10 * time.Minute) }, `
closed hitl_2 expired  by 
error 5001 {"request_id":"hitl_2","todo_id":"a"}
todo a failed HITL_TIMEOUT 0/3 retry false
todo b is blocked
progress 2: 0 done 0 running 0 pending 1 failed 1 blocked 0 skipped 0%
plan failed EXECUTION_FAILED a: {}`},
		"an order": {func(r *rig) { r.must(r.control(wire.ControlSkip{TodoID: "a"})) }, `
closed hitl_2 cancelled  by 
todo a skipped {"reason":"skipped"} > [b]
todo b started by plan-1/b.1
progress 2: 0 done 1 running 0 pending 0 failed 0 blocked 1 skipped 50%`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := approvedPlan(t, `[{"id":"a","task":"x","requires_approval":true},{"id":"b","task":"y","depends_on":["a"]}]`)
			n := len(r.events)
			tc.do(r)
			wantLog(t, r.since(n), tc.want)
		})
	}
}

// A todo fails if a required input is not answered; an optional input is left out.
func TestInputTimesOut(t *testing.T) {
	t.Parallel()
	r := approvedPlan(t, `[{"id":"a","task":"x","inputs":[{"field":"f","question":"What?","input_type":"text","required":true}]},
		{"id":"b","task":"y","inputs":[{"field":"g","question":"Who?","input_type":"text"}]}]`)
	n := len(r.events)
	r.advance(5 * time.Minute)
	wantLog(t, r.since(n), `
closed hitl_2 expired  by 
error 5001 {"request_id":"hitl_2","todo_id":"a"}
todo a failed HITL_TIMEOUT 0/3 retry false
closed hitl_3 expired null by 
error 5001 {"request_id":"hitl_3","todo_id":"b"}
todo b started by plan-1/b.1
progress 2: 0 done 1 running 0 pending 1 failed 0 blocked 0 skipped 0%`)
}

// Agents ask questions: they get the answer, the default, or the result that there is none.
func TestAgentQuestions(t *testing.T) {
	t.Parallel()
	r := approvedPlan(t, `[{"id":"a","task":"x"}]`)
	ask := func(field string, required bool) (id wire.RequestID) {
		r.step(func() {
			var refused *workflow.Refusal
			id, _, refused = r.flow.Ask("plan-1/a.1", wire.HITLInputRequest{Field: field, Question: "?", InputType: wire.AnswerText, Required: required})
			r.must(refused)
		})
		return id
	}
	first := ask("one", true)
	if again := ask("one", true); again != first {
		t.Fatalf("question ids are %s and %s, want the same", first, again)
	}
	r.must(r.answer(wire.HITLInputResponse{RequestID: first, Value: json.RawMessage(`"x"`)}))
	second, third := ask("two", true), ask("three", false)
	r.advance(5 * time.Minute)
	fourth := ask("four", true)
	r.completeJob("plan-1/a.1", "well")
	want := []workflow.Answered{
		{Request: first, Value: json.RawMessage(`"x"`), Reason: wire.ClosedAnswered},
		{Request: second, Reason: wire.ClosedExpired},
		{Request: third, Value: json.RawMessage(`null`), Reason: wire.ClosedExpired},
		{Request: fourth, Reason: wire.ClosedCancelled},
	}
	sameAnswers(t, r.answers, want)
	_, _, refused := r.flow.Ask("plan-1/a.1", wire.HITLInputRequest{Field: "five", Question: "?", InputType: wire.AnswerText})
	r.refused(refused, wire.CodeSessionInvalidState, "")
}
