package wire

// AutoApproval is what agents of a session may do without asking. Everything is
// off by default.
type AutoApproval struct {
	AutoApprovalEnabled bool `json:"autoApprovalEnabled,omitempty"`
	// What is read, and what is read elsewhere than in the workspace.
	AlwaysAllowReadOnly                 bool `json:"alwaysAllowReadOnly,omitempty"`
	AlwaysAllowReadOnlyOutsideWorkspace bool `json:"alwaysAllowReadOnlyOutsideWorkspace,omitempty"`
	// What is written, elsewhere too, and where settings are.
	AlwaysAllowWrite                 bool `json:"alwaysAllowWrite,omitempty"`
	AlwaysAllowWriteOutsideWorkspace bool `json:"alwaysAllowWriteOutsideWorkspace,omitempty"`
	AlwaysAllowWriteProtected        bool `json:"alwaysAllowWriteProtected,omitempty"`
	// Commands, by what they begin with, in whole words; * is every command.
	AlwaysAllowExecute bool     `json:"alwaysAllowExecute,omitempty"`
	AllowedCommands    []string `json:"allowedCommands,omitempty" wire:"max=500"`
	DeniedCommands     []string `json:"deniedCommands,omitempty" wire:"max=500"`
	// Tools of other servers, of which AllowedMcpTools has those that may be used,
	// as server/tool or server/*.
	AlwaysAllowMcp        bool     `json:"alwaysAllowMcp,omitempty"`
	AllowedMcpTools       []string `json:"allowedMcpTools,omitempty" wire:"max=500"`
	AlwaysAllowModeSwitch bool     `json:"alwaysAllowModeSwitch,omitempty"`
	AlwaysAllowSubtasks   bool     `json:"alwaysAllowSubtasks,omitempty"`
	// Questions are answered with their first option when nobody does anything for
	// so long.
	AlwaysAllowFollowupQuestions bool `json:"alwaysAllowFollowupQuestions,omitempty"`
	FollowupAutoApproveTimeoutMs int  `json:"followupAutoApproveTimeoutMs,omitempty" wire:"min=0,max=86400000"`
	// How many requests to models and what cost there may be until somebody is
	// asked whether it goes on; 0 is no limit.
	AllowedMaxRequests int     `json:"allowedMaxRequests,omitempty" wire:"min=0"`
	AllowedMaxCost     float64 `json:"allowedMaxCost,omitempty" wire:"min=0"`
}

// SetAutoApproval changes what agents may do without asking. It replaces all that
// was set before.
type SetAutoApproval struct {
	Inbound
	Rules     AutoApproval `json:"rules"`
	MonitorID MonitorID    `json:"monitorId,omitempty"`
	MessageID MessageID    `json:"messageId,omitempty"`
}

// AutoApprovalChanged says what agents may do without asking from now on.
type AutoApprovalChanged struct {
	Outbound
	Rules     AutoApproval `json:"rules"`
	By        ConnectionID `json:"by,omitempty"`
	MessageID MessageID    `json:"messageId,omitempty"`
}
