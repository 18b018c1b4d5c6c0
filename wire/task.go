package wire

// Events about tasks, with the names that programs driving a coding agent know.

// Task holds the fields of every event about a task.
type Task struct {
	TaskID    TaskID    `json:"taskId"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	AgentID   AgentID   `json:"agentId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// TaskCreated says that a task was created.
type TaskCreated struct {
	Outbound
	Task
}

// TaskStarted says that a task started.
type TaskStarted struct {
	Outbound
	Task
}

// TaskCompleted says that a task completed.
type TaskCompleted struct {
	Outbound
	Task
	TokenUsage TokenUsage               `json:"tokenUsage"`
	ToolUsage  Object[string, ToolUses] `json:"toolUsage"`
	IsSubtask  bool                     `json:"isSubtask,omitempty"`
}

// TaskAborted says that a task was aborted.
type TaskAborted struct {
	Outbound
	Task
}

// TaskFocused says that a task got the focus.
type TaskFocused struct {
	Outbound
	Task
}

// TaskUnfocused says that a task lost the focus.
type TaskUnfocused struct {
	Outbound
	Task
}

// TaskActive says that a task continues to work.
type TaskActive struct {
	Outbound
	Task
}

// TaskInteractive says that a task waits for an answer.
type TaskInteractive struct {
	Outbound
	Task
}

// TaskResumable says that a task can continue where it stopped.
type TaskResumable struct {
	Outbound
	Task
}

// TaskIdle says that a task is idle.
type TaskIdle struct {
	Outbound
	Task
}

// TaskPaused says that a task waits for a subtask.
type TaskPaused struct {
	Outbound
	Task
}

// TaskUnpaused says that a task no longer waits for a subtask.
type TaskUnpaused struct {
	Outbound
	Task
}

// TaskSpawned says that a task has a new subtask.
type TaskSpawned struct {
	Outbound
	Task
	ChildTaskID TaskID `json:"childTaskId"`
}

// TaskModeSwitched says that a task changed its mode.
type TaskModeSwitched struct {
	Outbound
	Task
	Mode string `json:"mode"`
}

// TaskAskResponded says that an ask row was answered.
type TaskAskResponded struct {
	Outbound
	Task
}

// TaskUserMessage says that the user sent a message to a task.
type TaskUserMessage struct {
	Outbound
	Task
}

// TaskToolFailed says that a tool call failed.
type TaskToolFailed struct {
	Outbound
	Task
	Tool  string `json:"tool"`
	Error string `json:"error"`
}

// TaskTokenUsageUpdated carries the usage of a task so far.
type TaskTokenUsageUpdated struct {
	Outbound
	Task
	TokenUsage TokenUsage               `json:"tokenUsage"`
	ToolUsage  Object[string, ToolUses] `json:"toolUsage"`
}

// TokenUsage is the usage of a task.
type TokenUsage struct {
	TotalTokensIn    int     `json:"totalTokensIn" wire:"min=0"`
	TotalTokensOut   int     `json:"totalTokensOut" wire:"min=0"`
	TotalCacheWrites int     `json:"totalCacheWrites,omitempty" wire:"min=0"`
	TotalCacheReads  int     `json:"totalCacheReads,omitempty" wire:"min=0"`
	TotalCost        float64 `json:"totalCost" wire:"min=0"`
	ContextTokens    int     `json:"contextTokens" wire:"min=0"`
	// CostUnknown is set if the price of a part is unknown; totalCost is the cost of the rest.
	CostUnknown bool `json:"costUnknown,omitempty"`
}

// ToolUses counts the calls of one tool.
type ToolUses struct {
	Attempts int `json:"attempts" wire:"min=0"`
	Failures int `json:"failures" wire:"min=0"`
}
