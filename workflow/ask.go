package workflow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// ask is an open question to the user.
type ask struct {
	ID   wire.RequestID `json:"id"`
	Kind askKind        `json:"kind"`
	// Todo is the todo that needs the answer, if any; Job is the job that asked, if an
	// agent did.
	Todo wire.TodoID `json:"todo,omitempty"`
	Job  string      `json:"job,omitempty"`
	// Input describes the requested value; Reason says why an approval is required.
	Input         *input         `json:"input,omitempty"`
	Reason        string         `json:"reason,omitempty"`
	Clarification *clarification `json:"clarification,omitempty"`
	// Until is the deadline. Left is the remaining time while the plan is paused. Exactly
	// one of the two is set.
	Until wire.Millis `json:"until,omitempty"`
	Left  wire.Millis `json:"left,omitempty"`

	dirty bool // not stored yet
}

type askKind string

const (
	askReview        askKind = "review"
	askApproval      askKind = "approval"
	askInput         askKind = "input"
	askClarification askKind = "clarification"
)

const requestPrefix = "hitl_"

// questions opens and closes the questions of a plan to the user.
type questions struct{ *state }

// open adds a question with a time limit. While the plan is paused the time does not
// run.
func (q questions) open(a *ask, time time.Duration) {
	q.numbers.Requests++
	q.numbersDirty = true
	a.ID = wire.RequestID(requestPrefix + strconv.FormatUint(q.numbers.Requests, 10))
	a.dirty = true
	if q.plan.Paused != nil {
		a.Left = wire.Millis(time.Milliseconds())
	} else {
		a.Until = q.now() + wire.Millis(time.Milliseconds())
	}
	q.asks = append(q.asks, a)
	q.step.Emit(q.event(a))
}

// event returns the event that puts the question to the user.
func (q questions) event(a *ask) wire.ServerPayload {
	until := wire.HITLDeadline{ExpiresAt: a.Until}
	left := a.Left
	if a.Until != 0 {
		left = max(a.Until-q.now(), 0)
	}
	until.TimeoutSec = int((left + 999) / 1000)
	switch a.Kind {
	case askReview:
		return wire.HITLPlanReview{
			RequestID: a.ID, PlanID: q.plan.ID, Plan: q.todos.body(), Message: "Please look at the plan.",
			Options: []wire.PlanAnswer{wire.PlanApprove, wire.PlanModify, wire.PlanReject}, HITLDeadline: until,
		}
	case askApproval:
		e := wire.HITLApprovalRequest{
			RequestID: a.ID, TodoID: a.Todo, Reason: a.Reason,
			Options: []wire.TodoAnswer{wire.TodoApprove, wire.TodoSkip, wire.TodoReject}, HITLDeadline: until,
		}
		if t := q.todos.find(a.Todo); t != nil {
			e.Todo = t.wire()
		}
		return e
	case askInput:
		e := a.Input.request()
		e.RequestID, e.TodoID, e.HITLDeadline = a.ID, a.Todo, until
		return e
	default:
		return wire.HITLClarification{
			RequestID: a.ID, OriginalInput: truncateBytes(q.plan.request, maxShown), Ambiguity: a.Clarification.Ambiguity,
			Question: a.Clarification.Question, InputType: wire.AnswerText, Suggestions: a.Clarification.Suggestions,
			Required: a.Clarification.Required, HITLDeadline: until,
		}
	}
}

// close removes a question and emits the event that closes it.
func (q questions) close(a *ask, e wire.HITLClosed) {
	q.asks = slices.DeleteFunc(q.asks, func(b *ask) bool { return a == b })
	q.removed = append(q.removed, askField(a.ID))
	e.RequestID = a.ID
	q.step.Emit(e)
}

// cancel closes the matching questions, whose answers are no longer needed.
func (q questions) cancel(which func(a *ask) bool) {
	for _, a := range slices.Clone(q.asks) {
		if which(a) {
			q.close(a, wire.HITLClosed{Reason: wire.ClosedCancelled, MessageID: q.control})
			if a.Job != "" {
				q.executor.Answered(Answered{Request: a.ID, Reason: wire.ClosedCancelled})
			}
		}
	}
}

// find returns the open question with the id if it is of the given kind.
func (q questions) find(id wire.RequestID, kind askKind) (*ask, *Refusal) {
	i := slices.IndexFunc(q.asks, func(a *ask) bool { return a.ID == id })
	switch {
	case i >= 0 && q.asks[i].Kind == kind:
		return q.asks[i], nil
	case i >= 0:
		return nil, invalid("request_id", "the question is of another kind")
	case q.wasAsked(id):
		return nil, &Refusal{Code: wire.CodeHITLRequestExpired, Reason: "the question is no longer open", Field: "request_id"}
	}
	return nil, invalid("request_id", "there is no such question")
}

// wasAsked reports whether a question with the id ever existed. Ids are consecutive, so
// closed questions need not be stored.
func (q questions) wasAsked(id wire.RequestID) bool {
	digits, ok := strings.CutPrefix(string(id), requestPrefix)
	n, err := strconv.ParseUint(digits, 10, 64)
	return ok && err == nil && strconv.FormatUint(n, 10) == digits && n > 0 && n <= q.numbers.Requests
}

// invalid returns the refusal of an answer.
func invalid(field, format string, args ...any) *Refusal {
	return &Refusal{Code: wire.CodeHITLInvalidResponse, Reason: fmt.Sprintf(format, args...), Field: field}
}

// Ask asks the user for a value that the todo of a job needs. If the field was answered
// before, Ask returns the answer; otherwise [Executor.Answered] follows.
func (f *Flow) Ask(job string, q wire.HITLInputRequest) (wire.RequestID, *Answered, *Refusal) {
	t := f.todoOfJob(job)
	if t == nil || t.Halt != "" {
		return "", nil, refuse("the todo of this job has ended or is stopped")
	}
	if v, ok := t.valueOf(q.Field); ok {
		return "", &Answered{Value: v, Reason: wire.ClosedAnswered}, nil
	}
	in := input{
		Field: q.Field, Question: q.Question, InputType: q.InputType, Options: q.Options, Required: q.Required,
		DefaultValue: q.DefaultValue, Range: q.Range, Min: q.Min, Max: q.Max,
	}
	var c checker
	if in, _ = c.input("question", compact(in)); c.err() != nil {
		return "", nil, &Refusal{Code: wire.CodeInvalidMessage, Reason: c.err().Error(), Field: "question"}
	}
	open := 0
	for _, a := range f.asks {
		if a.Job == job && a.Input.Field == q.Field {
			return a.ID, nil, nil
		}
		if a.Job == job {
			open++
		}
	}
	if open+len(t.Values) >= maxValues || len(f.asks) >= maxOpen {
		return "", nil, refuse("too many questions were asked")
	}
	defer f.finishCall()
	a := &ask{Kind: askInput, Todo: t.Draft.ID, Job: job, Input: &in}
	f.questions.open(a, f.cfg.AnswerTime)
	return a.ID, nil, nil
}

// hasInput reports whether a question for a field of a todo is open.
func (q questions) hasInput(id wire.TodoID, field string) bool {
	return slices.ContainsFunc(q.asks, func(a *ask) bool { return a.Todo == id && a.Input != nil && a.Input.Field == field })
}
