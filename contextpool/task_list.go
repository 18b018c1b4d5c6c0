package contextpool

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// taskList is the list of tasks that people see, one for each turn, with usage and outcome.
type taskList struct {
	*services
	turns     *turnSet
	questions *Questions

	list    *history.Tasks
	unsaved bool // list has not been written to the store yet
	totals  Totals
}

// Totals sums up the turns that ended since the pool was created.
type Totals struct {
	// Failed counts failed turns; LastFailure is the code of the last one.
	Failed      int
	LastFailure wire.Code
	// Tokens counts input and output tokens, Cost is in US dollars.
	Tokens int64
	Cost   float64
}

// addTurn counts an ended turn.
func (t *Totals) addTurn(outcome providers.Outcome, u providers.Usage) {
	if outcome == providers.Failed {
		t.Failed++
		t.LastFailure = wire.CodeExecutionFailed
	}
	t.Tokens += int64(max(u.Input, 0)) + int64(max(u.Output, 0)) + int64(max(u.CacheRead, 0)) + int64(max(u.CacheWrite, 0))
	t.Cost += max(u.USD, 0)
}

// restore loads the stored list.
func (l *taskList) restore(tables map[string]map[string][]byte) (err error) {
	l.list, err = history.LoadTasks(tables[history.TaskTable])
	return err
}

// wireUsage converts usage for the wire; zero usage is nil.
func wireUsage(u providers.Usage) *wire.Usage {
	if u == (providers.Usage{}) {
		return nil
	}
	return &wire.Usage{
		InputTokens: max(u.Input, 0), OutputTokens: max(u.Output, 0),
		CacheReadTokens: max(u.CacheRead, 0), CacheWriteTokens: max(u.CacheWrite, 0), CostUSD: max(u.USD, 0), CostUnknown: u.Unpriced,
	}
}

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

// set sets the list, which is not stored yet.
func (l *taskList) set(tasks *history.Tasks) { l.list, l.unsaved = tasks, true }

// storeUnsaved stores the list if it is not stored yet.
func (l *taskList) storeUnsaved() {
	if l.unsaved {
		l.unsaved = false
		l.step.AddOps(l.list.All()...)
	}
}

// turnCreated adds a turn to the list of tasks, unless it is not listed.
func (l *taskList) turnCreated(t *turn) {
	if !t.isListed() {
		return
	}
	l.step.AddOps(l.list.Upsert(t.taskID(), func(i *history.Item) {
		i.TS, i.Task, i.APIConfigName, i.Mode = t.Started, t.title(), t.Provider, cmp.Or(t.modeID(), t.Profile)
		i.ParentTaskID = wire.TaskID(t.Parent)
		i.MonitorID, i.AgentID, i.MessageID = t.Monitor, t.Role, t.messageID()
		if row, ok := l.state.Desktop().Rows().UserRow(t.messageID()); ok && t.messageID() != "" {
			i.TS, i.Task = row.TS, row.Text
		}
	})...)
	l.step.Emit(wire.TaskCreated{Task: t.taskRef()})
	if l.turns.switchesMode(t) {
		l.step.Emit(wire.TaskModeSwitched{Task: t.taskRef(), Mode: t.modeID()})
	}
	parent := l.turns.byKey[t.Parent]
	if parent == nil {
		return
	}
	l.step.AddOps(l.list.Change(parent.taskID(), func(i *history.Item) { i.MarkDelegated(t.taskID()) })...)
	l.step.Emit(wire.TaskSpawned{Task: parent.taskRef(), ChildTaskID: t.taskID()})
	if len(l.turns.tasksOf(parent)) == 1 {
		l.step.Emit(wire.TaskPaused{Task: parent.taskRef()})
	}
}

// turnStarted emits, once per turn, that it runs. The caller stores the turn.
func (l *taskList) turnStarted(t *turn) {
	if !t.StartSent && t.isListed() {
		t.StartSent = true
		l.step.Emit(wire.TaskStarted{Task: t.taskRef()})
	}
}

// turnEnded records the outcome of a turn in the list of tasks.
func (l *taskList) turnEnded(t *turn, outcome providers.Outcome, text string) {
	if !t.isListed() {
		return
	}
	l.step.AddOps(l.list.Change(t.taskID(), func(i *history.Item) {
		i.SetUsage(t.Usage)
		i.MarkEnded(outcome, text)
	})...)
	if outcome == providers.Completed {
		l.step.Emit(wire.TaskCompleted{
			Task: t.taskRef(), TokenUsage: t.tokenUsage(), ToolUsage: t.toolUses(), IsSubtask: t.Kind == wire.AgentTask,
		})
	} else {
		l.step.Emit(wire.TaskAborted{Task: t.taskRef()})
	}
}

// taskReturned records the result of a delegated task at its parent.
func (l *taskList) taskReturned(parent, t *turn, r tools.TaskResult) {
	var next wire.TaskID
	if left := l.turns.tasksOf(parent); len(left) > 0 {
		next = left[0].taskID()
	} else {
		l.step.Emit(wire.TaskUnpaused{Task: parent.taskRef()})
	}
	l.step.AddOps(l.list.Change(parent.taskID(), func(i *history.Item) { i.MarkReturned(t.taskID(), next, r.Summary) })...)
}

// recordUsage adds the usage of a model call to the turn, and publishes the total at most every
// usageInterval.
func (l *taskList) recordUsage(t *turn, u providers.Usage) {
	t.Usage = t.Usage.Add(u)
	t.recordContext(u)
	l.questions.countRequest(t, u)
	t.lastCallTokens = max(u.Input, 0) + max(u.CacheRead, 0) + max(u.CacheWrite, 0) + max(u.Output, 0)
	l.turns.store(t)
	if t.usageSentAt.IsZero() {
		t.usageSentAt = time.UnixMilli(int64(t.Started))
	}
	if now := l.step.Now(); u != (providers.Usage{}) && t.isListed() && now.Sub(t.usageSentAt) >= usageInterval {
		t.usageSentAt = now
		l.step.Emit(wire.TaskTokenUsageUpdated{Task: t.taskRef(), TokenUsage: t.tokenUsage(), ToolUsage: t.toolUses()})
	}
}

func (t *turn) tokenUsage() wire.TokenUsage {
	u := t.Usage
	return wire.TokenUsage{
		TotalTokensIn: max(u.Input, 0), TotalTokensOut: max(u.Output, 0), TotalCacheReads: max(u.CacheRead, 0),
		TotalCacheWrites: max(u.CacheWrite, 0), TotalCost: max(u.USD, 0), CostUnknown: u.Unpriced, ContextTokens: t.lastCallTokens,
	}
}

// countToolUse counts an ended tool call. The caller stores the turn.
func (l *taskList) countToolUse(t *turn, tool string, r providers.ToolResult) {
	if r.IsError && t.isListed() {
		l.step.Emit(wire.TaskToolFailed{Task: t.taskRef(), Tool: tool, Error: truncate(sanitize(r.Text), reasonBytes)})
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
