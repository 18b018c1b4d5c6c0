package contextpool

import (
	"fmt"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// maxTruncatedRetries bounds how often a turn is retried with a truncated thread.
const maxTruncatedRetries = 3

// retryTruncated hides the older half of the thread and retries a turn whose input was too long
// for its model. It reports whether it did.
func (p *Pool) retryTruncated(t *turn, r agentpool.Ended) bool {
	tooLong := r.Outcome == providers.Failed && r.Failure != nil && r.Failure.Class == providers.ContextLength
	h := p.threads[t.Agent]
	if !tooLong || !t.Lasting || t.stopping() || t.Truncations >= maxTruncatedRetries || h == nil || !p.truncateThread(h) {
		return false
	}
	p.withdrawOffers(t)
	p.dropUnkeptText(t)
	t.Truncations++
	t.Attempt++
	t.apply(runRestarted)
	p.storeTurn(t)
	p.startRun(t, nil)
	return true
}

// addTruncationRow adds the row saying that the model read only a part of the conversation. The
// thread itself is unchanged.
func (p *Pool) addTruncationRow(t *turn, s providers.Truncation) {
	if t.Condensing != nil {
		t.Condensing.LeftOut += s.Left
		p.storeTurn(t)
		return
	}
	row := t.row(wire.SaySlidingWindowTruncation, truncationText(s.Left))
	row.ContextTruncation = &wire.ContextTruncation{
		MessagesRemoved: s.Left, PrevContextTokens: s.Before, NewContextTokens: s.After,
	}
	p.rows.AddRow(row)
}

func truncationText(left int) string {
	return fmt.Sprintf("The conversation was too long for the model: its %d oldest messages are left out.", left)
}
