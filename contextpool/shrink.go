package contextpool

import (
	"fmt"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// maxTruncatedRetries bounds how often a turn is retried with a truncated thread.
const goOnTimes = 3

// retryTruncated hides the older half of the thread and retries a turn whose input was too long
// for its model. It reports whether it did.
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

// addTruncationRow adds the row saying that the model read only a part of the conversation. The
// thread itself is unchanged.
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
