package history

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// TurnEnd is what the row of the end of a turn says, in JSON.
type TurnEnd struct {
	Outcome      providers.Outcome `json:"outcome"`
	DurationMS   int               `json:"durationMs"`
	InputTokens  int               `json:"inputTokens,omitempty"`
	OutputTokens int               `json:"outputTokens,omitempty"`
	CacheReads   int               `json:"cacheReads,omitempty"`
	CacheWrites  int               `json:"cacheWrites,omitempty"`
	CostUSD      float64           `json:"costUsd,omitempty"`
	Reason       string            `json:"reason,omitempty"`
	// TaskID and ParentTaskID are of the task, Task is what it was about if no row
	// of a user says so, and Provider who thought.
	TaskID       wire.TaskID `json:"taskId,omitempty"`
	ParentTaskID wire.TaskID `json:"parentTaskId,omitempty"`
	Task         string      `json:"task,omitempty"`
	Provider     string      `json:"provider,omitempty"`
}

// RebuildTasks makes the items of the tasks that have ended, from the rows that tell
// of them, the oldest first. Rows that cannot be read are left out; a row that does
// not say which task it is about is one of its own.
func RebuildTasks(rows []wire.UIRow) *Tasks {
	l := &Tasks{}
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
			l.Upsert(id, func(i *Item) {
				i.ParentTaskID, i.Task, i.APIConfigName = end.ParentTaskID, end.Task, end.Provider
				i.TS = row.TS - wire.Millis(end.DurationMS)
				i.MonitorID, i.AgentID, i.MessageID = row.MonitorID, row.AgentID, row.MessageID
				if u := asked[row.MessageID]; u != nil && row.MessageID != "" {
					i.Task, i.TS = u.Text, u.TS
				}
				i.Spent(providers.Usage{
					Input: end.InputTokens, Output: end.OutputTokens,
					CacheRead: end.CacheReads, CacheWrite: end.CacheWrites, USD: end.CostUSD,
				})
				i.Ended(end.Outcome, said[row.AgentID])
			})
			delete(said, row.AgentID)
		}
	}
	l.link()
	return l
}

// link tells those who gave tasks away of them. Theirs end later, so there were no
// items of them before.
func (l *Tasks) link() {
	found, _ := l.Find(TaskQuery{})
	for _, f := range slices.Backward(found) {
		child := f.Item
		if child.ParentTaskID == "" {
			continue
		}
		l.Change(child.ParentTaskID, func(i *Item) {
			status, outcome := i.Status, i.Outcome
			i.Delegated(child.ID)
			i.Returned(child.ID, "", child.CompletionResultSummary)
			i.Status, i.Outcome = status, outcome
		})
		l.Change(child.ID, func(*Item) {}) // its root is known now
	}
}
