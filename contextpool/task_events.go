package contextpool

import (
	"maps"
	"slices"
	"time"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

const (
	// usageInterval is the minimum time between two TASK_TOKEN_USAGE_UPDATED events of a turn.
	usageInterval = 2 * time.Second
	// maxToolNames bounds the number of tools whose uses are counted in a turn.
	maxToolNames = 64
)

// taskID returns the turn's id in the list of tasks.
func (t *turn) taskID() wire.TaskID { return wire.TaskID(t.key()) }

func (t *turn) taskRef() wire.Task {
	return wire.Task{TaskID: t.taskID(), MonitorID: t.Monitor, AgentID: t.Role, MessageID: t.messageID()}
}

// SetTasks sets the list of tasks of a session that has none stored yet. [Pool.Recover] stores
// it.
func (p *Pool) SetTasks(tasks *history.Tasks) { p.tasks, p.tasksUnsaved = tasks, true }

// taskCreated adds a turn to the list of tasks, unless it summarises.
func (p *Pool) taskCreated(t *turn) {
	if t.Condensing != nil {
		return
	}
	p.step.AddOps(p.tasks.Upsert(t.taskID(), func(i *history.Item) {
		i.TS, i.Task, i.APIConfigName, i.Mode = t.Started, t.title(), t.Provider, t.Profile
		i.ParentTaskID = wire.TaskID(t.Parent)
		i.MonitorID, i.AgentID, i.MessageID = t.Monitor, t.Role, t.messageID()
		if row, ok := p.state.Desktop().Rows().UserRow(t.messageID()); ok && t.messageID() != "" {
			i.TS, i.Task = row.TS, row.Text
		}
	})...)
	p.step.Emit(wire.TaskCreated{Task: t.taskRef()})
	parent := p.turns[t.Parent]
	if parent == nil {
		return
	}
	p.step.AddOps(p.tasks.Change(parent.taskID(), func(i *history.Item) { i.MarkDelegated(t.taskID()) })...)
	p.step.Emit(wire.TaskSpawned{Task: parent.taskRef(), ChildTaskID: t.taskID()})
	if len(p.tasksOf(parent)) == 1 {
		p.step.Emit(wire.TaskPaused{Task: parent.taskRef()})
	}
}

// taskStarted emits, once per turn, that it runs. The caller stores the turn.
func (p *Pool) taskStarted(t *turn) {
	if !t.StartSent && t.Condensing == nil {
		t.StartSent = true
		p.step.Emit(wire.TaskStarted{Task: t.taskRef()})
	}
}

// taskEnded records the outcome of a turn in the list of tasks.
func (p *Pool) taskEnded(t *turn, outcome providers.Outcome, text string) {
	if t.Condensing != nil {
		return
	}
	p.step.AddOps(p.tasks.Change(t.taskID(), func(i *history.Item) {
		i.SetUsage(t.Usage)
		i.MarkEnded(outcome, text)
	})...)
	if outcome == providers.Completed {
		p.step.Emit(wire.TaskCompleted{
			Task: t.taskRef(), TokenUsage: t.tokenUsage(), ToolUsage: t.toolUses(), IsSubtask: t.Kind == wire.AgentTask,
		})
	} else {
		p.step.Emit(wire.TaskAborted{Task: t.taskRef()})
	}
}

// taskReturned records the result of a delegated task at its parent.
func (p *Pool) taskReturned(parent, t *turn, r tools.TaskResult) {
	var next wire.TaskID
	if left := p.tasksOf(parent); len(left) > 0 {
		next = left[0].taskID()
	} else {
		p.step.Emit(wire.TaskUnpaused{Task: parent.taskRef()})
	}
	p.step.AddOps(p.tasks.Change(parent.taskID(), func(i *history.Item) { i.MarkReturned(t.taskID(), next, r.Summary) })...)
}

// recordUsage adds the usage of a model call to the turn, and publishes the total at most every
// usageInterval.
func (p *Pool) recordUsage(t *turn, u providers.Usage) {
	t.Usage = t.Usage.Add(u)
	t.recordContext(u)
	p.countRequest(u)
	t.lastCallTokens = max(u.Input, 0) + max(u.CacheRead, 0) + max(u.CacheWrite, 0) + max(u.Output, 0)
	p.storeTurn(t)
	if t.usageSentAt.IsZero() {
		t.usageSentAt = time.UnixMilli(int64(t.Started))
	}
	if now := p.step.Now(); u != (providers.Usage{}) && t.Condensing == nil && now.Sub(t.usageSentAt) >= usageInterval {
		t.usageSentAt = now
		p.step.Emit(wire.TaskTokenUsageUpdated{Task: t.taskRef(), TokenUsage: t.tokenUsage(), ToolUsage: t.toolUses()})
	}
}

func (t *turn) tokenUsage() wire.TokenUsage {
	u := t.Usage
	return wire.TokenUsage{
		TotalTokensIn: max(u.Input, 0), TotalTokensOut: max(u.Output, 0), TotalCacheReads: max(u.CacheRead, 0),
		TotalCacheWrites: max(u.CacheWrite, 0), TotalCost: max(u.USD, 0), ContextTokens: t.lastCallTokens,
	}
}

// countToolUse counts an ended tool call. The caller stores the turn.
func (p *Pool) countToolUse(t *turn, tool string, r providers.ToolResult) {
	if r.IsError {
		p.step.Emit(wire.TaskToolFailed{Task: t.taskRef(), Tool: tool, Error: truncate(sanitize(r.Text), reasonBytes)})
	}
	uses, known := t.Tools[tool]
	if !known && len(t.Tools) >= maxToolNames {
		return
	}
	uses.Attempts++
	if r.IsError {
		uses.Failures++
	}
	if t.Tools == nil {
		t.Tools = map[string]wire.ToolUses{}
	}
	t.Tools[tool] = uses
}

func (t *turn) toolUses() wire.Object[string, wire.ToolUses] {
	uses := wire.Object[string, wire.ToolUses]{}
	for _, name := range slices.Sorted(maps.Keys(t.Tools)) {
		uses = uses.Set(name, t.Tools[name])
	}
	return uses
}
