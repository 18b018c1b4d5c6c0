package history

import (
	"slices"

	"github.com/everdesk/everdesk/providers"
)

const notRun = "Interrupted before there was a result."

// Repair makes results in a user's message fit the calls that they answer, which
// are those of the newest visible message. Each call gets one result, the first
// with its id; a result with an id that nobody called takes the place of the call
// at the same position if that has none yet, and goes otherwise; a call without any
// gets one that says so. Results of no call at all become text, lest what they say
// is lost: a summary may have come between a call and its result.
func Repair(effective []Message, next providers.Entry) providers.Entry {
	if next.Role != providers.RoleUser {
		return next
	}
	var calls []providers.Block
	if n := len(effective); n > 0 && effective[n-1].Role == providers.RoleAssistant {
		for _, b := range effective[n-1].Blocks {
			if b.Kind == providers.BlockToolCall {
				calls = append(calls, b)
			}
		}
	}
	if len(calls) == 0 {
		return asText(next)
	}
	results, rest := fitted(calls, next.Blocks)
	next.Blocks = append(results, rest...)
	return next
}

// fitted are the results of calls, in the order they were given after those that
// were missing, and all other blocks.
func fitted(calls, blocks []providers.Block) (results, rest []providers.Block) {
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
	position := 0
	for i, b := range blocks {
		if b.Kind != providers.BlockToolResult {
			rest = append(rest, b)
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
		results = append(results, b)
	}
	var missing []providers.Block
	for i, c := range calls {
		if !taken[i] {
			missing = append(missing, providers.Block{
				Kind: providers.BlockToolResult, Call: c.Call, Tool: c.Tool, Text: notRun, IsError: true,
			})
		}
	}
	return append(missing, results...), rest
}

// asText makes text of the results in a message.
func asText(e providers.Entry) providers.Entry {
	if !hasKind(e.Blocks, providers.BlockToolResult) {
		return e
	}
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
