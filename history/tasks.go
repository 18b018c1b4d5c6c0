package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// TaskTable is the store table of tasks: one field per task id.
const TaskTable = "tasks"

// Bounds of the list of tasks.
const (
	// MaxTasks is the maximum number of items; the oldest are dropped.
	MaxTasks = 500
	// taskText and taskSummary bound the request and the result in an item, in characters;
	// taskChildren bounds the subtasks it names.
	taskText     = 1000
	taskSummary  = 500
	taskChildren = 100
)

// TaskStatus is the progress of a task.
type TaskStatus string

// The statuses. A task that has ended is completed; its outcome says how.
const (
	TaskActive    TaskStatus = "active"
	TaskCompleted TaskStatus = "completed"
	TaskDelegated TaskStatus = "delegated" // waits for a subtask
)

// Item describes a task, which is one turn of an agent.
type Item struct {
	ID wire.TaskID `json:"id"`
	// RootTaskID is the task at the top of the tree; the task's own id if it has no parent.
	RootTaskID   wire.TaskID `json:"rootTaskId"`
	ParentTaskID wire.TaskID `json:"parentTaskId,omitempty"`
	Number       uint64      `json:"number"`
	// TS identifies the user's row, or is the time at which the task began if it has none.
	TS   wire.Millis `json:"ts"`
	Task string      `json:"task"`

	TokensIn    int     `json:"tokensIn"`
	TokensOut   int     `json:"tokensOut"`
	CacheWrites int     `json:"cacheWrites,omitempty"`
	CacheReads  int     `json:"cacheReads,omitempty"`
	TotalCost   float64 `json:"totalCost"`
	// CostUnknown says that the cost of a part of the usage is unknown; TotalCost is that of the rest.
	CostUnknown bool `json:"costUnknown,omitempty"`

	Size          int    `json:"size,omitempty"`
	Workspace     string `json:"workspace,omitempty"`
	Mode          string `json:"mode,omitempty"`
	APIConfigName string `json:"apiConfigName,omitempty"`

	Status TaskStatus `json:"status"`
	// Outcome is set once the task has ended.
	Outcome providers.Outcome `json:"outcome,omitempty"`
	// DelegatedToID is the newest subtask, AwaitingChildID a subtask the task waits for,
	// CompletedByChildID the subtask that returned last.
	DelegatedToID      wire.TaskID   `json:"delegatedToId,omitempty"`
	ChildIDs           []wire.TaskID `json:"childIds,omitempty"`
	AwaitingChildID    wire.TaskID   `json:"awaitingChildId,omitempty"`
	CompletedByChildID wire.TaskID   `json:"completedByChildId,omitempty"`
	// CompletionResultSummary is the text of the last returned subtask while the task runs,
	// and the task's own last text once it has ended.
	CompletionResultSummary string `json:"completionResultSummary,omitempty"`

	MonitorID wire.MonitorID `json:"monitorId,omitempty"`
	AgentID   wire.AgentID   `json:"agentId,omitempty"`
	MessageID wire.MessageID `json:"messageId,omitempty"`
}

// State returns the outcome if the task has ended, and the status otherwise.
func (i Item) State() string {
	if i.Outcome != "" {
		return string(i.Outcome)
	}
	return string(i.Status)
}

// MarkDelegated records a new subtask that the task waits for.
func (i *Item) MarkDelegated(child wire.TaskID) {
	i.Status, i.DelegatedToID, i.AwaitingChildID = TaskDelegated, child, child
	if !slices.Contains(i.ChildIDs, child) {
		i.ChildIDs = append(i.ChildIDs[max(len(i.ChildIDs)-taskChildren+1, 0):], child)
	}
}

// MarkReturned records the result of a subtask. next is another subtask that the task waits
// for, or empty. The summary of a task that has ended stays.
func (i *Item) MarkReturned(child, next wire.TaskID, summary string) {
	i.CompletedByChildID, i.AwaitingChildID = child, next
	if i.Outcome == "" {
		i.CompletionResultSummary = summary
	}
	if next == "" && i.Status == TaskDelegated {
		i.Status = TaskActive
	}
}

// MarkEnded records the outcome and the last text of the task.
func (i *Item) MarkEnded(outcome providers.Outcome, summary string) {
	i.Status, i.Outcome, i.AwaitingChildID, i.CompletionResultSummary = TaskCompleted, outcome, "", summary
}

// SetUsage records the tokens and the cost of the task so far.
func (i *Item) SetUsage(u providers.Usage) {
	i.TokensIn, i.TokensOut = max(u.Input, 0), max(u.Output, 0)
	i.CacheReads, i.CacheWrites, i.TotalCost = max(u.CacheRead, 0), max(u.CacheWrite, 0), max(u.USD, 0)
	i.CostUnknown = u.Unpriced
}

// AddUsage adds the tokens and the cost of a request that was made because of the task.
func (i *Item) AddUsage(u providers.Usage) {
	i.TokensIn += max(u.Input, 0)
	i.TokensOut += max(u.Output, 0)
	i.CacheReads += max(u.CacheRead, 0)
	i.CacheWrites += max(u.CacheWrite, 0)
	i.TotalCost += max(u.USD, 0)
	i.CostUnknown = i.CostUnknown || u.Unpriced
}

// Tasks holds the items of a session. The zero value is empty. Methods that change items
// return the store operations for the change. It is not safe for concurrent use.
type Tasks struct{ byID map[wire.TaskID]*Item }

// NumberOf returns the number in a task id, or 0 if it has none.
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

// Len returns the number of items.
func (t *Tasks) Len() int { return len(t.byID) }

// Get returns an item. The caller must not modify it.
func (t *Tasks) Get(id wire.TaskID) (Item, bool) {
	i := t.byID[id]
	if i == nil {
		return Item{}, false
	}
	return *i, true
}

// Upsert applies change to an item, and creates the item if it does not exist.
func (t *Tasks) Upsert(id wire.TaskID, change func(*Item)) []store.Op {
	i := t.byID[id]
	if i == nil {
		i = &Item{Number: NumberOf(id), Status: TaskActive}
		if t.byID == nil {
			t.byID = map[wire.TaskID]*Item{}
		}
		t.byID[id] = i
	} else {
		i.ChildIDs = slices.Clone(i.ChildIDs) // callers may hold the old slice
	}
	change(i)
	i.ID = id
	i.Task, i.CompletionResultSummary = truncateRunes(i.Task, taskText), truncateRunes(i.CompletionResultSummary, taskSummary)
	i.RootTaskID = t.root(i)
	ops := []store.Op{store.Set(TaskTable, string(id), i.encode())}
	for len(t.byID) > MaxTasks {
		oldest := id
		for other, o := range t.byID {
			if compareNewest(t.byID[oldest], o) < 0 {
				oldest = other
			}
		}
		ops = append(ops, t.drop(oldest))
	}
	return ops
}

// Change is like Upsert, but does nothing if the item does not exist.
func (t *Tasks) Change(id wire.TaskID, change func(*Item)) []store.Op {
	if t.byID[id] == nil {
		return nil
	}
	return t.Upsert(id, change)
}

// root returns the id at the top of an item's tree. Once known it stays, even after the
// items above were dropped.
func (t *Tasks) root(i *Item) wire.TaskID {
	if i.ParentTaskID == "" || i.ParentTaskID == i.ID {
		return i.ID
	}
	if parent := t.byID[i.ParentTaskID]; parent != nil && parent.RootTaskID != "" {
		return parent.RootTaskID
	}
	return cmp.Or(i.RootTaskID, i.ParentTaskID)
}

func (t *Tasks) drop(id wire.TaskID) store.Op {
	delete(t.byID, id)
	return store.Unset(TaskTable, string(id))
}

// Delete removes items and their subtasks. Items that waited for a removed one no longer
// wait.
func (t *Tasks) Delete(ids ...wire.TaskID) []store.Op {
	var ops []store.Op
	for len(ids) > 0 {
		id := ids[0]
		ids = ids[1:]
		if t.byID[id] == nil {
			continue
		}
		ops = append(ops, t.drop(id))
		for _, i := range slices.SortedFunc(maps.Values(t.byID), compareNewest) {
			if i.ParentTaskID == id {
				ids = append(ids, i.ID)
			}
		}
	}
	for _, i := range slices.SortedFunc(maps.Values(t.byID), compareNewest) {
		if i.AwaitingChildID != "" && t.byID[i.AwaitingChildID] == nil {
			ops = append(ops, t.Upsert(i.ID, func(i *Item) {
				if i.AwaitingChildID = ""; i.Status == TaskDelegated {
					i.Status = TaskActive
				}
			})...)
		}
	}
	return ops
}

// Rewind removes the tasks of a monitor whose row is at or after the given one, and their
// subtasks.
func (t *Tasks) Rewind(monitor wire.MonitorID, to wire.Millis) []store.Op {
	var gone []wire.TaskID
	for _, i := range slices.SortedFunc(maps.Values(t.byID), compareNewest) {
		if i.MonitorID == monitor && i.TS >= to {
			gone = append(gone, i.ID)
		}
	}
	return t.Delete(gone...)
}

// All returns operations that store every item, for a store that has lost writes.
func (t *Tasks) All() []store.Op {
	ops := make([]store.Op, 0, len(t.byID))
	for _, i := range slices.SortedFunc(maps.Values(t.byID), compareNewest) {
		ops = append(ops, store.Set(TaskTable, string(i.ID), i.encode()))
	}
	return ops
}

// LoadTasks decodes the fields of [TaskTable].
func LoadTasks(table map[string][]byte) (*Tasks, error) {
	t := &Tasks{byID: make(map[wire.TaskID]*Item, len(table))}
	for field, data := range table {
		i := &Item{}
		if err := json.Unmarshal(data, i); err != nil {
			return nil, fmt.Errorf("task %s: %w", field, err)
		}
		if string(i.ID) != field {
			return nil, fmt.Errorf("task %s: the record has the id %q", field, i.ID)
		}
		t.byID[i.ID] = i
	}
	return t, nil
}

func (i *Item) encode() []byte {
	data, err := json.Marshal(i)
	if err != nil {
		panic(fmt.Sprintf("encode a task: %v", err)) // a struct of numbers and strings always encodes
	}
	return data
}

// compareNewest orders items, newest first.
func compareNewest(a, b *Item) int {
	return cmp.Or(cmp.Compare(b.TS, a.TS), cmp.Compare(b.Number, a.Number), cmp.Compare(b.ID, a.ID))
}

// truncateRunes truncates a text to the given number of characters.
func truncateRunes(s string, runes int) string {
	return truncation.RunesMarked(s, runes, "…")
}
