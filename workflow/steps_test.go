package workflow_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

func TestOnePlanAtATime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.refused(r.control(wire.ControlPause{}), wire.CodeSessionInvalidState, "")
	r.begin("do it")
	_, refused := r.flow.Begin(workflow.Request{Message: "m2", Text: "more"})
	r.refused(refused, wire.CodeSessionInvalidState, "")
	r.must(r.control(wire.ControlCancel{Reason: "no"}))
	_, refused = r.flow.Begin(workflow.Request{Text: " "})
	r.refused(refused, wire.CodeInvalidMessage, "content")
	_, refused = r.flow.Begin(workflow.Request{Text: strings.Repeat("x", 33<<10)})
	r.refused(refused, wire.CodeMessageTooLarge, "content")
	r.begin("again")
	if r.stopped["plan-1/cognitive"] == "" || r.begun[1].Name != "plan-2/cognitive" || r.closed[0].Outcome != providers.Interrupted {
		t.Fatalf("the jobs %v are stopped and the messages closed as %+v, want the old cognitive layer stopped and m1 interrupted", r.stopped, r.closed)
	}
}

// An invalid plan is sent back to the model once.
func TestInvalidPlanIsSentBackOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.begin("do it")
	r.completeJob("plan-1/cognitive", "")
	r.completeJob("plan-1/planning.1", `{"todos":[{"id":"a","task":"x","depends_on":["a"]}]}`)
	if p := r.begun[2].Prompt; !strings.Contains(p, "waits for itself") {
		t.Fatalf("the prompt of the second planning is %s, want the error that a todo waits for itself", p)
	}
	r.completeJob("plan-1/planning.2", "still nothing")
	if e := last[wire.PlanFailure](r); e.Error.Code != "PLAN_INVALID" || e.Status != "failed" || r.closed[0].Outcome != providers.Failed {
		t.Fatalf("the plan ends with %+v, want failed with PLAN_INVALID", e)
	}
}

func TestReview(t *testing.T) {
	t.Parallel()
	r := planInReview(t, `[{"id":"a","task":"x"}]`)
	r.refused(r.answer(wire.HITLPlanResponse{RequestID: "hitl_1", Action: wire.PlanModify}), wire.CodeHITLInvalidResponse, "instruction")
	r.refused(r.answer(wire.HITLPlanResponse{RequestID: "hitl_1", Action: "x"}), wire.CodeHITLInvalidResponse, "action")
	r.refused(r.answer(wire.HITLPlanResponse{RequestID: "hitl_2", Action: "x"}), wire.CodeHITLInvalidResponse, "request_id")
	n := len(r.events)
	r.must(r.answer(wire.HITLPlanResponse{RequestID: "hitl_1", Action: wire.PlanModify, Instruction: "more"}))
	r.refused(r.answer(wire.HITLPlanResponse{RequestID: "hitl_1", Action: wire.PlanApprove}), wire.CodeHITLRequestExpired, "request_id")
	r.completeJob("plan-1/planning.2", `{"todos":[{"id":"a","task":"x"},{"id":"b","task":"y"}]}`)
	r.advance(5 * time.Minute)
	wantLog(t, r.since(n), `
closed hitl_1 answered modify by con-2
start planning
modified v1>v2 [{add b y}]
review hitl_2 300s
complete planning > execution
closed hitl_2 expired  by 
error 5001 {"request_id":"hitl_2"}
todo a is cancelled
todo b is cancelled
plan cancelled HITL_TIMEOUT : {}`)
}

// A failed todo is retried, then its dependents are blocked; a manual retry continues the plan.
func TestFailureRetryAndReopening(t *testing.T) {
	t.Parallel()
	r := approvedPlan(t, `[{"id":"a","task":"x","max_retries":1},{"id":"b","task":"y","depends_on":["a"]}]`)
	n := len(r.events)
	r.failJob("plan-1/a.1")
	if due := r.flow.Due(); due.Sub(r.now) != time.Second {
		t.Fatalf("the retry is due at %v, want 1s after %v", due, r.now)
	}
	r.crash(func(string) bool { return true })
	r.advance(time.Second)
	r.failJob("plan-1/a.2")
	r.must(r.control(wire.ControlRetry{TodoID: "b", MessageID: "m7"}))
	r.completeJob("plan-1/a.3", `{"x":1}`)
	r.must(r.control(wire.ControlSkip{TodoID: "b", Reason: "no need"}))
	r.endJob(workflow.JobResult{Job: "plan-1/b.1", Outcome: providers.Interrupted})
	r.completeJob("plan-1/response", "well")
	wantLog(t, r.since(n), `
todo a failed TOOL_EXECUTION_FAILED 1/1 retry true
progress 2: 0 done 0 running 2 pending 0 failed 0 blocked 0 skipped 0%
todo a started by plan-1/a.2
progress 2: 0 done 1 running 1 pending 0 failed 0 blocked 0 skipped 0%
todo a failed TOOL_EXECUTION_FAILED 1/1 retry false
error 4002 {"todo_id":"a"}
todo b is blocked
progress 2: 0 done 0 running 0 pending 1 failed 1 blocked 0 skipped 0%
plan failed EXECUTION_FAILED a: {}
start execution
todo a is pending
todo b is pending
todo a started by plan-1/a.3
progress 2: 0 done 1 running 1 pending 0 failed 0 blocked 0 skipped 0%
todo a completed {"x":1} > [b]
todo b started by plan-1/b.1
progress 2: 1 done 1 running 0 pending 0 failed 0 blocked 0 skipped 50%
todo b is in_progress
todo b skipped {"reason":"no need"} > []
progress 2: 1 done 0 running 0 pending 0 failed 0 blocked 1 skipped 100%
complete execution > response
start response
complete response > 
plan partial: well`)
	if len(r.closed) != 2 || r.closed[0].Message != "m1" || r.closed[1].Message != "m7" {
		t.Fatalf("the closed messages are %+v, want m1 and m7", r.closed)
	}
}

// A todo that was begun and has no running agent leads to a question, also after a pause.
func TestUncertainTodoNeedsApproval(t *testing.T) {
	t.Parallel()
	r := approvedPlan(t, `[{"id":"a","task":"x"}]`)
	n := len(r.events)
	r.must(r.control(wire.ControlPause{Reason: "lunch"}))
	r.crash(func(string) bool { return false })
	r.must(r.control(wire.ControlResume{}))
	r.must(r.control(wire.ControlPause{}))
	r.advance(time.Hour)
	r.must(r.control(wire.ControlResume{}))
	r.must(r.answer(wire.HITLApprovalResponse{RequestID: "hitl_2", TodoID: "a", Action: wire.TodoApprove}))
	wantLog(t, r.since(n), `
paused by user: lunch at a after []
todo a is pending
progress 1: 0 done 0 running 1 pending 0 failed 0 blocked 0 skipped 0%
resumed by user
approve hitl_2 a 600s: It is not known how far this came. Run it again?
todo a is needs_approval
paused by user:  at  after []
resumed by user
approve hitl_2 a 600s: It is not known how far this came. Run it again?
closed hitl_2 answered approve by con-2
todo a started by plan-1/a.2
progress 1: 0 done 1 running 0 pending 0 failed 0 blocked 0 skipped 0%`)
}

// Inputs are requested, checked and stored, or set to their defaults.
func TestInputs(t *testing.T) {
	t.Parallel()
	r := approvedPlan(t, `[{"id":"a","task":"x","inputs":[{"field":"n","question":"How many?","input_type":"number","default_value":3,"required":true},
		{"field":"when","question":"When?","input_type":"date","required":true}]}]`)
	r.refused(r.answer(wire.HITLInputResponse{RequestID: "hitl_3", Value: json.RawMessage(`"soon"`)}), wire.CodeHITLInvalidResponse, "value")
	r.must(r.answer(wire.HITLInputResponse{RequestID: "hitl_3", Value: json.RawMessage(`"2026-02-06"`)}))
	r.advance(5 * time.Minute)
	if p := r.begun[2].Prompt; !strings.Contains(p, "n = 3") || !strings.Contains(p, `when = "2026-02-06"`) {
		t.Fatalf("the prompt of the todo is %s, want both answers in it", p)
	}
	_, now, refused := r.flow.Ask("plan-1/a.1", wire.HITLInputRequest{Field: "n"})
	if r.must(refused); string(now.Value) != "3" {
		t.Fatalf("the known answer is %s, want 3", now.Value)
	}
}

func TestNewerHub(t *testing.T) {
	t.Parallel()
	r := approvedPlan(t, `[{"id":"a","task":"x"}]`)
	for field, data := range r.committed {
		newer := maps.Clone(r.committed)
		newer[field] = []byte(strings.Replace(string(data), `{"v":1`, `{"v":2`, 1))
		if err := workflow.New(r.cfg, r, r).Restore(newer); err == nil || !strings.Contains(err.Error(), field) {
			t.Fatalf("a newer %s is restored with error %v, want one that names it", field, err)
		}
	}
}
