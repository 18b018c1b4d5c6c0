package contextpool

import "github.com/everdesk/everdesk/wire"

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

// interrupt implements [Pool.Interrupt].
func (r *resets) interrupt(scope wire.InterruptScope, monitor wire.MonitorID, agent wire.AgentID, queues wire.InterruptQueues) bool {
	found := scope != wire.ScopeAgent
	for _, t := range r.turns.sorted() {
		switch {
		case scope == wire.ScopeAgent && t.Role != agent:
		case scope == wire.ScopeMonitor && t.Monitor != monitor:
		default:
			found = true
			r.ender.stop(t, "the user interrupted it")
			if scope == wire.ScopeAgent && queues == wire.QueuesDrop {
				r.queues.rejectRemoved(r.queues.dequeue(func(w *queuedMessage) bool { return w.isForTurn(t) }), removedFromQueue)
			}
		}
	}
	if queues == wire.QueuesDrop && scope != wire.ScopeAgent {
		r.queues.rejectRemoved(r.queues.dequeue(func(w *queuedMessage) bool { return scope != wire.ScopeMonitor || w.Monitor == monitor }), removedFromQueue)
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
