package contextpool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
)

const (
	// entryBytes is the most that is kept of one message.
	entryBytes = 256 << 10
	// toolBytes is the most that a name in a message has, and callBytes the id
	// of a call.
	toolBytes = 128
	callBytes = 256
	// originBytes is the most that an origin has: the id of a message, which has up
	// to 64 characters, and a place in what a backend made of it.
	originBytes = 512
)

// settle makes a message one that can be kept, and returns its kept form. Free
// JSON that is none and what is too long is replaced, names and ids in any case:
// there is one of each in every block.
func settle(m *history.Message) []byte {
	m.Blocks = slices.Clone(m.Blocks)
	for i := range m.Blocks {
		b := &m.Blocks[i]
		b.Text = mended(b.Text)
		b.Tool, b.From, b.Call = wholeRunes(b.Tool, toolBytes), wholeRunes(b.From, toolBytes), shortCall(b.Call)
		b.Origin = wholeRunes(b.Origin, originBytes)
		if len(b.Input) > 0 && !json.Valid(b.Input) {
			b.Input = json.RawMessage("{}")
		}
		if len(b.Opaque) > 0 && !json.Valid(b.Opaque) {
			b.Opaque = json.RawMessage("null")
		}
	}
	data := encode(m)
	if len(data) <= entryBytes {
		return data
	}
	room := entryBytes / (2 * len(m.Blocks))
	for i := range m.Blocks {
		shortenBlock(&m.Blocks[i], room)
	}
	return encode(m)
}

// shortCall is the id of a call, or another for one that is too long: the same for
// the call and for its result.
func shortCall(id string) string {
	if len(id) <= callBytes {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:])
}

// shortenBlock leaves as much of a block as there is room for, and its shape.
func shortenBlock(b *providers.Block, room int) {
	const left = "[left out: it is too long to be remembered]"
	b.Text = cut(b.Text, max(room, 256))
	if len(b.Input) > room {
		b.Input = json.RawMessage(`{"note":"` + left + `"}`)
	}
	if len(b.Opaque) > room || len(b.Signature) > room {
		// A part of it would be worth nothing.
		*b = providers.Block{Kind: providers.BlockText, Text: left}
	}
	size := 0
	for _, i := range b.Images {
		size += len(i.Data)
	}
	if size > room/2 {
		b.Images = nil
		b.Text += "\n" + left
	}
	if b.Image != nil && len(b.Image.Data) > room/2 {
		*b = providers.Block{Kind: providers.BlockText, Text: left}
	}
}
