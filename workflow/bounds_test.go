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

// Going on without what had failed makes those run that were blocked by it.
func TestSkipOfWhatFailed(t *testing.T) {
	t.Parallel()
	r := planned(t, `[{"id":"a","task":"x","max_retries":0},{"id":"b","task":"y","depends_on":["a"]},{"id":"c","task":"z","depends_on":["b"]}]`)
	r.fails("plan-1/a.1")
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

// Whatever models, agents and people say: what is kept and told has a bound.
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
	r.done("plan-1/cognitive", long)
	r.done("plan-1/planning.1", long) // is sent back with what is wrong
	r.done("plan-1/planning.2", `{"todos":[`+strings.Join(todos, ",")+`]}`)
	r.must(r.answer(wire.HITLPlanResponse{RequestID: "hitl_1", Action: wire.PlanApprove, Comment: long}))
	r.step(func() {
		r.must(r.flow.Progress("plan-1/t0.1", wire.TodoProgress{ProgressPercentage: 1e9, CurrentStep: long, ItemsTotal: -1}))
	})
	if e := last[wire.TodoProgress](r); e.ProgressPercentage != 100 || len(e.CurrentStep) > 1000 || e.ItemsTotal != 0 {
		t.Fatalf("%+v", e)
	}
	r.must(r.control(wire.ControlSkip{TodoID: "t1", Reason: long}))
	r.worked(workflow.JobResult{Job: "plan-1/t1.1", Outcome: providers.Interrupted, Reason: long})
	r.worked(workflow.JobResult{Job: "plan-1/t2.1", Outcome: providers.Failed, Reason: long})
	r.worked(workflow.JobResult{Job: "plan-1/t3.1", Outcome: providers.Failed, Unsure: long})
	r.must(r.control(wire.ControlPause{Reason: long}))
	r.must(r.control(wire.ControlResume{}))
	for i := range workflow.MaxTodos {
		if job := fmt.Sprintf("plan-1/t%d.1", i); r.jobs[job].Name != "" {
			r.done(job, `{"x":`+string(quoted)+`}`)
		}
	}
	r.must(r.control(wire.ControlCancel{Reason: long}))
	for field, data := range r.kept {
		if len(data) > 40_000 {
			t.Errorf("%s has %d bytes", field, len(data))
		}
	}
	for _, e := range r.events {
		if line := wire.AppendEvent(nil, wire.Event{Data: e}); len(line) > 64<<10 {
			t.Errorf("%T has %d bytes", e, len(line))
		}
	}
	for _, j := range r.begun {
		if len(j.Prompt) > 256<<10 || len(j.Title) > 300 {
			t.Errorf("%s is told %d bytes", j.Name, len(j.Prompt))
		}
	}
}

// As many questions are open as may be; when one is answered, the next is asked.
func TestManyQuestions(t *testing.T) {
	t.Parallel()
	var todos []string
	for i := range 25 {
		todos = append(todos, fmt.Sprintf(`{"id":"t%d","task":"x","requires_approval":true}`, i))
	}
	r := planned(t, `[`+strings.Join(todos, ",")+`]`)
	for i := range 25 {
		if want := min(20, 25-i); len(r.fold.open) != want {
			t.Fatalf("%d are open, want %d", len(r.fold.open), want)
		}
		r.must(r.answer(wire.HITLApprovalResponse{RequestID: wire.RequestID(fmt.Sprintf("hitl_%d", i+2)), Action: wire.TodoSkip}))
	}
	if last[wire.LayerStart](r).Layer != wire.LayerResponse {
		t.Fatal(r.log())
	}
}

// What a guest asked for is worked off as that, also by who owns it next.
func TestGuestPlan(t *testing.T) {
	t.Parallel()
	for _, guest := range []bool{true, false} {
		r := newRig(t)
		r.step(func() {
			_, refused := r.flow.Begin(workflow.Request{Message: "m1", By: "con-1", Monitor: "monitor-2", Text: "do it", Guest: guest})
			r.must(refused)
		})
		r.done("plan-1/cognitive", "")
		r.crash(func(string) bool { return true })
		r.done("plan-1/planning.1", `{"todos":[{"id":"a","task":"x","tool":"web"}]}`)
		r.must(r.answer(wire.HITLPlanResponse{RequestID: "hitl_1", Action: wire.PlanApprove}))
		r.done("plan-1/a.1", "well")
		for _, j := range r.begun {
			if j.Guest != guest || j.Monitor != "monitor-2" || j.Message != "m1" || j.Plan != "plan-1" || (j.Profile == "web") != (j.Todo == "a") {
				t.Errorf("%+v", j)
			}
		}
	}
}

// Files of the answer are those of the session.
func TestAttachments(t *testing.T) {
	t.Parallel()
	r := planned(t, `[{"id":"a","task":"x"}]`)
	r.done("plan-1/a.1", "well")
	r.done("plan-1/response", `{"text":"done","attachments":[{"type":"report","title":"All","path":"out/./all.pdf"},{"type":"data","title":"Raw","path":"raw 1.csv"},
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
		t.Errorf("%+v %s", e, d)
	}
}
