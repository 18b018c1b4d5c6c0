package contextpool

import (
	"fmt"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// rowShrunk says that the agent of a turn does not read all of its conversation,
// which nobody keeps.
func (p *Pool) rowShrunk(t *turn, s providers.Shrunk) {
	row := t.row(wire.SaySlidingWindowTruncation, shrunkText(s.Left))
	row.ContextTruncation = &wire.ContextTruncation{
		MessagesRemoved: s.Left, PrevContextTokens: s.Before, NewContextTokens: s.After,
	}
	p.stage.Row(row)
}

func shrunkText(left int) string {
	return fmt.Sprintf("The conversation was too long for the model: its %d oldest messages are left out.", left)
}
