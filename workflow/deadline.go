package workflow

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Tick does what is due.
func (f *Flow) Tick() {
	if due := f.Due(); due.IsZero() || f.stage.Now().Before(due) {
		return
	}
	defer f.done()
	f.lapse()
}

// lapse ends what is over by now, and lets begin what has waited long enough.
func (f *Flow) lapse() {
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
			t.touched, t.unsaid = true, true // unless it begins at once
		}
	}
	if t := f.plan.Think; t != nil && t.At != 0 && t.At <= now {
		t.At = 0
		f.reworded = true
	}
}

// Due is when Tick has something to do; zero means never. While a plan stands still,
// nothing is due.
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
	if f.plan.Think != nil {
		sooner(f.plan.Think.At)
	}
	if due == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(due))
}

// expire ends a question that nobody has answered in time.
func (f *Flow) expire(a *ask) {
	closed := wire.HITLClosed{Reason: wire.ClosedExpired}
	var instead json.RawMessage
	if a.Kind == askInput {
		if instead = a.Input.DefaultValue; instead == nil && !a.Input.Required {
			instead = json.RawMessage("null")
		}
		closed.Value = instead
	}
	f.shut(a, closed)
	notice := wire.CodeHITLTimeout.Notice("")
	notice.Context = compact(struct {
		Request wire.RequestID `json:"request_id"`
		Todo    wire.TodoID    `json:"todo_id,omitempty"`
	}{a.ID, a.Todo})
	f.stage.Emit(notice)
	switch a.Kind {
	case askInput:
		f.unanswered(a, instead)
	case askApproval:
		f.fail(find(f.todos, a.Todo), codeTimeout, "nobody said in time whether this may run")
	case askClarification:
		if a.Clarification.Required {
			f.giveUp(wire.PlanCancelled, wire.PlanFailureError{Code: codeTimeout, Message: "Nobody said in time what was meant."})
			return
		}
		f.clarified("")
	case askReview:
		f.giveUp(wire.PlanCancelled, wire.PlanFailureError{Code: codeTimeout, Message: "Nobody looked at the plan in time."})
	}
}

// unanswered goes on with the value that is taken instead of an answer, if there is
// one.
func (f *Flow) unanswered(a *ask, instead json.RawMessage) {
	switch {
	case instead != nil:
		f.take(a, instead, wire.ClosedExpired)
	case a.Job != "":
		f.hands.Answered(Answered{Request: a.ID, Reason: wire.ClosedExpired})
	default:
		f.fail(find(f.todos, a.Todo), codeTimeout, "nobody answered in time: "+a.Input.Question)
	}
}
