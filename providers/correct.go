package providers

import (
	"slices"
	"strings"
)

// Texts in place of missing parts.
const (
	noResult    = "No result is known. It may or may not have run."
	noBeginning = "(The beginning of the conversation is left out.)"
)

// CorrectOptions holds the options of [Corrected].
type CorrectOptions struct {
	// Backend is the reader: blocks that only another backend understands are left out. Empty
	// keeps all blocks.
	Backend string
	// Open leaves the calls of the last entry without results, because a turn continues there,
	// see [Continue].
	Open bool
}

// Corrected returns the conversation in a form that passes [Check], whichever backend wrote it and
// wherever it was truncated. The argument is not changed.
func Corrected(entries []Entry, m CorrectOptions) []Entry {
	out := make([]Entry, 0, len(entries))
	used := map[string]bool{"": true} // ids of tool calls
	for _, e := range entries {
		if e.Role != RoleAssistant {
			e.Role = RoleUser
		}
		if e.Blocks = readable(e, m.Backend, used); e.Role == RoleAssistant {
			e.Blocks = TrimPrivateTail(e.Blocks)
		}
		out = join(out, e)
	}
	out = pairResults(out, m.Open)
	if len(out) > 0 && out[0].Role == RoleAssistant {
		out = slices.Insert(out, 0, Entry{
			Role: RoleUser, Turn: out[0].Turn, Blocks: []Block{{Kind: BlockText, Text: noBeginning}},
		})
	}
	return out
}

// TrimPrivateTail removes the blocks that only one backend understands from the end of an assistant's
// entry: backends accept them only before other blocks.
func TrimPrivateTail(blocks []Block) []Block {
	for len(blocks) > 0 && blocks[len(blocks)-1].private() {
		blocks = blocks[:len(blocks)-1]
	}
	return blocks
}

// private reports whether only one backend understands the block.
func (b Block) private() bool { return b.Kind == BlockThinking || b.Kind == BlockOpaque }

// join appends an entry, or adds its blocks to the last one if both have the same role. The
// joined entry belongs to the newer turn; the origin still identifies the source of each block.
func join(out []Entry, e Entry) []Entry {
	last := len(out) - 1
	switch {
	case len(e.Blocks) == 0:
	case last >= 0 && out[last].Role == e.Role:
		out[last].Blocks = append(out[last].Blocks, e.Blocks...)
		out[last].Turn = e.Turn
	default:
		e.Blocks = slices.Clip(e.Blocks) // the blocks belong to the caller: appending must copy
		out = append(out, e)
	}
	return out
}

// readable returns the blocks of an entry that the backend accepts, with unused call ids.
// Blocks that are valid already are not copied.
func readable(e Entry, backend string, used map[string]bool) []Block {
	fine := 0
	for fine < len(e.Blocks) && fits(e.Role, &e.Blocks[fine], backend, used) &&
		(e.Blocks[fine].Kind != BlockToolCall || isObject(e.Blocks[fine].Input)) {
		markUsed(&e.Blocks[fine], used)
		fine++
	}
	if fine == len(e.Blocks) {
		return e.Blocks
	}
	out := slices.Clone(e.Blocks[:fine])
	for _, b := range e.Blocks[fine:] {
		if !fits(e.Role, &b, backend, used) {
			continue
		}
		if b.Kind == BlockToolCall {
			b.Input = WholeInput(b.Input)
		}
		markUsed(&b, used)
		out = append(out, b)
	}
	return out
}

// markUsed records the id of a tool call as used.
func markUsed(b *Block, used map[string]bool) {
	if b.Kind == BlockToolCall {
		used[b.Call] = true
	}
}

// fits reports whether the backend accepts a block.
func fits(role Role, b *Block, backend string, used map[string]bool) bool {
	assistant := role == RoleAssistant
	switch b.Kind {
	case BlockText:
		return strings.TrimSpace(b.Text) != ""
	case BlockThinking, BlockOpaque:
		return assistant && (backend == "" || b.From == backend)
	case BlockImage:
		return !assistant && b.Image != nil
	case BlockToolCall:
		return assistant && !used[b.Call]
	case BlockToolResult:
		return !assistant
	default:
		return false
	}
}

// pairResults gives every call exactly one result, in the entry right after it, and removes
// results without a call. Entries alternate before and after.
func pairResults(entries []Entry, leaveOpen bool) []Entry {
	out := entries[:0] // writes never overtake the reads
	var open []Block   // calls of the preceding assistant's entry
	for _, e := range entries {
		if e.Role == RoleAssistant {
			open = callsOf(e.Blocks)
		} else {
			e.Blocks = withResults(open, e.Blocks)
			open = nil
		}
		out = join(out, e)
	}
	if len(open) > 0 && !leaveOpen {
		out = append(out, Entry{Role: RoleUser, Turn: out[len(out)-1].Turn, Blocks: withResults(open, nil)})
	}
	return out
}

// callsOf returns the tool calls among blocks.
func callsOf(blocks []Block) (calls []Block) {
	for _, b := range blocks {
		if b.Kind == BlockToolCall {
			calls = append(calls, b)
		}
	}
	return calls
}

// withResults returns the blocks of a user's entry that follows the open calls: results first.
func withResults(open, blocks []Block) []Block {
	isResult := func(b Block) bool { return b.Kind == BlockToolResult }
	if len(open) == 0 && !slices.ContainsFunc(blocks, isResult) {
		return blocks
	}
	out := make([]Block, 0, len(open)+len(blocks))
	given := make(map[string]Block, len(open))
	for _, b := range slices.Backward(blocks) { // the first of several results counts
		if isResult(b) {
			given[b.Call] = b
		}
	}
	for _, c := range open {
		b, ok := given[c.Call]
		if !ok {
			b = Block{Kind: BlockToolResult, Call: c.Call, Tool: c.Tool, IsError: true, Text: noResult}
		}
		out = append(out, b)
	}
	for _, b := range blocks {
		if !isResult(b) {
			out = append(out, b)
		}
	}
	return out
}
