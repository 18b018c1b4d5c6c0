package history

import (
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Message is one message of an agent's thread, as it is kept.
type Message struct {
	// ID grows in the thread, see [NextID]. Old data has none.
	ID uint64 `json:"id,omitempty"`
	// Row is the user's row, or the first that can show the message.
	Row wire.RowID  `json:"row,omitempty"`
	TS  wire.Millis `json:"ts,omitempty"`

	providers.Entry

	// A summary stands for the messages whose CondenseParent is its CondenseID.
	IsSummary      bool   `json:"isSummary,omitempty"`
	CondenseID     string `json:"condenseId,omitempty"`
	CondenseParent string `json:"condenseParent,omitempty"`
	// A marker stands for those whose TruncationParent is its TruncationID.
	IsTruncationMarker bool   `json:"isTruncationMarker,omitempty"`
	TruncationID       string `json:"truncationId,omitempty"`
	TruncationParent   string `json:"truncationParent,omitempty"`
}

// NextID is the id of a message that is appended after the given one, which is the
// highest that the thread ever had.
func NextID(last uint64) uint64 { return (last | 1) + 1 }

// LastID is the highest id among messages.
func LastID(all []Message) (last uint64) {
	for i := range all {
		last = max(last, all[i].ID)
	}
	return last
}

// ordinary reports whether somebody said a message: it neither sums up nor marks.
func (m *Message) ordinary() bool { return !m.IsSummary && !m.IsTruncationMarker }

// answersOnly reports whether a message has nothing but results of tools.
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
