package wire

// Events about tasks, named as programs that drive a coding agent know them.

// Task is what every event about a task has.
type Task struct {
	TaskID    TaskID    `json:"taskId"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	AgentID   AgentID   `json:"agentId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// TaskCreated says that a task exists.
type TaskCreated struct {
	Outbound
	Task
}

// TaskStarted says that a task's loop begins.
type TaskStarted struct {
	Outbound
	Task
}

// TaskCompleted says that a task reached its end.
type TaskCompleted struct {
	Outbound
	Task
	TokenUsage TokenUsage               `json:"tokenUsage"`
	ToolUsage  Object[string, ToolUses] `json:"toolUsage"`
	IsSubtask  bool                     `json:"isSubtask,omitempty"`
}

// TaskAborted says that a task was given up.
type TaskAborted struct {
	Outbound
	Task
}

// TaskFocused says that a task is the one in front.
type TaskFocused struct {
	Outbound
	Task
}

// TaskUnfocused says that a task is no longer the one in front.
type TaskUnfocused struct {
	Outbound
	Task
}

// TaskActive says that a task works again.
type TaskActive struct {
	Outbound
	Task
}

// TaskInteractive says that a task waits for an answer.
type TaskInteractive struct {
	Outbound
	Task
}

// TaskResumable says that a task can go on where it stopped.
type TaskResumable struct {
	Outbound
	Task
}

// TaskIdle says that a task rests.
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

// TaskModeSwitched says that a task works in another mode.
type TaskModeSwitched struct {
	Outbound
	Task
	Mode string `json:"mode"`
}

// TaskAskResponded says that a row that asks was answered.
type TaskAskResponded struct {
	Outbound
	Task
}

// TaskUserMessage says that the user spoke to a task.
type TaskUserMessage struct {
	Outbound
	Task
}

// TaskToolFailed says that a tool did not work.
type TaskToolFailed struct {
	Outbound
	Task
	Tool  string `json:"tool"`
	Error string `json:"error"`
}

// TaskTokenUsageUpdated says what a task has cost so far.
type TaskTokenUsageUpdated struct {
	Outbound
	Task
	TokenUsage TokenUsage               `json:"tokenUsage"`
	ToolUsage  Object[string, ToolUses] `json:"toolUsage"`
}

// TokenUsage is what a task has cost.
type TokenUsage struct {
	TotalTokensIn    int     `json:"totalTokensIn" wire:"min=0"`
	TotalTokensOut   int     `json:"totalTokensOut" wire:"min=0"`
	TotalCacheWrites int     `json:"totalCacheWrites,omitempty" wire:"min=0"`
	TotalCacheReads  int     `json:"totalCacheReads,omitempty" wire:"min=0"`
	TotalCost        float64 `json:"totalCost" wire:"min=0"`
	ContextTokens    int     `json:"contextTokens" wire:"min=0"`
}

// ToolUses counts the calls of one tool.
type ToolUses struct {
	Attempts int `json:"attempts" wire:"min=0"`
	Failures int `json:"failures" wire:"min=0"`
}
