package workflow_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

func wantLog(t *testing.T, got, want string) {
	t.Helper()
	if d := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(got)); d != "" {
		t.Fatalf("-want +got\n%s", d)
	}
}

// A plan runs from the message to the answer.
func TestPlanFromMessageToAnswer(t *testing.T) {
	t.Parallel()
	r := approvedPlan(t, `[{"id":"a","task":"first"},{"id":"b","task":"second","depends_on":["a"]},{"id":"c","task":"third","priority":5}]`)
	r.completeJob("plan-1/c.1", "just text")
	r.completeJob("plan-1/a.1", `{"found": 3}`)
	r.completeJob("plan-1/b.1", `{"ok": true}`)
	if p := r.begun[len(r.begun)-2].Prompt; !strings.Contains(p, `{"found":3}`) || !strings.Contains(p, "well done") {
		t.Fatalf("prompt is %s, want the results of the todos before it", p)
	}
	r.completeJob("plan-1/response", `{"text":"all done","summary":"short"}`)
	wantLog(t, r.log(), `
start cognitive
complete cognitive > planning
start planning
generated plan-1 v1 pending_approval 3
review hitl_1 300s
complete planning > execution
closed hitl_1 answered approve by con-2
approved by user
start execution
todo c started by plan-1/c.1
todo a started by plan-1/a.1
progress 3: 0 done 2 running 1 pending 0 failed 0 blocked 0 skipped 0%
todo c completed {"text":"just text"} > []
progress 3: 1 done 1 running 1 pending 0 failed 0 blocked 0 skipped 33.3%
todo a completed {"found":3} > [b]
todo b started by plan-1/b.1
progress 3: 2 done 1 running 0 pending 0 failed 0 blocked 0 skipped 66.6%
todo b completed {"ok":true} > []
progress 3: 3 done 0 running 0 pending 0 failed 0 blocked 0 skipped 100%
complete execution > response
start response
complete response > 
plan success: all done`)
	done := last[wire.PlanComplete](r)
	if s := done.Statistics; s.TokensUsed != 90 || s.CostUSD != 1.5 || s.Completed != 3 || s.TotalTodos != 3 {
		t.Fatalf("the statistics are %+v, want 90 tokens, 1.5 USD and 3 of 3 completed", s)
	}
	want := []workflow.Close{{
		Message: "m1", Monitor: "monitor-0", Role: "plan-1", Outcome: providers.Completed, Text: "all done",
		Started: wire.Millis(r.now.UnixMilli()), Usage: providers.Usage{Input: 60, Output: 30, USD: 1.5},
	}}
	if d := cmp.Diff(want, r.closed); d != "" {
		t.Fatalf("closed messages (-want +got):\n%s", d)
	}
	if r.flow.Active() || r.flow.Working() || !r.flow.Due().IsZero() {
		t.Fatalf("the flow is active %v, working %v, due at %v, want it ended", r.flow.Active(), r.flow.Working(), r.flow.Due())
	}
}
