package session

import (
	"context"

	"github.com/everdesk/everdesk/wire"
)

// ActAsAdmin has the owner of a session execute an admin's message, such as INTERRUPT, RESET or
// DELETE_QUEUED_MESSAGE, and returns when that is committed or refused. An action with the same id
// act is executed once; these ids are separate from those of messages. The note says what the
// action changed.
func (h *Hub) ActAsAdmin(ctx context.Context, id wire.SessionID, user string, act wire.MessageID, m wire.Message) (note string, err error) {
	if err := act.Validate(); err != nil {
		return "", asError(err)
	}
	o := &order{Kind: orderAct, ID: string(act), User: user, Message: wire.Native{}.AppendMessage(nil, m)}
	if err := h.runOrder(ctx, id, o); err != nil {
		return "", err
	}
	i, err := h.env.store.Session(ctx, id)
	if err != nil {
		return "", nil //nolint:nilerr // the action is done, and the note is optional
	}
	now, err := readCard(i.Card)
	return now.Notes[o.ID], err
}

// LiftQuarantine ends the quarantine of a session.
func (h *Hub) LiftQuarantine(ctx context.Context, id wire.SessionID) error {
	if err := id.Validate(); err != nil {
		return asError(err)
	}
	if err := h.env.store.Quarantine(ctx, id, ""); err != nil {
		return asError(err)
	}
	h.registry.liftSuspension(id)
	return nil
}

// Discard deletes a quarantined session. Nothing of it has to be readable.
func (h *Hub) Discard(ctx context.Context, id wire.SessionID) error {
	return asError(h.env.store.Discard(ctx, id))
}
