package contextpool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/providers"
)

const (
	// entryBytes bounds the encoded form of one message.
	entryBytes = 256 << 10
	// toolBytes bounds a tool name, and callBytes a call id.
	toolBytes = 128
	callBytes = 256
	// originBytes bounds an origin: a message id of up to 64 characters and a backend's suffix.
	originBytes = 512
)

// normalizeMessage makes a message storable and returns its encoded form. It bounds the names and
// ids in all blocks and replaces invalid UTF-8 and JSON. If the message is still too long, it
// shortens the blocks.
func normalizeMessage(m *history.Message) []byte {
	m.Blocks = slices.Clone(m.Blocks)
	for i := range m.Blocks {
		b := &m.Blocks[i]
		b.Text = sanitize(b.Text)
		b.Tool, b.From, b.Call = truncation.Bytes(b.Tool, toolBytes), truncation.Bytes(b.From, toolBytes), shortCallID(b.Call)
		b.Origin = truncation.Bytes(b.Origin, originBytes)
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

// shortCallID returns the id of a tool call, or its hash if it is too long. A call and its
// result get the same id.
func shortCallID(id string) string {
	if len(id) <= callBytes {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:])
}

// shortenBlock shortens a block to about room bytes and keeps its kind where possible.
func shortenBlock(b *providers.Block, room int) {
	const left = "[left out: it is too long to be remembered]"
	b.Text = truncate(b.Text, max(room, 256))
	if len(b.Input) > room {
		b.Input = json.RawMessage(`{"note":"` + left + `"}`)
	}
	if len(b.Opaque) > room || len(b.Signature) > room {
		// A truncated signature or opaque value is useless to the backend.
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
