package loop

import (
	"crypto/rand"
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
			b.Input = providers.WholeInput(b.Input)
		}
		out = append(out, b)
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
