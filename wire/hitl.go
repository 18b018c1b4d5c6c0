package wire

import "encoding/json"

// HITLRequest is a question of a plan to the user; its `type` is that of the event that
// asked it.
type HITLRequest interface {
	// Deadline returns the time limit of the question.
	Deadline() HITLDeadline
	hitlRequest()
}

func hitlUnion() union {
	return unionOf[HITLRequest]("type",
		variant[HITLPlanReview]("hitl_plan_review"),
		variant[HITLApprovalRequest]("hitl_approval_request"),
		variant[HITLInputRequest]("hitl_input_request"),
		variant[HITLClarification]("hitl_clarification"),
	)
}

func (HITLPlanReview) hitlRequest()      {}
func (HITLApprovalRequest) hitlRequest() {}
func (HITLInputRequest) hitlRequest()    {}
func (HITLClarification) hitlRequest()   {}

// HITLDeadline is the deadline of a question.
type HITLDeadline struct {
	// TimeoutSec is the time limit counted from the event's time, ExpiresAt the end. While
	// a plan is paused there is only the remaining time; the plan asks again when it is
	// resumed.
	TimeoutSec int    `json:"timeout_sec" wire:"min=0"`
	ExpiresAt  Millis `json:"expires_at,omitempty"`
}

// Deadline implements [HITLRequest] for the types that embed it.
func (d HITLDeadline) Deadline() HITLDeadline { return d }

// HITLPlanReview asks whether a plan may run.
type HITLPlanReview struct {
	Outbound
	RequestID RequestID    `json:"request_id"`
	PlanID    PlanID       `json:"plan_id"`
	Plan      PlanBody     `json:"plan"`
	Message   string       `json:"message"`
	Options   []PlanAnswer `json:"options"`
	HITLDeadline
}

// PlanAnswer is an answer to a plan review.
type PlanAnswer string

// The answers to a plan review.
const (
	PlanApprove PlanAnswer = "approve"
	PlanModify  PlanAnswer = "modify"
	PlanReject  PlanAnswer = "reject"
)

func (PlanAnswer) values() []string { return list(PlanApprove, PlanModify, PlanReject) }

// HITLApprovalRequest asks whether one todo may run.
type HITLApprovalRequest struct {
	Outbound
	RequestID RequestID    `json:"request_id"`
	TodoID    TodoID       `json:"todo_id"`
	Todo      Todo         `json:"todo"`
	Reason    string       `json:"reason"`
	Options   []TodoAnswer `json:"options"`
	HITLDeadline
}

// TodoAnswer is an answer to the approval of a todo.
type TodoAnswer string

// The answers to the approval of a todo.
const (
	TodoApprove TodoAnswer = "approve"
	TodoSkip    TodoAnswer = "skip"
	TodoReject  TodoAnswer = "reject"
)

func (TodoAnswer) values() []string { return list(TodoApprove, TodoSkip, TodoReject) }

// HITLInputRequest asks for a value that a todo needs.
type HITLInputRequest struct {
	Outbound
	RequestID RequestID `json:"request_id"`
	Field     string    `json:"field"`
	Question  string    `json:"question"`
	InputType InputType `json:"input_type"`
	Options   []Option  `json:"options,omitempty"`
	Required  bool      `json:"required"`
	// DefaultValue is used when there is no answer in time.
	DefaultValue json.RawMessage `json:"default_value,omitempty"`
	// Range requests a date range with a beginning and an end.
	Range bool `json:"range,omitempty"`
	// Min and Max bound a number.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// TodoID is the todo that needs the value.
	TodoID TodoID `json:"todo_id,omitempty"`
	HITLDeadline
}

// InputType is the kind of an answer.
type InputType string

// The kinds of answers.
const (
	AnswerText    InputType = "text"
	AnswerChoice  InputType = "choice" // the value of one of the options
	AnswerMulti   InputType = "multi"  // a list of values of options
	AnswerNumber  InputType = "number"
	AnswerDate    InputType = "date"    // 2026-02-06, or {from, to} with range
	AnswerConfirm InputType = "confirm" // true or false
)

func (InputType) values() []string {
	return list(AnswerText, AnswerChoice, AnswerMulti, AnswerNumber, AnswerDate, AnswerConfirm)
}

// HITLClarification asks the user to clarify the request.
type HITLClarification struct {
	Outbound
	RequestID     RequestID `json:"request_id"`
	OriginalInput string    `json:"original_input"`
	Ambiguity     string    `json:"ambiguity,omitempty"`
	Question      string    `json:"question"`
	InputType     InputType `json:"input_type"`
	Suggestions   []string  `json:"suggestions,omitempty"`
	Required      bool      `json:"required"`
	HITLDeadline
}

// HITLClosed says that a question of a plan was closed.
type HITLClosed struct {
	Outbound
	RequestID RequestID   `json:"request_id"`
	Reason    CloseReason `json:"reason"`
	// Action is the answer to a plan or a todo, Value that to another question. Without an
	// answer they are the default that was used, if any.
	Action string          `json:"action,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	// AnsweredBy is the connection that answered, if one did.
	AnsweredBy ConnectionID `json:"answered_by,omitempty"`
	MessageID  MessageID    `json:"messageId,omitempty"`
}

// HITLResumed says that a paused plan continues.
type HITLResumed struct {
	Outbound
	PlanID PlanID `json:"plan_id,omitempty"`
	// ResumedBy is user.
	ResumedBy string    `json:"resumed_by"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// HITLPaused says that a plan was paused.
type HITLPaused struct {
	Outbound
	// PausedBy is user, or the cause of the pause.
	PausedBy       string    `json:"paused_by"`
	Reason         string    `json:"reason,omitempty"`
	CurrentTodo    TodoID    `json:"current_todo,omitempty"`
	CompletedTodos []TodoID  `json:"completed_todos"`
	CanResume      bool      `json:"can_resume"`
	MessageID      MessageID `json:"messageId,omitempty"`
}

// HITLPlanResponse answers hitl_plan_review.
type HITLPlanResponse struct {
	Inbound
	RequestID RequestID  `json:"request_id"`
	Action    PlanAnswer `json:"action"`
	Comment   string     `json:"comment,omitempty"`
	// Instruction describes the requested change, with the action modify.
	Instruction string    `json:"instruction,omitempty"`
	MessageID   MessageID `json:"messageId,omitempty"`
}

// HITLApprovalResponse answers hitl_approval_request.
type HITLApprovalResponse struct {
	Inbound
	RequestID RequestID  `json:"request_id"`
	TodoID    TodoID     `json:"todo_id,omitempty"`
	Action    TodoAnswer `json:"action"`
	Comment   string     `json:"comment,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	MessageID MessageID  `json:"messageId,omitempty"`
}

// HITLInputResponse answers hitl_input_request.
type HITLInputResponse struct {
	Inbound
	RequestID RequestID       `json:"request_id"`
	Field     string          `json:"field,omitempty"`
	Value     json.RawMessage `json:"value"`
	MessageID MessageID       `json:"messageId,omitempty"`
}

// HITLClarificationResponse answers hitl_clarification.
type HITLClarificationResponse struct {
	Inbound
	RequestID RequestID       `json:"request_id"`
	Value     json.RawMessage `json:"value"`
	MessageID MessageID       `json:"messageId,omitempty"`
}

// ControlPause pauses the plan after the todos that run now.
type ControlPause struct {
	Inbound
	Reason    string    `json:"reason,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// ControlResume resumes the plan.
type ControlResume struct {
	Inbound
	// Modifications change the rest of the plan, also while it runs: a text is an
	// instruction for the planning model, an object is a change {action: add, remove or
	// update, todo_id, task, tool, depends_on, …}.
	Modifications []json.RawMessage `json:"modifications,omitempty"`
	MessageID     MessageID         `json:"messageId,omitempty"`
}

// ControlCancel cancels the plan.
type ControlCancel struct {
	Inbound
	Reason    string    `json:"reason,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// ControlRetry runs a failed todo again.
type ControlRetry struct {
	Inbound
	TodoID    TodoID    `json:"todo_id"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// ControlSkip continues without a todo.
type ControlSkip struct {
	Inbound
	TodoID    TodoID    `json:"todo_id"`
	Reason    string    `json:"reason,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}
