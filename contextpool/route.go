package contextpool

import (
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/wire"
)

// User takes a message to the main agent of a monitor. What becomes of it is
// decided now, in the order in which messages come: the agent begins a turn with
// it, the turn that runs is offered it, an agent is made for it alone, it waits,
// or it is rejected.
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

// refuse rejects a message for which there is no room in its queue.
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

// free reports whether a turn of a monitor's main agent can begin now.
func (p *Pool) free(monitor wire.MonitorID) bool {
	return p.main(monitor) == nil && p.affords(monitor)
}

// affords reports whether the budget of a monitor has room for a turn.
func (p *Pool) affords(monitor wire.MonitorID) bool {
	if _, _, denied := p.budget.Denied(monitor, p.step.Now()); denied {
		return false
	}
	const nobody = "?"
	ok := p.budget.TryAcquire(monitor, nobody)
	p.budget.Release(nobody)
	return ok
}

// takes is the turn that can be given a message for a monitor's main agent while
// it runs. What waits already comes first, so nothing that waits may be without
// an offer. A turn of the owner takes nothing of a guest: it knows and may do what
// guests may not.
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

// spawn makes an agent for a message alone, if there is room for one right now.
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

// queueBytes is how much waits in a session at most.
const queueBytes = 16 << 20

func (p *Pool) hasRoom(q *policies.Queue[*waiting], key string, w *waiting) bool {
	return !q.Full(key) && p.heaped+w.size() <= queueBytes
}

// enqueue lets a message wait, if there is room.
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

// dequeue takes messages out of the queues.
func (p *Pool) dequeue(which func(*waiting) bool) []*waiting {
	out := append(p.mains.Remove(which), p.windows.Remove(which)...)
	for _, w := range out {
		p.heaped -= w.size()
		p.forgetWaiting(w)
	}
	slices.SortFunc(out, byArrival)
	return out
}

// mostTaken is from how many messages on a turn is offered no more: it remembers
// all of them until it ends. Those that it was offered before it may still take.
const mostTaken = 100

// took says that the model has a message it was offered.
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

// spurned says that the model will not get a message it was offered.
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

// unoffer takes back what a turn that has ended was offered.
func (p *Pool) unoffer(t *turn) {
	for _, w := range p.mains.All(string(t.Monitor)) {
		if w.Offered == t.run() {
			w.Offered = ""
			p.keepWaiting(w)
		}
	}
}

// drain begins with what has waited longest, as long as something can begin. What
// the step has no room for is left behind; see [Pool.Tick].
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

// inTool reports whether the turn that a message was offered to waits for a tool.
// It takes nothing in meanwhile, and a tool may wait for the user.
func (p *Pool) inTool(w *waiting) bool {
	t := p.main(w.Monitor)
	return t != nil && t.run() == w.Offered && t.using > 0
}

// tellWaiting answers those who wait and were not told so. Who was offered to a
// turn hears of it when that has decided, unless that can take long.
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

// TakeBack takes a message out of its queue and reports whether it was there. One
// that is on its way to a turn cannot be taken back.
func (p *Pool) TakeBack(id wire.MessageID) bool {
	gone := p.dequeue(func(w *waiting) bool { return w.ID == id && w.Offered == "" })
	p.drop(gone, takenOut)
	p.settle()
	return len(gone) > 0
}

// Found is what became of a message that somebody looks for.
type Found int

// What becomes of a message.
const (
	// FoundNothing is a message that does not wait and that no turn has.
	FoundNothing Found = iota
	// FoundWaiting is one that waits, or did.
	FoundWaiting
	// FoundTaken is one that a turn has, or is on its way to one.
	FoundTaken
)

// Cancel takes a message out of its queue for a reason that its sender is told, and
// says what it found. One that is on its way to a turn, or in one, stays there.
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

// Waiting counts the messages that wait.
func (p *Pool) Waiting() int { return p.mains.Total() + p.windows.Total() }

// Newest is the message that waited and has begun last in the step, if one has.
// When a step that nobody asked for is too large to be kept, it is why: before it
// the step was not full.
func (p *Pool) Newest() wire.MessageID { return p.newest }

// Discard rejects a message that waits and can never begin.
func (p *Pool) Discard(id wire.MessageID) {
	for _, w := range p.dequeue(func(w *waiting) bool { return w.ID == id }) {
		p.reject(&w.Message, wire.CodeMessageTooLarge, "what comes of the message is too large to be kept")
	}
}

const takenOut = "taken out of the queue"

// drop says that messages that were taken out of a queue will not be answered.
func (p *Pool) drop(gone []*waiting, reason string) {
	for _, w := range gone {
		p.rowRefused(w.ID, takenOutIcon, reason)
		p.answerNo(&w.Message, wire.CodeSessionInvalidState, reason)
	}
}
