package contextpool

import (
	"fmt"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const timelinePrefix = "timeline:"

// actionBytes bounds the text of an agent's actions in a timeline.
const actionBytes = 1000

// Timeline lists what users and agents did on a monitor since its main agent's last turn began.
// Methods that change it return the store operations for the change.
type Timeline struct {
	monitor wire.MonitorID
	entries []policies.TimelineEntry
}

// NewTimeline returns the empty timeline of a monitor.
func NewTimeline(monitor wire.MonitorID) *Timeline { return &Timeline{monitor: monitor} }

func (t *Timeline) listName() string { return timelinePrefix + string(t.monitor) }

// Len returns the number of entries.
func (t *Timeline) Len() int { return len(t.entries) }

// PushUser adds a user's interaction.
func (t *Timeline) PushUser(i wire.UserInteraction) []store.Op {
	e, ok := policies.UserEntry(i)
	if !ok {
		return nil
	}
	return t.push(e)
}

// PushAI adds an agent's actions.
func (t *Timeline) PushAI(agent wire.AgentID, actions []wire.Action) []store.Op {
	e := policies.AIEntry(agent, actions)
	e.Text = truncate(e.Text, actionBytes)
	return t.push(e)
}

// PushPlan adds the end of a plan.
func (t *Timeline) PushPlan(plan wire.AgentID, text string) []store.Op {
	return t.push(policies.TimelineEntry{Kind: policies.EntryAI, Agent: plan, Text: text})
}

// PushBudget adds that the budget of the monitor refused something.
func (t *Timeline) PushBudget(text string) []store.Op { return t.push(policies.BudgetEntry(text)) }

// push adds an entry. Folding changes only the first entry and the last few, so only those are
// written.
func (t *Timeline) push(e policies.TimelineEntry) []store.Op {
	entriesBefore, eventsBefore := len(t.entries), eventCount(t.entries)
	t.entries = policies.FoldTimeline(t.entries, e)
	left := entriesBefore - (eventsBefore + 1 - eventCount(t.entries)) // number of unchanged earlier entries
	var ops []store.Op
	if left < entriesBefore {
		ops = append(ops, store.KeepFirst(t.listName(), left))
	}
	last := &t.entries[len(t.entries)-1]
	ops = append(ops, store.Push(t.listName(), encode(last)))
	if left+1 > len(t.entries) {
		ops = append(ops, store.KeepLast(t.listName(), len(t.entries)), store.Replace(t.listName(), 0, encode(&t.entries[0])))
	}
	return ops
}

// eventCount returns the number of events that the entries stand for.
func eventCount(entries []policies.TimelineEntry) int {
	n := 0
	for i := range entries {
		n += max(entries[i].Count, 1)
	}
	return n
}

// Format formats the timeline for a model's prompt; an empty timeline gives "".
func (t *Timeline) Format() string { return policies.FormatTimeline(t.entries) }

// Drain formats the timeline and clears it.
func (t *Timeline) Drain() (string, []store.Op) {
	if len(t.entries) == 0 {
		return "", nil
	}
	text := t.Format()
	return text, t.Clear()
}

// Clear removes all entries.
func (t *Timeline) Clear() []store.Op {
	t.entries = nil
	return t.AllOps()
}

// AllOps returns the operations that write the whole timeline.
func (t *Timeline) AllOps() []store.Op {
	return rewriteList(t.listName(), t.entries)
}

// rewriteList returns the operations that replace a stored list.
func rewriteList[T any](list string, values []T) []store.Op {
	ops := []store.Op{store.Drop(list)}
	if len(values) == 0 {
		return ops
	}
	kept := make([][]byte, len(values))
	for i := range values {
		kept[i] = encode(&values[i])
	}
	return append(ops, store.Push(list, kept...))
}

// decodeList decodes a stored list.
func decodeList[T any](list string, items [][]byte) ([]T, error) {
	values := make([]T, len(items))
	for i, data := range items {
		if err := decode(data, &values[i]); err != nil {
			return nil, fmt.Errorf("item %d of %s: %w", i, list, err)
		}
	}
	return values, nil
}

// Restore loads the stored list.
func (t *Timeline) Restore(items [][]byte) (err error) {
	t.entries, err = decodeList[policies.TimelineEntry](t.listName(), items)
	return err
}
