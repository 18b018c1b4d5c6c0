package session

import (
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/wire"
)

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
		what = cs.agents.poolForUpdate().Messages.CancelMessage(id, byAdmin)
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
