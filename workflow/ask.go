package workflow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// ask is a question to people that is open.
type ask struct {
	ID   wire.RequestID `json:"id"`
	Kind askKind        `json:"kind"`
	// Todo is what it is for, if it is for one, and Job who asked, if an agent did.
	Todo wire.TodoID `json:"todo,omitempty"`
	Job  string      `json:"job,omitempty"`
	// Input is the value that is asked for, Reason why somebody must say yes.
	Input         *input         `json:"input,omitempty"`
	Reason        string         `json:"reason,omitempty"`
	Clarification *clarification `json:"clarification,omitempty"`
	// Until is when it is over, and Left how long it was still open when the plan
	// was paused: one of them is there.
	Until wire.Millis `json:"until,omitempty"`
	Left  wire.Millis `json:"left,omitempty"`

	touched bool // it is to be kept
}

type askKind string

const (
	askReview        askKind = "review"
	askApproval      askKind = "approval"
	askInput         askKind = "input"
	askClarification askKind = "clarification"
)

const requestPrefix = "hitl_"

// open asks people. While the plan stands still, the time does.
func (f *Flow) open(a *ask, time time.Duration) {
	f.numbers.Requests++
	f.recount = true
	a.ID = wire.RequestID(requestPrefix + strconv.FormatUint(f.numbers.Requests, 10))
	a.touched = true
	if f.plan.Paused != nil {
		a.Left = wire.Millis(time.Milliseconds())
	} else {
		a.Until = f.now() + wire.Millis(time.Milliseconds())
	}
	f.asks = append(f.asks, a)
	f.stage.Emit(f.question(a))
}

// question is what people are asked.
func (f *Flow) question(a *ask) wire.ServerPayload {
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
			RequestID: a.ID, OriginalInput: cut(f.plan.request, maxShown), Ambiguity: a.Clarification.Ambiguity,
			Question: a.Clarification.Question, InputType: wire.AnswerText, Suggestions: a.Clarification.Suggestions,
			Required: a.Clarification.Required, HITLDeadline: until,
		}
	}
}

// shut ends a question.
func (f *Flow) shut(a *ask, e wire.HITLClosed) {
	f.asks = slices.DeleteFunc(f.asks, func(b *ask) bool { return a == b })
	f.gone = append(f.gone, askField(a.ID))
	e.RequestID = a.ID
	f.stage.Emit(e)
}

// withdraw ends the questions that nobody needs answered any more.
func (f *Flow) withdraw(which func(a *ask) bool) {
	for _, a := range slices.Clone(f.asks) {
		if which(a) {
			f.shut(a, wire.HITLClosed{Reason: wire.ClosedCancelled, MessageID: f.order})
			if a.Job != "" {
				f.hands.Answered(Answered{Request: a.ID, Reason: wire.ClosedCancelled})
			}
		}
	}
}

// asked is an open question of a kind.
func (f *Flow) asked(id wire.RequestID, kind askKind) (*ask, *Refusal) {
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

// wasAsked reports whether there ever was such a question. Their numbers follow each
// other, so nothing has to be remembered of those that are closed.
func (f *Flow) wasAsked(id wire.RequestID) bool {
	digits, ok := strings.CutPrefix(string(id), requestPrefix)
	n, err := strconv.ParseUint(digits, 10, 64)
	return ok && err == nil && strconv.FormatUint(n, 10) == digits && n > 0 && n <= f.numbers.Requests
}

// invalid refuses an answer.
func invalid(field, format string, args ...any) *Refusal {
	return &Refusal{Code: wire.CodeHITLInvalidResponse, Reason: fmt.Sprintf(format, args...), Field: field}
}

// Ask asks people for a value that the todo of a job needs. If the same field was
// answered before, the answer is there at once; else [Hands.Answered] follows.
func (f *Flow) Ask(job string, q wire.HITLInputRequest) (wire.RequestID, *Answered, *Refusal) {
	t := f.atWork(job)
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
	defer f.done()
	a := &ask{Kind: askInput, Todo: t.Draft.ID, Job: job, Input: &in}
	f.open(a, f.cfg.AnswerTime)
	return a.ID, nil, nil
}
