package session

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/wire"
)

// replyWaiters are the callers that wait for the event that answers a message.
type replyWaiters struct {
	waiting atomic.Int32 // lets matchEvents skip the lock while there are no waiters

	mu sync.Mutex // guards the following
	by map[wire.MessageID][]replyWaiter
}

// replyWaiter is one caller that waits for an answer.
type replyWaiter struct {
	conn wire.ConnectionID
	to   chan<- Answer // buffered
}

func (w *replyWaiters) add(id wire.MessageID, who replyWaiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[wire.MessageID][]replyWaiter{}
	}
	w.by[id] = append(w.by[id], who)
	w.waiting.Add(1)
}

// remove removes a waiter that has got no answer.
func (w *replyWaiters) remove(id wire.MessageID, who replyWaiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.removeLocked(id, func(other replyWaiter) bool { return other.to == who.to })
}

// removeLocked removes the matching waiters of a message. The caller holds w.mu.
func (w *replyWaiters) removeLocked(id wire.MessageID, which func(replyWaiter) bool) {
	before := w.by[id]
	rest := slices.DeleteFunc(slices.Clone(before), which)
	w.waiting.Add(int32(len(rest) - len(before))) //nolint:gosec // few
	if w.by[id] = rest; len(rest) == 0 {
		delete(w.by, id)
	}
}

// rejectAll answers all waiters with a rejection.
func (w *replyWaiters) rejectAll(why *Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.by {
		w.removeLocked(id, func(who replyWaiter) bool {
			who.to <- Answer{Data: wire.MessageRejected{MessageID: id, Code: why.Code, Reason: why.Reason}}
			return true
		})
	}
}

// matchEvents passes the answers among committed events to their waiters.
func (w *replyWaiters) matchEvents(events []broadcast.Event) {
	if w.waiting.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range events {
		r, ok := answerIn(e)
		if !ok {
			continue
		}
		w.removeLocked(r.message, func(who replyWaiter) bool {
			if r.sender != "" && who.conn != r.sender {
				return false // another connection has used the same message id
			}
			who.to <- Answer{At: r.at, Data: e.Data}
			return true
		})
	}
}

// answerEvent says which message a committed event answers.
type answerEvent struct {
	message wire.MessageID
	sender  wire.ConnectionID // empty if the event does not name it
	at      wire.Position     // of the first answer
}

// answerIn returns what an event answers; ok is false if the event answers nothing.
func answerIn(e broadcast.Event) (r answerEvent, ok bool) {
	r.at = e.At
	switch p := e.Data.(type) {
	case wire.Actions:
		r.sender = p.By
	case wire.CheckpointRestored:
		r.sender = p.By
	case wire.HistoryRewound:
		r.sender = p.By
	case wire.MessageAccepted:
		r.sender = cmp.Or(p.To, p.By)
	case wire.MessageQueued:
		r.sender = cmp.Or(p.To, p.By)
	case wire.MessageRejected:
		r.sender = cmp.Or(p.To, p.By)
	case wire.MessageRepeated:
		r.sender, r.at = p.To, p.First
	case wire.HITLClosed:
		r.sender = p.AnsweredBy
	case wire.HITLPaused, wire.HITLResumed, wire.PlanModified, wire.TodoUpdated, wire.TodoCompleted, wire.PlanFailure:
		// These events do not name the sender.
	default:
		return answerEvent{}, false
	}
	r.message = wire.MessageOf(e.Data)
	return r, true
}
