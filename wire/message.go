package wire

// Messages of the desktop and program families, which clients send. Every one
// may carry monitorId and, as its idempotency key, messageId.

// UserMessage is what the user typed.
type UserMessage struct {
	Inbound
	MessageID MessageID `json:"messageId,omitempty"`
	Content   string    `json:"content"`
	// Interactions are what the user did and has not told yet.
	Interactions []UserInteraction `json:"interactions,omitempty"`
	// MonitorID defaults to monitor-0.
	MonitorID MonitorID `json:"monitorId,omitempty"`
	// Mode defaults to chat.
	Mode MessageMode `json:"mode,omitempty"`
}

// MessageMode says what is to be made of a message.
type MessageMode string

// The modes of a message.
const (
	ModeChat MessageMode = "chat" // an agent answers
	ModePlan MessageMode = "plan" // it becomes a plan first
)

func (MessageMode) values() []string { return list(ModeChat, ModePlan) }

// WindowMessage is what the user said to one window.
type WindowMessage struct {
	Inbound
	MessageID MessageID `json:"messageId,omitempty"`
	WindowID  WindowID  `json:"windowId"`
	Content   string    `json:"content"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
}

// ComponentAction is a press on a button in a window.
type ComponentAction struct {
	Inbound
	WindowID    WindowID `json:"windowId"`
	WindowTitle string   `json:"windowTitle,omitempty"`
	Action      string   `json:"action"`
	// ActionID is there when the button may run beside others.
	ActionID string                 `json:"actionId,omitempty" wire:"max=64"`
	FormData Object[string, Scalar] `json:"formData,omitempty"`
	FormID   string                 `json:"formId,omitempty"`
	// ComponentPath leads to the button, such as ["Button:Save"].
	ComponentPath []string  `json:"componentPath,omitempty"`
	MonitorID     MonitorID `json:"monitorId,omitempty"`
	MessageID     MessageID `json:"messageId,omitempty"`
}

// Interrupt stops running turns.
type Interrupt struct {
	Inbound
	// Scope defaults to session.
	Scope InterruptScope `json:"scope,omitempty"`
	// MonitorID is the monitor to stop, with scope monitor.
	MonitorID MonitorID `json:"monitorId,omitempty"`
	// AgentID is the agent to stop, with scope agent.
	AgentID AgentID `json:"agentId,omitempty"`
	// Queues says what becomes of waiting messages; defaults to keep.
	Queues    InterruptQueues `json:"queues,omitempty"`
	MessageID MessageID       `json:"messageId,omitempty"`
}

// InterruptScope is how much an interrupt stops.
type InterruptScope string

// The scopes of an interrupt.
const (
	ScopeSession InterruptScope = "session"
	ScopeMonitor InterruptScope = "monitor"
	ScopeAgent   InterruptScope = "agent"
)

func (InterruptScope) values() []string { return list(ScopeSession, ScopeMonitor, ScopeAgent) }

// InterruptQueues is what an interrupt does to waiting messages.
type InterruptQueues string

// What an interrupt does to waiting messages.
const (
	QueuesKeep InterruptQueues = "keep"
	QueuesDrop InterruptQueues = "drop"
)

func (InterruptQueues) values() []string { return list(QueuesKeep, QueuesDrop) }

// InterruptAgent stops one agent.
type InterruptAgent struct {
	Inbound
	AgentID   AgentID   `json:"agentId"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// Reset closes all windows and forgets all conversations of the session.
type Reset struct {
	Inbound
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// SetProvider changes who answers.
type SetProvider struct {
	Inbound
	Provider  string    `json:"provider" wire:"min=1,max=64"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// RenderingFeedback says what became of an action that had a requestId.
type RenderingFeedback struct {
	Inbound
	RequestID RequestID `json:"requestId"`
	WindowID  WindowID  `json:"windowId"`
	// Renderer is what answered: iframe, capture, lock or a renderer's name.
	Renderer string `json:"renderer"`
	Success  bool   `json:"success"`
	Error    string `json:"error,omitempty"`
	URL      string `json:"url,omitempty"`
	Locked   bool   `json:"locked,omitempty"`
	// ImageData is a picture in base64, without a data: prefix.
	ImageData string    `json:"imageData,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// DialogFeedback answers a dialog.
type DialogFeedback struct {
	Inbound
	DialogID       DialogID       `json:"dialogId"`
	Confirmed      bool           `json:"confirmed"`
	RememberChoice RememberChoice `json:"rememberChoice,omitempty"`
	MonitorID      MonitorID      `json:"monitorId,omitempty"`
	MessageID      MessageID      `json:"messageId,omitempty"`
}

// RememberChoice says whether an answer holds for the next time too.
type RememberChoice string

// How long an answer holds.
const (
	RememberOnce       RememberChoice = "once"
	RememberAlways     RememberChoice = "always"
	RememberDenyAlways RememberChoice = "deny_always"
)

func (RememberChoice) values() []string {
	return list(RememberOnce, RememberAlways, RememberDenyAlways)
}

// ToastAction is a press on a toast's button.
type ToastAction struct {
	Inbound
	ToastID   NoticeID  `json:"toastId"`
	EventID   string    `json:"eventId"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// UserInteractions tells what the user did on the desktop.
type UserInteractions struct {
	Inbound
	Interactions []UserInteraction `json:"interactions"`
	MonitorID    MonitorID         `json:"monitorId,omitempty"`
	MessageID    MessageID         `json:"messageId,omitempty"`
}

// UserInteraction is one thing the user did on the desktop.
type UserInteraction struct {
	Type         InteractionType `json:"type"`
	Timestamp    Millis          `json:"timestamp"`
	WindowID     WindowID        `json:"windowId,omitempty"`
	WindowTitle  string          `json:"windowTitle,omitempty"`
	Details      string          `json:"details,omitempty"`
	Instruction  string          `json:"instruction,omitempty"`
	SelectedText string          `json:"selectedText,omitempty"`
	Region       *Bounds         `json:"region,omitempty"`
	ContentHint  string          `json:"contentHint,omitempty"`
	SourceAppID  AppID           `json:"sourceAppId,omitempty"`
	// ImageData is a picture as a data: URL.
	ImageData string  `json:"imageData,omitempty"`
	Bounds    *Bounds `json:"bounds,omitempty"`
}

// InteractionType is what the user did.
type InteractionType string

// What a user does on the desktop.
const (
	DidCreateWindow        InteractionType = "window.create"
	DidCloseWindow         InteractionType = "window.close"
	DidFocusWindow         InteractionType = "window.focus"
	DidMoveWindow          InteractionType = "window.move"
	DidResizeWindow        InteractionType = "window.resize"
	DidMinimizeWindow      InteractionType = "window.minimize"
	DidMaximizeWindow      InteractionType = "window.maximize"
	DidDismissToast        InteractionType = "toast.dismiss"
	DidDismissNotification InteractionType = "notification.dismiss"
	DidClickIcon           InteractionType = "icon.click"
	DidDragIcon            InteractionType = "icon.drag"
	DidActOnSelection      InteractionType = "selection.action"
	DidSelectRegion        InteractionType = "region.select"
	DidDraw                InteractionType = "draw"
)

func (InteractionType) values() []string {
	return list(DidCreateWindow, DidCloseWindow, DidFocusWindow, DidMoveWindow, DidResizeWindow, DidMinimizeWindow,
		DidMaximizeWindow, DidDismissToast, DidDismissNotification, DidClickIcon, DidDragIcon,
		DidActOnSelection, DidSelectRegion, DidDraw)
}

// AppProtocolResponse is an app's answer to APP_PROTOCOL_REQUEST.
type AppProtocolResponse struct {
	Inbound
	RequestID RequestID   `json:"requestId"`
	WindowID  WindowID    `json:"windowId"`
	Response  AppResponse `json:"response"`
	MonitorID MonitorID   `json:"monitorId,omitempty"`
	MessageID MessageID   `json:"messageId,omitempty"`
}

// AppProtocolReady says that an app in a window takes requests.
type AppProtocolReady struct {
	Inbound
	WindowID  WindowID  `json:"windowId"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// UserPromptResponse answers a prompt.
type UserPromptResponse struct {
	Inbound
	PromptID       PromptID  `json:"promptId"`
	SelectedValues []string  `json:"selectedValues,omitempty"`
	Text           string    `json:"text,omitempty"`
	Dismissed      bool      `json:"dismissed,omitempty"`
	MonitorID      MonitorID `json:"monitorId,omitempty"`
	MessageID      MessageID `json:"messageId,omitempty"`
}

// SubscribeMonitor says that this connection shows a monitor. It adds to what
// was subscribed before.
type SubscribeMonitor struct {
	Inbound
	MonitorID MonitorID `json:"monitorId"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// RemoveMonitor closes a monitor with its queue, its agent and its windows.
type RemoveMonitor struct {
	Inbound
	MonitorID MonitorID `json:"monitorId"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// Emit lets an outside program show something in the session.
type Emit struct {
	Inbound
	Actions   []Action  `json:"actions" wire:"min=1"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// MessageRepeated says that EMIT, REWIND or CONDENSE is kept, to a sender that no
// other event tells: when it was sent again, which has no second effect, and of
// CONDENSE always. Only the connection To is told, with EMITTED.
type MessageRepeated struct {
	Outbound
	MessageID MessageID `json:"messageId"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	// First is the position of what it did the first time.
	First Position     `json:"first"`
	To    ConnectionID `json:"to"`
}

// Emitted answers EMIT, REWIND and CONDENSE once what they did is kept, and each time
// that they are sent again.
type Emitted struct {
	Outbound
	MessageID MessageID `json:"messageId"`
	// At is the position of the actions, of HISTORY_REWOUND, or where summing up begins.
	At Position `json:"message_id"`
}
