package session

import (
	"context"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/wire"
)

// ActAsAdmin has the owner of a session do what somebody wants who is no client of it, such
// as INTERRUPT, RESET or DELETE_QUEUED_MESSAGE, and returns when that is committed, or
// with why it is refused. What was done already is not done again: the id of the act says
// so, which has nothing to do with the ids of messages. The note is what the owner says
// of how things were before and after.
func (h *Hub) ActAsAdmin(ctx context.Context, id wire.SessionID, user string, act wire.MessageID, m wire.Message) (note string, err error) {
	if err := act.Validate(); err != nil {
		return "", asError(err)
	}
	o := &order{Kind: orderAct, ID: string(act), User: user, Message: wire.Native{}.AppendMessage(nil, m)}
	if err := h.runOrder(ctx, id, o); err != nil {
		return "", err
	}
	i, err := h.store.Session(ctx, id)
	if err != nil {
		return "", nil //nolint:nilerr // it is done, and the note is a courtesy
	}
	now, err := readCard(i.Card)
	return now.Notes[o.ID], err
}

// LiftQuarantine ends the quarantine of a session.
func (h *Hub) LiftQuarantine(ctx context.Context, id wire.SessionID) error {
	if err := id.Validate(); err != nil {
		return asError(err)
	}
	if err := h.store.Quarantine(ctx, id, ""); err != nil {
		return asError(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.suspended, id)
	return nil
}

// adminActionPrefix makes an id in the ledger that no client can have.
const adminActionPrefix = "act "

// handleAdminAction does what an admin wants. The card says so, or why not, to who waits for it.
func (l *owner) handleAdminAction(it *item) {
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
	was, busy := l.agents.queuedMessages(), l.agents.runningMessages()
	r, _ := l.applyOnce(adminActionPrefix+wire.MessageID(o.ID), &Command{From: Sender{User: o.User, isAdmin: true}, Message: m})
	l.card, _ = l.card.apply(o) // which refuses only shares
	if r.Verdict == verdictRejected {
		why := refusal(r.Code, "%s", r.Reason)
		l.card = l.card.withRefusal(o, why)
		it.finish(why)
	} else {
		l.card = l.card.withNote(o, l.activityNote(m.Data, busy, was))
	}
	l.step.card = l.card.encode()
}

// activityNote says what an admin's order has done to agents that were at work and to
// messages that waited.
func (l *owner) activityNote(order wire.ClientPayload, busy map[wire.MessageID]bool, waited int) string {
	var parts []string
	switch order.(type) {
	case wire.Interrupt, wire.InterruptAgent, wire.Reset:
		stopped := len(busy)
		for id := range l.agents.runningMessages() {
			if busy[id] {
				stopped--
			}
		}
		parts = append(parts, fmt.Sprintf("agents stopped: %d of %d at work", stopped, len(busy)))
	}
	if is := l.agents.queuedMessages(); is != waited {
		parts = append(parts, fmt.Sprintf("waiting messages: %d, then %d", waited, is))
	}
	return strings.Join(parts, "; ")
}

// removeQueuedMessage takes a message out of its queue because an admin wants it.
func (l *owner) removeQueuedMessage(id wire.MessageID) reply {
	const byAdmin = "an administrator took it out of the queue"
	var what contextpool.CancelResult
	if l.agents != nil {
		what = l.agents.poolForUpdate().CancelMessage(id, byAdmin)
	}
	switch what {
	case contextpool.MessageRemoved:
		return reply{}
	case contextpool.MessageTaken:
		return refused(wire.CodeSessionInvalidState, "the message does not wait: an agent has it")
	default:
		return refused(wire.CodeInvalidMessage, "no such message waits in this session")
	}
}
