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
func (p *Pool) User(m Message) {
	p.name(&m)
	p.show(&m, m.Text)
	p.route(&waiting{Message: m})
	p.settle()
}

func (p *Pool) route(w *waiting) {
	monitor := string(w.Monitor)
	if !p.runner.Has(p.Provider()) {
		p.reject(&w.Message, wire.CodeProviderUnavailable, fmt.Sprintf("there is no provider %q", p.Provider()))
		return
	}
	if p.mains.Len(monitor) == 0 && p.free(w.Monitor) && !p.relieveFor(w) {
		p.begin(w, wire.TakenDirect, nil)
		return
	}
	if p.isCondensing(w.Monitor) {
		if !p.enqueue(p.mains, monitor, w) {
			p.refuse(w, policies.MainQueueLimit)
		}
		return
	}
	if t := p.takes(w); t != nil && p.hasRoom(p.mains, monitor, w) {
		w.Offered = t.run()
		p.enqueue(p.mains, monitor, w)
		p.steer(t, &w.Message)
		return
	}
	if p.spawn(w) || p.enqueue(p.mains, monitor, w) {
		return
	}
	p.refuse(w, policies.MainQueueLimit)
}

// rejectQueueFull rejects a message for which its queue has no room.
func (p *Pool) refuse(w *waiting, limit int) {
	if kind, _, denied := p.budget.Denied(w.Monitor, p.step.Now()); denied {
		p.reject(&w.Message, wire.CodeBudgetExceeded, fmt.Sprintf(
			"%s is over its budget of %s, and %d messages wait for it already", w.Monitor, budgetName(kind), limit))
		return
	}
	if p.heaped+w.size() > queueBytes {
		p.reject(&w.Message, wire.CodeQueueFull, "the messages that wait already are too long")
		return
	}
	p.reject(&w.Message, wire.CodeQueueFull, fmt.Sprintf("%d messages wait already", limit))
}

// mainFree reports whether a turn of the monitor's main agent can begin now.
func (p *Pool) free(monitor wire.MonitorID) bool {
	return p.main(monitor) == nil && p.affords(monitor)
}

// hasTurnBudget reports whether the budget of the monitor allows another turn.
func (p *Pool) affords(monitor wire.MonitorID) bool {
	if _, _, denied := p.budget.Denied(monitor, p.step.Now()); denied {
		return false
	}
	const nobody = "?"
	ok := p.budget.TryAcquire(monitor, nobody)
	p.budget.Release(nobody)
	return ok
}

// steerableTurn returns the main agent's running turn if the message can be sent to it, else
// nil. Queued messages come first, so all of them must have been offered to this turn. A turn
// of the owner accepts no message of a guest, because it knows and may do what guests may not.
func (p *Pool) takes(m *waiting) *turn {
	t := p.main(m.Monitor)
	if t == nil || t.State != turnRunning || t.Stopping != "" || len(t.Taken) >= mostTaken || m.Guest && !t.Guest ||
		!p.runner.Steers(t.Provider) {
		return nil
	}
	for _, w := range p.mains.All(string(m.Monitor)) {
		if w.Offered != t.run() {
			return nil
		}
	}
	return t
}

func (p *Pool) steer(t *turn, m *Message) {
	s := agentpool.Steering{Run: t.run(), Message: m.ID, Text: policies.Content(m.Text), Images: m.Images}
	p.step.Then(func() { p.runner.Steer(s) })
}

// beginEphemeral begins a turn of an ephemeral agent for a message, if a slot and the budget
// allow it now.
func (p *Pool) spawn(w *waiting) bool {
	if !p.affords(w.Monitor) || len(p.turns) >= maxTurns {
		return false
	}
	slot := p.runner.TryReserve()
	if slot == nil {
		return false
	}
	p.begin(w, wire.TakenEphemeral, slot)
	return true
}

// queueBytes bounds the queued messages of a session.
const queueBytes = 16 << 20

func (p *Pool) hasRoom(q *policies.Queue[*waiting], key string, w *waiting) bool {
	return !q.Full(key) && p.heaped+w.size() <= queueBytes
}

// enqueue queues a message and reports whether there was room.
func (p *Pool) enqueue(q *policies.Queue[*waiting], key string, w *waiting) bool {
	if !p.hasRoom(q, key, w) {
		return false
	}
	p.heaped += w.size()
	p.arrived++
	w.Arrived, w.Since = p.arrived, wire.Millis(p.step.Now().UnixMilli())
	q.Push(key, w)
	p.keepWaiting(w)
	p.keepContent(w)
	return true
}

// dequeue removes messages from the queues and returns them in the order of arrival.
func (p *Pool) dequeue(which func(*waiting) bool) []*waiting {
	out := append(p.mains.Remove(which), p.windows.Remove(which)...)
	for _, w := range out {
		p.heaped -= w.size()
		p.forgetWaiting(w)
	}
	slices.SortFunc(out, byArrival)
	return out
}

// maxTaken is the number of messages from which on a turn is offered no more, because the turn
// stores their ids until it ends. Messages offered before may still be accepted.
const mostTaken = 100

// steerAccepted records that the model has received an offered message.
func (p *Pool) took(t *turn, id wire.MessageID) {
	for _, w := range p.dequeue(func(w *waiting) bool { return w.ID == id && w.Offered == t.run() }) {
		t.join(w.ID)
		t.Heard = append(t.Heard, w.Row)
		p.keepTurn(t)
		p.accept(&w.Message, t.Role, wire.TakenSteered)
		p.step.Emit(wire.TaskUserMessage{Task: wire.Task{
			TaskID: t.task(), MonitorID: t.Monitor, AgentID: t.Role, MessageID: w.ID,
		}})
		p.record(t, policies.SpeakerUser, w.Text, w.Row)
	}
}

// steerRefused records that the model will not receive an offered message, and begins an
// ephemeral agent for it if possible.
func (p *Pool) spurned(t *turn, id wire.MessageID) {
	for _, w := range p.mains.All(string(t.Monitor)) {
		if w.ID != id || w.Offered != t.run() {
			continue
		}
		w.Offered = ""
		if p.spawn(w) {
			p.dequeue(func(o *waiting) bool { return o == w })
		} else {
			p.keepWaiting(w)
		}
	}
}

// withdrawOffers clears the offers to the turn's run, which has ended.
func (p *Pool) unoffer(t *turn) {
	for _, w := range p.mains.All(string(t.Monitor)) {
		if w.Offered == t.run() {
			w.Offered = ""
			p.keepWaiting(w)
		}
	}
}

// startQueued begins turns for queued messages, the oldest first, as long as one can begin. If
// the step is full, it stops and sets pendingStarts; see [Pool.Tick].
func (p *Pool) drain() {
	for p.behind = false; ; {
		var next *waiting
		consider := func(q *policies.Queue[*waiting], ready func(*waiting) bool) {
			for _, key := range q.Keys() {
				w, _ := q.Peek(key)
				if (next == nil || w.Arrived < next.Arrived) && ready(w) {
					next = w
				}
			}
		}
		consider(p.mains, func(w *waiting) bool { return p.free(w.Monitor) })
		consider(p.windows, p.windowFree)
		if next == nil {
			return
		}
		if p.step.Full() {
			p.behind = true
			return
		}
		if p.runner.Has(p.Provider()) && p.relieveFor(next) {
			continue
		}
		p.newest = next.ID
		p.step.Then(func() { p.newest = "" })
		p.dequeue(func(w *waiting) bool { return w == next })
		switch {
		case !p.runner.Has(p.Provider()):
			p.reject(&next.Message, wire.CodeProviderUnavailable, fmt.Sprintf("there is no provider %q", p.Provider()))
		case next.Window == "":
			p.begin(next, wire.TakenDirect, nil)
		default:
			p.beginWindow(next)
		}
	}
}

// offeredTurnInTool reports whether the turn that a message was offered to is executing a tool.
// It accepts no message meanwhile, and the tool may wait for the user.
func (p *Pool) inTool(w *waiting) bool {
	t := p.main(w.Monitor)
	return t != nil && t.run() == w.Offered && t.using > 0
}

// notifyQueued replies MESSAGE_QUEUED to queued messages once. For a message offered to a turn
// the turn's decision is the reply, unless that can take long.
func (p *Pool) tellWaiting() {
	for _, q := range []*policies.Queue[*waiting]{p.mains, p.windows} {
		for _, key := range q.Keys() {
			for i, w := range q.All(key) {
				if w.Told || w.Offered != "" && !p.inTool(w) {
					continue
				}
				w.Told = true
				p.keepWaiting(w)
				p.step.Answer(wire.MessageQueued{MessageID: w.ID, Position: i + 1, MonitorID: w.Monitor, By: w.By})
			}
		}
	}
}

// Withdraw removes a message from its queue at the user's request, and reports whether it was
// there. A message offered to a turn cannot be withdrawn.
func (p *Pool) TakeBack(id wire.MessageID) bool {
	gone := p.dequeue(func(w *waiting) bool { return w.ID == id && w.Offered == "" })
	p.drop(gone, takenOut)
	p.settle()
	return len(gone) > 0
}

// CancelResult is the result of [Pool.CancelMessage].
type Found int

// Results of CancelMessage.
const (
	// MessageUnknown means that the message is neither queued nor in a turn.
	FoundNothing Found = iota
	// MessageRemoved means that the message was queued and has been removed.
	FoundWaiting
	// MessageTaken means that a turn has the message or is being offered it.
	FoundTaken
)

// CancelMessage removes a message from its queue and rejects it with the reason. A message that
// a turn has or is offered stays there.
func (p *Pool) Cancel(id wire.MessageID, reason string) Found {
	gone := p.dequeue(func(w *waiting) bool { return w.ID == id && w.Offered == "" })
	p.drop(gone, reason)
	p.settle()
	switch {
	case len(gone) > 0:
		return FoundWaiting
	case p.knows(id):
		return FoundTaken
	default:
		return FoundNothing
	}
}

// QueuedCount returns the number of queued messages.
func (p *Pool) Waiting() int { return p.mains.Total() + p.windows.Total() }

// LastBegun returns the queued message that began a turn last in this step, or "". If the step
// is too large to be stored and no command caused it, this message did: the step was not full
// before it.
func (p *Pool) Newest() wire.MessageID { return p.newest }

// RejectOversized rejects a queued message whose turn can never begin, because the step is too
// large to be stored.
func (p *Pool) Discard(id wire.MessageID) {
	for _, w := range p.dequeue(func(w *waiting) bool { return w.ID == id }) {
		p.reject(&w.Message, wire.CodeMessageTooLarge, "what comes of the message is too large to be kept")
	}
}

const takenOut = "taken out of the queue"

// rejectRemoved rejects messages that were removed from a queue.
func (p *Pool) drop(gone []*waiting, reason string) {
	for _, w := range gone {
		p.rowRefused(w.ID, takenOutIcon, reason)
		p.answerNo(&w.Message, wire.CodeSessionInvalidState, reason)
	}
}
