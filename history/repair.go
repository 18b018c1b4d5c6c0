package history

import (
	"slices"

	"github.com/everdesk/everdesk/providers"
)

const noResultText = "Interrupted before there was a result."

// Repair matches the tool results in a user message to the calls they answer: the
// unanswered calls of the newest visible assistant message. Each call gets at most one
// result, the first with its id. A result with an unknown id takes the call at the same
// position if that has no result, and is dropped otherwise. If there are no unanswered
// calls at all, results become text to preserve their content: a summary may have come
// between call and result. Calls without a result stay open and may be answered later;
// [View] adds a result that says so.
func Repair(all []Message, next providers.Entry) providers.Entry {
	if next.Role != providers.RoleUser || !hasKind(next.Blocks, providers.BlockToolResult) {
		return next
	}
	if calls := unanswered(all); len(calls) > 0 {
		next.Blocks = matchResults(calls, next.Blocks)
		return next
	}
	return resultsAsText(next)
}

// unanswered returns the calls of the newest visible assistant message that have no result.
func unanswered(all []Message) []providers.Block {
	since := sinceSummary(all)
	marked, answered := markersOf(since), map[string]bool{}
	for i := range slices.Backward(since) {
		m := &since[i]
		if m.IsSummary || marked[m.TruncationParent] {
			continue // a summary is never hidden and contains no calls
		}
		var calls []providers.Block
		for _, b := range m.Blocks {
			switch {
			case b.Kind == providers.BlockToolResult:
				answered[b.Call] = true
			case b.Kind == providers.BlockToolCall && !answered[b.Call]:
				calls = append(calls, b)
			}
		}
		if m.Role == providers.RoleAssistant {
			return calls
		}
	}
	return nil
}

// matchResults returns blocks with their tool results matched to calls.
func matchResults(calls, blocks []providers.Block) []providers.Block {
	wanted := make(map[string]int, len(calls))
	for i, c := range calls {
		wanted[c.Call] = i
	}
	taken := make([]bool, len(calls))
	// Results with a known id come first, so that a result with an unknown id cannot take
	// their call.
	first := map[string]int{}
	for i, b := range blocks {
		if at, ok := wanted[b.Call]; ok && b.Kind == providers.BlockToolResult && !taken[at] {
			taken[at], first[b.Call] = true, i
		}
	}
	out := make([]providers.Block, 0, len(blocks))
	position := 0
	for i, b := range blocks {
		if b.Kind != providers.BlockToolResult {
			out = append(out, b)
			continue
		}
		at := position
		position++
		switch _, right := wanted[b.Call]; {
		case right && first[b.Call] != i: // a duplicate result
			continue
		case !right && (at >= len(calls) || taken[at]):
			continue
		case !right:
			taken[at] = true
			b.Call, b.Tool = calls[at].Call, calls[at].Tool
		}
		out = append(out, b)
	}
	return out
}

// resultsAsText converts the tool results in a message to text.
func resultsAsText(e providers.Entry) providers.Entry {
	var blocks []providers.Block
	for _, b := range e.Blocks {
		if b.Kind != providers.BlockToolResult {
			blocks = append(blocks, b)
			continue
		}
		blocks = append(blocks, textBlock(resultText(b)))
		for _, i := range b.Images {
			blocks = append(blocks, providers.Block{Kind: providers.BlockImage, Image: &i})
		}
	}
	e.Blocks = slices.Clip(blocks)
	return e
}
