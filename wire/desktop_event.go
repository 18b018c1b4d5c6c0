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
	// By is the connection whose user or program acted; it need not show the change again.
	By ConnectionID `json:"by,omitempty"`
}

// AgentThinking is a piece of an agent's thinking.
type AgentThinking struct {
	Outbound
	// Content is the whole text so far; only the desktop dialect has it.
	Content string `json:"content,omitempty"`
	// Delta is the new text, to be inserted at Offset.
	Delta string `json:"delta,omitempty"`
	// Offset counts UTF-16 units of the turn's text; absent means 0.
	Offset    int       `json:"offset,omitempty" wire:"min=0"`
	AgentID   AgentID   `json:"agentId,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// AgentResponse is a piece of an agent's answer, or the end of a message. Every accepted
// message ends with exactly one that is complete and has its messageId. The turn ends with
// that of the message that began it; those of messages that joined the running turn follow,
// with the same outcome.
type AgentResponse struct {
	Outbound
	// Content is the whole text so far; only the desktop dialect has it.
	Content string `json:"content,omitempty"`
	// Delta is the new text, to be inserted at Offset.
	Delta string `json:"delta,omitempty"`
	// Offset counts UTF-16 units of the turn's text; absent means 0.
	Offset     int  `json:"offset,omitempty" wire:"min=0"`
	IsComplete bool `json:"isComplete"`
	// Outcome is set when the turn is complete.
	Outcome Outcome `json:"outcome,omitempty"`
	// Reason says why the turn failed or was interrupted.
	Reason string `json:"reason,omitempty"`
	// Usage is the usage of the turn, DurationMS its duration. They are set when the turn
	// is complete and they are known.
	Usage      *Usage    `json:"usage,omitempty"`
	DurationMS int       `json:"durationMs,omitempty" wire:"min=0"`
	AgentID    AgentID   `json:"agentId,omitempty"`
	MonitorID  MonitorID `json:"monitorId,omitempty"`
	MessageID  MessageID `json:"messageId,omitempty"`
	// Joined is set at the end of a message that joined a turn: it is the message that
	// began the turn. Usage and durationMs are in the end of that message.
	Joined MessageID `json:"joined,omitempty"`
}

// Usage is the token usage and cost of a turn.
type Usage struct {
	// InputTokens excludes tokens read from the cache.
	InputTokens      int     `json:"inputTokens" wire:"min=0"`
	OutputTokens     int     `json:"outputTokens" wire:"min=0"`
	CacheReadTokens  int     `json:"cacheReadTokens,omitempty" wire:"min=0"`
	CacheWriteTokens int     `json:"cacheWriteTokens,omitempty" wire:"min=0"`
	CostUSD          float64 `json:"costUsd,omitempty" wire:"min=0"`
	// CostUnknown is set if the price of a part is unknown; costUsd is the cost of the rest.
	CostUnknown bool `json:"costUnknown,omitempty"`
}

// Outcome is the way a turn ended.
type Outcome string

// The outcomes of a turn.
const (
	OutcomeCompleted   Outcome = "completed"
	OutcomeFailed      Outcome = "failed"
	OutcomeInterrupted Outcome = "interrupted"
)

func (Outcome) values() []string { return list(OutcomeCompleted, OutcomeFailed, OutcomeInterrupted) }

// ToolProgress reports the progress of a tool call.
type ToolProgress struct {
	Outbound
	// ToolName is namespace and tool, such as window:create.
	ToolName string     `json:"toolName"`
	Status   ToolStatus `json:"status"`
	// Message is the tool's result as text, or how far it is while it runs.
	Message   string          `json:"message,omitempty"`
	ToolInput json.RawMessage `json:"toolInput,omitempty"`
	// ToolUseID pairs the start of a call with its end.
	ToolUseID string    `json:"toolUseId,omitempty"`
	AgentID   AgentID   `json:"agentId,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// ToolStatus is the state of a tool call.
type ToolStatus string

// The states of a tool call.
const (
	ToolRunning  ToolStatus = "running"
	ToolComplete ToolStatus = "complete"
	ToolError    ToolStatus = "error"
)

func (ToolStatus) values() []string { return list(ToolRunning, ToolComplete, ToolError) }

// AgentError reports a problem of an agent or a monitor. It does not end a turn.
type AgentError struct {
	Outbound
	Error     string    `json:"error"`
	Code      Code      `json:"code,omitempty"`
	AgentID   AgentID   `json:"agentId,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// WindowAgentStatus reports a change of a window's agent.
type WindowAgentStatus struct {
	Outbound
	WindowID  WindowID          `json:"windowId"`
	AgentID   AgentID           `json:"agentId"`
	Status    WindowAgentChange `json:"status"`
	MonitorID MonitorID         `json:"monitorId,omitempty"`
	MessageID MessageID         `json:"messageId,omitempty"`
}

// WindowAgentChange is the kind of change of a window's agent.
type WindowAgentChange string

// The changes of a window's agent.
const (
	AgentAssigned WindowAgentChange = "assigned"
	AgentActive   WindowAgentChange = "active"
	AgentReleased WindowAgentChange = "released"
)

func (WindowAgentChange) values() []string { return list(AgentAssigned, AgentActive, AgentReleased) }

// MessageAccepted says that an agent has accepted a message.
type MessageAccepted struct {
	Outbound
	MessageID MessageID `json:"messageId"`
	AgentID   AgentID   `json:"agentId"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	How       Taken     `json:"how,omitempty"`
	// By is the connection that sent the message.
	By ConnectionID `json:"by,omitempty"`
	// Duplicate is set if the message was sent again; then only the connection To receives
	// the event.
	Duplicate bool         `json:"duplicate,omitempty"`
	To        ConnectionID `json:"to,omitempty"`
}

// Taken is the way a message reached its agent.
type Taken string

// The ways a message reaches an agent.
const (
	TakenDirect    Taken = "direct"    // an idle agent started a turn
	TakenSteered   Taken = "steered"   // a running turn included it
	TakenEphemeral Taken = "ephemeral" // an agent created for this message only
)

func (Taken) values() []string { return list(TakenDirect, TakenSteered, TakenEphemeral) }

// MessageQueued says that a message is queued for its agent.
type MessageQueued struct {
	Outbound
	MessageID MessageID `json:"messageId"`
	// Position counts from 1.
	Position  int       `json:"position" wire:"min=1"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	// By is the connection that sent the message.
	By ConnectionID `json:"by,omitempty"`
	// Duplicate is set if the message was sent again; then only the connection To receives
	// the event.
	Duplicate bool         `json:"duplicate,omitempty"`
	To        ConnectionID `json:"to,omitempty"`
}

// MessageRejected says that a message was refused.
type MessageRejected struct {
	Outbound
	MessageID MessageID `json:"messageId"`
	Code      Code      `json:"code"`
	Reason    string    `json:"reason"`
	// ReasonCode names the reason, if it is one of the [Reasons].
	ReasonCode ReasonCode `json:"reasonCode,omitempty"`
	// Field is the invalid field of the message.
	Field     string    `json:"field,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	// By is the connection that sent the message.
	By ConnectionID `json:"by,omitempty"`
	// Duplicate is set if the message was sent again after the refusal was sent to all.
	Duplicate bool `json:"duplicate,omitempty"`
	// To is the only connection that receives the event: the sender of a duplicate or, for
	// an error, the sender of a message that concerns no other connection.
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
	// Deadline is the time at which the hub takes a missing answer as no.
	Deadline Millis `json:"deadline,omitempty"`
	// ToolUseID is the tool call for which the agent needs the permission, see [ToolProgress].
	ToolUseID string    `json:"toolUseId,omitempty"`
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
	// Deadline is the time at which the hub stops waiting. A client that reads the request
	// later, from a replay, must not execute it.
	Deadline  Millis    `json:"deadline,omitempty"`
	AgentID   AgentID   `json:"agentId,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
	// To is the only connection that is asked: one whose app was reloaded and is sent its
	// earlier commands again.
	To ConnectionID `json:"to,omitempty"`
}

// ViewActive says that the user uses the view of an MCP server in one tab. The others show that it is in use there.
type ViewActive struct {
	Outbound
	WindowID  WindowID  `json:"windowId"`
	MonitorID MonitorID `json:"monitorId"`
	// By is the connection of that tab.
	By ConnectionID `json:"by"`
}

// PointerMoved says where the pointer of another user is on a monitor. It is not in the log. Positions may be missing,
// and a pointer that has not moved for some seconds is of no interest.
type PointerMoved struct {
	Outbound
	// ConnectionID is that of the tab with the pointer.
	ConnectionID ConnectionID `json:"connectionId"`
	User         string       `json:"user,omitempty"`
	MonitorID    MonitorID    `json:"monitorId"`
	// X and Y are ten-thousandths of the width and the height of the area for windows.
	X int `json:"x" wire:"min=0,max=10000"`
	Y int `json:"y" wire:"min=0,max=10000"`
	// Gone says that the pointer has left the monitor.
	Gone bool `json:"gone,omitempty"`
}

// MonitorStatus reports the state of a monitor.
type MonitorStatus struct {
	Outbound
	MonitorID MonitorID    `json:"monitorId"`
	State     MonitorState `json:"state"`
	// Queue is the number of queued messages.
	Queue int `json:"queue" wire:"min=0"`
	// Budget is absent for a monitor that has none, such as monitor-0.
	Budget *Budget `json:"budget,omitempty"`
	// Context is how full the context window of the main agent is, if known.
	Context *ContextUse `json:"context,omitempty"`
	// Revision counts how often its conversation was rewound.
	Revision  int       `json:"revision,omitempty" wire:"min=0"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// ContextUse is the used part of a model's context window, in tokens.
type ContextUse struct {
	Tokens int `json:"tokens" wire:"min=0"`
	// Window is the size of the context window; absent if unknown.
	Window int `json:"window,omitempty" wire:"min=0"`
	// Condensing is set while the history is being condensed.
	Condensing bool `json:"condensing,omitempty"`
}

// MonitorState is the activity of a monitor.
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

// Budget is the used part of a background monitor's budget.
type Budget struct {
	// Actions and Output are counts of the last minute.
	Actions      int `json:"actions" wire:"min=0"`
	ActionsLimit int `json:"actionsLimit" wire:"min=0"`
	Output       int `json:"output" wire:"min=0"`
	OutputLimit  int `json:"outputLimit" wire:"min=0"`
	// Running counts the turns of all background monitors of the session.
	Running      int `json:"running" wire:"min=0"`
	RunningLimit int `json:"runningLimit" wire:"min=0"`
	// Denied is the exhausted budget, if any.
	Denied BudgetKind `json:"denied,omitempty"`
	// Until is the time at which the denied budget allows more.
	Until Millis `json:"until,omitempty"`
}

// BudgetKind is a kind of budget.
type BudgetKind string

// The kinds of budgets.
const (
	BudgetSlots   BudgetKind = "slots"
	BudgetActions BudgetKind = "actions"
	BudgetOutput  BudgetKind = "output"
)

func (BudgetKind) values() []string { return list(BudgetSlots, BudgetActions, BudgetOutput) }

// DialogClosed says that a dialog was closed.
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

// PromptClosed says that a prompt was closed.
type PromptClosed struct {
	Outbound
	PromptID PromptID    `json:"promptId"`
	Reason   CloseReason `json:"reason"`
	// AnsweredBy is the connection that answered, if one did.
	AnsweredBy ConnectionID `json:"answeredBy,omitempty"`
	MonitorID  MonitorID    `json:"monitorId,omitempty"`
	MessageID  MessageID    `json:"messageId,omitempty"`
}

// CloseReason is the reason why a question was closed.
type CloseReason string

// The reasons.
const (
	ClosedAnswered  CloseReason = "answered"
	ClosedDismissed CloseReason = "dismissed"
	ClosedExpired   CloseReason = "expired"
	ClosedCancelled CloseReason = "cancelled" // the agent that asked has ended
)

func (CloseReason) values() []string {
	return list(ClosedAnswered, ClosedDismissed, ClosedExpired, ClosedCancelled)
}

// Presence lists the open connections of the session.
type Presence struct {
	Outbound
	// Connections are the oldest ones, up to a bound.
	Connections []Connection `json:"connections"`
	// Total is the number of all connections.
	Total int `json:"total,omitempty" wire:"min=0"`
}

// Connection is one open connection to the session.
type Connection struct {
	ConnectionID ConnectionID `json:"connectionId"`
	ClientID     ClientID     `json:"clientId,omitempty"`
	User         string       `json:"user,omitempty"`
	// Monitors are the monitors it shows; empty means all.
	Monitors []MonitorID `json:"monitors,omitempty"`
	Since    Millis      `json:"since,omitempty"`
}

// OwnerChanged says that a replica has become the owner of the session. It is the first
// event of its epoch.
type OwnerChanged struct {
	Outbound
	Replica ReplicaID `json:"replica"`
	Epoch   uint64    `json:"epoch"`
	// Prev is the end of the log before; absent if the log was empty.
	Prev Position `json:"prev,omitzero"`
}

// SessionRenamed carries the new title of the session.
type SessionRenamed struct {
	Outbound
	Title string `json:"title"`
}

// SessionUserChanged says that the session belongs to another user from now on. Its user before stays an
// operator.
type SessionUserChanged struct {
	Outbound
	User     string `json:"user"`
	Previous string `json:"previous"`
}

// FilesChanged says that files of the session have changed, whichever person, program, agent or replica
// changed them. It carries no content: a client that shows one of the files reads it again.
type FilesChanged struct {
	Outbound
	Files []FileChange `json:"files" wire:"min=1"`
}

// FileChange says what happened to a file or folder of the session.
type FileChange struct {
	// Path is the path below the session's folder, with slashes.
	Path        string `json:"path"`
	IsDirectory bool   `json:"isDirectory,omitempty"`
	// Removed says that there is nothing at the path any more.
	Removed bool  `json:"removed,omitempty"`
	Size    int64 `json:"size,omitempty" wire:"min=0"`
	// ETag is that of the new content; absent for folders.
	ETag string `json:"etag,omitempty"`
}

// ProviderChanged carries the new provider of the session.
type ProviderChanged struct {
	Outbound
	Provider string `json:"provider"`
}

// AgentMode is the mode that a session has chosen for its agents.
type AgentMode struct {
	// ID is empty if there is none.
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// ToolProfile limits the tools: all, show or read.
	ToolProfile string `json:"toolProfile,omitempty"`
	// Model is the model profile of the mode, if it has one, and ModelMissing says that it does not
	// exist, so that the default is used.
	Model        string `json:"model,omitempty"`
	ModelMissing bool   `json:"modelMissing,omitempty"`
	// OwnRules says that the mode has auto-approval rules, which replace those of the session.
	OwnRules bool `json:"ownRules,omitempty"`
}

// ModeChanged carries the new mode of the session. Turns that run keep theirs.
type ModeChanged struct {
	Outbound
	Mode      AgentMode    `json:"mode"`
	By        ConnectionID `json:"by,omitempty"`
	MessageID MessageID    `json:"messageId,omitempty"`
}

// InstructionsChanged carries the new custom instructions of the session.
type InstructionsChanged struct {
	Outbound
	Instructions string       `json:"instructions"`
	By           ConnectionID `json:"by,omitempty"`
	MessageID    MessageID    `json:"messageId,omitempty"`
}

// TurnInterrupted says that a turn was interrupted before its end.
type TurnInterrupted struct {
	Outbound
	MessageID MessageID `json:"messageId"`
	AgentID   AgentID   `json:"agentId"`
	Reason    string    `json:"reason"`
	// Resumable means that the user may choose to continue it.
	Resumable bool      `json:"resumable"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
}
