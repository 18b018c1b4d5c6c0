package contextpool

import (
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// resets ends turns on request: it interrupts them, clears monitors, and rewinds conversations.
type resets struct {
	*services
	budget     *monitorBudget
	turns      *turnSet
	threads    *threadSet
	transcript *transcript
	groups     *windowGroups
	outside    *outsideData
	questions  *Questions
	tasks      *taskList
	queues     *queues
	ender      *turnEnder
	status     *statusReporter
}

// Scope selects the turns that an interrupt stops, and queued messages.
type Scope struct {
	Kind    wire.InterruptScope
	Monitor wire.MonitorID // for the kinds monitor and sender
	Agent   wire.AgentID   // for the kind agent
	User    string         // for the kind sender
}

func (s *Scope) includes(t *turn) bool {
	switch s.Kind {
	case wire.ScopeAgent:
		return t.Role == s.Agent
	case wire.ScopeMonitor:
		return t.Monitor == s.Monitor
	case wire.ScopeSender:
		return t.Monitor == s.Monitor && t.User == s.User
	}
	return true
}

// includesQueued reports whether the scope has a queued message. The messages of an agent are those for its turn.
func (s *Scope) includesQueued(w *queuedMessage, turns []*turn) bool {
	switch s.Kind {
	case wire.ScopeAgent:
		return slices.ContainsFunc(turns, func(t *turn) bool { return s.includes(t) && w.isForTurn(t) })
	case wire.ScopeMonitor:
		return w.Monitor == s.Monitor
	case wire.ScopeSender:
		return w.Monitor == s.Monitor && w.User == s.User
	}
	return true
}

// interrupt implements [Pool.Interrupt].
func (r *resets) interrupt(s Scope, drop bool) bool {
	found := s.Kind != wire.ScopeAgent
	turns := r.turns.sorted()
	for _, t := range turns {
		if s.includes(t) {
			found = true
			r.ender.stop(t, "the user interrupted it")
		}
	}
	if drop {
		r.queues.rejectRemoved(r.queues.dequeue(func(w *queuedMessage) bool { return s.includesQueued(w, turns) }), removedFromQueue)
	}
	return found
}

// clearMonitors ends all turns of the selected monitors, rejects their queued messages and deletes
// their threads, timelines, questions, groups and budgets.
func (r *resets) clearMonitors(on func(wire.MonitorID) bool, reason string) {
	r.queues.rejectRemoved(r.queues.dequeue(func(w *queuedMessage) bool { return on(w.Monitor) }), reason)
	agents := map[string]bool{}
	for _, t := range r.turns.sorted() {
		if on(t.Monitor) {
			agents[t.Agent] = true
			r.ender.endNow(t, reason)
		}
	}
	for agent, h := range r.threads.byAgent {
		if on(h.Monitor) {
			agents[agent] = true
		}
	}
	for _, agent := range sortedKeys(agents) {
		r.threads.delete(agent)
		r.disposeAgent(agent)
	}
	for _, monitor := range sortedKeys(r.transcript.timelines) {
		if on(monitor) {
			r.step.AddOps(r.transcript.timelines[monitor].Clear()...)
			delete(r.transcript.timelines, monitor)
		}
	}
	r.outside.clear(on)
	r.questions.deleteAsks(on)
	for _, m := range r.state.Desktop().Monitors() {
		if on(m.MonitorID) {
			r.groups.connection.RemoveMonitor(m.MonitorID)
			r.budget.remove(m.MonitorID)
		}
	}
	r.groups.store()
}
