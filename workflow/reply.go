package workflow

import (
	"cmp"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/everdesk/everdesk/wire"
)

// Answer applies one of the four hitl responses of a user. The first valid answer to a
// question counts.
func (f *Flow) Answer(by wire.ConnectionID, m wire.ClientPayload) *Refusal {
	switch m := m.(type) {
	case wire.HITLPlanResponse:
		return f.handleReview(by, m)
	case wire.HITLApprovalResponse:
		return f.handleApproval(by, m)
	case wire.HITLInputResponse:
		return f.handleInput(by, m)
	case wire.HITLClarificationResponse:
		return f.handleClarification(by, m)
	}
	return invalid("type", "this answers nothing")
}

// handleReview applies the answer to a plan review.
func (f *Flow) handleReview(by wire.ConnectionID, m wire.HITLPlanResponse) *Refusal {
	a, refused := f.questions.find(m.RequestID, askReview)
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
	defer f.finishCall()
	f.questions.close(a, wire.HITLClosed{Reason: wire.ClosedAnswered, Action: string(m.Action), AnsweredBy: by, MessageID: m.MessageID})
	switch m.Action {
	case wire.PlanApprove:
		f.plan.Comment = truncateBytes(printable(m.Comment), maxComment)
		f.step.Emit(wire.PlanApproved{PlanID: f.plan.ID, ApprovedBy: byUser, ExecutionStarting: true, MessageID: m.MessageID})
		f.planner.startExecution()
	case wire.PlanModify:
		f.planner.requestRevision(instruction)
	case wire.PlanReject:
		f.planner.abortPlan(wire.PlanRejected, wire.PlanFailureError{
			Code: codeRejected, Message: cmp.Or(truncateBytes(printable(m.Comment), maxError), "The plan was rejected."),
		})
	}
	return nil
}

// handleApproval applies the answer to the approval of a todo.
func (f *Flow) handleApproval(by wire.ConnectionID, m wire.HITLApprovalResponse) *Refusal {
	a, refused := f.questions.find(m.RequestID, askApproval)
	if refused != nil {
		return refused
	}
	t := f.todos.find(a.Todo)
	switch {
	case m.TodoID != "" && m.TodoID != a.Todo:
		return invalid("todo_id", "the question is about todo %q", a.Todo)
	case m.Action != wire.TodoApprove && m.Action != wire.TodoSkip && m.Action != wire.TodoReject:
		return invalid("action", "want approve, skip or reject, got %q", m.Action)
	}
	defer f.finishCall()
	f.questions.close(a, wire.HITLClosed{Reason: wire.ClosedAnswered, Action: string(m.Action), AnsweredBy: by, MessageID: m.MessageID})
	reason := truncateBytes(printable(cmp.Or(m.Reason, m.Comment)), maxError)
	switch m.Action {
	case wire.TodoApprove:
		t.Approved, t.Doubt = true, ""
		t.setStatus(wire.TodoPending)
	case wire.TodoSkip:
		f.execution.skip(t, reason, m.MessageID)
	case wire.TodoReject:
		f.planner.abortPlan(wire.PlanRejected, wire.PlanFailureError{
			Code: codeRejected, Message: cmp.Or(reason, "Todo "+string(a.Todo)+" was rejected."), FailedTodo: a.Todo,
		})
	}
	return nil
}

// handleInput applies a value that a todo needs.
func (f *Flow) handleInput(by wire.ConnectionID, m wire.HITLInputResponse) *Refusal {
	a, refused := f.questions.find(m.RequestID, askInput)
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
	defer f.finishCall()
	f.questions.close(a, wire.HITLClosed{Reason: wire.ClosedAnswered, Value: v, AnsweredBy: by, MessageID: m.MessageID})
	f.execution.setValue(a, v, wire.ClosedAnswered)
	return nil
}

// handleClarification applies the user's clarification of the request.
func (f *Flow) handleClarification(by wire.ConnectionID, m wire.HITLClarificationResponse) *Refusal {
	a, refused := f.questions.find(m.RequestID, askClarification)
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
	defer f.finishCall()
	f.questions.close(a, wire.HITLClosed{Reason: wire.ClosedAnswered, Value: v, AnsweredBy: by, MessageID: m.MessageID})
	f.planner.startPlanning(text)
	return nil
}
