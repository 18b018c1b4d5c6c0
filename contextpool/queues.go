package contextpool

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// queues holds the messages that wait for an agent, and replies to messages.
type queues struct {
	*services
	budget     *monitorBudget
	turns      *turnSet
	transcript *transcript

	main        *policies.Queue[*queuedMessage] // by monitor
	window      *policies.Queue[*queuedMessage] // by agent name
	lastArrival uint64                          // arrival number of the newest queued message
	bytes       int                             // size of all queued messages
}

// find returns a queued message that is offered to no run, or to the given one, or nil.
func (qu *queues) find(id wire.MessageID, run string) *queuedMessage {
	for _, key := range qu.main.Keys() {
		for _, w := range qu.main.All(key) {
			if w.ID == id && (w.Offered == "" || w.Offered == run) {
				return w
			}
		}
	}
	return nil
}

// unqueue removes a message from the queues.
func (qu *queues) unqueue(w *queuedMessage) *Message {
	qu.dequeue(func(other *queuedMessage) bool { return other == w })
	return &w.Message
}

// addMessageRow adds the row of a message.
func (qu *queues) addMessageRow(m *Message, text string) {
	m.Row = qu.rows.NextRowID()
	qu.rows.AddRow(m.row(text))
}

// ensureUniqueID appends a number to the id of a message if a message under way has the same
// id. The session stores used ids only for a limited time.
func (qu *queues) ensureUniqueID(m *Message) {
	given := m.ID
	for n := 2; qu.knowsMessage(m.ID); n++ {
		m.ID = given + wire.MessageID("-"+strconv.Itoa(n))
	}
}

// knowsMessage reports whether a message is queued or in a turn.
func (qu *queues) knowsMessage(id wire.MessageID) bool {
	for _, t := range qu.turns.byKey {
		if slices.Contains(t.Taken, id) {
			return true
		}
	}
	same := func(q *policies.Queue[*queuedMessage]) bool {
		return slices.ContainsFunc(q.Keys(), func(key string) bool {
			return slices.ContainsFunc(q.All(key), func(w *queuedMessage) bool { return w.ID == id })
		})
	}
	return same(qu.main) || same(qu.window)
}

// accept replies that an agent has taken a message.
func (qu *queues) accept(m *Message, agent wire.AgentID, how wire.Taken) {
	qu.step.EmitReply(wire.MessageAccepted{
		MessageID: m.ID, AgentID: agent, MonitorID: m.Monitor, How: how, By: m.By,
	})
}

// reject replies that a message is not answered, and marks its row.
func (qu *queues) reject(m *Message, code wire.Code, reason string) {
	qu.markRowRefused(m.ID, refusedIcon, reason)
	qu.replyRejected(m, code, reason)
}

// replyRejected replies that a message is not answered.
func (qu *queues) replyRejected(m *Message, code wire.Code, reason string) {
	qu.step.EmitReply(wire.MessageRejected{
		MessageID: m.ID, Code: code, Reason: reason, MonitorID: m.Monitor, By: m.By,
	})
}

func byArrival(a, b *queuedMessage) int { return cmp.Compare(a.Arrived, b.Arrived) }

// store stores a queued message without its content.
func (qu *queues) store(w *queuedMessage) {
	qu.step.AddOps(store.Set(queueTable, w.field(), encode(w)))
}

// storeContent stores the content of a queued message.
func (qu *queues) storeContent(w *queuedMessage) {
	qu.step.AddOps(store.Set(saidTable, w.field(), encode(w.content())))
}

// delete deletes a stored message.
func (qu *queues) delete(w *queuedMessage) {
	qu.step.AddOps(store.Unset(queueTable, w.field()), store.Unset(saidTable, w.field()))
}

// restore loads the stored messages.
func (qu *queues) restore(tables map[string]map[string][]byte) error {
	var all []*queuedMessage
	for field, data := range tables[queueTable] {
		w := &queuedMessage{}
		if err := decode(data, w); err != nil {
			return fmt.Errorf("queued message %s: %w", field, err)
		}
		if w.field() != field {
			return fmt.Errorf("queued message %s: %w", field, errMisplaced)
		}
		var said queuedContent
		if err := decode(tables[saidTable][field], &said); err != nil {
			return fmt.Errorf("content of queued message %s: %w", field, err)
		}
		w.Text, w.Images, w.Tools = said.Text, said.Images, said.Tools
		all = append(all, w)
		qu.bytes += w.size()
		qu.lastArrival = max(qu.lastArrival, w.Arrived)
	}
	slices.SortFunc(all, byArrival)
	for _, w := range all {
		q, key := qu.main, string(w.Monitor)
		if w.Window != "" {
			q, key = qu.window, w.Agent
		}
		q.Restore(key, append(q.All(key), w))
	}
	return nil
}

// allOps returns the operations that store all queued messages.
func (qu *queues) allOps() (ops []store.Op) {
	for _, q := range []*policies.Queue[*queuedMessage]{qu.main, qu.window} {
		for _, key := range q.Keys() {
			for _, w := range q.All(key) {
				ops = append(ops, store.Set(queueTable, w.field(), encode(w)), store.Set(saidTable, w.field(), encode(w.content())))
			}
		}
	}
	return ops
}

func answerStatus(asked string) *wire.ProgressStatus {
	return &wire.ProgressStatus{Icon: "reply", Text: truncate("Answers: "+asked, nameBytes)}
}

// acceptAnswer adds a message that answers a question to those of the turn.
func (qu *queues) acceptAnswer(t *turn, m *Message) {
	t.addMessage(m.ID)
	qu.turns.store(t)
	qu.accept(m, t.Role, wire.TakenSteered)
}

// rejectFull rejects a message for which its queue has no room.
func (qu *queues) rejectFull(w *queuedMessage, limit int) {
	if kind, _, denied := qu.budget.denied(w.Monitor); denied {
		qu.reject(&w.Message, wire.CodeBudgetExceeded, fmt.Sprintf(
			"%s is over its budget of %s, and %d messages wait for it already", w.Monitor, budgetName(kind), limit))
		return
	}
	if qu.bytes+w.size() > queueBytes {
		qu.reject(&w.Message, wire.CodeQueueFull, "the messages that wait already are too long")
		return
	}
	qu.reject(&w.Message, wire.CodeQueueFull, fmt.Sprintf("%d messages wait already", limit))
}

// queueBytes bounds the queued messages of a session.
const queueBytes = 16 << 20

// hasRoom reports whether a queue has room for a message.
func (qu *queues) hasRoom(q *policies.Queue[*queuedMessage], key string, w *queuedMessage) bool {
	return !q.Full(key) && qu.bytes+w.size() <= queueBytes
}

// enqueue queues a message and reports whether there was room.
func (qu *queues) enqueue(q *policies.Queue[*queuedMessage], key string, w *queuedMessage) bool {
	if !qu.hasRoom(q, key, w) {
		return false
	}
	qu.bytes += w.size()
	qu.lastArrival++
	w.Arrived, w.Since = qu.lastArrival, wire.Millis(qu.step.Now().UnixMilli())
	q.Push(key, w)
	qu.store(w)
	qu.storeContent(w)
	return true
}

// dequeue removes messages from the queues and returns them in the order of arrival.
func (qu *queues) dequeue(which func(*queuedMessage) bool) []*queuedMessage {
	out := append(qu.main.Remove(which), qu.window.Remove(which)...)
	for _, w := range out {
		qu.bytes -= w.size()
		qu.delete(w)
	}
	slices.SortFunc(out, byArrival)
	return out
}

// maxTaken is the number of messages from which on a turn is offered no more, because the turn
// stores their ids until it ends. Messages offered before may still be accepted.
const maxTaken = 100

// steerAccepted records that the model has received an offered message.
func (qu *queues) steerAccepted(t *turn, id wire.MessageID) {
	for _, w := range qu.dequeue(func(w *queuedMessage) bool { return w.ID == id && w.Offered == t.runID() }) {
		t.addMessage(w.ID)
		t.PendingRows = append(t.PendingRows, w.Row)
		t.ParagraphAt = t.textUnits
		qu.turns.store(t)
		qu.accept(&w.Message, t.Role, wire.TakenSteered)
		qu.step.Emit(wire.TaskUserMessage{Task: wire.Task{
			TaskID: t.taskID(), MonitorID: t.Monitor, AgentID: t.Role, MessageID: w.ID,
		}})
		qu.transcript.record(t, policies.SpeakerUser, w.Text, w.Row)
	}
}

// withdrawOffers clears the offers to the turn's run, which has ended.
func (qu *queues) withdrawOffers(t *turn) {
	for _, w := range qu.main.All(string(t.Monitor)) {
		if w.Offered == t.runID() {
			w.Offered = ""
			qu.store(w)
		}
	}
}

// offeredTurnInTool reports whether the turn that a message was offered to is executing a tool.
// It accepts no message meanwhile, and the tool may wait for the user.
func (qu *queues) offeredTurnInTool(w *queuedMessage) bool {
	t := qu.turns.ofMain(w.Monitor)
	return t != nil && t.runID() == w.Offered && t.openTools > 0
}

// notifyQueued replies MESSAGE_QUEUED to queued messages once. For a message offered to a turn
// the turn's decision is the reply, unless that can take long.
func (qu *queues) notifyQueued() {
	for _, q := range []*policies.Queue[*queuedMessage]{qu.main, qu.window} {
		for _, key := range q.Keys() {
			for i, w := range q.All(key) {
				if w.Told || w.Offered != "" && !qu.offeredTurnInTool(w) {
					continue
				}
				w.Told = true
				qu.store(w)
				qu.step.EmitReply(wire.MessageQueued{MessageID: w.ID, Position: i + 1, MonitorID: w.Monitor, By: w.By})
			}
		}
	}
}

const removedFromQueue = "taken out of the queue"

// rejectRemoved rejects messages that were removed from a queue.
func (qu *queues) rejectRemoved(gone []*queuedMessage, reason string) {
	for _, w := range gone {
		qu.markRowRefused(w.ID, removedIcon, reason)
		qu.replyRejected(&w.Message, wire.CodeSessionInvalidState, reason)
	}
}
