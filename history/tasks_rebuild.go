package history

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// TurnEnd is the JSON text of the row that ends a turn.
type TurnEnd struct {
	Outcome      providers.Outcome `json:"outcome"`
	DurationMS   int               `json:"durationMs"`
	InputTokens  int               `json:"inputTokens,omitempty"`
	OutputTokens int               `json:"outputTokens,omitempty"`
	CacheReads   int               `json:"cacheReads,omitempty"`
	CacheWrites  int               `json:"cacheWrites,omitempty"`
	CostUSD      float64           `json:"costUsd,omitempty"`
	CostUnknown  bool              `json:"costUnknown,omitempty"`
	Reason       string            `json:"reason,omitempty"`
	// TaskID and ParentTaskID identify the task. Task is the request if no user's row has
	// it. Provider is the name of the model backend.
	TaskID       wire.TaskID `json:"taskId,omitempty"`
	ParentTaskID wire.TaskID `json:"parentTaskId,omitempty"`
	Task         string      `json:"task,omitempty"`
	Provider     string      `json:"provider,omitempty"`
	// Joined are the messages that joined the turn while it ran.
	Joined []wire.MessageID `json:"joined,omitempty"`
}

// RebuildTasks creates the items of ended tasks from the rows of a conversation, oldest
// first. Rows that cannot be decoded are skipped; an end without a task id becomes a task
// of its own.
func RebuildTasks(rows []wire.UIRow) *Tasks {
	t := &Tasks{}
	asked := map[wire.MessageID]*wire.UIRow{}
	said := map[wire.AgentID]string{}
	for n := range rows {
		row := &rows[n]
		switch row.Say {
		case wire.SayUserFeedback:
			asked[row.MessageID] = row
		case wire.SayText, wire.SaySubtaskResult:
			said[row.AgentID] = row.Text
		case wire.SayAPIReqFinished:
			var end TurnEnd
			if json.Unmarshal([]byte(row.Text), &end) != nil || end.Outcome == "" {
				continue
			}
			id := end.TaskID
			if id == "" {
				id = wire.TaskID("r" + strconv.FormatInt(int64(row.TS), 10))
			}
			t.Upsert(id, func(i *Item) {
				i.ParentTaskID, i.Task, i.APIConfigName = end.ParentTaskID, end.Task, end.Provider
				i.TS = row.TS - wire.Millis(end.DurationMS)
				i.MonitorID, i.AgentID, i.MessageID = row.MonitorID, row.AgentID, row.MessageID
				if u := asked[row.MessageID]; u != nil && row.MessageID != "" {
					i.Task, i.TS = u.Text, u.TS
				}
				i.SetUsage(providers.Usage{
					Input: end.InputTokens, Output: end.OutputTokens,
					CacheRead: end.CacheReads, CacheWrite: end.CacheWrites, USD: end.CostUSD, Unpriced: end.CostUnknown,
				})
				i.MarkEnded(end.Outcome, said[row.AgentID])
			})
			delete(said, row.AgentID)
		}
	}
	t.link()
	return t
}

// link adds subtasks to their parents. A parent ends after its subtasks, so its item did
// not exist when theirs were created.
func (t *Tasks) link() {
	found, _ := t.Find(TaskQuery{})
	for _, f := range slices.Backward(found) {
		child := f.Item
		if child.ParentTaskID == "" {
			continue
		}
		t.Change(child.ParentTaskID, func(i *Item) {
			status, outcome := i.Status, i.Outcome
			i.MarkDelegated(child.ID)
			i.MarkReturned(child.ID, "", child.CompletionResultSummary)
			i.Status, i.Outcome = status, outcome
		})
		t.Change(child.ID, func(*Item) {}) // updates its root
	}
}
