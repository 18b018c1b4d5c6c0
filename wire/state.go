package wire

// SessionState is the first event of every connection. In mode resume it only says where
// the replay ends; in mode snapshot it is the whole state of the desktop at one position of
// the log.
type SessionState struct {
	Outbound
	Mode StateMode `json:"mode"`
	// Reason says why it is a snapshot. A client without a subprotocol whose missed events
	// follow gets none.
	Reason SnapshotReason `json:"reason,omitempty"`
	// ReplayUntil is the position of the last event of the replay, in mode resume.
	ReplayUntil Position `json:"replay_until,omitzero"`
	// HeartbeatMS is the interval of pings.
	HeartbeatMS int           `json:"heartbeat_ms" wire:"min=1"`
	Status      SessionStatus `json:"status,omitempty"`
	// Title is the title of the session.
	Title string `json:"title,omitempty"`
	// Owner is the replica that owns the session.
	Owner    ReplicaID `json:"owner,omitempty"`
	Provider string    `json:"provider,omitempty"`
	// AutoApproval holds the auto-approval rules of the session. Without them it follows the default of its user.
	AutoApproval *AutoApproval `json:"autoApproval,omitempty"`
	// AgentMode is the mode that was chosen for agents, if any, and Instructions are the custom
	// instructions of the session.
	AgentMode    *AgentMode `json:"agentMode,omitempty"`
	Instructions string     `json:"instructions,omitempty"`
	// CurrentLayer is the layer of the plan. It is null in a snapshot without an active
	// plan.
	CurrentLayer Layer           `json:"current_layer,omitempty" null:"snapshot"`
	Monitors     []MonitorStatus `json:"monitors,omitempty"`
	Windows      []WindowState   `json:"windows,omitempty"`
	Agents       []AgentState    `json:"agents,omitempty"`
	// Queues holds the queued messages of each monitor.
	Queues Object[MonitorID, []QueuedMessage] `json:"queues,omitempty"`
	// Budgets holds the used budget of each background monitor.
	Budgets       Object[MonitorID, Budget] `json:"budgets,omitempty"`
	Dialogs       []ApprovalRequest         `json:"dialogs,omitempty"`
	Prompts       []OpenPrompt              `json:"prompts,omitempty"`
	Notifications []ShownNotification       `json:"notifications,omitempty"`
	Toasts        []ShownToast              `json:"toasts,omitempty"`
	// Shortcuts are the icons on the desktop.
	Shortcuts []Shortcut `json:"shortcuts,omitempty"`
	// Badges holds the counts on app icons.
	Badges Object[AppID, uint64] `json:"badges,omitempty"`
	// HITLPending is the oldest open question of the plan, HITLRequests are all of them. It
	// is null in a snapshot without any.
	HITLPending  HITLRequest   `json:"hitl_pending,omitempty" null:"snapshot"`
	HITLRequests []HITLRequest `json:"hitl_requests,omitempty"`
	// Plan is null in a snapshot without one.
	Plan *PlanState `json:"plan,omitempty" null:"snapshot"`
	// Todos is present in every snapshot, even if empty.
	Todos []Todo `json:"todos,omitzero"`
	// RecentMessages are the newest rows of all conversations, oldest first.
	RecentMessages []UIRow `json:"recent_messages,omitempty"`
	// Connections is the number of open connections; Presence lists the oldest of them.
	Connections int          `json:"connections,omitempty" wire:"min=0"`
	Presence    []Connection `json:"presence,omitempty"`
	// LastMessageID is the position of the state.
	LastMessageID Position `json:"last_message_id,omitzero"`
}

// StateMode is the form of a session_state.
type StateMode string

// The forms of session_state.
const (
	StateResume   StateMode = "resume"
	StateSnapshot StateMode = "snapshot"
)

func (StateMode) values() []string { return list(StateResume, StateSnapshot) }

// SnapshotReason is the reason why a client gets a snapshot.
type SnapshotReason string

// The reasons for a snapshot.
const (
	SnapshotFresh   SnapshotReason = "fresh"    // the client named no position
	SnapshotTrimmed SnapshotReason = "trimmed"  // the position is older than the log
	SnapshotUnknown SnapshotReason = "unknown"  // the position was never in the log, or was lost
	SnapshotTooMany SnapshotReason = "too_many" // the client missed too many events
)

func (SnapshotReason) values() []string {
	return list(SnapshotFresh, SnapshotTrimmed, SnapshotUnknown, SnapshotTooMany)
}

// SessionStatus is the activity of a session.
type SessionStatus string

// The statuses of a session.
const (
	SessionIdle      SessionStatus = "idle"
	SessionExecuting SessionStatus = "executing"
	SessionWaiting   SessionStatus = "waiting" // for the user
	SessionPaused    SessionStatus = "paused"
	SessionUnowned   SessionStatus = "unowned" // between two owners
)

func (SessionStatus) values() []string {
	return list(SessionIdle, SessionExecuting, SessionWaiting, SessionPaused, SessionUnowned)
}

// WindowState is an open window.
type WindowState struct {
	WindowID  WindowID  `json:"windowId"`
	MonitorID MonitorID `json:"monitorId"`
	Title     string    `json:"title"`
	Bounds    Bounds    `json:"bounds"`
	Content   Content   `json:"content"`
	WindowLook
	Minimized bool `json:"minimized,omitempty"`
	Maximized bool `json:"maximized,omitempty"`
	// RestoreBounds are the bounds of a maximized window after a restore.
	RestoreBounds *Bounds `json:"restoreBounds,omitempty"`
	// Z orders the windows of a monitor; the highest is in front. The frontmost standard
	// window that is not minimized has the focus.
	Z uint64 `json:"z,omitempty"`
	// Lock is the agent that has locked the window.
	Lock AgentID `json:"lock,omitempty"`
	// GroupID is the first window of the group that this one belongs to: windows opened by
	// a window's agent share that agent.
	GroupID WindowID `json:"groupId,omitempty"`
	AppID   AppID    `json:"appId,omitempty"`
	// Placed says that a person moved or resized the window last, or a program on behalf of one. Pages scale the
	// bounds that agents chose to their screens, but not these.
	Placed bool `json:"placed,omitempty"`
}

// AgentState is an existing agent.
type AgentState struct {
	// Role is the agentId of its events.
	Role      AgentID     `json:"role"`
	Kind      AgentKind   `json:"kind"`
	MonitorID MonitorID   `json:"monitorId,omitempty"`
	WindowID  WindowID    `json:"windowId,omitempty"`
	Status    AgentStatus `json:"status"`
	// MessageID is the message it works on.
	MessageID MessageID `json:"messageId,omitempty"`
	// Text and Thinking are the texts of the turn so far.
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"`
	// Tool is the running tool, and ToolProgress how far it is, if it says so.
	Tool         string `json:"tool,omitempty"`
	ToolProgress string `json:"toolProgress,omitempty"`
	StartedAt    Millis `json:"startedAt,omitempty"`
}

// AgentKind is the kind of an agent.
type AgentKind string

// The kinds of agents.
const (
	AgentMain      AgentKind = "main"
	AgentEphemeral AgentKind = "ephemeral"
	AgentWindow    AgentKind = "window"
	AgentTask      AgentKind = "task"
	// AgentClient is a program outside the hub that calls a tool with an MCP token.
	AgentClient AgentKind = "client"
)

func (AgentKind) values() []string {
	return list(AgentMain, AgentEphemeral, AgentWindow, AgentTask, AgentClient)
}

// AgentStatus is the activity of an agent.
type AgentStatus string

// The statuses of an agent.
const (
	AgentStatusIdle    AgentStatus = "idle"
	AgentStatusRunning AgentStatus = "running"
	AgentStatusWaiting AgentStatus = "waiting" // for the user or a slot
)

func (AgentStatus) values() []string {
	return list(AgentStatusIdle, AgentStatusRunning, AgentStatusWaiting)
}

// OpenPrompt is an open prompt.
type OpenPrompt struct {
	Prompt
	// Deadline is the time at which the hub takes a missing answer as a dismissal.
	Deadline Millis  `json:"deadline,omitempty"`
	AgentID  AgentID `json:"agentId,omitempty"`
	// MessageID is the message that began the turn of the agent.
	MessageID MessageID `json:"messageId,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
}

// ShownNotification is a notification that was not dismissed.
type ShownNotification struct {
	Notification
	Since     Millis    `json:"since,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
}

// ShownToast is a toast that has not expired.
type ShownToast struct {
	Toast
	Since     Millis    `json:"since,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
}

// PlanState is the state of the plan.
type PlanState struct {
	// ID is empty while a request is paused that has no plan yet.
	ID         PlanID     `json:"id,omitempty"`
	Status     PlanStatus `json:"status"`
	Version    int        `json:"version,omitempty" wire:"min=0"`
	TotalTodos int        `json:"total_todos" wire:"min=0"`
	// MermaidDiagram is the plan as a Mermaid diagram.
	MermaidDiagram       string  `json:"mermaid_diagram,omitempty"`
	EstimatedDurationSec float64 `json:"estimated_duration_sec,omitempty" wire:"min=0"`
	EstimatedCostUSD     float64 `json:"estimated_cost_usd,omitempty" wire:"min=0"`
	// Request is the user's request, MessageID the message with it.
	Request   string    `json:"request,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
	// StartedAt is the start of the execution.
	StartedAt Millis `json:"started_at,omitempty"`
	// PausedBy and PauseReason say why the plan is paused, if it is.
	PausedBy    string `json:"paused_by,omitempty"`
	PauseReason string `json:"pause_reason,omitempty"`
	// Complete or Failed is the outcome.
	Complete *PlanComplete `json:"complete,omitempty"`
	Failed   *PlanFailure  `json:"failed,omitempty"`
}

// Ended reports whether the plan has ended and its outcome is set. It is false for a nil
// plan.
func (p *PlanState) Ended() bool {
	switch {
	case p == nil:
		return false
	case p.Status == PlanCompleted:
		return p.Complete != nil
	}
	return (p.Status == PlanFailed || p.Status == PlanCancelled) && p.Failed != nil
}
