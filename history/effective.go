package history

import (
	"slices"

	"github.com/everdesk/everdesk/providers"
)

// Effective is what of a thread is visible: from the newest summary on, without
// what a marker stands for, and without results whose call is not visible. A tag
// that names no summary or marker hides nothing. Messages after the newest summary
// are visible whatever their condenseParent says: older programs put the summary
// before the last messages and tagged those.
func Effective(all []Message) []Message {
	since := sinceSummary(all)
	out := make([]Message, 0, len(since))
	eachVisible(since, func(i int, blocks []providers.Block) {
		out = append(out, since[i])
		out[len(out)-1].Blocks = blocks
	})
	return out
}

// eachVisible calls see with the place of every message that is visible, and with
// what is of its blocks. There is nothing before a newest summary in what it gets.
func eachVisible(since []Message, see func(i int, blocks []providers.Block)) {
	marked := markersOf(since)
	calls := map[string]bool{}
	for i := range since {
		m := &since[i]
		// A summary stands for all before it; nothing hides that.
		if !m.IsSummary && marked[m.TruncationParent] {
			continue
		}
		if m.Role == providers.RoleAssistant {
			for j := range m.Blocks {
				if b := &m.Blocks[j]; b.Kind == providers.BlockToolCall {
					calls[b.Call] = true
				}
			}
		}
		if blocks := withCalls(m, calls); len(blocks) > 0 {
			see(i, blocks)
		}
	}
}

// sinceSummary is a thread from its newest summary on.
func sinceSummary(all []Message) []Message {
	for i := range slices.Backward(all) {
		if all[i].IsSummary {
			return all[i:]
		}
	}
	return all
}

// markersOf are the ids of the markers among messages.
func markersOf(all []Message) map[string]bool {
	marked := map[string]bool{}
	for i := range all {
		if m := &all[i]; m.IsTruncationMarker && m.TruncationID != "" {
			marked[m.TruncationID] = true
		}
	}
	return marked
}

// withCalls are the blocks of a message without results of other calls than these.
func withCalls(m *Message, calls map[string]bool) []providers.Block {
	orphan := func(b providers.Block) bool { return b.Kind == providers.BlockToolResult && !calls[b.Call] }
	if m.Role == providers.RoleAssistant || !slices.ContainsFunc(m.Blocks, orphan) {
		return m.Blocks
	}
	return slices.DeleteFunc(slices.Clone(m.Blocks), orphan)
}
