package history

import (
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// TaskQuery is which tasks somebody wants to see.
type TaskQuery struct {
	// Text is words that each are in what was asked or in what came of it, in
	// capitals or not.
	Text string
	// State is a status or an outcome; see [Item.State].
	State   string
	Monitor wire.MonitorID
	// Limit is how many, and Before the task behind which they come, for the next
	// page.
	Limit  int
	Before wire.TaskID
}

// Found is a task that was looked for.
type Found struct {
	Item
	Costs Costs `json:"costs"`
}

// Find are the tasks that somebody wants to see, the newest first, and whether
// there are more.
func (l *Tasks) Find(q TaskQuery) (found []Found, more bool) {
	words := strings.Fields(folded(q.Text))
	before := l.by[q.Before]
	all := make([]*Item, 0, len(l.by))
	for _, i := range l.by {
		switch {
		case q.State != "" && i.State() != q.State:
		case q.Monitor != "" && i.MonitorID != q.Monitor:
		case before != nil && newer(before, i) >= 0:
		case before == nil && q.Before != "" && i.Number >= NumberOf(q.Before): // it is gone meanwhile
		default:
			all = append(all, i)
		}
	}
	slices.SortFunc(all, newer)
	found = []Found{}
	for _, i := range all {
		if !i.has(words) {
			continue
		}
		if q.Limit > 0 && len(found) == q.Limit {
			return found, true
		}
		found = append(found, Found{*i, l.Costs(i.ID)})
	}
	return found, false
}

// has reports whether all words are in what is known of a task.
func (i *Item) has(words []string) bool {
	if len(words) == 0 {
		return true
	}
	text := folded(i.Task + "\n" + i.CompletionResultSummary)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// Costs are what a task and all below it cost, in US dollars.
type Costs struct {
	Own      float64 `json:"own"`
	Children float64 `json:"children"`
	Total    float64 `json:"total"`
}

// costsVisits bounds how much is added up: data that is not ours could have a
// subtask in as many branches as it likes.
const costsVisits = 10_000

// Costs adds up what a task and all below it cost. What is not there costs nothing,
// and a task is not below itself.
func (l *Tasks) Costs(id wire.TaskID) Costs {
	visits := 0
	var add func(id wire.TaskID, above []wire.TaskID) Costs
	add = func(id wire.TaskID, above []wire.TaskID) (c Costs) {
		i := l.by[id]
		if visits++; i == nil || visits > costsVisits || slices.Contains(above, id) {
			return c
		}
		c.Own = i.TotalCost
		above = append(slices.Clip(above), id)
		for _, child := range i.ChildIDs {
			c.Children += add(child, above).Total
		}
		c.Total = c.Own + c.Children
		return c
	}
	return add(id, nil)
}

// folded is a text as it is compared: without capitals, and Korean syllables in one
// piece, which some systems take apart.
func folded(s string) string {
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

// Where Unicode has Korean syllables and the parts they are made of.
const (
	syllables, leads, vowels, tails = 0xAC00, 0x1100, 0x1161, 0x11A7

	leadCount, vowelCount, tailCount = 19, 21, 28

	syllableCount = leadCount * vowelCount * tailCount
)
