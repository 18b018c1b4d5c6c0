package loop

import (
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// Bounds of what a model names. No tool has a longer name, and no server that
// means well longer ids.
const (
	maxTool = 128
	maxCall = 256
)

// own makes blocks of a reply part of the conversation: what only this backend
// understands carries its name, calls have a short id that nobody has, inputs are
// objects, and nothing is empty.
func (s *session) own(blocks []providers.Block) []providers.Block {
	used := map[string]bool{"": true}
	for _, e := range s.thread {
		for _, b := range e.Blocks {
			used[b.Call] = true
		}
	}
	out := make([]providers.Block, 0, len(blocks))
	for _, b := range blocks {
		switch b.Kind {
		case providers.BlockText:
			if strings.TrimSpace(b.Text) == "" {
				continue
			}
		case providers.BlockThinking, providers.BlockOpaque:
			b.From = s.p.cfg.Name
		case providers.BlockToolCall:
			if len(b.Tool) > maxTool {
				b.Tool = strings.ToValidUTF8(b.Tool[:maxTool], "")
			}
			if used[b.Call] || len(b.Call) > maxCall {
				b.Call = "call_" + rand.Text()
			}
			used[b.Call] = true
			b.Input = whole(b.Input)
		}
		out = append(out, b)
	}
	return out
}

// broken is the only key of an input that the model did not write as a JSON
// object. It is kept as one, so that the model can be shown what it wrote.
const broken = "invalid_json"

// whole makes a JSON object of a tool's input, whatever the model wrote.
func whole(input json.RawMessage) json.RawMessage {
	if strings.TrimSpace(string(input)) == "" {
		return json.RawMessage("{}")
	}
	var o map[string]json.RawMessage
	if json.Unmarshal(input, &o) == nil && o != nil {
		return input
	}
	object, err := json.Marshal(map[string]string{broken: string(input)})
	if err != nil {
		return json.RawMessage("{}")
	}
	return object
}

// isBroken reports whether whole had to make an object of an input.
func isBroken(input json.RawMessage) bool {
	var o map[string]json.RawMessage
	if json.Unmarshal(input, &o) != nil || o == nil {
		return true
	}
	_, found := o[broken]
	return found && len(o) == 1
}

// untail cuts thinking off the end: backends take it only before something.
func untail(blocks []providers.Block) []providers.Block {
	for len(blocks) > 0 && private(blocks[len(blocks)-1]) {
		blocks = blocks[:len(blocks)-1]
	}
	return blocks
}

// private reports whether only one backend understands a block.
func private(b providers.Block) bool {
	return b.Kind == providers.BlockThinking || b.Kind == providers.BlockOpaque
}

// prepare makes of a conversation what [Request.Entries] promises, whoever wrote
// it and wherever it was cut.
func prepare(thread []providers.Entry, name string) []providers.Entry {
	var out []providers.Entry
	used := map[string]bool{} // ids of calls
	for _, e := range thread {
		e.Blocks = readable(e, name, used)
		if e.Role == providers.RoleAssistant {
			e.Blocks = untail(e.Blocks)
		}
		out = join(out, e)
	}
	out = pair(out)
	if len(out) > 0 && out[0].Role == providers.RoleAssistant {
		out = slices.Insert(out, 0, note(out[0].Turn))
	}
	return out
}

// join adds an entry, to the last one if both are of the same side.
func join(out []providers.Entry, e providers.Entry) []providers.Entry {
	last := len(out) - 1
	switch {
	case len(e.Blocks) == 0:
	case last >= 0 && out[last].Role == e.Role:
		out[last].Blocks = slices.Concat(out[last].Blocks, e.Blocks)
	default:
		out = append(out, e)
	}
	return out
}

// note stands where the beginning of a conversation was left out.
func note(turn string) providers.Entry {
	return providers.Entry{
		Role: providers.RoleUser, Turn: turn,
		Blocks: []providers.Block{{Kind: providers.BlockText, Text: "(The beginning of the conversation is left out.)"}},
	}
}

// readable are the blocks of an entry that the named backend can be given, with
// calls that are not used yet.
func readable(e providers.Entry, name string, used map[string]bool) []providers.Block {
	assistant := e.Role == providers.RoleAssistant
	out := make([]providers.Block, 0, len(e.Blocks))
	for _, b := range e.Blocks {
		fits := false
		switch b.Kind {
		case providers.BlockText:
			fits = strings.TrimSpace(b.Text) != ""
		case providers.BlockThinking, providers.BlockOpaque:
			fits = assistant && b.From == name
		case providers.BlockImage:
			fits = !assistant && b.Image != nil
		case providers.BlockToolCall:
			fits = assistant && !used[b.Call]
			used[b.Call] = used[b.Call] || assistant
			b.Input = whole(b.Input)
		case providers.BlockToolResult:
			fits = !assistant
		}
		if fits {
			out = append(out, b)
		}
	}
	return out
}

// pair gives every call one result, right after it, and leaves out results of
// nothing. Entries alternate when it gets them, and do when it is done.
func pair(entries []providers.Entry) []providers.Entry {
	var out []providers.Entry
	var open []providers.Block // calls of the assistant's entry before
	for _, e := range entries {
		if e.Role == providers.RoleAssistant {
			open = calls(e.Blocks)
		} else {
			e.Blocks = answers(open, e.Blocks)
			open = nil
		}
		out = join(out, e)
	}
	if len(open) > 0 {
		out = append(out, providers.Entry{Role: providers.RoleUser, Turn: out[len(out)-1].Turn, Blocks: answers(open, nil)})
	}
	return out
}

// answers are blocks of a user's entry after the given calls: results first.
func answers(open, blocks []providers.Block) []providers.Block {
	var out []providers.Block
	for _, c := range open {
		i := slices.IndexFunc(blocks, func(b providers.Block) bool {
			return b.Kind == providers.BlockToolResult && b.Call == c.Call
		})
		if i >= 0 {
			out = append(out, blocks[i])
			continue
		}
		out = append(out, providers.Block{
			Kind: providers.BlockToolResult, Call: c.Call, Tool: c.Tool, IsError: true,
			Text: "No result is known. It may or may not have run.",
		})
	}
	for _, b := range blocks {
		if b.Kind != providers.BlockToolResult {
			out = append(out, b)
		}
	}
	return out
}

// size is about how much memory an entry takes.
func size(e providers.Entry) int {
	n := 64
	for _, b := range e.Blocks {
		n += 128 + len(b.Text) + len(b.Input) + len(b.Signature) + len(b.Opaque)
		if b.Image != nil {
			n += len(b.Image.Data)
		}
		for _, i := range b.Images {
			n += len(i.Data)
		}
	}
	return n
}
