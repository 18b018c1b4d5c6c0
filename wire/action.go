package wire

// Action is one change of the desktop; its `type` says which.
type Action interface{ action() }

// ActionMeta holds optional fields of every action.
type ActionMeta struct {
	// AgentID is the agent that acted. Desktops compare it with the lock of a window, so
	// every action of an agent should have it.
	AgentID AgentID `json:"agentId,omitempty"`
	// RequestID is set when the hub waits for RENDERING_FEEDBACK.
	RequestID RequestID `json:"requestId,omitempty"`
}

func (ActionMeta) action() {}
func (WindowLock) action() {}

func actionUnion() union {
	return unionOf[Action]("type",
		variant[WindowCreate]("window.create"),
		variant[WindowClose]("window.close"),
		variant[WindowFocus]("window.focus"),
		variant[WindowMinimize]("window.minimize"),
		variant[WindowMaximize]("window.maximize"),
		variant[WindowRestore]("window.restore"),
		variant[WindowMove]("window.move"),
		variant[WindowResize]("window.resize"),
		variant[WindowSetTitle]("window.setTitle"),
		variant[WindowSetContent]("window.setContent"),
		variant[WindowUpdateContent]("window.updateContent"),
		variant[WindowEdit]("window.edit"),
		variant[WindowLock]("window.lock"),
		variant[WindowUnlock]("window.unlock"),
		variant[WindowCapture]("window.capture"),
		variant[NotificationShow]("notification.show"),
		variant[NotificationDismiss]("notification.dismiss"),
		variant[ToastShow]("toast.show"),
		variant[ToastDismiss]("toast.dismiss"),
		variant[DialogConfirm]("dialog.confirm"),
		variant[PromptShow]("user.prompt.show"),
		variant[PromptDismiss]("user.prompt.dismiss"),
		variant[AppBadge]("app.badge"),
		variant[RefreshApps]("desktop.refreshApps"),
		variant[CreateShortcut]("desktop.createShortcut"),
		variant[RemoveShortcut]("desktop.removeShortcut"),
		variant[UpdateShortcut]("desktop.updateShortcut"),
	)
}

// NotificationShow shows a notification until it is dismissed. Beyond 100 the oldest is
// removed.
type NotificationShow struct {
	Notification
	ActionMeta
}

// Notification is a message to the user that stays in the notification centre.
type Notification struct {
	ID    NoticeID `json:"id"`
	Title string   `json:"title"`
	Body  string   `json:"body"`
	Icon  string   `json:"icon,omitempty"`
	// Duration is the display time in ms; 8000 when absent.
	Duration int `json:"duration,omitempty" wire:"min=0"`
}

// NotificationDismiss removes a notification.
type NotificationDismiss struct {
	ID NoticeID `json:"id"`
	ActionMeta
}

// ToastShow shows a short message over the desktop.
type ToastShow struct {
	Toast
	ActionMeta
}

// Toast is a short message over the desktop.
type Toast struct {
	ID      NoticeID      `json:"id"`
	Message string        `json:"message"`
	Variant NoticeVariant `json:"variant,omitempty"`
	// Action is a button; pressing it sends TOAST_ACTION.
	Action *ToastButton `json:"action,omitempty"`
	// Duration is the display time in ms; 5000 when absent.
	Duration int `json:"duration,omitempty" wire:"min=0"`
}

// ToastButton is the button of a toast.
type ToastButton struct {
	Label   string `json:"label"`
	EventID string `json:"eventId"`
}

// ToastDismiss removes a toast.
type ToastDismiss struct {
	ID NoticeID `json:"id"`
	ActionMeta
}

// NoticeVariant is the severity of a toast.
type NoticeVariant string

// The variants of toasts.
const (
	NoticeInfo    NoticeVariant = "info"
	NoticeSuccess NoticeVariant = "success"
	NoticeWarning NoticeVariant = "warning"
	NoticeError   NoticeVariant = "error"
)

func (NoticeVariant) values() []string {
	return list(NoticeInfo, NoticeSuccess, NoticeWarning, NoticeError)
}

// DialogConfirm asks a yes or no question; DIALOG_FEEDBACK answers it.
type DialogConfirm struct {
	ID                DialogID           `json:"id"`
	Title             string             `json:"title"`
	Message           string             `json:"message"`
	ConfirmText       string             `json:"confirmText,omitempty"`
	CancelText        string             `json:"cancelText,omitempty"`
	PermissionOptions *PermissionOptions `json:"permissionOptions,omitempty"`
	ActionMeta
}

// PermissionOptions is set when a dialog asks for a permission of the owner of the session,
// possibly one that can be remembered. Only the owner can answer it.
type PermissionOptions struct {
	ShowRememberChoice bool   `json:"showRememberChoice"`
	ToolName           string `json:"toolName"`
	// Context narrows the permission, for example to one domain.
	Context string `json:"context,omitempty"`
}

// PromptShow asks for a choice or a text; USER_PROMPT_RESPONSE answers it.
type PromptShow struct {
	Prompt
	ActionMeta
}

// Prompt is a question with choices, a text field or both.
type Prompt struct {
	ID          PromptID       `json:"id"`
	Title       string         `json:"title"`
	Message     string         `json:"message"`
	Options     []PromptOption `json:"options,omitempty"`
	MultiSelect bool           `json:"multiSelect,omitempty"`
	InputField  *PromptInput   `json:"inputField,omitempty"`
	// AllowDismiss false removes the option to dismiss the prompt; absent means true.
	AllowDismiss *bool `json:"allowDismiss,omitempty"`
	// ClientTool is set if the program that sent the message is to execute a tool. The text of the answer
	// is the result.
	ClientTool *ClientToolCall `json:"clientTool,omitempty"`
}

// PromptOption is one choice of a prompt.
type PromptOption struct {
	Value       string `json:"value"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// PromptInput is the text field of a prompt.
type PromptInput struct {
	Label       string          `json:"label,omitempty"`
	Placeholder string          `json:"placeholder,omitempty"`
	Type        PromptInputType `json:"type,omitempty"`
}

// PromptInputType is how a prompt's text is typed.
type PromptInputType string

// The types of a prompt's text field.
const (
	PromptText     PromptInputType = "text"
	PromptTextarea PromptInputType = "textarea"
	PromptPassword PromptInputType = "password"
)

func (PromptInputType) values() []string { return list(PromptText, PromptTextarea, PromptPassword) }

// PromptDismiss removes a prompt, for example because another tab answered.
type PromptDismiss struct {
	ID PromptID `json:"id"`
	ActionMeta
}

// AppBadge shows a count on an app's icon; 0 clears it.
type AppBadge struct {
	AppID AppID  `json:"appId"`
	Count uint64 `json:"count"`
	ActionMeta
}

// RefreshApps tells the desktop to fetch the list of apps again.
type RefreshApps struct {
	ActionMeta
}

// CreateShortcut puts a shortcut on the desktop.
type CreateShortcut struct {
	Shortcut Shortcut `json:"shortcut"`
	ActionMeta
}

// RemoveShortcut removes a shortcut.
type RemoveShortcut struct {
	ShortcutID ShortcutID `json:"shortcutId"`
	ActionMeta
}

// UpdateShortcut changes the given fields of a shortcut.
type UpdateShortcut struct {
	ShortcutID ShortcutID    `json:"shortcutId"`
	Updates    ShortcutPatch `json:"updates"`
	ActionMeta
}

// Shortcut is an icon on the desktop.
type Shortcut struct {
	ID       ShortcutID   `json:"id"`
	Label    string       `json:"label"`
	Icon     string       `json:"icon"`
	IconType IconType     `json:"iconType,omitempty"`
	Type     ShortcutType `json:"type"`
	Target   string       `json:"target"`
	// OSActions run in the browser, without an agent.
	OSActions []Action `json:"osActions,omitempty"`
	CreatedAt Millis   `json:"createdAt"`
}

// ShortcutPatch is a part of a shortcut. An empty field replaces the old value; an absent
// one does not.
type ShortcutPatch struct {
	Label     *string      `json:"label,omitempty"`
	Icon      *string      `json:"icon,omitempty"`
	IconType  IconType     `json:"iconType,omitempty"`
	Type      ShortcutType `json:"type,omitempty"`
	Target    *string      `json:"target,omitempty"`
	OSActions *[]Action    `json:"osActions,omitempty"`
}

// IconType is the kind of an icon's text.
type IconType string

// The types of icons.
const (
	IconEmoji IconType = "emoji"
	IconImage IconType = "image"
)

func (IconType) values() []string { return list(IconEmoji, IconImage) }

// ShortcutType is the kind of a shortcut's target.
type ShortcutType string

// The types of shortcuts.
const (
	ShortcutFile   ShortcutType = "file"
	ShortcutURL    ShortcutType = "url"
	ShortcutAction ShortcutType = "action"
)

func (ShortcutType) values() []string { return list(ShortcutFile, ShortcutURL, ShortcutAction) }
