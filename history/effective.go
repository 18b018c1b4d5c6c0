package history

import (
	"slices"

	"github.com/everdesk/everdesk/providers"
)

// Effective returns the visible part of a thread: from the newest summary on, without the
// messages hidden by a marker, and without tool results whose call is hidden. A tag that
// names no existing summary or marker hides nothing. Messages after the newest summary are
// visible whatever their condenseParent is, because older programs put the summary before
// the last messages and tagged those as well.
func Effective(all []Message) []Message {
	since := sinceSummary(all)
	out := make([]Message, 0, len(since))
	eachVisible(since, func(i int, blocks []providers.Block) {
		out = append(out, since[i])
		out[len(out)-1].Blocks = blocks
	})
	return out
}

// eachVisible calls visit with the index and the visible blocks of every visible message.
// since must start at the newest summary, if there is one.
func eachVisible(since []Message, visit func(i int, blocks []providers.Block)) {
	marked := markersOf(since)
	calls := map[string]bool{}
	for i := range since {
		m := &since[i]
		// A summary replaces everything before it; a marker cannot hide it.
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
		if blocks := withoutOrphans(m, calls); len(blocks) > 0 {
			visit(i, blocks)
		}
	}
}

// sinceSummary returns the thread from its newest summary on.
func sinceSummary(all []Message) []Message {
	for i := range slices.Backward(all) {
		if all[i].IsSummary {
			return all[i:]
		}
	}
	return all
}

// markersOf returns the truncation ids of the markers in a thread.
func markersOf(all []Message) map[string]bool {
	marked := map[string]bool{}
	for i := range all {
		if m := &all[i]; m.IsTruncationMarker && m.TruncationID != "" {
			marked[m.TruncationID] = true
		}
	}
	return marked
}

// withoutOrphans returns the blocks of a message without the tool results whose call is not
// in calls.
func withoutOrphans(m *Message, calls map[string]bool) []providers.Block {
	orphan := func(b providers.Block) bool { return b.Kind == providers.BlockToolResult && !calls[b.Call] }
	if m.Role == providers.RoleAssistant || !slices.ContainsFunc(m.Blocks, orphan) {
		return m.Blocks
	}
	return slices.DeleteFunc(slices.Clone(m.Blocks), orphan)
}
