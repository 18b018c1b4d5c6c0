package history

import (
	"slices"

	"github.com/everdesk/everdesk/providers"
)

const notRun = "Interrupted before there was a result."

// Repair makes the results in a user's message fit the calls that they answer, which
// are those of the newest visible message of the assistant that have no result yet.
// Each call gets one result, the first with its id; a result with an id that nobody
// called takes the place of the call at the same position if that has none, and goes
// otherwise. Results of no call at all become text, lest what they say is lost: a
// summary may have come between a call and its result. Calls that are left may still
// be answered; [View] says of them that there is no result.
func Repair(all []Message, next providers.Entry) providers.Entry {
	if next.Role != providers.RoleUser || !hasKind(next.Blocks, providers.BlockToolResult) {
		return next
	}
	if calls := unanswered(all); len(calls) > 0 {
		next.Blocks = fitted(calls, next.Blocks)
		return next
	}
	return asText(next)
}

// unanswered are the calls of the newest visible message of the assistant that have
// no result.
func unanswered(all []Message) []providers.Block {
	since := sinceSummary(all)
	marked, answered := markersOf(since), map[string]bool{}
	for i := range slices.Backward(since) {
		m := &since[i]
		if m.IsSummary || marked[m.TruncationParent] {
			continue // nothing hides a summary, which calls nothing
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

// fitted are blocks whose results are those of calls.
func fitted(calls, blocks []providers.Block) []providers.Block {
	wanted := make(map[string]int, len(calls))
	for i, c := range calls {
		wanted[c.Call] = i
	}
	taken := make([]bool, len(calls))
	// What has a right id goes first: no other may take its place.
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
		case right && first[b.Call] != i: // said twice
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

// asText makes text of the results in a message.
func asText(e providers.Entry) providers.Entry {
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
