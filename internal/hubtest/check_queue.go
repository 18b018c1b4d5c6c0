package hubtest

import (
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// checkQueues checks P7: it reports every message that a monitor's main agent accepted directly while
// the log proves that a message before it was still queued. Messages to windows have other queues, and
// ephemeral agents and running turns accept messages out of order.
func (s *sessionHistory) checkQueues(v *violations, r Rules) {
	toMain := s.messagesToMain()
	s.dropLostExits(toMain, r)
	queues := map[wire.MonitorID]*queue{}
	for _, e := range s.log {
		if queues[e.Monitor] == nil {
			queues[e.Monitor] = new(queue)
		}
		q := queues[e.Monitor]
		switch {
		case e.Type == typeQueued && toMain[e.Message]:
			q.add(e.Message, e.Place)
		case e.Type == typeAccepted && e.How == wire.TakenDirect && !isMain(e.Agent):
			// A message to a window.
		case e.Type == typeAccepted && e.How == wire.TakenDirect:
			// In a trimmed log it may have been queued earlier.
			unknown := s.isTrimmedBefore(wire.Position{}) && !q.has(e.Message)
			if first := q.ahead(e.Message); first != "" && !unknown {
				v.add("P7", 0, "%s starts at %v before %s, which was queued first", e.Message, e.At, first)
			}
			q.remove(e.Message)
		case e.Type == typeRejected && e.Monitor == "":
			for _, each := range queues {
				each.remove(e.Message)
			}
		case e.Type == typeAccepted || e.Type == typeRejected:
			q.remove(e.Message)
		case e.IsEnd() && q.has(e.Message):
			// A failover lost its start, and the owner restored its end.
			q.remove(e.Message)
		}
	}
}

// messagesToMain returns the messages to main agents: those that a main or an ephemeral agent
// accepted, and those of the tabs that no agent accepted, since tabs send no messages to windows.
func (s *sessionHistory) messagesToMain() map[wire.MessageID]bool {
	toMain := map[wire.MessageID]bool{}
	for id := range s.sent {
		toMain[id] = true
	}
	for _, e := range s.log {
		if e.Type == typeAccepted {
			toMain[e.Message] = isMain(e.Agent) || strings.HasPrefix(string(e.Agent), "ephemeral-")
		}
	}
	return toMain
}

// dropLostExits drops the messages of which only tabs saw that they left their queue: the store has
// lost that event, and an owner that lived on did not log it again.
func (s *sessionHistory) dropLostExits(messages map[wire.MessageID]bool, r Rules) {
	logged := map[wire.Position]bool{}
	for _, e := range s.log {
		logged[e.At] = true
	}
	for _, e := range s.knownEvents(r) {
		if (e.Type == typeAccepted || e.IsEnd()) && !logged[e.At] {
			delete(messages, e.Message)
		}
	}
}

// isMain reports whether an agent is the main agent of a monitor.
func isMain(a wire.AgentID) bool { return strings.HasPrefix(string(a), "main-") }

// queue is what the log tells about the queue of a monitor. A message that is offered to a running
// turn keeps its place, and the log has it as queued only after the turn did not accept it, which may
// be after messages that arrived later. Until then the log does not have it, but the places of the
// messages behind it count it.
type queue []queued

// queued is a queued message that the log has. Its place in the queue, from 1, is between least and
// most: it is not known whether a message that left the queue was in it, and where, if the log does
// not have it as queued.
type queued struct {
	id          wire.MessageID
	least, most int
	before      []wire.MessageID // queued messages that precede it
}

// add adds a message that the log has as queued at a place; 0 is the end.
func (q *queue) add(id wire.MessageID, place int) {
	if q.has(id) {
		return
	}
	if place == 0 {
		place = 1
		for _, w := range *q {
			place = max(place, w.most+1)
		}
	}
	added := queued{id: id, least: place, most: place}
	for i := range *q {
		switch w := &(*q)[i]; {
		case w.most < place:
			added.before = append(added.before, w.id)
		case w.least >= place: // two messages have no place in common
			w.before = append(w.before, id)
			w.least = max(w.least, place+1)
		}
	}
	*q = append(*q, added)
}

func (q *queue) index(id wire.MessageID) int {
	return slices.IndexFunc(*q, func(w queued) bool { return w.id == id })
}

func (q *queue) has(id wire.MessageID) bool { return q.index(id) >= 0 }

// ahead returns a message that is queued before id, or "". If the log does not have id as queued,
// that is a message before which no others are than those that the log has.
func (q *queue) ahead(id wire.MessageID) wire.MessageID {
	if at := q.index(id); at >= 0 {
		if before := (*q)[at].before; len(before) > 0 {
			return before[0]
		}
		return ""
	}
	for _, w := range *q {
		if w.most <= len(w.before)+1 {
			return w.id
		}
	}
	return ""
}

// remove removes a message that has left the queue; those behind it move up.
func (q *queue) remove(id wire.MessageID) {
	at := q.index(id)
	var before []wire.MessageID
	if at >= 0 {
		before = (*q)[at].before
		*q = slices.Delete(*q, at, at+1)
	}
	for i := range *q {
		w := &(*q)[i]
		if n := slices.Index(w.before, id); n >= 0 {
			w.before = slices.Delete(w.before, n, n+1)
			w.most--
		} else if slices.Contains(before, w.id) {
			continue
		}
		w.least = max(w.least-1, len(w.before)+1)
	}
}
