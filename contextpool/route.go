package contextpool

import (
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/wire"
)

// HandleUserMessage routes a message to the main agent of a monitor, in the order of arrival:
// the agent begins a turn with it, the running turn is offered it, an ephemeral agent is
// created for it, it is queued, or it is rejected.
func (p *Pool) HandleUserMessage(m Message) {
	p.ensureUniqueID(&m)
	p.addMessageRow(&m, m.Text)
	p.route(&queuedMessage{Message: m})
	p.advance()
}

func (p *Pool) route(w *queuedMessage) {
	monitor := string(w.Monitor)
	if !p.providers.HasProvider(p.Provider()) {
		p.rejectMessage(&w.Message, wire.CodeProviderUnavailable, fmt.Sprintf("there is no provider %q", p.Provider()))
		return
	}
	if p.mainQueue.Len(monitor) == 0 && p.mainFree(w.Monitor) && !p.compactForMessage(w) {
		p.beginMainTurn(w, wire.TakenDirect, nil)
		return
	}
	if p.isCondensing(w.Monitor) {
		if !p.enqueue(p.mainQueue, monitor, w) {
			p.rejectQueueFull(w, policies.MainQueueLimit)
		}
		return
	}
	if t := p.steerableTurn(w); t != nil && p.queueHasRoom(p.mainQueue, monitor, w) {
		w.Offered = t.runID()
		p.enqueue(p.mainQueue, monitor, w)
		p.steer(t, &w.Message)
		return
	}
	if p.beginEphemeral(w) || p.enqueue(p.mainQueue, monitor, w) {
		return
	}
	p.rejectQueueFull(w, policies.MainQueueLimit)
}

// rejectQueueFull rejects a message for which its queue has no room.
func (p *Pool) rejectQueueFull(w *queuedMessage, limit int) {
	if kind, _, denied := p.budget.Denied(w.Monitor, p.step.Now()); denied {
		p.rejectMessage(&w.Message, wire.CodeBudgetExceeded, fmt.Sprintf(
			"%s is over its budget of %s, and %d messages wait for it already", w.Monitor, budgetName(kind), limit))
		return
	}
	if p.queuedBytes+w.size() > queueBytes {
		p.rejectMessage(&w.Message, wire.CodeQueueFull, "the messages that wait already are too long")
		return
	}
	p.rejectMessage(&w.Message, wire.CodeQueueFull, fmt.Sprintf("%d messages wait already", limit))
}

// mainFree reports whether a turn of the monitor's main agent can begin now.
func (p *Pool) mainFree(monitor wire.MonitorID) bool {
	return p.mainTurn(monitor) == nil && p.hasTurnBudget(monitor)
}

// hasTurnBudget reports whether the budget of the monitor allows another turn.
func (p *Pool) hasTurnBudget(monitor wire.MonitorID) bool {
	if _, _, denied := p.budget.Denied(monitor, p.step.Now()); denied {
		return false
	}
	const probe = "?" // acquired and released at once, so no turn has this key
	ok := p.budget.TryAcquire(monitor, probe)
	p.budget.Release(probe)
	return ok
}

// steerableTurn returns the main agent's running turn if the message can be sent to it, else
// nil. Queued messages come first, so all of them must have been offered to this turn. A turn
// of the owner accepts no message of a guest, because it knows and may do what guests may not.
func (p *Pool) steerableTurn(m *queuedMessage) *turn {
	t := p.mainTurn(m.Monitor)
	if t == nil || t.State != turnRunning || len(t.Taken) >= maxTaken || m.Guest && !t.Guest ||
		!p.providers.CanSteer(t.Provider) {
		return nil
	}
	for _, w := range p.mainQueue.All(string(m.Monitor)) {
		if w.Offered != t.runID() {
			return nil
		}
	}
	return t
}

func (p *Pool) steer(t *turn, m *Message) {
	s := agentpool.Steering{Run: t.runID(), Message: m.ID, Text: policies.Content(m.Text), Images: m.Images}
	p.step.AfterCommit(func() { p.runner.Steer(s) })
}

// beginEphemeral begins a turn of an ephemeral agent for a message, if a slot and the budget
// allow it now.
func (p *Pool) beginEphemeral(w *queuedMessage) bool {
	if !p.hasTurnBudget(w.Monitor) || len(p.turns) >= maxTurns {
		return false
	}
	slot := p.runner.TryReserve()
	if slot == nil {
		return false
	}
	p.beginMainTurn(w, wire.TakenEphemeral, slot)
	return true
}

// queueBytes bounds the queued messages of a session.
const queueBytes = 16 << 20

func (p *Pool) queueHasRoom(q *policies.Queue[*queuedMessage], key string, w *queuedMessage) bool {
	return !q.Full(key) && p.queuedBytes+w.size() <= queueBytes
}

// enqueue queues a message and reports whether there was room.
func (p *Pool) enqueue(q *policies.Queue[*queuedMessage], key string, w *queuedMessage) bool {
	if !p.queueHasRoom(q, key, w) {
		return false
	}
	p.queuedBytes += w.size()
	p.lastArrival++
	w.Arrived, w.Since = p.lastArrival, wire.Millis(p.step.Now().UnixMilli())
	q.Push(key, w)
	p.storeQueued(w)
	p.storeQueuedContent(w)
	return true
}

// dequeue removes messages from the queues and returns them in the order of arrival.
func (p *Pool) dequeue(which func(*queuedMessage) bool) []*queuedMessage {
	out := append(p.mainQueue.Remove(which), p.windowQueue.Remove(which)...)
	for _, w := range out {
		p.queuedBytes -= w.size()
		p.deleteQueued(w)
	}
	slices.SortFunc(out, byArrival)
	return out
}

// maxTaken is the number of messages from which on a turn is offered no more, because the turn
// stores their ids until it ends. Messages offered before may still be accepted.
const maxTaken = 100

// steerAccepted records that the model has received an offered message.
func (p *Pool) steerAccepted(t *turn, id wire.MessageID) {
	for _, w := range p.dequeue(func(w *queuedMessage) bool { return w.ID == id && w.Offered == t.runID() }) {
		t.addMessage(w.ID)
		t.PendingRows = append(t.PendingRows, w.Row)
		p.storeTurn(t)
		p.acceptMessage(&w.Message, t.Role, wire.TakenSteered)
		p.step.Emit(wire.TaskUserMessage{Task: wire.Task{
			TaskID: t.taskID(), MonitorID: t.Monitor, AgentID: t.Role, MessageID: w.ID,
		}})
		p.recordOnTape(t, policies.SpeakerUser, w.Text, w.Row)
	}
}

// steerRefused records that the model will not receive an offered message, and begins an
// ephemeral agent for it if possible.
func (p *Pool) steerRefused(t *turn, id wire.MessageID) {
	for _, w := range p.mainQueue.All(string(t.Monitor)) {
		if w.ID != id || w.Offered != t.runID() {
			continue
		}
		w.Offered = ""
		if p.beginEphemeral(w) {
			p.dequeue(func(o *queuedMessage) bool { return o == w })
		} else {
			p.storeQueued(w)
		}
	}
}

// withdrawOffers clears the offers to the turn's run, which has ended.
func (p *Pool) withdrawOffers(t *turn) {
	for _, w := range p.mainQueue.All(string(t.Monitor)) {
		if w.Offered == t.runID() {
			w.Offered = ""
			p.storeQueued(w)
		}
	}
}

// startQueued begins turns for queued messages, the oldest first, as long as one can begin. If
// the step is full, it stops and sets pendingStarts; see [Pool.Tick].
func (p *Pool) startQueued() {
	for p.pendingStarts = false; ; {
		var next *queuedMessage
		consider := func(q *policies.Queue[*queuedMessage], ready func(*queuedMessage) bool) {
			for _, key := range q.Keys() {
				w, _ := q.Peek(key)
				if (next == nil || w.Arrived < next.Arrived) && ready(w) {
					next = w
				}
			}
		}
		consider(p.mainQueue, func(w *queuedMessage) bool { return p.mainFree(w.Monitor) })
		consider(p.windowQueue, p.windowFree)
		if next == nil {
			return
		}
		if p.step.Full() {
			p.pendingStarts = true
			return
		}
		if p.providers.HasProvider(p.Provider()) && p.compactForMessage(next) {
			continue
		}
		p.lastBegun = next.ID
		p.step.AfterCommit(func() { p.lastBegun = "" })
		p.dequeue(func(w *queuedMessage) bool { return w == next })
		switch {
		case !p.providers.HasProvider(p.Provider()):
			p.rejectMessage(&next.Message, wire.CodeProviderUnavailable, fmt.Sprintf("there is no provider %q", p.Provider()))
		case next.Window == "":
			p.beginMainTurn(next, wire.TakenDirect, nil)
		default:
			p.beginWindowTurn(next)
		}
	}
}

// offeredTurnInTool reports whether the turn that a message was offered to is executing a tool.
// It accepts no message meanwhile, and the tool may wait for the user.
func (p *Pool) offeredTurnInTool(w *queuedMessage) bool {
	t := p.mainTurn(w.Monitor)
	return t != nil && t.runID() == w.Offered && t.openTools > 0
}

// notifyQueued replies MESSAGE_QUEUED to queued messages once. For a message offered to a turn
// the turn's decision is the reply, unless that can take long.
func (p *Pool) notifyQueued() {
	for _, q := range []*policies.Queue[*queuedMessage]{p.mainQueue, p.windowQueue} {
		for _, key := range q.Keys() {
			for i, w := range q.All(key) {
				if w.Told || w.Offered != "" && !p.offeredTurnInTool(w) {
					continue
				}
				w.Told = true
				p.storeQueued(w)
				p.step.EmitReply(wire.MessageQueued{MessageID: w.ID, Position: i + 1, MonitorID: w.Monitor, By: w.By})
			}
		}
	}
}

// Withdraw removes a message from its queue at the user's request, and reports whether it was
// there. A message offered to a turn cannot be withdrawn.
func (p *Pool) Withdraw(id wire.MessageID) bool {
	gone := p.dequeue(func(w *queuedMessage) bool { return w.ID == id && w.Offered == "" })
	p.rejectRemoved(gone, removedFromQueue)
	p.advance()
	return len(gone) > 0
}

// CancelResult is the result of [Pool.CancelMessage].
type CancelResult int

// Results of CancelMessage.
const (
	// MessageUnknown means that the message is neither queued nor in a turn.
	MessageUnknown CancelResult = iota
	// MessageRemoved means that the message was queued and has been removed.
	MessageRemoved
	// MessageTaken means that a turn has the message or is being offered it.
	MessageTaken
)

// CancelMessage removes a message from its queue and rejects it with the reason. A message that
// a turn has or is offered stays there.
func (p *Pool) CancelMessage(id wire.MessageID, reason string) CancelResult {
	gone := p.dequeue(func(w *queuedMessage) bool { return w.ID == id && w.Offered == "" })
	p.rejectRemoved(gone, reason)
	p.advance()
	switch {
	case len(gone) > 0:
		return MessageRemoved
	case p.knowsMessage(id):
		return MessageTaken
	default:
		return MessageUnknown
	}
}

// QueuedCount returns the number of queued messages.
func (p *Pool) QueuedCount() int { return p.mainQueue.Total() + p.windowQueue.Total() }

// LastBegun returns the queued message that began a turn last in this step, or "". If the step
// is too large to be stored and no command caused it, this message did: the step was not full
// before it.
func (p *Pool) LastBegun() wire.MessageID { return p.lastBegun }

// RejectOversized rejects a queued message whose turn can never begin, because the step is too
// large to be stored.
func (p *Pool) RejectOversized(id wire.MessageID) {
	for _, w := range p.dequeue(func(w *queuedMessage) bool { return w.ID == id }) {
		p.rejectMessage(&w.Message, wire.CodeMessageTooLarge, "what comes of the message is too large to be kept")
	}
}

const removedFromQueue = "taken out of the queue"

// rejectRemoved rejects messages that were removed from a queue.
func (p *Pool) rejectRemoved(gone []*queuedMessage, reason string) {
	for _, w := range gone {
		p.markRowRefused(w.ID, removedIcon, reason)
		p.replyRejected(&w.Message, wire.CodeSessionInvalidState, reason)
	}
}
