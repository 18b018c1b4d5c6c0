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

// openAsk adds a question with a time limit. While the plan is paused the time does not
// run.
func (f *Flow) openAsk(a *ask, time time.Duration) {
	f.numbers.Requests++
	f.numbersDirty = true
	a.ID = wire.RequestID(requestPrefix + strconv.FormatUint(f.numbers.Requests, 10))
	a.dirty = true
	if f.plan.Paused != nil {
		a.Left = wire.Millis(time.Milliseconds())
	} else {
		a.Until = f.now() + wire.Millis(time.Milliseconds())
	}
	f.asks = append(f.asks, a)
	f.step.Emit(f.askEvent(a))
}

// askEvent returns the event that puts the question to the user.
func (f *Flow) askEvent(a *ask) wire.ServerPayload {
	until := wire.HITLDeadline{ExpiresAt: a.Until}
	left := a.Left
	if a.Until != 0 {
		left = max(a.Until-f.now(), 0)
	}
	until.TimeoutSec = int((left + 999) / 1000)
	switch a.Kind {
	case askReview:
		return wire.HITLPlanReview{
			RequestID: a.ID, PlanID: f.plan.ID, Plan: f.body(), Message: "Please look at the plan.",
			Options: []wire.PlanAnswer{wire.PlanApprove, wire.PlanModify, wire.PlanReject}, HITLDeadline: until,
		}
	case askApproval:
		e := wire.HITLApprovalRequest{
			RequestID: a.ID, TodoID: a.Todo, Reason: a.Reason,
			Options: []wire.TodoAnswer{wire.TodoApprove, wire.TodoSkip, wire.TodoReject}, HITLDeadline: until,
		}
		if t := find(f.todos, a.Todo); t != nil {
			e.Todo = t.wire()
		}
		return e
	case askInput:
		e := a.Input.request()
		e.RequestID, e.TodoID, e.HITLDeadline = a.ID, a.Todo, until
		return e
	default:
		return wire.HITLClarification{
			RequestID: a.ID, OriginalInput: truncateBytes(f.plan.request, maxShown), Ambiguity: a.Clarification.Ambiguity,
			Question: a.Clarification.Question, InputType: wire.AnswerText, Suggestions: a.Clarification.Suggestions,
			Required: a.Clarification.Required, HITLDeadline: until,
		}
	}
}

// closeAsk removes a question and emits the event that closes it.
func (f *Flow) closeAsk(a *ask, e wire.HITLClosed) {
	f.asks = slices.DeleteFunc(f.asks, func(b *ask) bool { return a == b })
	f.removed = append(f.removed, askField(a.ID))
	e.RequestID = a.ID
	f.step.Emit(e)
}

// cancelAsks closes the matching questions, whose answers are no longer needed.
func (f *Flow) cancelAsks(which func(a *ask) bool) {
	for _, a := range slices.Clone(f.asks) {
		if which(a) {
			f.closeAsk(a, wire.HITLClosed{Reason: wire.ClosedCancelled, MessageID: f.control})
			if a.Job != "" {
				f.executor.Answered(Answered{Request: a.ID, Reason: wire.ClosedCancelled})
			}
		}
	}
}

// findAsk returns the open question with the id if it is of the given kind.
func (f *Flow) findAsk(id wire.RequestID, kind askKind) (*ask, *Refusal) {
	i := slices.IndexFunc(f.asks, func(a *ask) bool { return a.ID == id })
	switch {
	case i >= 0 && f.asks[i].Kind == kind:
		return f.asks[i], nil
	case i >= 0:
		return nil, invalid("request_id", "the question is of another kind")
	case f.wasAsked(id):
		return nil, &Refusal{Code: wire.CodeHITLRequestExpired, Reason: "the question is no longer open", Field: "request_id"}
	}
	return nil, invalid("request_id", "there is no such question")
}

// wasAsked reports whether a question with the id ever existed. Ids are consecutive, so
// closed questions need not be stored.
func (f *Flow) wasAsked(id wire.RequestID) bool {
	digits, ok := strings.CutPrefix(string(id), requestPrefix)
	n, err := strconv.ParseUint(digits, 10, 64)
	return ok && err == nil && strconv.FormatUint(n, 10) == digits && n > 0 && n <= f.numbers.Requests
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
		return "", nil, refuse("nobody waits for this work any more")
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
	f.openAsk(a, f.cfg.AnswerTime)
	return a.ID, nil, nil
}
