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
	usageEvery = 2 * time.Second
	// maxToolNames bounds the number of tools whose uses are counted in a turn.
	toolNames = 64
)

// taskID returns the turn's id in the list of tasks.
func (t *turn) task() wire.TaskID { return wire.TaskID(t.key()) }

func (t *turn) about() wire.Task {
	return wire.Task{TaskID: t.task(), MonitorID: t.Monitor, AgentID: t.Role, MessageID: t.message()}
}

// SetTasks sets the list of tasks of a session that has none stored yet. [Pool.Recover] stores
// it.
func (p *Pool) Relist(tasks *history.Tasks) { p.tasks, p.relisted = tasks, true }

// taskCreated adds a turn to the list of tasks, unless it summarises.
func (p *Pool) taskCreated(t *turn) {
	if t.Condensing != nil {
		return
	}
	p.step.Keep(p.tasks.Upsert(t.task(), func(i *history.Item) {
		i.TS, i.Task, i.APIConfigName, i.Mode = t.Started, t.subject(), t.Provider, t.Profile
		i.ParentTaskID = wire.TaskID(t.Parent)
		i.MonitorID, i.AgentID, i.MessageID = t.Monitor, t.Role, t.message()
		if row, ok := p.step.Desk().Said(t.message()); ok && t.message() != "" {
			i.TS, i.Task = row.TS, row.Text
		}
	})...)
	p.step.Emit(wire.TaskCreated{Task: t.about()})
	parent := p.turns[t.Parent]
	if parent == nil {
		return
	}
	p.step.Keep(p.tasks.Change(parent.task(), func(i *history.Item) { i.MarkDelegated(t.task()) })...)
	p.step.Emit(wire.TaskSpawned{Task: parent.about(), ChildTaskID: t.task()})
	if len(p.tasksOf(parent)) == 1 {
		p.step.Emit(wire.TaskPaused{Task: parent.about()})
	}
}

// taskStarted emits, once per turn, that it runs. The caller stores the turn.
func (p *Pool) taskStarted(t *turn) {
	if !t.Begun && t.Condensing == nil {
		t.Begun = true
		p.step.Emit(wire.TaskStarted{Task: t.about()})
	}
}

// taskEnded records the outcome of a turn in the list of tasks.
func (p *Pool) taskEnded(t *turn, outcome providers.Outcome, text string) {
	if t.Condensing != nil {
		return
	}
	p.step.Keep(p.tasks.Change(t.task(), func(i *history.Item) {
		i.SetUsage(t.Usage)
		i.MarkEnded(outcome, text)
	})...)
	if outcome == providers.Completed {
		p.step.Emit(wire.TaskCompleted{
			Task: t.about(), TokenUsage: t.tokens(), ToolUsage: t.toolUses(), IsSubtask: t.Kind == wire.AgentTask,
		})
	} else {
		p.step.Emit(wire.TaskAborted{Task: t.about()})
	}
}

// taskReturned records the result of a delegated task at its parent.
func (p *Pool) taskReturned(parent, t *turn, r tools.TaskResult) {
	var next wire.TaskID
	if left := p.tasksOf(parent); len(left) > 0 {
		next = left[0].task()
	} else {
		p.step.Emit(wire.TaskUnpaused{Task: parent.about()})
	}
	p.step.Keep(p.tasks.Change(parent.task(), func(i *history.Item) { i.MarkReturned(t.task(), next, r.Summary) })...)
}

// recordUsage adds the usage of a model call to the turn, and publishes the total at most every
// usageInterval.
func (p *Pool) charge(t *turn, u providers.Usage) {
	t.Usage = t.Usage.Add(u)
	t.read(u)
	p.spend(u)
	t.newest = max(u.Input, 0) + max(u.CacheRead, 0) + max(u.CacheWrite, 0) + max(u.Output, 0)
	p.keepTurn(t)
	if t.usageTold.IsZero() {
		t.usageTold = time.UnixMilli(int64(t.Started))
	}
	if now := p.step.Now(); u != (providers.Usage{}) && t.Condensing == nil && now.Sub(t.usageTold) >= usageEvery {
		t.usageTold = now
		p.step.Emit(wire.TaskTokenUsageUpdated{Task: t.about(), TokenUsage: t.tokens(), ToolUsage: t.toolUses()})
	}
}

func (t *turn) tokens() wire.TokenUsage {
	u := t.Usage
	return wire.TokenUsage{
		TotalTokensIn: max(u.Input, 0), TotalTokensOut: max(u.Output, 0), TotalCacheReads: max(u.CacheRead, 0),
		TotalCacheWrites: max(u.CacheWrite, 0), TotalCost: max(u.USD, 0), ContextTokens: t.newest,
	}
}

// countToolUse counts an ended tool call. The caller stores the turn.
func (p *Pool) usedTool(t *turn, tool string, r providers.ToolResult) {
	if r.IsError {
		p.step.Emit(wire.TaskToolFailed{Task: t.about(), Tool: tool, Error: cut(mended(r.Text), reasonBytes)})
	}
	uses, known := t.Tools[tool]
	if !known && len(t.Tools) >= toolNames {
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
