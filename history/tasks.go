package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// TaskTable is where the items of tasks are, each in a field of its id.
const TaskTable = "tasks"

// How much is kept of tasks.
const (
	// TasksKept is how many items there are; the oldest go.
	TasksKept = 500
	// taskText and taskSummary are how much an item has of what was asked and of
	// what came of it, in characters, and taskChildren how many subtasks it names.
	taskText     = 1000
	taskSummary  = 500
	taskChildren = 100
)

// TaskStatus is how far a task is.
type TaskStatus string

// How far tasks are. A task that has ended is completed; how is its outcome.
const (
	TaskActive    TaskStatus = "active"
	TaskCompleted TaskStatus = "completed"
	TaskDelegated TaskStatus = "delegated" // it waits for a subtask
)

// Item is what is known of a task, which is a turn of an agent.
type Item struct {
	ID wire.TaskID `json:"id"`
	// RootTaskID is the task at the top of its tree, itself if nobody gave it away.
	RootTaskID   wire.TaskID `json:"rootTaskId"`
	ParentTaskID wire.TaskID `json:"parentTaskId,omitempty"`
	Number       uint64      `json:"number"`
	// TS is the name of the user's row, or when the task began if it has none.
	TS   wire.Millis `json:"ts"`
	Task string      `json:"task"`

	TokensIn    int     `json:"tokensIn"`
	TokensOut   int     `json:"tokensOut"`
	CacheWrites int     `json:"cacheWrites,omitempty"`
	CacheReads  int     `json:"cacheReads,omitempty"`
	TotalCost   float64 `json:"totalCost"`

	Size          int    `json:"size,omitempty"`
	Workspace     string `json:"workspace,omitempty"`
	Mode          string `json:"mode,omitempty"`
	APIConfigName string `json:"apiConfigName,omitempty"`

	Status TaskStatus `json:"status"`
	// Outcome is how it ended, if it has.
	Outcome providers.Outcome `json:"outcome,omitempty"`
	// DelegatedToID is the newest subtask, AwaitingChildID one that it waits for,
	// CompletedByChildID the one that it heard of last.
	DelegatedToID      wire.TaskID   `json:"delegatedToId,omitempty"`
	ChildIDs           []wire.TaskID `json:"childIds,omitempty"`
	AwaitingChildID    wire.TaskID   `json:"awaitingChildId,omitempty"`
	CompletedByChildID wire.TaskID   `json:"completedByChildId,omitempty"`
	// CompletionResultSummary is what the task itself said, once it has ended, and
	// what that subtask said until then.
	CompletionResultSummary string `json:"completionResultSummary,omitempty"`

	MonitorID wire.MonitorID `json:"monitorId,omitempty"`
	AgentID   wire.AgentID   `json:"agentId,omitempty"`
	MessageID wire.MessageID `json:"messageId,omitempty"`
}

// State is the status, or how it ended if it has.
func (i Item) State() string {
	if i.Outcome != "" {
		return string(i.Outcome)
	}
	return string(i.Status)
}

// Delegated notes that a subtask is under way.
func (i *Item) Delegated(child wire.TaskID) {
	i.Status, i.DelegatedToID, i.AwaitingChildID = TaskDelegated, child, child
	if !slices.Contains(i.ChildIDs, child) {
		i.ChildIDs = append(i.ChildIDs[max(len(i.ChildIDs)-taskChildren+1, 0):], child)
	}
}

// Returned notes what came of a subtask; next is another one that it waits for, if
// it does. What a task that has ended said itself stays.
func (i *Item) Returned(child, next wire.TaskID, summary string) {
	i.CompletedByChildID, i.AwaitingChildID = child, next
	if i.Outcome == "" {
		i.CompletionResultSummary = summary
	}
	if next == "" && i.Status == TaskDelegated {
		i.Status = TaskActive
	}
}

// Ended notes how the task ended, and what it said.
func (i *Item) Ended(outcome providers.Outcome, summary string) {
	i.Status, i.Outcome, i.AwaitingChildID, i.CompletionResultSummary = TaskCompleted, outcome, "", summary
}

// Spent notes what the task took so far.
func (i *Item) Spent(u providers.Usage) {
	i.TokensIn, i.TokensOut = max(u.Input, 0), max(u.Output, 0)
	i.CacheReads, i.CacheWrites, i.TotalCost = max(u.CacheRead, 0), max(u.CacheWrite, 0), max(u.USD, 0)
}

// Tasks are the items of a session. The zero value has none. What changes is
// returned as what is to be kept. It is not for several goroutines at once.
type Tasks struct{ by map[wire.TaskID]*Item }

// NumberOf is the number in the id of a task, 0 if it has none.
func NumberOf(id wire.TaskID) uint64 {
	if len(id) < 2 || id[0] != 't' {
		return 0
	}
	n, err := strconv.ParseUint(string(id[1:]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Len counts the items.
func (l *Tasks) Len() int { return len(l.by) }

// Get is an item. It is not to be changed.
func (l *Tasks) Get(id wire.TaskID) (Item, bool) {
	i := l.by[id]
	if i == nil {
		return Item{}, false
	}
	return *i, true
}

// Upsert changes an item, or makes one that is changed then. What change leaves
// alone stays, and what it empties is empty.
func (l *Tasks) Upsert(id wire.TaskID, change func(*Item)) []store.Op {
	i := l.by[id]
	if i == nil {
		i = &Item{Number: NumberOf(id), Status: TaskActive}
		if l.by == nil {
			l.by = map[wire.TaskID]*Item{}
		}
		l.by[id] = i
	} else {
		i.ChildIDs = slices.Clone(i.ChildIDs) // others may have the old ones
	}
	change(i)
	i.ID = id
	i.Task, i.CompletionResultSummary = clip(i.Task, taskText), clip(i.CompletionResultSummary, taskSummary)
	i.RootTaskID = l.root(i)
	ops := []store.Op{store.Set(TaskTable, string(id), i.encode())}
	for len(l.by) > TasksKept {
		oldest := id
		for other, o := range l.by {
			if newer(l.by[oldest], o) < 0 {
				oldest = other
			}
		}
		ops = append(ops, l.drop(oldest))
	}
	return ops
}

// Change is Upsert for an item that there is.
func (l *Tasks) Change(id wire.TaskID, change func(*Item)) []store.Op {
	if l.by[id] == nil {
		return nil
	}
	return l.Upsert(id, change)
}

// root is the id at the top of the tree of an item. Once known it stays, also when
// the items above are gone.
func (l *Tasks) root(i *Item) wire.TaskID {
	if i.ParentTaskID == "" || i.ParentTaskID == i.ID {
		return i.ID
	}
	if parent := l.by[i.ParentTaskID]; parent != nil && parent.RootTaskID != "" {
		return parent.RootTaskID
	}
	return cmp.Or(i.RootTaskID, i.ParentTaskID)
}

func (l *Tasks) drop(id wire.TaskID) store.Op {
	delete(l.by, id)
	return store.Unset(TaskTable, string(id))
}

// Delete takes away items that are there, and what was given away by them. Of those
// that stay none waits for one that is gone.
func (l *Tasks) Delete(ids ...wire.TaskID) []store.Op {
	var ops []store.Op
	for len(ids) > 0 {
		id := ids[0]
		ids = ids[1:]
		if l.by[id] == nil {
			continue
		}
		ops = append(ops, l.drop(id))
		for _, i := range slices.SortedFunc(maps.Values(l.by), newer) {
			if i.ParentTaskID == id {
				ids = append(ids, i.ID)
			}
		}
	}
	for _, i := range slices.SortedFunc(maps.Values(l.by), newer) {
		if i.AwaitingChildID != "" && l.by[i.AwaitingChildID] == nil {
			ops = append(ops, l.Upsert(i.ID, func(i *Item) {
				if i.AwaitingChildID = ""; i.Status == TaskDelegated {
					i.Status = TaskActive
				}
			})...)
		}
	}
	return ops
}

// Rewind takes away the tasks of a monitor whose row goes when its conversation is
// rewound to a row, and what was given away by them.
func (l *Tasks) Rewind(monitor wire.MonitorID, to wire.Millis) []store.Op {
	var gone []wire.TaskID
	for _, i := range slices.SortedFunc(maps.Values(l.by), newer) {
		if i.MonitorID == monitor && i.TS >= to {
			gone = append(gone, i.ID)
		}
	}
	return l.Delete(gone...)
}

// All is everything that is kept, for a store that forgot.
func (l *Tasks) All() []store.Op {
	ops := make([]store.Op, 0, len(l.by))
	for _, i := range slices.SortedFunc(maps.Values(l.by), newer) {
		ops = append(ops, store.Set(TaskTable, string(i.ID), i.encode()))
	}
	return ops
}

// LoadTasks reads what was kept.
func LoadTasks(table map[string][]byte) (*Tasks, error) {
	l := &Tasks{by: make(map[wire.TaskID]*Item, len(table))}
	for field, data := range table {
		i := &Item{}
		if err := json.Unmarshal(data, i); err != nil {
			return nil, fmt.Errorf("task %s: %w", field, err)
		}
		if string(i.ID) != field {
			return nil, fmt.Errorf("task %s: it is of something else", field)
		}
		l.by[i.ID] = i
	}
	return l, nil
}

func (i *Item) encode() []byte {
	data, err := json.Marshal(i)
	if err != nil {
		panic(fmt.Sprintf("encode a task: %v", err)) // it has numbers and texts alone
	}
	return data
}

// newer orders items, the newest first.
func newer(a, b *Item) int {
	return cmp.Or(cmp.Compare(b.TS, a.TS), cmp.Compare(b.Number, a.Number), cmp.Compare(b.ID, a.ID))
}

// clip is the beginning of a text.
func clip(s string, runes int) string {
	for i := range s {
		if runes == 0 {
			return s[:i] + "…"
		}
		runes--
	}
	return s
}
