package wire

import "encoding/json"

// Events of the desktop family, which the hub sends.

// Actions changes the desktop.
type Actions struct {
	Outbound
	Actions   []Action  `json:"actions"`
	AgentID   AgentID   `json:"agentId,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
	// By is the connection whose user or program acted, so that it need not
	// show again what it has shown already.
	By ConnectionID `json:"by,omitempty"`
}

// AgentThinking is a piece of what an agent thinks.
type AgentThinking struct {
	Outbound
	// Content is the whole text so far; only the desktop dialect carries it.
	Content string `json:"content,omitempty"`
	// Delta is what is new, to be put at Offset.
	Delta string `json:"delta,omitempty"`
	// Offset counts UTF-16 units of the turn's text; absent means 0.
	Offset    int       `json:"offset,omitempty" wire:"min=0"`
	AgentID   AgentID   `json:"agentId,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// AgentResponse is a piece of what an agent answers, or the end of a message.
// Every accepted message ends with exactly one that is complete and has its
// messageId. The turn is over with that of the message that began it; those of
// messages that joined the turn while it ran follow, with the same outcome.
type AgentResponse struct {
	Outbound
	// Content is the whole text so far; only the desktop dialect carries it.
	Content string `json:"content,omitempty"`
	// Delta is what is new, to be put at Offset.
	Delta string `json:"delta,omitempty"`
	// Offset counts UTF-16 units of the turn's text; absent means 0.
	Offset     int  `json:"offset,omitempty" wire:"min=0"`
	IsComplete bool `json:"isComplete"`
	// Outcome is there when the turn is complete.
	Outcome Outcome `json:"outcome,omitempty"`
	// Reason says why the turn failed or was interrupted.
	Reason string `json:"reason,omitempty"`
	// Usage is what the turn took, DurationMS how long it ran. They are there
	// when the turn is complete and it is known.
	Usage      *Usage    `json:"usage,omitempty"`
	DurationMS int       `json:"durationMs,omitempty" wire:"min=0"`
	AgentID    AgentID   `json:"agentId,omitempty"`
	MonitorID  MonitorID `json:"monitorId,omitempty"`
	MessageID  MessageID `json:"messageId,omitempty"`
	// Joined is there when a message is complete that joined a turn: the message
	// that began that. Usage and durationMs are with the end of that one.
	Joined MessageID `json:"joined,omitempty"`
}

// Usage is what a turn took of its model.
type Usage struct {
	// InputTokens were read anew; those of the cache are counted apart.
	InputTokens      int     `json:"inputTokens" wire:"min=0"`
	OutputTokens     int     `json:"outputTokens" wire:"min=0"`
	CacheReadTokens  int     `json:"cacheReadTokens,omitempty" wire:"min=0"`
	CacheWriteTokens int     `json:"cacheWriteTokens,omitempty" wire:"min=0"`
	CostUSD          float64 `json:"costUsd,omitempty" wire:"min=0"`
}

// Outcome is how a turn ended.
type Outcome string

// The outcomes of a turn.
const (
	OutcomeCompleted   Outcome = "completed"
	OutcomeFailed      Outcome = "failed"
	OutcomeInterrupted Outcome = "interrupted"
)

func (Outcome) values() []string { return list(OutcomeCompleted, OutcomeFailed, OutcomeInterrupted) }

// ToolProgress says what a tool does.
type ToolProgress struct {
	Outbound
	// ToolName is namespace and tool, such as window:create.
	ToolName string     `json:"toolName"`
	Status   ToolStatus `json:"status"`
	// Message is the tool's result as text.
	Message   string          `json:"message,omitempty"`
	ToolInput json.RawMessage `json:"toolInput,omitempty"`
	// ToolUseID pairs the start of a call with its end.
	ToolUseID string    `json:"toolUseId,omitempty"`
	AgentID   AgentID   `json:"agentId,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// ToolStatus is how far a tool call is.
type ToolStatus string

// The states of a tool call.
const (
	ToolRunning  ToolStatus = "running"
	ToolComplete ToolStatus = "complete"
	ToolError    ToolStatus = "error"
)

func (ToolStatus) values() []string { return list(ToolRunning, ToolComplete, ToolError) }

// AgentError tells that an agent or a monitor is in trouble. It ends nothing.
type AgentError struct {
	Outbound
	Error     string    `json:"error"`
	Code      Code      `json:"code,omitempty"`
	AgentID   AgentID   `json:"agentId,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// WindowAgentStatus says which agent works for a window.
type WindowAgentStatus struct {
	Outbound
	WindowID  WindowID          `json:"windowId"`
	AgentID   AgentID           `json:"agentId"`
	Status    WindowAgentChange `json:"status"`
	MonitorID MonitorID         `json:"monitorId,omitempty"`
	MessageID MessageID         `json:"messageId,omitempty"`
}

// WindowAgentChange is what happened to a window's agent.
type WindowAgentChange string

// What happens to a window's agent.
const (
	AgentAssigned WindowAgentChange = "assigned"
	AgentActive   WindowAgentChange = "active"
	AgentReleased WindowAgentChange = "released"
)

func (WindowAgentChange) values() []string { return list(AgentAssigned, AgentActive, AgentReleased) }

// MessageAccepted says that an agent has taken a message.
type MessageAccepted struct {
	Outbound
	MessageID MessageID `json:"messageId"`
	AgentID   AgentID   `json:"agentId"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	How       Taken     `json:"how,omitempty"`
	// By is the connection that sent the message.
	By ConnectionID `json:"by,omitempty"`
	// Duplicate says that the message was sent again; To is then the only
	// connection that is told.
	Duplicate bool         `json:"duplicate,omitempty"`
	To        ConnectionID `json:"to,omitempty"`
}

// Taken is how a message reached its agent.
type Taken string

// The ways a message reaches an agent.
const (
	TakenDirect    Taken = "direct"    // an idle agent began a turn
	TakenSteered   Taken = "steered"   // a running turn took it in
	TakenEphemeral Taken = "ephemeral" // an agent made for it alone
)

func (Taken) values() []string { return list(TakenDirect, TakenSteered, TakenEphemeral) }

// MessageQueued says that a message waits for its agent.
type MessageQueued struct {
	Outbound
	MessageID MessageID `json:"messageId"`
	// Position counts from 1.
	Position  int       `json:"position" wire:"min=1"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	// By is the connection that sent the message.
	By ConnectionID `json:"by,omitempty"`
	// Duplicate says that the message was sent again; To is then the only
	// connection that is told.
	Duplicate bool         `json:"duplicate,omitempty"`
	To        ConnectionID `json:"to,omitempty"`
}

// MessageRejected says that nobody will take a message.
type MessageRejected struct {
	Outbound
	MessageID MessageID `json:"messageId"`
	Code      Code      `json:"code"`
	Reason    string    `json:"reason"`
	// Field is the part of the message that was wrong.
	Field     string    `json:"field,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	// By is the connection that sent the message.
	By ConnectionID `json:"by,omitempty"`
	// Duplicate says that the message was sent again after all were told.
	Duplicate bool `json:"duplicate,omitempty"`
	// To is the only connection that is told: the one that sent a duplicate or,
	// as an error, one whose message concerns nobody else.
	To ConnectionID `json:"to,omitempty"`
}

// ApprovalRequest asks a yes or no question; DIALOG_FEEDBACK answers it.
type ApprovalRequest struct {
	Outbound
	DialogID          DialogID           `json:"dialogId"`
	Title             string             `json:"title"`
	Message           string             `json:"message"`
	ConfirmText       string             `json:"confirmText,omitempty"`
	CancelText        string             `json:"cancelText,omitempty"`
	PermissionOptions *PermissionOptions `json:"permissionOptions,omitempty"`
	// Deadline is when the hub takes silence for no.
	Deadline  Millis    `json:"deadline,omitempty"`
	AgentID   AgentID   `json:"agentId,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// AppProtocolRequest asks an app in a window; APP_PROTOCOL_RESPONSE answers it.
type AppProtocolRequest struct {
	Outbound
	RequestID RequestID  `json:"requestId"`
	WindowID  WindowID   `json:"windowId"`
	Request   AppRequest `json:"request"`
	// Deadline is when the hub stops waiting. Who reads the request later,
	// from a replay, must not run it.
	Deadline  Millis    `json:"deadline,omitempty"`
	AgentID   AgentID   `json:"agentId,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
	// To is the only connection that is asked: one whose app was loaded again
	// and is told again what it did before.
	To ConnectionID `json:"to,omitempty"`
}

// MonitorStatus says how a monitor is doing.
type MonitorStatus struct {
	Outbound
	MonitorID MonitorID    `json:"monitorId"`
	State     MonitorState `json:"state"`
	// Queue is how many messages wait.
	Queue int `json:"queue" wire:"min=0"`
	// Budget is absent for a monitor that has none, such as monitor-0.
	Budget *Budget `json:"budget,omitempty"`
	// Context is how full the memory of its main agent is, if that is known.
	Context *ContextUse `json:"context,omitempty"`
	// Revision counts how often its conversation was rewound.
	Revision  int       `json:"revision,omitempty" wire:"min=0"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// ContextUse is how much of what a model can read is used.
type ContextUse struct {
	Tokens int `json:"tokens" wire:"min=0"`
	// Window is how much it can read at all; absent if that is not known.
	Window int `json:"window,omitempty" wire:"min=0"`
	// Condensing says that the history is being summed up right now.
	Condensing bool `json:"condensing,omitempty"`
}

// MonitorState is what a monitor does.
type MonitorState string

// The states of a monitor.
const (
	MonitorIdle       MonitorState = "idle"
	MonitorRunning    MonitorState = "running"
	MonitorWaiting    MonitorState = "waiting"     // for a free slot
	MonitorOverBudget MonitorState = "over_budget" // until the budget allows more
	MonitorRemoved    MonitorState = "removed"
)

func (MonitorState) values() []string {
	return list(MonitorIdle, MonitorRunning, MonitorWaiting, MonitorOverBudget, MonitorRemoved)
}

// Budget is what a background monitor has used of what it may use.
type Budget struct {
	// Actions and Output are those of the last minute.
	Actions      int `json:"actions" wire:"min=0"`
	ActionsLimit int `json:"actionsLimit" wire:"min=0"`
	Output       int `json:"output" wire:"min=0"`
	OutputLimit  int `json:"outputLimit" wire:"min=0"`
	// Running counts the turns of all background monitors of the session.
	Running      int `json:"running" wire:"min=0"`
	RunningLimit int `json:"runningLimit" wire:"min=0"`
	// Denied is what is used up, if anything.
	Denied BudgetKind `json:"denied,omitempty"`
	// Until is when the denied budget allows something again.
	Until Millis `json:"until,omitempty"`
}

// BudgetKind is one of the things that are limited.
type BudgetKind string

// What is limited.
const (
	BudgetSlots   BudgetKind = "slots"
	BudgetActions BudgetKind = "actions"
	BudgetOutput  BudgetKind = "output"
)

func (BudgetKind) values() []string { return list(BudgetSlots, BudgetActions, BudgetOutput) }

// DialogClosed says that a dialog is no longer open.
type DialogClosed struct {
	Outbound
	DialogID DialogID    `json:"dialogId"`
	Reason   CloseReason `json:"reason"`
	// AnsweredBy is the connection that answered, if one did.
	AnsweredBy ConnectionID `json:"answeredBy,omitempty"`
	Confirmed  bool         `json:"confirmed,omitempty"`
	MonitorID  MonitorID    `json:"monitorId,omitempty"`
	MessageID  MessageID    `json:"messageId,omitempty"`
}

// PromptClosed says that a prompt is no longer open.
type PromptClosed struct {
	Outbound
	PromptID PromptID    `json:"promptId"`
	Reason   CloseReason `json:"reason"`
	// AnsweredBy is the connection that answered, if one did.
	AnsweredBy ConnectionID `json:"answeredBy,omitempty"`
	MonitorID  MonitorID    `json:"monitorId,omitempty"`
	MessageID  MessageID    `json:"messageId,omitempty"`
}

// CloseReason is why a question is no longer open.
type CloseReason string

// Why questions end.
const (
	ClosedAnswered  CloseReason = "answered"
	ClosedDismissed CloseReason = "dismissed"
	ClosedExpired   CloseReason = "expired"
	ClosedCancelled CloseReason = "cancelled" // whoever asked is gone
)

func (CloseReason) values() []string {
	return list(ClosedAnswered, ClosedDismissed, ClosedExpired, ClosedCancelled)
}

// Presence says who is looking.
type Presence struct {
	Outbound
	// Connections are the oldest ones, up to a bound.
	Connections []Connection `json:"connections"`
	// Total is how many there are.
	Total int `json:"total,omitempty" wire:"min=0"`
}

// Connection is one open connection to the session.
type Connection struct {
	ConnectionID ConnectionID `json:"connectionId"`
	ClientID     ClientID     `json:"clientId,omitempty"`
	User         string       `json:"user,omitempty"`
	// Monitors are those it shows; none means all.
	Monitors []MonitorID `json:"monitors,omitempty"`
	Since    Millis      `json:"since,omitempty"`
}

// OwnerChanged says that a replica has taken the session. It is the first event
// of its epoch.
type OwnerChanged struct {
	Outbound
	Replica ReplicaID `json:"replica"`
	Epoch   uint64    `json:"epoch"`
	// Prev is where the log ended before; absent when it was empty.
	Prev Position `json:"prev,omitzero"`
}

// SessionRenamed says that the session has another title.
type SessionRenamed struct {
	Outbound
	Title string `json:"title"`
}

// ProviderChanged says that somebody else answers from now on.
type ProviderChanged struct {
	Outbound
	Provider string `json:"provider"`
}

// TurnInterrupted says that a turn did not come to its own end.
type TurnInterrupted struct {
	Outbound
	MessageID MessageID `json:"messageId"`
	AgentID   AgentID   `json:"agentId"`
	Reason    string    `json:"reason"`
	// Resumable says that the user may choose to go on.
	Resumable bool      `json:"resumable"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
}
