package workflow

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Tick processes expired deadlines.
func (f *Flow) Tick() {
	if due := f.Due(); due.IsZero() || f.step.Now().Before(due) {
		return
	}
	defer f.finishCall()
	f.processDue()
}

// processDue closes expired questions and makes delayed retries ready.
func (f *Flow) processDue() {
	if !f.Active() || f.plan.Paused != nil {
		return
	}
	now := f.now()
	for _, a := range slices.Clone(f.asks) {
		if a.Until <= now && f.Active() && slices.Contains(f.asks, a) {
			f.expire(a)
		}
	}
	for _, t := range f.todos {
		if t.RetryAt != 0 && t.RetryAt <= now {
			t.RetryAt = 0
			t.dirty, t.unreported = true, true // emitted unless the todo starts in this call
		}
	}
	if t := f.plan.ModelTask; t != nil && t.At != 0 && t.At <= now {
		t.At = 0
		f.planDirty = true
	}
}

// Due returns the time at which Tick has work to do; zero means never. Nothing is due while
// a plan is paused.
func (f *Flow) Due() time.Time {
	if !f.Active() || f.plan.Paused != nil {
		return time.Time{}
	}
	var due wire.Millis
	sooner := func(at wire.Millis) {
		if at != 0 && (due == 0 || at < due) {
			due = at
		}
	}
	for _, a := range f.asks {
		sooner(a.Until)
	}
	for _, t := range f.todos {
		sooner(t.RetryAt)
	}
	if f.plan.ModelTask != nil {
		sooner(f.plan.ModelTask.At)
	}
	if due == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(due))
}

// expire closes a question that was not answered in time.
func (f *Flow) expire(a *ask) {
	closed := wire.HITLClosed{Reason: wire.ClosedExpired}
	var instead json.RawMessage
	if a.Kind == askInput {
		if instead = a.Input.DefaultValue; instead == nil && !a.Input.Required {
			instead = json.RawMessage("null")
		}
		closed.Value = instead
	}
	f.questions.close(a, closed)
	notice := wire.CodeHITLTimeout.Notice("")
	notice.Context = compact(struct {
		Request wire.RequestID `json:"request_id"`
		Todo    wire.TodoID    `json:"todo_id,omitempty"`
	}{a.ID, a.Todo})
	f.step.Emit(notice)
	switch a.Kind {
	case askInput:
		f.useDefault(a, instead)
	case askApproval:
		f.execution.fail(f.todos.find(a.Todo), codeTimeout, "the approval was not given in time")
	case askClarification:
		if a.Clarification.Required {
			f.planner.abortPlan(wire.PlanCancelled, wire.PlanFailureError{Code: codeTimeout, Message: "The question about the request was not answered in time."})
			return
		}
		f.planner.startPlanning("")
	case askReview:
		f.planner.abortPlan(wire.PlanCancelled, wire.PlanFailureError{Code: codeTimeout, Message: "The plan was not reviewed in time."})
	}
}

// useDefault continues with the value to use in place of an answer, if there is one.
func (f *Flow) useDefault(a *ask, instead json.RawMessage) {
	switch {
	case instead != nil:
		f.execution.setValue(a, instead, wire.ClosedExpired)
	case a.Job != "":
		f.executor.Answered(Answered{Request: a.ID, Reason: wire.ClosedExpired})
	default:
		f.execution.fail(f.todos.find(a.Todo), codeTimeout, "the question was not answered in time: "+a.Input.Question)
	}
}
