package wire

// Messages of the desktop and program families, and the events of the program family. Every
// message may carry monitorId and, as its idempotency key, messageId.

// UserMessage is a message that the user typed.
type UserMessage struct {
	Inbound
	MessageID MessageID `json:"messageId,omitempty"`
	Content   string    `json:"content"`
	// Interactions are the user's actions since the last message.
	Interactions []UserInteraction `json:"interactions,omitempty"`
	// MonitorID defaults to monitor-0.
	MonitorID MonitorID `json:"monitorId,omitempty"`
	// Mode defaults to chat.
	Mode MessageMode `json:"mode,omitempty"`
	// Viewer describes the sender's screen.
	Viewer *Viewer `json:"viewer,omitempty"`
	// Tools are those that the sender executes for the agent that begins to answer. A message that joins a
	// running turn brings none.
	Tools []ClientTool `json:"tools,omitempty" wire:"max=32"`
}

// Viewer describes the screen on which a user sees the desktop, and what it is set to.
type Viewer struct {
	// Language is a BCP 47 tag, and TimeZone a name such as Europe/Lisbon.
	Language string `json:"language,omitempty" wire:"max=35"`
	TimeZone string `json:"timeZone,omitempty" wire:"max=64"`
	// Width and Height are the size of the desktop in pixels.
	Width  int `json:"width,omitempty" wire:"min=0"`
	Height int `json:"height,omitempty" wire:"min=0"`
}

// MessageMode is the way a message is processed.
type MessageMode string

// The modes of a message.
const (
	ModeChat MessageMode = "chat" // an agent answers
	ModePlan MessageMode = "plan" // it is executed as a plan
)

func (MessageMode) values() []string { return list(ModeChat, ModePlan) }

// WindowMessage is a message of the user to one window.
type WindowMessage struct {
	Inbound
	MessageID MessageID `json:"messageId,omitempty"`
	WindowID  WindowID  `json:"windowId"`
	Content   string    `json:"content"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	Viewer    *Viewer   `json:"viewer,omitempty"`
}

// ComponentAction is a press on a button in a window.
type ComponentAction struct {
	Inbound
	WindowID    WindowID `json:"windowId"`
	WindowTitle string   `json:"windowTitle,omitempty"`
	Action      string   `json:"action"`
	// ActionID is set if the button may run in parallel with others.
	ActionID string                 `json:"actionId,omitempty" wire:"max=64"`
	FormData Object[string, Scalar] `json:"formData,omitempty"`
	FormID   string                 `json:"formId,omitempty"`
	// ComponentPath leads to the button, such as ["Button:Save"].
	ComponentPath []string  `json:"componentPath,omitempty"`
	MonitorID     MonitorID `json:"monitorId,omitempty"`
	MessageID     MessageID `json:"messageId,omitempty"`
	Viewer        *Viewer   `json:"viewer,omitempty"`
}

// Interrupt stops running turns.
type Interrupt struct {
	Inbound
	// Scope defaults to session.
	Scope InterruptScope `json:"scope,omitempty"`
	// MonitorID is the monitor to stop, with scope monitor or sender.
	MonitorID MonitorID `json:"monitorId,omitempty"`
	// AgentID is the agent to stop, with scope agent.
	AgentID AgentID `json:"agentId,omitempty"`
	// Queues is the treatment of queued messages; defaults to keep.
	Queues    InterruptQueues `json:"queues,omitempty"`
	MessageID MessageID       `json:"messageId,omitempty"`
}

// InterruptScope is the extent of an interrupt.
type InterruptScope string

// The scopes of an interrupt.
const (
	ScopeSession InterruptScope = "session"
	ScopeMonitor InterruptScope = "monitor"
	ScopeAgent   InterruptScope = "agent"
	ScopeSender  InterruptScope = "sender" // the turns of a monitor that messages of the sender began
)

func (InterruptScope) values() []string {
	return list(ScopeSession, ScopeMonitor, ScopeAgent, ScopeSender)
}

// InterruptQueues is the treatment of queued messages.
type InterruptQueues string

// The treatments of queued messages.
const (
	QueuesKeep  InterruptQueues = "keep"
	QueuesDrop  InterruptQueues = "drop"
	QueuesFirst InterruptQueues = "first" // removes the messages that wait, and stops turns only if none waited
)

func (InterruptQueues) values() []string { return list(QueuesKeep, QueuesDrop, QueuesFirst) }

// InterruptAgent stops one agent.
type InterruptAgent struct {
	Inbound
	AgentID   AgentID   `json:"agentId"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// Reset closes all windows and deletes all conversations of the session.
type Reset struct {
	Inbound
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// SetProvider changes the provider.
type SetProvider struct {
	Inbound
	Provider  string    `json:"provider" wire:"min=1,max=64"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// SetMode chooses the mode in which agents work, by its id or name; an empty one chooses none.
type SetMode struct {
	Inbound
	Mode      string    `json:"mode" wire:"max=64"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// SetInstructions replaces the custom instructions of the session.
type SetInstructions struct {
	Inbound
	// Instructions are at most 16 KiB of text; empty for none.
	Instructions string    `json:"instructions" wire:"max=16384"`
	MonitorID    MonitorID `json:"monitorId,omitempty"`
	MessageID    MessageID `json:"messageId,omitempty"`
}

// RenderingFeedback reports the result of an action that had a requestId.
type RenderingFeedback struct {
	Inbound
	RequestID RequestID `json:"requestId"`
	WindowID  WindowID  `json:"windowId"`
	// Renderer is the source of the answer: iframe, capture, lock or a renderer's name.
	Renderer string `json:"renderer"`
	Success  bool   `json:"success"`
	Error    string `json:"error,omitempty"`
	URL      string `json:"url,omitempty"`
	Locked   bool   `json:"locked,omitempty"`
	// ImageData is an image in base64, without a data: prefix.
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

// RememberChoice is the validity of an answer for later questions.
type RememberChoice string

// The validities of an answer.
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

// UserInteractions reports what the user did on the desktop.
type UserInteractions struct {
	Inbound
	Interactions []UserInteraction `json:"interactions"`
	MonitorID    MonitorID         `json:"monitorId,omitempty"`
	MessageID    MessageID         `json:"messageId,omitempty"`
}

// UserInteraction is one action of the user on the desktop.
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
	// ImageData is an image as a data: URL.
	ImageData string  `json:"imageData,omitempty"`
	Bounds    *Bounds `json:"bounds,omitempty"`
}

// InteractionType is the kind of an interaction.
type InteractionType string

// The kinds of interactions.
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

// AppProtocolReady says that an app in a window accepts requests.
type AppProtocolReady struct {
	Inbound
	WindowID  WindowID  `json:"windowId"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// ViewUsed says that the user uses the view of an MCP server in this tab. From then on this tab has the active view of
// the window: views keep their state themselves, so that those of other tabs differ.
type ViewUsed struct {
	Inbound
	WindowID  WindowID  `json:"windowId"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
	// Context is what the view tells agents about its state. It replaces the earlier one; absent means no change. Agents
	// get it with the next message of a user.
	Context *string `json:"context,omitempty" wire:"max=8192"`
}

// Pointer says where the user's pointer is on a monitor. The hub sends it to the tabs of other users
// and stores it nowhere. It sends ten positions per second of each user and drops the others without an error; a
// connection that sends thousands per second is closed with 4429.
type Pointer struct {
	Inbound
	MonitorID MonitorID `json:"monitorId"`
	// X and Y are ten-thousandths of the width and the height of the area for windows.
	X int `json:"x" wire:"min=0,max=10000"`
	Y int `json:"y" wire:"min=0,max=10000"`
	// Gone says that the pointer has left the monitor.
	Gone      bool      `json:"gone,omitempty"`
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

// SubscribeMonitor says that this connection shows a monitor, in addition to those
// subscribed before.
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

// Emit lets an external program execute actions in the session.
type Emit struct {
	Inbound
	Actions   []Action  `json:"actions" wire:"min=1"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// MessageRepeated says that EMIT, REWIND or CONDENSE is committed, to a sender that gets no
// other event: when it was sent again, which has no second effect, and for CONDENSE always.
// Only the connection To receives it, as EMITTED.
type MessageRepeated struct {
	Outbound
	MessageID MessageID `json:"messageId"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	// First is the position of its first effect.
	First Position     `json:"first"`
	To    ConnectionID `json:"to"`
}

// Emitted answers EMIT, REWIND and CONDENSE once their effect is committed, and each time
// they are sent again.
type Emitted struct {
	Outbound
	MessageID MessageID `json:"messageId"`
	// At is the position of the actions, of HISTORY_REWOUND, or of the start of condensing.
	At Position `json:"message_id"`
}
