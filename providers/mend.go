package providers

import (
	"slices"
	"strings"
)

// What a model reads where something is missing.
const (
	noResult    = "No result is known. It may or may not have run."
	noBeginning = "(The beginning of the conversation is left out.)"
)

// Mending says how a conversation is mended.
type Mending struct {
	// Backend is who is to read it: blocks that only another one understands are
	// left out. Empty leaves everybody's.
	Backend string
	// Open leaves the calls of the last entry without results: a turn goes on
	// there, see [Continue].
	Open bool
}

// Mended makes of a conversation what [Check] demands, whoever wrote it and
// wherever it was cut. What it is given stays as it is.
func Mended(entries []Entry, m Mending) []Entry {
	out := make([]Entry, 0, len(entries))
	used := map[string]bool{"": true} // ids of calls
	for _, e := range entries {
		if e.Role != RoleAssistant {
			e.Role = RoleUser
		}
		if e.Blocks = readable(e, m.Backend, used); e.Role == RoleAssistant {
			e.Blocks = Untail(e.Blocks)
		}
		out = join(out, e)
	}
	out = pair(out, m.Open)
	if len(out) > 0 && out[0].Role == RoleAssistant {
		out = slices.Insert(out, 0, Entry{
			Role: RoleUser, Turn: out[0].Turn, Blocks: []Block{{Kind: BlockText, Text: noBeginning}},
		})
	}
	return out
}

// Untail cuts what only one backend understands off the end of an entry of the
// assistant: backends take it only before something.
func Untail(blocks []Block) []Block {
	for len(blocks) > 0 && blocks[len(blocks)-1].private() {
		blocks = blocks[:len(blocks)-1]
	}
	return blocks
}

// private reports whether only one backend understands a block.
func (b Block) private() bool { return b.Kind == BlockThinking || b.Kind == BlockOpaque }

// join adds an entry, to the last one if both are of the same side. What a turn
// left and what began the next one is then the beginning of that; whose block each
// is stays known by its origin.
func join(out []Entry, e Entry) []Entry {
	last := len(out) - 1
	switch {
	case len(e.Blocks) == 0:
	case last >= 0 && out[last].Role == e.Role:
		out[last].Blocks = append(out[last].Blocks, e.Blocks...)
		out[last].Turn = e.Turn
	default:
		e.Blocks = slices.Clip(e.Blocks) // somebody else's: what is added goes into a copy
		out = append(out, e)
	}
	return out
}

// readable are the blocks of an entry that a backend can be given, with calls
// that are not used yet. Blocks that are fine already are not copied.
func readable(e Entry, backend string, used map[string]bool) []Block {
	fine := 0
	for fine < len(e.Blocks) && fits(e.Role, &e.Blocks[fine], backend, used) &&
		(e.Blocks[fine].Kind != BlockToolCall || isObject(e.Blocks[fine].Input)) {
		note(&e.Blocks[fine], used)
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
		note(&b, used)
		out = append(out, b)
	}
	return out
}

// note marks the id of a call as used.
func note(b *Block, used map[string]bool) {
	if b.Kind == BlockToolCall {
		used[b.Call] = true
	}
}

// fits reports whether a backend can be given a block.
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

// pair gives every call one result, right after it, and leaves out results of
// nothing. Entries alternate when it gets them, and do when it is done.
func pair(entries []Entry, leaveOpen bool) []Entry {
	out := entries[:0] // never ahead of what is read
	var open []Block   // calls of the assistant's entry before
	for _, e := range entries {
		if e.Role == RoleAssistant {
			open = callsOf(e.Blocks)
		} else {
			e.Blocks = answers(open, e.Blocks)
			open = nil
		}
		out = join(out, e)
	}
	if len(open) > 0 && !leaveOpen {
		out = append(out, Entry{Role: RoleUser, Turn: out[len(out)-1].Turn, Blocks: answers(open, nil)})
	}
	return out
}

// callsOf are the tool calls among blocks.
func callsOf(blocks []Block) (calls []Block) {
	for _, b := range blocks {
		if b.Kind == BlockToolCall {
			calls = append(calls, b)
		}
	}
	return calls
}

// answers are blocks of a user's entry after the given calls: results first.
func answers(open, blocks []Block) []Block {
	isResult := func(b Block) bool { return b.Kind == BlockToolResult }
	if len(open) == 0 && !slices.ContainsFunc(blocks, isResult) {
		return blocks
	}
	out := make([]Block, 0, len(open)+len(blocks))
	given := make(map[string]Block, len(open))
	for _, b := range slices.Backward(blocks) { // the first of several counts
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
