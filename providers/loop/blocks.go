package loop

import (
	"crypto/rand"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// Bounds of names in a reply. No tool has a longer name, and no correct server sends longer
// ids.
const (
	maxTool = 128
	maxCall = 256
)

// adoptBlocks prepares the blocks of a reply for the conversation: blocks that only this
// backend understands get its name, calls get short unique ids, inputs become objects, and
// blank text is dropped.
func (s *session) adoptBlocks(blocks []providers.Block) []providers.Block {
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

// size returns the approximate memory of an entry in bytes.
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
