package wire

import "encoding/json"

// HITLRequest is a question to the user that a plan waits for, told apart by
// `type`, which is the type of the event that asked it.
type HITLRequest interface {
	// Deadline is until when it is open.
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

// HITLDeadline is until when a question is open.
type HITLDeadline struct {
	// TimeoutSec is how long that is, from the event's time, and ExpiresAt when it
	// ends. While a plan stands still there is no end, only what is left: it asks
	// again when it goes on.
	TimeoutSec int    `json:"timeout_sec" wire:"min=0"`
	ExpiresAt  Millis `json:"expires_at,omitempty"`
}

// Deadline is for the questions that have it.
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

// PlanAnswer is an answer to a plan.
type PlanAnswer string

// The answers to a plan.
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

// TodoAnswer is an answer to a todo.
type TodoAnswer string

// The answers to a todo.
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
	// DefaultValue is taken when nobody answers.
	DefaultValue json.RawMessage `json:"default_value,omitempty"`
	// Range says that a date is one with a beginning and an end.
	Range bool `json:"range,omitempty"`
	// Min and Max bound a number.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// TodoID is what the value is for.
	TodoID TodoID `json:"todo_id,omitempty"`
	HITLDeadline
}

// InputType is how a question is answered.
type InputType string

// The ways to answer a question.
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

// HITLClarification asks what the user meant.
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

// HITLClosed says that a question of a plan is no longer open.
type HITLClosed struct {
	Outbound
	RequestID RequestID   `json:"request_id"`
	Reason    CloseReason `json:"reason"`
	// Action is the answer to a plan or a todo, Value that to a question. When
	// nobody answered, they are what was taken instead, if something was.
	Action string          `json:"action,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	// AnsweredBy is the connection that answered, if one did.
	AnsweredBy ConnectionID `json:"answered_by,omitempty"`
	MessageID  MessageID    `json:"messageId,omitempty"`
}

// HITLResumed says that a plan that stood still goes on.
type HITLResumed struct {
	Outbound
	PlanID PlanID `json:"plan_id,omitempty"`
	// ResumedBy is user.
	ResumedBy string    `json:"resumed_by"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// HITLPaused says that a plan stands still.
type HITLPaused struct {
	Outbound
	// PausedBy is user, or what else stopped it.
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
	// Instruction says what to change, with the action modify.
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

// ControlPause makes the plan stand still after the todos that run now.
type ControlPause struct {
	Inbound
	Reason    string    `json:"reason,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// ControlResume lets the plan go on.
type ControlResume struct {
	Inbound
	// Modifications change the rest of the plan, also of one that runs: a text is
	// an instruction to who planned, an object is a change {action: add, remove or
	// update, todo_id, task, tool, depends_on, …}.
	Modifications []json.RawMessage `json:"modifications,omitempty"`
	MessageID     MessageID         `json:"messageId,omitempty"`
}

// ControlCancel gives the plan up.
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

// ControlSkip goes on without a todo.
type ControlSkip struct {
	Inbound
	TodoID    TodoID    `json:"todo_id"`
	Reason    string    `json:"reason,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}
