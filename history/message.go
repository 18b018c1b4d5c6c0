package history

import (
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Message is one stored message of an agent's thread.
type Message struct {
	// ID increases within the thread, see [NextID]. 0 in old data.
	ID uint64 `json:"id,omitempty"`
	// Row is the user's row, or the first row that can show the message; see the package
	// comment.
	Row wire.RowID  `json:"row,omitempty"`
	TS  wire.Millis `json:"ts,omitempty"`

	providers.Entry

	// A summary replaces the messages whose CondenseParent is its CondenseID.
	IsSummary      bool   `json:"isSummary,omitempty"`
	CondenseID     string `json:"condenseId,omitempty"`
	CondenseParent string `json:"condenseParent,omitempty"`
	// A truncation marker replaces the messages whose TruncationParent is its TruncationID.
	IsTruncationMarker bool   `json:"isTruncationMarker,omitempty"`
	TruncationID       string `json:"truncationId,omitempty"`
	TruncationParent   string `json:"truncationParent,omitempty"`
}

// NextID returns the id of a message appended to a thread, given the highest id that the
// thread ever had.
func NextID(last uint64) uint64 { return (last | 1) + 1 }

// LastID returns the highest id in a thread.
func LastID(all []Message) (last uint64) {
	for i := range all {
		last = max(last, all[i].ID)
	}
	return last
}

// ordinary reports whether a message is part of the conversation, not a summary or a
// marker.
func (m *Message) ordinary() bool { return !m.IsSummary && !m.IsTruncationMarker }

// answersOnly reports whether a user message consists of tool results only.
func (m *Message) answersOnly() bool {
	return m.Role == providers.RoleUser && len(m.Blocks) > 0 &&
		!slices.ContainsFunc(m.Blocks, func(b providers.Block) bool { return b.Kind != providers.BlockToolResult })
}

func hasKind(blocks []providers.Block, kind providers.BlockKind) bool {
	for i := range blocks {
		if blocks[i].Kind == kind {
			return true
		}
	}
	return false
}

func textBlock(s string) providers.Block { return providers.Block{Kind: providers.BlockText, Text: s} }
