package workflow

import (
	"cmp"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/everdesk/everdesk/wire"
)

// Answer takes an answer of a person: one of the four hitl responses. The first that
// is valid counts.
func (f *Flow) Answer(by wire.ConnectionID, m wire.ClientPayload) *Refusal {
	switch m := m.(type) {
	case wire.HITLPlanResponse:
		return f.reviewed(by, m)
	case wire.HITLApprovalResponse:
		return f.approved(by, m)
	case wire.HITLInputResponse:
		return f.given(by, m)
	case wire.HITLClarificationResponse:
		return f.explained(by, m)
	}
	return invalid("type", "this answers nothing")
}

// reviewed takes the answer to a plan.
func (f *Flow) reviewed(by wire.ConnectionID, m wire.HITLPlanResponse) *Refusal {
	a, refused := f.asked(m.RequestID, askReview)
	if refused != nil {
		return refused
	}
	instruction := strings.TrimSpace(printable(m.Instruction))
	switch m.Action {
	case wire.PlanApprove, wire.PlanReject:
	case wire.PlanModify:
		if n := utf8.RuneCountInString(instruction); n == 0 || n > maxInstruction {
			return invalid("instruction", "an instruction has 1 to %d characters", maxInstruction)
		}
	default:
		return invalid("action", "want approve, modify or reject, got %q", m.Action)
	}
	defer f.done()
	f.shut(a, wire.HITLClosed{Reason: wire.ClosedAnswered, Action: string(m.Action), AnsweredBy: by, MessageID: m.MessageID})
	switch m.Action {
	case wire.PlanApprove:
		f.plan.Comment = cut(printable(m.Comment), maxComment)
		f.stage.Emit(wire.PlanApproved{PlanID: f.plan.ID, ApprovedBy: byUser, ExecutionStarting: true, MessageID: m.MessageID})
		f.begin()
	case wire.PlanModify:
		f.revise(instruction)
	case wire.PlanReject:
		f.giveUp(wire.PlanRejected, wire.PlanFailureError{
			Code: codeRejected, Message: cmp.Or(cut(printable(m.Comment), maxError), "The plan was rejected."),
		})
	}
	return nil
}

// approved takes the answer to a todo.
func (f *Flow) approved(by wire.ConnectionID, m wire.HITLApprovalResponse) *Refusal {
	a, refused := f.asked(m.RequestID, askApproval)
	if refused != nil {
		return refused
	}
	t := find(f.todos, a.Todo)
	switch {
	case m.TodoID != "" && m.TodoID != a.Todo:
		return invalid("todo_id", "the question is about todo %q", a.Todo)
	case m.Action != wire.TodoApprove && m.Action != wire.TodoSkip && m.Action != wire.TodoReject:
		return invalid("action", "want approve, skip or reject, got %q", m.Action)
	}
	defer f.done()
	f.shut(a, wire.HITLClosed{Reason: wire.ClosedAnswered, Action: string(m.Action), AnsweredBy: by, MessageID: m.MessageID})
	reason := cut(printable(cmp.Or(m.Reason, m.Comment)), maxError)
	switch m.Action {
	case wire.TodoApprove:
		t.Approved, t.Doubt = true, ""
		t.become(wire.TodoPending)
	case wire.TodoSkip:
		f.skip(t, reason, m.MessageID)
	case wire.TodoReject:
		f.giveUp(wire.PlanRejected, wire.PlanFailureError{
			Code: codeRejected, Message: cmp.Or(reason, "Todo "+string(a.Todo)+" was rejected."), FailedTodo: a.Todo,
		})
	}
	return nil
}

// given takes a value that a todo needs.
func (f *Flow) given(by wire.ConnectionID, m wire.HITLInputResponse) *Refusal {
	a, refused := f.asked(m.RequestID, askInput)
	if refused != nil {
		return refused
	}
	if m.Field != "" && m.Field != a.Input.Field {
		return invalid("field", "the question is about %q", a.Input.Field)
	}
	v, err := checkValue(a.Input.request(), m.Value)
	if err != nil {
		return invalid("value", "%v", err)
	}
	defer f.done()
	f.shut(a, wire.HITLClosed{Reason: wire.ClosedAnswered, Value: v, AnsweredBy: by, MessageID: m.MessageID})
	f.take(a, v, wire.ClosedAnswered)
	return nil
}

// take gives a todo the value that it needs.
func (f *Flow) take(a *ask, v json.RawMessage, why wire.CloseReason) {
	t := find(f.todos, a.Todo)
	t.Values = append(t.Values, value{a.Input.Field, v})
	t.touched = true
	if a.Job != "" {
		f.hands.Answered(Answered{Request: a.ID, Value: v, Reason: why})
		return
	}
	for _, in := range t.Draft.Inputs {
		if _, ok := t.valueOf(in.Field); !ok {
			return
		}
	}
	t.become(wire.TodoPending)
}

// explained takes what the user meant.
func (f *Flow) explained(by wire.ConnectionID, m wire.HITLClarificationResponse) *Refusal {
	a, refused := f.asked(m.RequestID, askClarification)
	if refused != nil {
		return refused
	}
	v, err := checkValue(wire.HITLInputRequest{InputType: wire.AnswerText, Required: a.Clarification.Required}, m.Value)
	if err != nil {
		return invalid("value", "%v", err)
	}
	var text string
	if err := json.Unmarshal(v, &text); err != nil { // null leaves it empty
		return invalid("value", "want a text")
	}
	defer f.done()
	f.shut(a, wire.HITLClosed{Reason: wire.ClosedAnswered, Value: v, AnsweredBy: by, MessageID: m.MessageID})
	f.clarified(text)
	return nil
}
