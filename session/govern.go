package session

import (
	"context"

	"github.com/everdesk/everdesk/wire"
)

// Act has the owner of a session do what somebody wants who is no client of it,
// such as INTERRUPT or RESET, and returns when that is committed, or with why it is
// refused. A message that was done already is not done again: its id says so, which
// has nothing to do with the ids of clients.
func (h *Hub) Act(ctx context.Context, id wire.SessionID, user string, m wire.Message) error {
	if err := m.ID.Validate(); err != nil {
		return asError(err)
	}
	return h.command(ctx, id, &order{
		Kind: orderAct, ID: string(m.ID), User: user, Message: wire.Native{}.AppendMessage(nil, m),
	})
}

// Lift ends the quarantine of a session.
func (h *Hub) Lift(ctx context.Context, id wire.SessionID) error {
	if err := id.Validate(); err != nil {
		return asError(err)
	}
	if err := h.store.Quarantine(ctx, id, ""); err != nil {
		return asError(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.closed, id)
	return nil
}

// actMark makes an id in the ledger that no client can have.
const actMark = "act "

// govern does what an admin wants. The card says so, or why not, to who waits for it.
func (l *live) govern(it *item) {
	o := it.order
	if l.card.has(o) {
		if why := l.card.refusal(o); why != nil {
			it.finish(why)
		}
		return
	}
	m, err := wire.Native{}.DecodeMessage(o.Message)
	if err != nil {
		it.finish(asError(err))
		return
	}
	r, _ := l.once(actMark+m.ID, &Command{From: Sender{User: o.User}, Message: m})
	l.card, _ = l.card.with(o) // which refuses only shares
	if r.Verdict == verdictRejected {
		why := refusal(r.Code, "%s", r.Reason)
		l.card = l.card.refusing(o, why)
		it.finish(why)
	}
	l.step.card = l.card.encode()
}
