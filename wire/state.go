package wire

// SessionState is the first event of every connection. In mode resume it only
// says how far the replay goes; in mode snapshot it is everything a desktop
// needs to draw itself, taken at one position of the log.
type SessionState struct {
	Outbound
	Mode StateMode `json:"mode"`
	// Reason says why it is a snapshot. A client without a subprotocol that is sent
	// what it missed behind it gets none.
	Reason SnapshotReason `json:"reason,omitempty"`
	// ReplayUntil is the last of the events that follow at once, in mode
	// resume.
	ReplayUntil Position `json:"replay_until,omitzero"`
	// HeartbeatMS is how often the hub sends a ping.
	HeartbeatMS int           `json:"heartbeat_ms" wire:"min=1"`
	Status      SessionStatus `json:"status,omitempty"`
	// Title is the session's name among the user's others.
	Title string `json:"title,omitempty"`
	// Owner is the replica that runs the session.
	Owner    ReplicaID `json:"owner,omitempty"`
	Provider string    `json:"provider,omitempty"`
	// AutoApproval is what agents may do without asking, if anything was said.
	AutoApproval *AutoApproval `json:"autoApproval,omitempty"`
	// CurrentLayer is where the plan is. It is null in a snapshot without one that
	// is under way.
	CurrentLayer Layer           `json:"current_layer,omitempty" null:"snapshot"`
	Monitors     []MonitorStatus `json:"monitors,omitempty"`
	Windows      []WindowState   `json:"windows,omitempty"`
	Agents       []AgentState    `json:"agents,omitempty"`
	// Queues has the waiting messages of each monitor.
	Queues Object[MonitorID, []QueuedMessage] `json:"queues,omitempty"`
	// Budgets has what each background monitor has used.
	Budgets       Object[MonitorID, Budget] `json:"budgets,omitempty"`
	Dialogs       []ApprovalRequest         `json:"dialogs,omitempty"`
	Prompts       []OpenPrompt              `json:"prompts,omitempty"`
	Notifications []ShownNotification       `json:"notifications,omitempty"`
	Toasts        []ShownToast              `json:"toasts,omitempty"`
	// Shortcuts are the icons that were put on the desktop.
	Shortcuts []Shortcut `json:"shortcuts,omitempty"`
	// Badges has the counts on app icons.
	Badges Object[AppID, uint64] `json:"badges,omitempty"`
	// HITLPending is the oldest question that the plan waits for, HITLRequests are
	// all of them. It is null in a snapshot without any.
	HITLPending  HITLRequest   `json:"hitl_pending,omitempty" null:"snapshot"`
	HITLRequests []HITLRequest `json:"hitl_requests,omitempty"`
	// Plan is null in a snapshot without one.
	Plan *PlanState `json:"plan,omitempty" null:"snapshot"`
	// Todos is there in every snapshot, even when it is empty.
	Todos []Todo `json:"todos,omitzero"`
	// RecentMessages are the newest rows of all conversations, oldest first.
	RecentMessages []UIRow `json:"recent_messages,omitempty"`
	// Connections is how many there are; Presence has the oldest of them.
	Connections int          `json:"connections,omitempty" wire:"min=0"`
	Presence    []Connection `json:"presence,omitempty"`
	// LastMessageID is the position of the state.
	LastMessageID Position `json:"last_message_id,omitzero"`
}

// StateMode is which of its two forms a session_state has.
type StateMode string

// The forms of session_state.
const (
	StateResume   StateMode = "resume"
	StateSnapshot StateMode = "snapshot"
)

func (StateMode) values() []string { return list(StateResume, StateSnapshot) }

// SnapshotReason is why a client gets the whole state.
type SnapshotReason string

// Why clients get the whole state.
const (
	SnapshotFresh   SnapshotReason = "fresh"    // it asked for no position
	SnapshotTrimmed SnapshotReason = "trimmed"  // its position is older than the log
	SnapshotUnknown SnapshotReason = "unknown"  // its position was never in the log, or was lost
	SnapshotTooMany SnapshotReason = "too_many" // it missed too much
)

func (SnapshotReason) values() []string {
	return list(SnapshotFresh, SnapshotTrimmed, SnapshotUnknown, SnapshotTooMany)
}

// SessionStatus is what a session does.
type SessionStatus string

// What a session does.
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
	// RestoreBounds is where a maximized window goes back to.
	RestoreBounds *Bounds `json:"restoreBounds,omitempty"`
	// Z orders the windows of a monitor, the highest being in front. The
	// standard window in front that is not minimized has the focus.
	Z uint64 `json:"z,omitempty"`
	// Lock is the agent that has locked the window.
	Lock AgentID `json:"lock,omitempty"`
	// GroupID is the first window of the group this one belongs to: windows
	// that a window's agent opened share that agent.
	GroupID WindowID `json:"groupId,omitempty"`
	AppID   AppID    `json:"appId,omitempty"`
}

// AgentState is an agent that exists.
type AgentState struct {
	// Role is the agentId of its events.
	Role      AgentID     `json:"role"`
	Kind      AgentKind   `json:"kind"`
	MonitorID MonitorID   `json:"monitorId,omitempty"`
	WindowID  WindowID    `json:"windowId,omitempty"`
	Status    AgentStatus `json:"status"`
	// MessageID is the message it works on.
	MessageID MessageID `json:"messageId,omitempty"`
	// Text and Thinking are what the turn has said so far.
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"`
	// Tool is the tool that runs now.
	Tool      string `json:"tool,omitempty"`
	StartedAt Millis `json:"startedAt,omitempty"`
}

// AgentKind is what an agent is for.
type AgentKind string

// The kinds of agents.
const (
	AgentMain      AgentKind = "main"
	AgentEphemeral AgentKind = "ephemeral"
	AgentWindow    AgentKind = "window"
	AgentTask      AgentKind = "task"
)

func (AgentKind) values() []string {
	return list(AgentMain, AgentEphemeral, AgentWindow, AgentTask)
}

// AgentStatus is what an agent does.
type AgentStatus string

// What agents do.
const (
	AgentStatusIdle    AgentStatus = "idle"
	AgentStatusRunning AgentStatus = "running"
	AgentStatusWaiting AgentStatus = "waiting" // for the user or a slot
)

func (AgentStatus) values() []string {
	return list(AgentStatusIdle, AgentStatusRunning, AgentStatusWaiting)
}

// OpenPrompt is a prompt that waits for its answer.
type OpenPrompt struct {
	Prompt
	// Deadline is when the hub takes silence for a dismissal.
	Deadline  Millis    `json:"deadline,omitempty"`
	AgentID   AgentID   `json:"agentId,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
}

// ShownNotification is a notification that was not dismissed.
type ShownNotification struct {
	Notification
	Since     Millis    `json:"since,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
}

// ShownToast is a toast whose time is not over.
type ShownToast struct {
	Toast
	Since     Millis    `json:"since,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
}

// PlanState sums up the plan.
type PlanState struct {
	// ID is empty while a request stands still that there is no plan for yet.
	ID         PlanID     `json:"id,omitempty"`
	Status     PlanStatus `json:"status"`
	Version    int        `json:"version,omitempty" wire:"min=0"`
	TotalTodos int        `json:"total_todos" wire:"min=0"`
	// MermaidDiagram draws the plan.
	MermaidDiagram       string  `json:"mermaid_diagram,omitempty"`
	EstimatedDurationSec float64 `json:"estimated_duration_sec,omitempty" wire:"min=0"`
	EstimatedCostUSD     float64 `json:"estimated_cost_usd,omitempty" wire:"min=0"`
	// Request is what the user wants, MessageID the message that says so.
	Request   string    `json:"request,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
	// StartedAt is when it began to run.
	StartedAt Millis `json:"started_at,omitempty"`
	// PausedBy and PauseReason say why it stands still, if it does.
	PausedBy    string `json:"paused_by,omitempty"`
	PauseReason string `json:"pause_reason,omitempty"`
	// Complete or Failed is how it ended.
	Complete *PlanComplete `json:"complete,omitempty"`
	Failed   *PlanFailure  `json:"failed,omitempty"`
}

// Ended reports whether nothing is done for the plan any more. There may be none.
func (p *PlanState) Ended() bool {
	switch {
	case p == nil:
		return false
	case p.Status == PlanCompleted:
		return p.Complete != nil
	}
	return (p.Status == PlanFailed || p.Status == PlanCancelled) && p.Failed != nil
}
