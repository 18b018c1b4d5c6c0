package wire

import "encoding/json"

// Layer is a phase of executing a request as a plan.
type Layer string

// The layers, in their order.
const (
	LayerCognitive Layer = "cognitive"
	LayerPlanning  Layer = "planning"
	LayerExecution Layer = "execution"
	LayerResponse  Layer = "response"
)

func (Layer) values() []string {
	return list(LayerCognitive, LayerPlanning, LayerExecution, LayerResponse)
}

// LayerStart says that a layer started.
type LayerStart struct {
	Outbound
	Layer       Layer  `json:"layer"`
	Description string `json:"description,omitempty"`
}

// LayerComplete says that a layer ended.
type LayerComplete struct {
	Outbound
	Layer      Layer           `json:"layer"`
	Result     json.RawMessage `json:"result,omitempty"`
	NextLayer  Layer           `json:"next_layer,omitempty"`
	DurationMS int             `json:"duration_ms,omitempty" wire:"min=0"`
}

// Todo is a todo of a plan.
type Todo struct {
	ID   TodoID `json:"id"`
	Task string `json:"task"`
	Tool string `json:"tool,omitempty"`
	// Mode is the id of the mode in which the agent of the todo works, if the todo names one.
	Mode   string     `json:"mode,omitempty"`
	Status TodoStatus `json:"status,omitempty"`
	// Priority orders todos; a higher one runs first.
	Priority int `json:"priority,omitempty"`
	// DependsOn are the todos that must be done before.
	DependsOn            []TodoID `json:"depends_on"`
	RequiresApproval     bool     `json:"requires_approval,omitempty"`
	EstimatedDurationSec float64  `json:"estimated_duration_sec,omitempty" wire:"min=0"`
	EstimatedCostUSD     float64  `json:"estimated_cost_usd,omitempty" wire:"min=0"`
	ProgressPercentage   float64  `json:"progress_percentage,omitempty" wire:"min=0,max=100"`
	CurrentStep          string   `json:"current_step,omitempty"`
	RetryCount           int      `json:"retry_count,omitempty" wire:"min=0"`
	MaxRetries           int      `json:"max_retries,omitempty" wire:"min=0"`
	ItemsProcessed       int      `json:"items_processed,omitempty" wire:"min=0"`
	ItemsTotal           int      `json:"items_total,omitempty" wire:"min=0"`
	StartedAt            Millis   `json:"started_at,omitempty"`
	// RetryAt is the time of the next retry after a failure.
	RetryAt Millis `json:"retry_at,omitempty"`
	// AgentID is the agent that works on it.
	AgentID       AgentID         `json:"agent_id,omitempty"`
	DurationMS    int             `json:"duration_ms,omitempty" wire:"min=0"`
	Error         *TodoError      `json:"error,omitempty"`
	ResultSummary json.RawMessage `json:"result_summary,omitempty"`
}

// TodoStatus is the status of a todo.
type TodoStatus string

// The states of a todo.
const (
	TodoPending         TodoStatus = "pending"
	TodoBlocked         TodoStatus = "blocked" // a dependency failed
	TodoNeedsApproval   TodoStatus = "needs_approval"
	TodoNeedsInput      TodoStatus = "needs_input"
	TodoInProgress      TodoStatus = "in_progress"
	TodoStatusCompleted TodoStatus = "completed"
	TodoStatusFailed    TodoStatus = "failed"
	TodoSkipped         TodoStatus = "skipped"
	TodoCancelled       TodoStatus = "cancelled"
)

func (TodoStatus) values() []string {
	return list(TodoPending, TodoBlocked, TodoNeedsApproval, TodoNeedsInput, TodoInProgress, TodoStatusCompleted,
		TodoStatusFailed, TodoSkipped, TodoCancelled)
}

// TodoError says why a todo failed.
type TodoError struct {
	// Code is a constant such as TOOL_EXECUTION_FAILED.
	Code        string `json:"code"`
	Message     string `json:"message"`
	Recoverable bool   `json:"recoverable"`
}

// PlanStatus is the status of a plan.
type PlanStatus string

// The states of a plan.
const (
	PlanPendingApproval PlanStatus = "pending_approval"
	PlanStatusApproved  PlanStatus = "approved"
	PlanExecuting       PlanStatus = "executing"
	PlanPaused          PlanStatus = "paused"
	PlanCompleted       PlanStatus = "completed"
	PlanFailed          PlanStatus = "failed"
	PlanRejected        PlanStatus = "rejected"
	PlanCancelled       PlanStatus = "cancelled"
)

func (PlanStatus) values() []string {
	return list(PlanPendingApproval, PlanStatusApproved, PlanExecuting, PlanPaused, PlanCompleted,
		PlanFailed, PlanRejected, PlanCancelled)
}

// PlanBody is the content of a plan.
type PlanBody struct {
	Todos []Todo `json:"todos"`
	// DependencyGraph maps each todo to its dependencies.
	DependencyGraph      Object[TodoID, []TodoID] `json:"dependency_graph"`
	EstimatedDurationSec float64                  `json:"estimated_duration_sec,omitempty" wire:"min=0"`
	EstimatedCostUSD     float64                  `json:"estimated_cost_usd,omitempty" wire:"min=0"`
	MermaidDiagram       string                   `json:"mermaid_diagram,omitempty"`
}

// PlanGenerated carries a new plan.
type PlanGenerated struct {
	Outbound
	PlanID  PlanID     `json:"plan_id"`
	Version int        `json:"version" wire:"min=1"`
	Status  PlanStatus `json:"status"`
	PlanBody
	// Request is the user's request, MessageID the message with it.
	Request   string    `json:"request,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// PlanApproved says that a plan was approved.
type PlanApproved struct {
	Outbound
	PlanID PlanID `json:"plan_id"`
	// ApprovedBy is always user.
	ApprovedBy        string    `json:"approved_by"`
	ExecutionStarting bool      `json:"execution_starting"`
	MessageID         MessageID `json:"messageId,omitempty"`
}

// PlanModified carries the changes of a plan.
type PlanModified struct {
	Outbound
	PlanID     PlanID       `json:"plan_id"`
	OldVersion int          `json:"old_version" wire:"min=1"`
	NewVersion int          `json:"new_version" wire:"min=1"`
	Changes    []PlanChange `json:"changes"`
	// UpdatedTodos are all todos of the plan after the change.
	UpdatedTodos         []Todo    `json:"updated_todos"`
	EstimatedDurationSec float64   `json:"estimated_duration_sec,omitempty" wire:"min=0"`
	EstimatedCostUSD     float64   `json:"estimated_cost_usd,omitempty" wire:"min=0"`
	MermaidDiagram       string    `json:"mermaid_diagram,omitempty"`
	MessageID            MessageID `json:"messageId,omitempty"`
}

// PlanChange is one change of a plan.
type PlanChange struct {
	Action PlanEdit `json:"action"`
	TodoID TodoID   `json:"todo_id"`
	Task   string   `json:"task,omitempty"`
}

// PlanEdit is the kind of change of a todo.
type PlanEdit string

// The kinds of changes.
const (
	PlanAdd    PlanEdit = "add"
	PlanRemove PlanEdit = "remove"
	PlanUpdate PlanEdit = "update"
)

func (PlanEdit) values() []string { return list(PlanAdd, PlanRemove, PlanUpdate) }

// TodoStarted says that a todo started.
type TodoStarted struct {
	Outbound
	TodoID               TodoID  `json:"todo_id"`
	Task                 string  `json:"task"`
	Tool                 string  `json:"tool,omitempty"`
	EstimatedDurationSec float64 `json:"estimated_duration_sec,omitempty" wire:"min=0"`
	// AgentID is the agent that works on it.
	AgentID   AgentID   `json:"agent_id,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// TodoProgress reports the progress of a todo.
type TodoProgress struct {
	Outbound
	TodoID             TodoID  `json:"todo_id"`
	ProgressPercentage float64 `json:"progress_percentage" wire:"min=0,max=100"`
	CurrentStep        string  `json:"current_step,omitempty"`
	ItemsProcessed     int     `json:"items_processed,omitempty" wire:"min=0"`
	ItemsTotal         int     `json:"items_total,omitempty" wire:"min=0"`
}

// TodoUpdated carries a todo whose change no other event reports: it is blocked or
// unblocked, waits for an answer, was cancelled, or is to run again.
type TodoUpdated struct {
	Outbound
	Todo      Todo      `json:"todo"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// TodoCompleted says that a todo is completed or skipped.
type TodoCompleted struct {
	Outbound
	TodoID        TodoID          `json:"todo_id"`
	Task          string          `json:"task"`
	Status        TodoStatus      `json:"status"`
	ResultSummary json.RawMessage `json:"result_summary,omitempty"`
	DurationMS    int             `json:"duration_ms" wire:"min=0"`
	// NextTodos can run now.
	NextTodos []TodoID  `json:"next_todos"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// TodoFailed says that a todo failed.
type TodoFailed struct {
	Outbound
	TodoID     TodoID     `json:"todo_id"`
	Task       string     `json:"task"`
	Status     TodoStatus `json:"status"`
	Error      TodoError  `json:"error"`
	RetryCount int        `json:"retry_count" wire:"min=0"`
	MaxRetries int        `json:"max_retries" wire:"min=0"`
	// RetryAt is the time of the automatic retry, if there is one: the todo is pending
	// until then.
	RetryAt Millis `json:"retry_at,omitempty"`
}

// ExecutionProgress carries the counts of a running plan.
type ExecutionProgress struct {
	Outbound
	TotalTodos         int      `json:"total_todos" wire:"min=0"`
	Completed          int      `json:"completed" wire:"min=0"`
	InProgress         int      `json:"in_progress" wire:"min=0"`
	Pending            int      `json:"pending" wire:"min=0"`
	Failed             int      `json:"failed" wire:"min=0"`
	Blocked            int      `json:"blocked,omitempty" wire:"min=0"`
	Skipped            int      `json:"skipped,omitempty" wire:"min=0"`
	ProgressPercentage float64  `json:"progress_percentage" wire:"min=0,max=100"`
	CurrentTodo        *TodoRef `json:"current_todo,omitempty"`
}

// TodoRef names a todo.
type TodoRef struct {
	ID   TodoID `json:"id"`
	Task string `json:"task"`
}

// PlanComplete is the result of a plan.
type PlanComplete struct {
	Outbound
	// Status is success, or partial when todos were skipped.
	Status      string          `json:"status"`
	Response    PlanResponse    `json:"response"`
	Statistics  *PlanStatistics `json:"statistics,omitempty"`
	ReportPaths []string        `json:"report_paths"`
	PlanID      PlanID          `json:"plan_id,omitempty"`
	MessageID   MessageID       `json:"messageId,omitempty"`
}

// PlanResponse is the answer that a plan was made for.
type PlanResponse struct {
	// Format is text, or mixed when there are attachments.
	Format      string           `json:"format"`
	Text        string           `json:"text"`
	Summary     string           `json:"summary,omitempty"`
	Attachments []PlanAttachment `json:"attachments"`
	// NextActions are suggestions for the user's next request.
	NextActions []string `json:"next_actions"`
}

// PlanAttachment is a file that belongs to an answer.
type PlanAttachment struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

// PlanStatistics are the counts, duration and cost of a plan.
type PlanStatistics struct {
	TotalTodos      int     `json:"total_todos" wire:"min=0"`
	Completed       int     `json:"completed" wire:"min=0"`
	Failed          int     `json:"failed" wire:"min=0"`
	Skipped         int     `json:"skipped,omitempty" wire:"min=0"`
	ExecutionTimeMS int     `json:"execution_time_ms" wire:"min=0"`
	TokensUsed      int     `json:"tokens_used" wire:"min=0"`
	CostUSD         float64 `json:"cost_usd" wire:"min=0"`
	// CostUnknown is set if the price of a part is unknown; cost_usd is the cost of the rest.
	CostUnknown bool `json:"cost_unknown,omitempty"`
}

// PlanFailure says that a plan failed or was cancelled.
type PlanFailure struct {
	Outbound
	// Status is failed or cancelled.
	Status         string           `json:"status"`
	Error          PlanFailureError `json:"error"`
	PartialResults *PartialResults  `json:"partial_results,omitempty"`
	Statistics     *PlanStatistics  `json:"statistics,omitempty"`
	PlanID         PlanID           `json:"plan_id,omitempty"`
	MessageID      MessageID        `json:"messageId,omitempty"`
}

// PlanCleared says that a plan was removed, whether it had ended or not.
type PlanCleared struct {
	Outbound
	PlanID PlanID `json:"plan_id,omitempty"`
}

// PlanFailureError says why a plan ended without a result.
type PlanFailureError struct {
	// Code is a constant such as EXECUTION_FAILED.
	Code        string `json:"code"`
	Message     string `json:"message"`
	FailedTodo  TodoID `json:"failed_todo,omitempty"`
	Recoverable bool   `json:"recoverable"`
}

// PartialResults are the results of a plan that failed or was cancelled.
type PartialResults struct {
	CompletedTodos []TodoID        `json:"completed_todos"`
	AvailableData  json.RawMessage `json:"available_data,omitempty"`
}
