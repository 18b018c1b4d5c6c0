package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/contextpool"
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

// adminActionPrefix begins the ledger ids of admin actions. No client's message id has a space.
const adminActionPrefix = "act "

// handleAdminAction executes an admin's message. The card records the result for the waiting
// replica.
func (cs *commands) handleAdminAction(it *item) {
	o := it.order
	if cs.card.has(o) {
		if why := cs.card.refusal(o); why != nil {
			it.finish(why)
		}
		return
	}
	m, err := wire.Native{}.DecodeMessage(o.Message)
	if err != nil {
		it.finish(asError(err))
		return
	}
	was, busy := cs.agents.queuedMessages(), cs.agents.runningMessages()
	r, _ := cs.applyOnce(adminActionPrefix+wire.MessageID(o.ID), &Command{From: Sender{User: o.User, isAdmin: true}, Message: m})
	cs.card, _ = cs.card.apply(o) // which refuses shares only
	if r.Verdict == verdictRejected {
		why := refusal(r.Code, "%s", r.Reason)
		cs.card = cs.card.withRefusal(o, why)
		it.finish(why)
	} else {
		cs.card = cs.card.withNote(o, cs.activityNote(m.Data, busy, was))
	}
	cs.w.step.card = cs.card.encode()
}

// activityNote says what an admin action changed: running agents that were stopped, and the number
// of queued messages. busy and waited are from before the action.
func (cs *commands) activityNote(order wire.ClientPayload, busy map[wire.MessageID]bool, waited int) string {
	var parts []string
	switch order.(type) {
	case wire.Interrupt, wire.InterruptAgent, wire.Reset:
		stopped := len(busy)
		for id := range cs.agents.runningMessages() {
			if busy[id] {
				stopped--
			}
		}
		parts = append(parts, fmt.Sprintf("agents stopped: %d of %d at work", stopped, len(busy)))
	}
	if is := cs.agents.queuedMessages(); is != waited {
		parts = append(parts, fmt.Sprintf("waiting messages: %d, then %d", waited, is))
	}
	return strings.Join(parts, "; ")
}

// removeQueuedMessage removes a message from its queue on behalf of an admin.
func (cs *commands) removeQueuedMessage(id wire.MessageID) reply {
	const byAdmin = "an administrator took it out of the queue"
	var what contextpool.CancelResult
	if cs.agents != nil {
		what = cs.agents.poolForUpdate().CancelMessage(id, byAdmin)
	}
	switch what {
	case contextpool.MessageRemoved:
		return reply{}
	case contextpool.MessageTaken:
		return refused(wire.CodeSessionInvalidState, "the message is not queued: an agent has it")
	default:
		return refused(wire.CodeInvalidMessage, "no such message is queued in this session")
	}
}
