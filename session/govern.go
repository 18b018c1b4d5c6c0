package session

import (
	"context"

	"github.com/everdesk/everdesk/wire"
)

// Act has the owner of a session do what somebody wants who is no client of it,
// such as INTERRUPT or RESET, and returns when that is committed. A message that
// was done already is not done again: its id says so.
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

// govern does what an admin wants. The card says so to who waits for it.
func (l *live) govern(it *item) {
	o := it.order
	if l.card.has(o) {
		return
	}
	m, err := wire.Native{}.DecodeMessage(o.Message)
	if err != nil {
		it.finish(asError(err))
		return
	}
	l.take(&Command{From: Sender{User: o.User}, Message: m})
	l.card, _ = l.card.with(o) // which refuses only shares
	l.step.card = l.card.encode()
}
