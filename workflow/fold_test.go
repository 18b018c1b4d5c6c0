package workflow_test

import (
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/wire"
)

// eventFold is the state of a plan folded from its events alone. It checks that each event is
// possible in that state.
type eventFold struct {
	t        tester
	parallel int
	todos    []wire.Todo
	open     map[wire.RequestID]bool
	closed   map[wire.RequestID]bool
	paused   bool
	ended    bool
}

func newFold(t tester, parallel int) *eventFold {
	return &eventFold{t: t, parallel: parallel, open: map[wire.RequestID]bool{}, closed: map[wire.RequestID]bool{}, ended: true}
}

func (f *eventFold) todo(id wire.TodoID) *wire.Todo {
	i := slices.IndexFunc(f.todos, func(t wire.Todo) bool { return t.ID == id })
	if i < 0 {
		f.t.Fatalf("an event names the unknown todo %s, want one of the plan", id)
	}
	return &f.todos[i]
}

func (f *eventFold) apply(e wire.ServerPayload, now wire.Millis) {
	switch e := e.(type) {
	case wire.LayerStart:
		if e.Layer == wire.LayerCognitive {
			if f.todos = nil; !f.ended {
				f.t.Fatalf("a plan starts while another one is active, want the end of the other first")
			}
		}
		f.ended = false
	case wire.PlanGenerated:
		f.todos = slices.Clone(e.Todos)
	case wire.PlanModified:
		f.applyModified(e)
	case wire.TodoStarted:
		f.applyStarted(e, now)
	case wire.TodoProgress:
		t := f.todo(e.TodoID)
		t.ProgressPercentage, t.CurrentStep = e.ProgressPercentage, e.CurrentStep
		t.ItemsProcessed, t.ItemsTotal = e.ItemsProcessed, e.ItemsTotal
	case wire.TodoUpdated:
		if t := f.todo(e.Todo.ID); hasEnded(t.Status) {
			f.t.Fatalf("todo %s changes from %s to %s, want no change after its end", t.ID, t.Status, e.Todo.Status)
		}
		*f.todo(e.Todo.ID) = e.Todo
	case wire.TodoCompleted:
		t := f.todo(e.TodoID)
		if hasEnded(t.Status) || e.Status == wire.TodoStatusCompleted && t.Status != wire.TodoInProgress {
			f.t.Fatalf("todo %s changes from %s to %s, want no change after its end, and completed only from %s", t.ID, t.Status, e.Status, wire.TodoInProgress)
		}
		t.Status, t.ResultSummary, t.DurationMS, t.RetryAt, t.Error = e.Status, e.ResultSummary, e.DurationMS, 0, nil
		if e.Status == wire.TodoStatusCompleted {
			t.ProgressPercentage = 100
		}
	case wire.TodoFailed:
		t := f.todo(e.TodoID)
		if hasEnded(t.Status) || e.Status != wire.TodoStatusFailed || e.RetryCount > e.MaxRetries {
			f.t.Fatalf("todo %s is %s, and the event is %+v, want a failure of an active todo within its retries", t.ID, t.Status, e)
		}
		t.Status, t.Error, t.RetryAt, t.RetryCount, t.MaxRetries = e.Status, &e.Error, e.RetryAt, e.RetryCount, e.MaxRetries
		if e.RetryAt != 0 {
			t.Status = wire.TodoPending
		}
	case wire.ExecutionProgress:
		if n := e.Completed + e.InProgress + e.Pending + e.Failed + e.Blocked + e.Skipped; n != e.TotalTodos || n != len(f.todos) {
			f.t.Fatalf("counted %d of %d todos, and the event has %+v, want the same", n, len(f.todos), e)
		}
	case wire.HITLPaused:
		f.paused = true
	case wire.HITLResumed:
		f.paused = false
	case wire.PlanComplete, wire.PlanFailure:
		f.applyEnd(e)
	case wire.PlanCleared:
		if f.todos = nil; !f.ended {
			f.t.Fatalf("an active plan is removed, want its end first")
		}
	default:
		f.applyQuestion(e)
	}
}

func hasEnded(s wire.TodoStatus) bool { return s == wire.TodoStatusCompleted || s == wire.TodoSkipped }

// applyModified replaces the plan. Todos that have started must not change.
func (f *eventFold) applyModified(e wire.PlanModified) {
	for _, t := range f.todos {
		if !hasEnded(t.Status) && t.Status != wire.TodoInProgress && t.Status != wire.TodoStatusFailed {
			continue
		}
		i := slices.IndexFunc(e.UpdatedTodos, func(u wire.Todo) bool { return u.ID == t.ID })
		if i < 0 {
			f.t.Fatalf("started todo %s is removed, want it kept", t.ID)
		}
		t.DependsOn = e.UpdatedTodos[i].DependsOn // removed todos are no dependencies any more
		if d := cmp.Diff(t, e.UpdatedTodos[i]); d != "" {
			f.t.Fatalf("started todo %s changes, want only other dependencies (-was +is):\n%s", t.ID, d)
		}
	}
	f.todos = slices.Clone(e.UpdatedTodos)
}

func (f *eventFold) applyStarted(e wire.TodoStarted, now wire.Millis) {
	t := f.todo(e.TodoID)
	if hasEnded(t.Status) || t.Status == wire.TodoInProgress || t.Status == wire.TodoBlocked {
		f.t.Fatalf("todo %s starts and is %s, want a pending one", t.ID, t.Status)
	}
	for _, id := range t.DependsOn {
		if d := f.todo(id); !hasEnded(d.Status) {
			f.t.Fatalf("todo %s starts and its dependency %s is %s, want it ended", t.ID, id, d.Status)
		}
	}
	t.Status, t.StartedAt, t.AgentID = wire.TodoInProgress, now, e.AgentID
	t.ProgressPercentage, t.CurrentStep, t.ItemsProcessed, t.ItemsTotal = 0, "", 0, 0
	t.RetryAt, t.DurationMS, t.Error, t.ResultSummary = 0, 0, nil, nil
	running := 0
	for _, t := range f.todos {
		if t.Status == wire.TodoInProgress {
			running++
		}
	}
	if running > f.parallel || f.paused {
		f.t.Fatalf("todo %s starts; %d run, paused: %v, want at most %d and false", t.ID, running, f.paused, f.parallel)
	}
}

// applyQuestion applies the events of questions.
func (f *eventFold) applyQuestion(e wire.ServerPayload) {
	var id wire.RequestID
	var until wire.HITLDeadline
	switch e := e.(type) {
	case wire.HITLPlanReview:
		id, until = e.RequestID, e.HITLDeadline
	case wire.HITLApprovalRequest:
		id, until = e.RequestID, e.HITLDeadline
	case wire.HITLInputRequest:
		id, until = e.RequestID, e.HITLDeadline
	case wire.HITLClarification:
		id, until = e.RequestID, e.HITLDeadline
	case wire.HITLClosed:
		if !f.open[e.RequestID] {
			f.t.Fatalf("question %s is closed and was not open, want it open", e.RequestID)
		}
		delete(f.open, e.RequestID)
		f.closed[e.RequestID] = true
		return
	default:
		return
	}
	if f.closed[id] || until.TimeoutSec < 1 || (until.ExpiresAt == 0) != f.paused {
		f.t.Fatalf("question %s is opened: closed before %v, paused %v, deadline %+v, want a new one, with a time only if not paused", id, f.closed[id], f.paused, until)
	}
	if f.open[id] = true; len(f.open) > 20 {
		f.t.Fatalf("%d questions are open, want at most 20", len(f.open))
	}
}

// applyEnd applies the end of a plan.
func (f *eventFold) applyEnd(e wire.ServerPayload) {
	if f.ended || len(f.open) > 0 {
		f.t.Fatalf("a plan ends: ended before %v, open questions %v, want false and none", f.ended, f.open)
	}
	_, complete := e.(wire.PlanComplete)
	for _, t := range f.todos {
		switch {
		case hasEnded(t.Status):
		case complete:
			f.t.Fatalf("the plan is complete and todo %s is %s, want it ended", t.ID, t.Status)
		case t.Status != wire.TodoStatusFailed && t.Status != wire.TodoBlocked && t.Status != wire.TodoCancelled:
			f.t.Fatalf("the plan has ended and todo %s is %s, want it ended, failed, blocked or cancelled", t.ID, t.Status)
		}
	}
	f.ended, f.paused = true, false
}
