package history

import (
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// TaskQuery selects tasks.
type TaskQuery struct {
	// Text holds words that must all occur in the request or the result, in any case.
	Text string
	// State is a status or an outcome; see [Item.State].
	State   string
	Monitor wire.MonitorID
	// Limit is the maximum number of results. Before is the last task of the previous page.
	Limit  int
	Before wire.TaskID
}

// FoundTask is a result of [Tasks.Find].
type FoundTask struct {
	Item
	Costs Costs `json:"costs"`
}

// Find returns the tasks that match the query, newest first, and whether there are more.
func (t *Tasks) Find(q TaskQuery) (found []FoundTask, more bool) {
	words := strings.Fields(normalizeText(q.Text))
	before := t.byID[q.Before]
	all := make([]*Item, 0, len(t.byID))
	for _, i := range t.byID {
		switch {
		case q.State != "" && i.State() != q.State:
		case q.Monitor != "" && i.MonitorID != q.Monitor:
		case before != nil && compareNewest(before, i) >= 0:
		case before == nil && q.Before != "" && i.Number >= NumberOf(q.Before): // the task was deleted since
		default:
			all = append(all, i)
		}
	}
	slices.SortFunc(all, compareNewest)
	found = []FoundTask{}
	for _, i := range all {
		if !i.hasWords(words) {
			continue
		}
		if q.Limit > 0 && len(found) == q.Limit {
			return found, true
		}
		found = append(found, FoundTask{*i, t.Costs(i.ID)})
	}
	return found, false
}

// hasWords reports whether all words occur in the request or the result of a task.
func (i *Item) hasWords(words []string) bool {
	if len(words) == 0 {
		return true
	}
	text := normalizeText(i.Task + "\n" + i.CompletionResultSummary)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// Costs holds the costs of a task and of its subtasks, in US dollars.
type Costs struct {
	Own      float64 `json:"own"`
	Children float64 `json:"children"`
	Total    float64 `json:"total"`
	// Unknown says that the cost of a part of the total is unknown.
	Unknown bool `json:"unknown,omitempty"`
}

// costsVisits bounds the traversal: imported data may contain a subtask in any number of
// branches.
const costsVisits = 10_000

// Costs adds up the costs of a task and all tasks below it. Unknown tasks cost nothing, and
// cycles are counted once.
func (t *Tasks) Costs(id wire.TaskID) Costs {
	visits := 0
	var add func(id wire.TaskID, above []wire.TaskID) Costs
	add = func(id wire.TaskID, above []wire.TaskID) (c Costs) {
		i := t.byID[id]
		if visits++; i == nil || visits > costsVisits || slices.Contains(above, id) {
			return c
		}
		c.Own, c.Unknown = i.TotalCost, i.CostUnknown
		above = append(slices.Clip(above), id)
		for _, child := range i.ChildIDs {
			below := add(child, above)
			c.Children += below.Total
			c.Unknown = c.Unknown || below.Unknown
		}
		c.Total = c.Own + c.Children
		return c
	}
	return add(id, nil)
}

// HasWords reports whether a text has all words of a query, as [TaskQuery.Text] compares them.
func HasWords(text, query string) bool {
	text = normalizeText(text)
	for word := range strings.FieldsSeq(normalizeText(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// normalizeText returns a text for comparison: in lower case and with Korean syllables
// composed, which some systems write decomposed.
func normalizeText(s string) string {
	s = strings.ToLower(s)
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= leads && r < leads+leadCount }) {
		return s
	}
	out := make([]rune, 0, len(s))
	for _, r := range s {
		last := len(out) - 1
		switch {
		case last < 0:
		case vowels <= r && r < vowels+vowelCount && leads <= out[last] && out[last] < leads+leadCount:
			out[last] = syllables + ((out[last]-leads)*vowelCount+r-vowels)*tailCount
			continue
		case tails < r && r < tails+tailCount && syllables <= out[last] && out[last] < syllables+syllableCount && (out[last]-syllables)%tailCount == 0:
			out[last] += r - tails
			continue
		}
		out = append(out, r)
	}
	return string(out)
}

// Unicode ranges of Korean syllables and the letters they are composed of.
const (
	syllables, leads, vowels, tails = 0xAC00, 0x1100, 0x1161, 0x11A7

	leadCount, vowelCount, tailCount = 19, 21, 28

	syllableCount = leadCount * vowelCount * tailCount
)
