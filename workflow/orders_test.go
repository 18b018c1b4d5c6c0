package workflow_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

func sameAnswers(t *testing.T, got, want []workflow.Answered) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("-want +got\n%s", d)
	}
}

func modify(mods ...string) wire.ControlResume {
	m := wire.ControlResume{MessageID: "m9"}
	for _, mod := range mods {
		m.Modifications = append(m.Modifications, json.RawMessage(mod))
	}
	return m
}

// A change of a running plan keeps the todos that have started.
func TestModificationsWhileRunning(t *testing.T) {
	t.Parallel()
	r := approvedPlan(t, `[{"id":"a","task":"x"},{"id":"b","task":"y","depends_on":["a"]}]`)
	r.refused(r.control(wire.ControlResume{}), wire.CodeSessionInvalidState, "")
	for _, wrong := range []string{
		`{"action":"remove","todo_id":"a"}`, `{"action":"update","todo_id":"a","task":"z"}`, `{"action":"remove","todo_id":"q"}`,
		`{"action":"update","todo_id":"b","depends_on":["b"]}`, `{"action":"add","todo_id":"c","task":"z","tool":"none"}`, `7`,
	} {
		if no := r.control(modify(wrong)); no == nil || no.Field == "" && no.Code != wire.CodeSessionInvalidState {
			t.Fatalf("%s is answered with %+v, want a refusal with a field or of the state", wrong, no)
		}
	}
	n := len(r.events)
	r.must(r.control(modify(`{"action":"update","todo_id":"b","task":"z"}`, `{"action":"add","todo_id":"c","task":"w"}`)))
	if e := last[wire.PlanModified](r); e.MessageID != "m9" || len(e.UpdatedTodos) != 3 || e.UpdatedTodos[1].Task != "z" {
		t.Fatalf("the changed plan is %+v, want 3 todos for m9, the second with the task z", e)
	}
	r.completeJob("plan-1/a.1", "well")
	wantLog(t, r.since(n), `
modified v1>v2 [{update b z} {add c w}]
todo c started by plan-1/c.1
progress 3: 0 done 2 running 1 pending 0 failed 0 blocked 0 skipped 0%
todo a completed {"text":"well"} > [b]
todo b started by plan-1/b.1
progress 3: 1 done 2 running 0 pending 0 failed 0 blocked 0 skipped 33.3%`)
}

// A plan that is changed in review is reviewed again.
func TestModificationsInReview(t *testing.T) {
	t.Parallel()
	r := planInReview(t, `[{"id":"a","task":"x"},{"id":"b","task":"y"}]`)
	n := len(r.events)
	r.must(r.control(modify(`{"action":"remove","todo_id":"b"}`)))
	r.refused(r.answer(wire.HITLPlanResponse{RequestID: "hitl_1", Action: wire.PlanApprove}), wire.CodeHITLRequestExpired, "request_id")
	r.must(r.control(modify(`{"action":"add","todo_id":"c","task":"z"}`, `"shorter"`)))
	r.refused(r.control(modify(`{"action":"remove","todo_id":"c"}`)), wire.CodeSessionInvalidState, "")
	if p := r.jobs["plan-1/planning.2"].Prompt; !strings.Contains(p, "shorter") {
		t.Fatalf(`the prompt of the new planning is %s, want the instruction "shorter" in it`, p)
	}
	r.completeJob("plan-1/planning.2", `{"todos":[{"id":"a","task":"x"}]}`)
	r.must(r.answer(wire.HITLPlanResponse{RequestID: "hitl_3", Action: wire.PlanApprove}))
	wantLog(t, r.since(n), `
closed hitl_1 cancelled  by 
modified v1>v2 [{remove b }]
review hitl_2 300s
closed hitl_2 cancelled  by 
modified v2>v3 [{add c z}]
start planning
modified v3>v4 [{remove c }]
review hitl_3 300s
complete planning > execution
closed hitl_3 answered approve by con-2
approved by user
start execution
todo a started by plan-1/a.1
progress 1: 0 done 1 running 0 pending 0 failed 0 blocked 0 skipped 0%`)
}

// A changed todo whose progress is unknown still needs approval before it runs again.
func TestModificationKeepsUncertainty(t *testing.T) {
	t.Parallel()
	r := approvedPlan(t, `[{"id":"a","task":"x"}]`)
	r.crash(func(string) bool { return false })
	r.must(r.control(modify(`{"action":"update","todo_id":"a","task":"z"}`)))
	if len(r.jobs) > 0 || last[wire.HITLApprovalRequest](r).Todo.Task != "z" {
		t.Fatalf("after the change %d jobs run, want none before the approval of the task z:\n%s", len(r.jobs), r.log())
	}
}

// An interrupt of the session pauses the plan. On resume, interrupted todos start again; a todo that
// may have had effects needs approval first.
func TestSessionInterrupt(t *testing.T) {
	t.Parallel()
	r := approvedPlan(t, `[{"id":"a","task":"x"},{"id":"b","task":"y"},{"id":"c","task":"z"}]`)
	n := len(r.events)
	r.step(func() { r.flow.Interrupted("con-1") })
	r.step(func() { r.flow.Interrupted("con-1") })
	r.endJob(workflow.JobResult{Job: "plan-1/a.1", Outcome: providers.Interrupted})
	r.endJob(workflow.JobResult{Job: "plan-1/b.1", Outcome: providers.Interrupted, Unsure: "http:post"})
	r.completeJob("plan-1/c.1", "well") // it was faster
	if !r.flow.Active() || r.flow.Working() {
		t.Fatalf("after an interrupt the flow is active %v, working %v, want true and false", r.flow.Active(), r.flow.Working())
	}
	r.must(r.control(wire.ControlResume{}))
	wantLog(t, r.since(n), `
paused by interrupt:  at a after []
todo a is pending
progress 3: 0 done 2 running 1 pending 0 failed 0 blocked 0 skipped 0%
todo b is pending
progress 3: 0 done 1 running 2 pending 0 failed 0 blocked 0 skipped 0%
todo c completed {"text":"well"} > []
progress 3: 1 done 0 running 2 pending 0 failed 0 blocked 0 skipped 33.3%
resumed by user
todo a started by plan-1/a.2
approve hitl_2 b 600s: The tool http:post may or may not have run. Run this again?
todo b is needs_approval
progress 3: 1 done 1 running 1 pending 0 failed 0 blocked 0 skipped 33.3%`)
	r.endJob(workflow.JobResult{Job: "plan-1/a.2", Outcome: providers.Interrupted}) // that one alone
	if e := last[wire.TodoFailed](r); e.Error.Code != "INTERRUPTED" || e.RetryAt != 0 {
		t.Fatalf("the failure is %+v, want INTERRUPTED without a retry", e)
	}
}

// After a reset only the counters of a plan are left.
func TestReset(t *testing.T) {
	t.Parallel()
	r := approvedPlan(t, `[{"id":"a","task":"x","requires_approval":true},{"id":"b","task":"y"}]`)
	n := len(r.events)
	clear(r.jobs)
	r.step(func() { r.flow.Reset("start over") })
	wantLog(t, r.since(n), `
closed hitl_2 cancelled  by 
todo a is cancelled
todo b is cancelled
plan cancelled CANCELLED : {}
wire.PlanCleared {"plan_id":"plan-1"}`)
	if c := r.closed[0]; c.Outcome != providers.Interrupted || c.Reason != "start over" || len(r.committed) != 1 || len(r.stopped) > 0 {
		t.Fatalf(`the message is closed with %+v, committed is %v, stopped are %v, want it interrupted by "start over", one field and no jobs`, c, r.committed, r.stopped)
	}
	r.step(func() { r.flow.Reset("") })
	r.crash(func(string) bool { return false })
	r.refused(r.control(wire.ControlRetry{TodoID: "a"}), wire.CodeSessionInvalidState, "")
	r.begin("again")
	if j := r.begun[len(r.begun)-1].Name; j != "plan-2/cognitive" {
		t.Fatalf("the last job is %s, want plan-2/cognitive", j)
	}
	r.must(r.control(wire.ControlCancel{}))
	n = len(r.events)
	r.step(func() { r.flow.Reset("") })
	wantLog(t, r.since(n), `wire.PlanCleared {"plan_id":"plan-2"}`) // it had ended
}

// A running todo that is skipped may complete before it is stopped. Then it counts as completed, and
// its dependents get its result.
func TestCompletedTodoIsNotSkipped(t *testing.T) {
	t.Parallel()
	const two = `[{"id":"a","task":"x"},{"id":"b","task":"y","depends_on":["a"]}]`
	for name, tc := range map[string]struct {
		outcome providers.Outcome
		want    string
	}{
		"done":    {providers.Completed, `todo a completed {"text":"well"} > [b]`},
		"stopped": {providers.Interrupted, `todo a skipped {"reason":"no need"} > [b]`},
		"failed":  {providers.Failed, `todo a skipped {"reason":"no need"} > [b]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := approvedPlan(t, two)
			r.must(r.control(wire.ControlSkip{TodoID: "a", Reason: "no need"}))
			r.refused(r.control(wire.ControlSkip{TodoID: "a"}), wire.CodeSessionInvalidState, "")
			n := len(r.events)
			r.endJob(workflow.JobResult{Job: "plan-1/a.1", Outcome: tc.outcome, Text: "well"})
			if got, _, _ := strings.Cut(r.since(n), "\n"); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			r.refused(r.control(wire.ControlSkip{TodoID: "a"}), wire.CodeSessionInvalidState, "")
		})
	}
}

// The sender of an order gets its result at once.
func TestOrdersAreAnswered(t *testing.T) {
	t.Parallel()
	const two = `[{"id":"a","task":"x"},{"id":"b","task":"y","depends_on":["a"]}]`
	failed := func(r *rig) {
		r.endJob(workflow.JobResult{Job: "plan-1/a.1", Outcome: providers.Interrupted})
	}
	nothing := func(*rig) {}
	for name, tc := range map[string]struct {
		before func(r *rig)
		order  wire.ClientPayload
		want   string // the events that name it
	}{
		"pause":             {nothing, wire.ControlPause{MessageID: "m9"}, "HITLPaused"},
		"resume":            {func(r *rig) { r.must(r.control(wire.ControlPause{})) }, wire.ControlResume{MessageID: "m9"}, "HITLResumed"},
		"resume as another": {nothing, modify(`{"action":"remove","todo_id":"b"}`), "PlanModified"},
		"cancel":            {nothing, wire.ControlCancel{MessageID: "m9"}, "TodoUpdated TodoUpdated"},
		"skip":              {nothing, wire.ControlSkip{TodoID: "a", MessageID: "m9"}, "TodoUpdated"},
		"skip what waits":   {nothing, wire.ControlSkip{TodoID: "b", MessageID: "m9"}, "TodoCompleted"},
		"retry":             {failed, wire.ControlRetry{TodoID: "a", MessageID: "m9"}, "TodoUpdated TodoUpdated TodoStarted"},
		"skip what failed":  {failed, wire.ControlSkip{TodoID: "a", MessageID: "m9"}, "TodoCompleted TodoUpdated TodoStarted"},
		"retry early": {
			func(r *rig) { r.failJob("plan-1/a.1") },
			wire.ControlRetry{TodoID: "a", MessageID: "m9"},
			"TodoUpdated",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := approvedPlan(t, two)
			tc.before(r)
			n := len(r.events)
			r.must(r.control(tc.order))
			var got []string
			for _, e := range r.events[n:] {
				if wire.MessageOf(e) == "m9" {
					got = append(got, strings.TrimPrefix(fmt.Sprintf("%T", e), "wire."))
				}
			}
			if d := cmp.Diff(tc.want, strings.Join(got, " ")); d != "" {
				t.Fatalf("-want +got\n%s", d)
			}
		})
	}
	r := approvedPlan(t, two)
	r.must(r.control(wire.ControlSkip{TodoID: "a", MessageID: "m9"}))
	r.crash(func(string) bool { return true })
	r.endJob(workflow.JobResult{Job: "plan-1/a.1", Outcome: providers.Interrupted})
	if e := last[wire.TodoCompleted](r); e.MessageID != "m9" || e.Status != wire.TodoSkipped {
		t.Fatalf("the end of the todo is %+v, want it skipped by m9", e)
	}
	r.must(r.control(wire.ControlCancel{MessageID: "m10"}))
	if e := last[wire.PlanFailure](r); e.MessageID != "m1" { // the plan is still that of its message
		t.Fatalf("the end of the plan is %+v, want it for m1", e)
	}
}
