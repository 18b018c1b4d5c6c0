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

// Skipping a failed todo starts the todos that it blocked.
func TestSkipOfFailedTodoUnblocks(t *testing.T) {
	t.Parallel()
	r := approvedPlan(t, `[{"id":"a","task":"x","max_retries":0},{"id":"b","task":"y","depends_on":["a"]},{"id":"c","task":"z","depends_on":["b"]}]`)
	r.failJob("plan-1/a.1")
	n := len(r.events)
	r.must(r.control(wire.ControlSkip{TodoID: "a", Reason: "no need", MessageID: "m9"}))
	wantLog(t, r.since(n), `
todo a skipped {"reason":"no need"} > [b]
todo b is pending
todo c is pending
start execution
todo b started by plan-1/b.1
progress 3: 0 done 1 running 1 pending 0 failed 0 blocked 1 skipped 33.3%`)
}

// Stored fields, events and prompts are bounded, whatever models, agents and users send.
func TestBounds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("<ü\x00\"", 60_000)
	quoted, _ := json.Marshal(long)
	var todos []string
	for i := range workflow.MaxTodos {
		todos = append(todos, fmt.Sprintf(`{"id":"t%d","task":"x","max_retries":0}`, i))
	}
	r := newRig(t)
	r.begin("do it")
	r.completeJob("plan-1/cognitive", long)
	r.completeJob("plan-1/planning.1", long) // is sent back with what is wrong
	r.completeJob("plan-1/planning.2", `{"todos":[`+strings.Join(todos, ",")+`]}`)
	r.must(r.answer(wire.HITLPlanResponse{RequestID: "hitl_1", Action: wire.PlanApprove, Comment: long}))
	r.step(func() {
		r.must(r.flow.Progress("plan-1/t0.1", wire.TodoProgress{ProgressPercentage: 1e9, CurrentStep: long, ItemsTotal: -1}))
	})
	if e := last[wire.TodoProgress](r); e.ProgressPercentage != 100 || len(e.CurrentStep) > 1000 || e.ItemsTotal != 0 {
		t.Fatalf("the progress is %+v, want 100%%, at most 1000 bytes and 0 items", e)
	}
	r.must(r.control(wire.ControlSkip{TodoID: "t1", Reason: long}))
	r.endJob(workflow.JobResult{Job: "plan-1/t1.1", Outcome: providers.Interrupted, Reason: long})
	r.endJob(workflow.JobResult{Job: "plan-1/t2.1", Outcome: providers.Failed, Reason: long})
	r.endJob(workflow.JobResult{Job: "plan-1/t3.1", Outcome: providers.Failed, Unsure: long})
	r.must(r.control(wire.ControlPause{Reason: long}))
	r.must(r.control(wire.ControlResume{}))
	for i := range workflow.MaxTodos {
		if job := fmt.Sprintf("plan-1/t%d.1", i); r.jobs[job].Name != "" {
			r.completeJob(job, `{"x":`+string(quoted)+`}`)
		}
	}
	r.must(r.control(wire.ControlCancel{Reason: long}))
	for field, data := range r.committed {
		if len(data) > 40_000 {
			t.Errorf("stored field %s has %d bytes, want fewer", field, len(data))
		}
	}
	for _, e := range r.events {
		if line := wire.AppendEvent(nil, wire.Event{Data: e}); len(line) > 64<<10 {
			t.Errorf("event %T has %d bytes, want fewer", e, len(line))
		}
	}
	for _, j := range r.begun {
		if len(j.Prompt) > 256<<10 || len(j.Title) > 300 {
			t.Errorf("the prompt of %s has %d bytes, want fewer", j.Name, len(j.Prompt))
		}
	}
}

// The number of open questions is bounded; an answer opens the next question.
func TestManyQuestions(t *testing.T) {
	t.Parallel()
	var todos []string
	for i := range 25 {
		todos = append(todos, fmt.Sprintf(`{"id":"t%d","task":"x","requires_approval":true}`, i))
	}
	r := approvedPlan(t, `[`+strings.Join(todos, ",")+`]`)
	for i := range 25 {
		if want := min(20, 25-i); len(r.fold.open) != want {
			t.Fatalf("%d questions are open, want %d", len(r.fold.open), want)
		}
		r.must(r.answer(wire.HITLApprovalResponse{RequestID: wire.RequestID(fmt.Sprintf("hitl_%d", i+2)), Action: wire.TodoSkip}))
	}
	if last[wire.LayerStart](r).Layer != wire.LayerResponse {
		t.Fatalf("the last layer is not the response, want it in\n%s", r.log())
	}
}

// Jobs of a plan that a guest requested are marked as such, also after a change of owner.
func TestGuestPlan(t *testing.T) {
	t.Parallel()
	for _, guest := range []bool{true, false} {
		r := newRig(t)
		r.step(func() {
			_, refused := r.flow.Begin(workflow.Request{Message: "m1", By: "con-1", Monitor: "monitor-2", Text: "do it", Guest: guest})
			r.must(refused)
		})
		r.completeJob("plan-1/cognitive", "")
		r.crash(func(string) bool { return true })
		r.completeJob("plan-1/planning.1", `{"todos":[{"id":"a","task":"x","tool":"web"}]}`)
		r.must(r.answer(wire.HITLPlanResponse{RequestID: "hitl_1", Action: wire.PlanApprove}))
		r.completeJob("plan-1/a.1", "well")
		for _, j := range r.begun {
			if j.Guest != guest || j.Monitor != "monitor-2" || j.Message != "m1" || j.Plan != "plan-1" || (j.Profile == "web") != (j.Todo == "a") {
				t.Errorf("job is %+v, want guest %v, monitor-2, m1 and plan-1, the profile web only for a", j, guest)
			}
		}
	}
}

// Attachments of the answer are only files of the session.
func TestAttachments(t *testing.T) {
	t.Parallel()
	r := approvedPlan(t, `[{"id":"a","task":"x"}]`)
	r.completeJob("plan-1/a.1", "well")
	r.completeJob("plan-1/response", `{"text":"done","attachments":[{"type":"report","title":"All","path":"out/./all.pdf"},{"type":"data","title":"Raw","path":"raw 1.csv"},
		{"type":"report","title":"Bad","path":"../../etc/passwd"}],"next_actions":["more"]}`)
	e := last[wire.PlanComplete](r)
	want := []wire.PlanAttachment{
		{Type: "report", Title: "All", URL: "/api/sessions/ses-1/files/out/all.pdf"},
		{Type: "data", Title: "Raw", URL: "/api/sessions/ses-1/files/raw%201.csv"},
	}
	if d := cmp.Diff(want, e.Response.Attachments); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if d := cmp.Diff([]string{"/api/sessions/ses-1/files/out/all.pdf"}, e.ReportPaths); d != "" || e.Response.Format != "mixed" || len(e.Response.NextActions) != 1 {
		t.Errorf("the answer is %+v, want format mixed, one next action and its report; report paths (-want +got):\n%s", e, d)
	}
}
