package workflow_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// tester is the common part of testing.T and rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// rig is a session with a plan. It implements [workflow.StepWriter] and [workflow.Executor], and
// commits every step.
type rig struct {
	t         tester
	cfg       workflow.Config
	flow      *workflow.Flow
	now       time.Time
	events    []wire.ServerPayload
	committed map[string][]byte // the committed fields
	staged    []store.Op
	lost      *[]string // what is done to no avail, while the owner is about to die
	fold      *eventFold
	mirror    mirror

	jobs    map[string]workflow.Job // that are under way
	begun   []workflow.Job
	stopped map[string]string
	answers []workflow.Answered
	closed  []workflow.Close
}

func newRig(t tester) *rig {
	return newRigWith(t, workflow.Config{Session: "ses-1", Tools: []string{"web", "shell"}})
}

func newRigWith(t tester, cfg workflow.Config) *rig {
	r := &rig{
		t: t, cfg: cfg, now: time.Date(2026, 2, 6, 10, 0, 0, 0, time.UTC), committed: map[string][]byte{},
		fold: newFold(t, cfg.Parallel), mirror: newMirror(), jobs: map[string]workflow.Job{}, stopped: map[string]string{},
	}
	if cfg.Parallel == 0 {
		r.fold.parallel = 4
	}
	r.flow = workflow.New(cfg, r, r)
	return r
}

func (r *rig) Now() time.Time { return r.now }

// AddOps implements [workflow.StepWriter].
func (r *rig) AddOps(ops ...store.Op) {
	for _, op := range ops {
		if !r.recordDropped(op) {
			r.staged = append(r.staged, op)
		}
	}
}

// recordDropped records an effect of a step that is not committed, and reports whether the current
// step is one.
func (r *rig) recordDropped(what any) bool {
	if r.lost != nil {
		data, _ := json.Marshal(what)
		*r.lost = append(*r.lost, fmt.Sprintf("%T %s", what, data))
	}
	return r.lost != nil
}

// Emit implements [workflow.StepWriter]. It checks that events can be encoded and decoded.
func (r *rig) Emit(p wire.ServerPayload) {
	if r.recordDropped(p) {
		return
	}
	r.events = append(r.events, p)
	r.fold.apply(p, wire.Millis(r.now.UnixMilli()))
	r.mirror.apply(p, r.now)
	if line := wire.AppendEvent(nil, wire.Event{Data: p}); !json.Valid(line) {
		r.t.Fatalf("the event is encoded as %s, want JSON", line)
	}
}

// Begin implements [workflow.Executor].
func (r *rig) Begin(j workflow.Job) {
	if r.recordDropped([]any{j, j.Prompt}) {
		return
	}
	if slices.ContainsFunc(r.begun, func(b workflow.Job) bool { return b.Name == j.Name }) {
		r.t.Fatalf("job %s is started twice, want once", j.Name)
	}
	r.begun = append(r.begun, j)
	r.jobs[j.Name] = j
}

// Stop implements [workflow.Executor].
func (r *rig) Stop(job, reason string) {
	if r.recordDropped("stop " + job) {
		return
	}
	if _, ok := r.jobs[job]; !ok {
		r.t.Fatalf("job %s is stopped and not running, want only running jobs", job)
	}
	r.stopped[job] = reason
}

// Answered implements [workflow.Executor].
func (r *rig) Answered(e workflow.Answered) {
	if !r.recordDropped(e) {
		r.answers = append(r.answers, e)
	}
}

// Close implements [workflow.Executor].
func (r *rig) Close(c workflow.Close) {
	if !r.recordDropped(c) {
		r.closed = append(r.closed, c)
	}
}

// step calls do and commits its effects.
func (r *rig) step(do func()) {
	r.t.Helper()
	do()
	for _, op := range r.staged {
		switch {
		case op.Name != workflow.Table:
			r.t.Fatalf("operation %+v has the wrong table, want %s", op, workflow.Table)
		case op.Kind == store.OpSet:
			r.committed[op.Field] = op.Values[0]
		case op.Kind == store.OpUnset:
			delete(r.committed, op.Field)
		default:
			r.t.Fatalf("operation %+v is staged, want Set or Unset", op)
		}
	}
	r.staged = nil
	r.checkCommitted()
	r.mirror.check(r.t, r.fold)
}

// checkCommitted compares the committed fields with those of the flow.
func (r *rig) checkCommitted() {
	r.t.Helper()
	all := map[string][]byte{}
	for _, op := range r.flow.All() {
		all[op.Field] = op.Values[0]
	}
	for _, field := range slices.Sorted(maps.Keys(all)) {
		if string(all[field]) != string(r.committed[field]) {
			r.t.Fatalf("committed field %s is\n%s, want\n%s", field, r.committed[field], all[field])
		}
	}
	for field := range r.committed {
		if _, ok := all[field]; !ok {
			r.t.Fatalf("field %s is committed and not part of the flow, want it unset", field)
		}
	}
}

// crash restores the flow from the committed fields, like a new owner. Jobs that are not alive end
// without a result.
func (r *rig) crash(alive func(job string) bool) {
	r.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(r.jobs)) {
		if !alive(name) {
			delete(r.jobs, name)
		}
	}
	r.flow = workflow.New(r.cfg, r, r)
	if err := r.flow.Restore(maps.Clone(r.committed)); err != nil {
		r.t.Fatalf("restore: %v", err)
	}
	r.checkCommitted()
	r.step(func() {
		r.flow.Recover(func(job string) bool {
			_, ok := r.jobs[job]
			return ok
		})
	})
}

func (r *rig) begin(text string) {
	r.t.Helper()
	r.step(func() {
		if _, refused := r.flow.Begin(workflow.Request{Message: "m1", By: "con-1", Monitor: "monitor-0", Text: text}); refused != nil {
			r.t.Fatalf("the plan is refused with %+v, want it begun", refused)
		}
	})
}

// endJob reports the result of a job.
func (r *rig) endJob(w workflow.JobResult) {
	r.t.Helper()
	if _, ok := r.jobs[w.Job]; !ok {
		r.t.Fatalf("job %s is not running, want it among %v", w.Job, slices.Sorted(maps.Keys(r.jobs)))
	}
	delete(r.jobs, w.Job)
	r.step(func() { r.flow.HandleJobResult(w) })
}

func (r *rig) completeJob(job, text string) {
	r.t.Helper()
	r.endJob(workflow.JobResult{
		Job: job, Outcome: providers.Completed, Text: text, Usage: providers.Usage{Input: 10, Output: 5, USD: 0.25},
	})
}

func (r *rig) failJob(job string) {
	r.t.Helper()
	r.endJob(workflow.JobResult{Job: job, Outcome: providers.Failed, Reason: "it broke"})
}

func (r *rig) answer(m wire.ClientPayload) *workflow.Refusal {
	r.t.Helper()
	var refused *workflow.Refusal
	r.step(func() { refused = r.flow.Answer("con-2", m) })
	return refused
}

func (r *rig) control(m wire.ClientPayload) *workflow.Refusal {
	r.t.Helper()
	var refused *workflow.Refusal
	r.step(func() { refused = r.flow.Control("con-2", m) })
	return refused
}

// must fails the test if an order was refused.
func (r *rig) must(refused *workflow.Refusal) {
	r.t.Helper()
	if refused != nil {
		r.t.Fatalf("the order is refused with %+v, want it accepted", *refused)
	}
}

func (r *rig) refused(refused *workflow.Refusal, code wire.Code, field string) {
	r.t.Helper()
	if refused == nil || refused.Code != code || refused.Field != field || refused.Reason == "" {
		r.t.Fatalf("got %+v, want %d in %q", refused, code, field)
	}
}

func (r *rig) advance(d time.Duration) {
	r.t.Helper()
	r.now = r.now.Add(d)
	r.step(r.flow.Tick)
	if due := r.flow.Due(); !due.IsZero() && !due.After(r.now) {
		r.t.Fatalf("at %s the flow is still due at %s, want a later time", r.now, due)
	}
}

// approvedPlan returns a rig with an approved plan.
func approvedPlan(t tester, todos string) *rig {
	t.Helper()
	r := planInReview(t, todos)
	r.must(r.answer(wire.HITLPlanResponse{RequestID: last[wire.HITLPlanReview](r).RequestID, Action: wire.PlanApprove, Comment: "well done"}))
	return r
}

// planInReview returns a rig with a plan that waits for approval.
func planInReview(t tester, todos string) *rig {
	t.Helper()
	r := newRig(t)
	r.begin("do it")
	r.completeJob("plan-1/cognitive", `{"intent":{"domain":"x","category":"y","confidence":1},"entities":[]}`)
	r.completeJob("plan-1/planning.1", `{"todos":`+todos+`}`)
	return r
}

// last returns the newest event of a type.
func last[E wire.ServerPayload](r *rig) E {
	r.t.Helper()
	for _, e := range slices.Backward(r.events) {
		if e, ok := e.(E); ok {
			return e
		}
	}
	var none E
	r.t.Fatalf("no %T, want one among the events %s", none, r.log())
	return none
}

// log returns all events in short form.
func (r *rig) log() string {
	var b strings.Builder
	for _, e := range r.events {
		b.WriteString(brief(e) + "\n")
	}
	return b.String()
}

// since returns the events after the first n in short form.
func (r *rig) since(n int) string {
	var out []string
	for _, e := range r.events[n:] {
		out = append(out, brief(e))
	}
	return strings.Join(out, "\n")
}

func brief(e wire.ServerPayload) string {
	switch e := e.(type) {
	case wire.LayerStart:
		return "start " + string(e.Layer)
	case wire.LayerComplete:
		return fmt.Sprintf("complete %s > %s", e.Layer, e.NextLayer)
	case wire.PlanGenerated:
		return fmt.Sprintf("generated %s v%d %s %d", e.PlanID, e.Version, e.Status, len(e.Todos))
	case wire.PlanModified:
		return fmt.Sprintf("modified v%d>v%d %v", e.OldVersion, e.NewVersion, e.Changes)
	case wire.PlanApproved:
		return "approved by " + e.ApprovedBy
	case wire.TodoStarted:
		return fmt.Sprintf("todo %s started by %s", e.TodoID, e.AgentID)
	case wire.TodoCompleted:
		return fmt.Sprintf("todo %s %s %s > %v", e.TodoID, e.Status, e.ResultSummary, e.NextTodos)
	case wire.TodoFailed:
		return fmt.Sprintf("todo %s %s %s %d/%d retry %v", e.TodoID, e.Status, e.Error.Code, e.RetryCount, e.MaxRetries, e.RetryAt != 0)
	case wire.TodoUpdated:
		return fmt.Sprintf("todo %s is %s", e.Todo.ID, e.Todo.Status)
	case wire.ExecutionProgress:
		return fmt.Sprintf("progress %d: %d done %d running %d pending %d failed %d blocked %d skipped %g%%",
			e.TotalTodos, e.Completed, e.InProgress, e.Pending, e.Failed, e.Blocked, e.Skipped, e.ProgressPercentage)
	case wire.HITLPlanReview:
		return fmt.Sprintf("review %s %ds", e.RequestID, e.TimeoutSec)
	case wire.HITLApprovalRequest:
		return fmt.Sprintf("approve %s %s %ds: %s", e.RequestID, e.TodoID, e.TimeoutSec, e.Reason)
	case wire.HITLInputRequest:
		return fmt.Sprintf("input %s %s.%s %ds", e.RequestID, e.TodoID, e.Field, e.TimeoutSec)
	case wire.HITLClarification:
		return fmt.Sprintf("clarify %s %s %ds", e.RequestID, e.Question, e.TimeoutSec)
	case wire.HITLClosed:
		return fmt.Sprintf("closed %s %s %s%s by %s", e.RequestID, e.Reason, e.Action, e.Value, e.AnsweredBy)
	case wire.HITLPaused:
		return fmt.Sprintf("paused by %s: %s at %s after %v", e.PausedBy, e.Reason, e.CurrentTodo, e.CompletedTodos)
	case wire.HITLResumed:
		return "resumed by " + e.ResumedBy
	case wire.PlanComplete:
		return fmt.Sprintf("plan %s: %s", e.Status, e.Response.Text)
	case wire.PlanFailure:
		return fmt.Sprintf("plan %s %s %s: %s", e.Status, e.Error.Code, e.Error.FailedTodo, e.PartialResults.AvailableData)
	case wire.ErrorNotice:
		return fmt.Sprintf("error %d %s", e.Code, e.Context)
	case wire.TodoProgress:
		return fmt.Sprintf("todo %s at %g%%", e.TodoID, e.ProgressPercentage)
	}
	data, _ := json.Marshal(e)
	return fmt.Sprintf("%T %s", e, data)
}
