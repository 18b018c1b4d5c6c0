package contextpool

import (
	"fmt"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// goOnTimes is how often a turn goes on with a shorter conversation.
const goOnTimes = 3

// goOnShorter goes on with a turn whose conversation is too long for its model,
// after the older half is left out, and reports whether it does.
func (p *Pool) goOnShorter(t *turn, r agentpool.Ended) bool {
	tooLong := r.Outcome == providers.Failed && r.Failure != nil && r.Failure.Class == providers.ContextLength
	h := p.threads[t.Agent]
	if !tooLong || !t.Lasting || t.Stopping != "" || t.Shrunk >= goOnTimes || h == nil || !p.shrink(h) {
		return false
	}
	p.unoffer(t)
	p.rewind(t)
	t.Shrunk++
	t.Attempt++
	t.State = turnAccepted
	p.keepTurn(t)
	p.start(t, nil)
	return true
}

// rowShrunk says that the agent of a turn does not read all of its conversation,
// of which nothing is kept.
func (p *Pool) rowShrunk(t *turn, s providers.Shrunk) {
	if t.Condensing != nil {
		t.Condensing.Left += s.Left
		p.keepTurn(t)
		return
	}
	row := t.row(wire.SaySlidingWindowTruncation, shrunkText(s.Left))
	row.ContextTruncation = &wire.ContextTruncation{
		MessagesRemoved: s.Left, PrevContextTokens: s.Before, NewContextTokens: s.After,
	}
	p.step.Row(row)
}

func shrunkText(left int) string {
	return fmt.Sprintf("The conversation was too long for the model: its %d oldest messages are left out.", left)
}
