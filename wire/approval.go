package wire

// AutoApproval holds the rules for what agents of a session may do without asking.
// Everything is off by default.
type AutoApproval struct {
	AutoApprovalEnabled bool `json:"autoApprovalEnabled,omitempty"`
	// Reading, and reading outside the workspace.
	AlwaysAllowReadOnly                 bool `json:"alwaysAllowReadOnly,omitempty"`
	AlwaysAllowReadOnlyOutsideWorkspace bool `json:"alwaysAllowReadOnlyOutsideWorkspace,omitempty"`
	// Writing, writing outside the workspace, and writing protected files.
	AlwaysAllowWrite                 bool `json:"alwaysAllowWrite,omitempty"`
	AlwaysAllowWriteOutsideWorkspace bool `json:"alwaysAllowWriteOutsideWorkspace,omitempty"`
	AlwaysAllowWriteProtected        bool `json:"alwaysAllowWriteProtected,omitempty"`
	// Commands by their first words; a prefix consists of whole words, and * is every
	// command.
	AlwaysAllowExecute bool     `json:"alwaysAllowExecute,omitempty"`
	AllowedCommands    []string `json:"allowedCommands,omitempty" wire:"max=500"`
	DeniedCommands     []string `json:"deniedCommands,omitempty" wire:"max=500"`
	// Tools of MCP servers. AllowedMcpTools lists the allowed ones as server/tool or
	// server/*.
	AlwaysAllowMcp        bool     `json:"alwaysAllowMcp,omitempty"`
	AllowedMcpTools       []string `json:"allowedMcpTools,omitempty" wire:"max=500"`
	AlwaysAllowModeSwitch bool     `json:"alwaysAllowModeSwitch,omitempty"`
	AlwaysAllowSubtasks   bool     `json:"alwaysAllowSubtasks,omitempty"`
	// Followup questions are answered with their first suggestion when the user does
	// nothing for this time.
	AlwaysAllowFollowupQuestions bool `json:"alwaysAllowFollowupQuestions,omitempty"`
	FollowupAutoApproveTimeoutMs int  `json:"followupAutoApproveTimeoutMs,omitempty" wire:"min=0,max=86400000"`
	// The number of model requests and the cost until the user is asked whether to
	// continue; 0 means no limit.
	AllowedMaxRequests int     `json:"allowedMaxRequests,omitempty" wire:"min=0"`
	AllowedMaxCost     float64 `json:"allowedMaxCost,omitempty" wire:"min=0"`
	// After agents of a conversation have read data from outside the hub, such as a page of the web, they ask
	// before actions that leave the hub or delete something, whatever the other rules say. This switches that
	// off.
	AlwaysAllowAfterOutsideData bool `json:"alwaysAllowAfterOutsideData,omitempty"`
}

// SetAutoApproval replaces the auto-approval rules of the session. With useDefault the session has no rules
// of its own any more and follows those that its user has as the default.
type SetAutoApproval struct {
	Inbound
	Rules      *AutoApproval `json:"rules,omitempty"`
	UseDefault bool          `json:"useDefault,omitempty"`
	MonitorID  MonitorID     `json:"monitorId,omitempty"`
	MessageID  MessageID     `json:"messageId,omitempty"`
}

// AutoApprovalChanged carries the new auto-approval rules of the session. With useDefault the session follows
// the default of its user.
type AutoApprovalChanged struct {
	Outbound
	Rules      AutoApproval `json:"rules"`
	UseDefault bool         `json:"useDefault,omitempty"`
	By         ConnectionID `json:"by,omitempty"`
	MessageID  MessageID    `json:"messageId,omitempty"`
}
