package contextpool

import (
	"cmp"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// stopTurn ends a turn, with its tasks, as soon as its run can be interrupted.
func (p *Pool) stopTurn(t *turn, reason string) {
	change, ok := t.apply(turnStopped)
	if !ok {
		return
	}
	t.StopReason = cmp.Or(reason, turnInterrupted)
	p.storeTurn(t)
	if run := t.runID(); change.interruptRun {
		p.step.AfterCommit(func() { p.runner.Interrupt(run, reason) })
	}
	for _, task := range p.tasksOf(t) {
		p.stopTurn(task, "the turn it works for was interrupted")
	}
}

// Interrupt stops turns and reports whether the scope exists. Depending on queues, queued
// messages begin when the turns have ended, or are rejected.
func (p *Pool) Interrupt(scope wire.InterruptScope, monitor wire.MonitorID, agent wire.AgentID, queues wire.InterruptQueues) bool {
	found := scope != wire.ScopeAgent
	for _, t := range p.sortedTurns() {
		switch {
		case scope == wire.ScopeAgent && t.Role != agent:
		case scope == wire.ScopeMonitor && t.Monitor != monitor:
		default:
			found = true
			p.stopTurn(t, "the user interrupted it")
			if scope == wire.ScopeAgent && queues == wire.QueuesDrop {
				p.rejectRemoved(p.dequeue(func(w *queuedMessage) bool { return w.isForTurn(t) }), removedFromQueue)
			}
		}
	}
	if queues == wire.QueuesDrop && scope != wire.ScopeAgent {
		p.rejectRemoved(p.dequeue(func(w *queuedMessage) bool { return scope != wire.ScopeMonitor || w.Monitor == monitor }), removedFromQueue)
	}
	p.advance()
	return found
}

// isForTurn reports whether a message is queued for the agent of the turn.
func (w *queuedMessage) isForTurn(t *turn) bool {
	if w.Window != "" {
		return w.Agent == t.Agent
	}
	return t.Kind == wire.AgentMain && w.Monitor == t.Monitor
}

// Reset ends every turn in this step, rejects queued messages, deletes all threads and the tape,
// and runs the launch hooks. The reload cache stays.
func (p *Pool) Reset() {
	const reason = "the desktop was reset"
	p.clearMonitors(func(wire.MonitorID) bool { return true }, reason)
	p.step.AddOps(p.tape.Clear()...)
	p.about.Launched = true
	p.storeState()
	p.advance()
	p.step.AfterCommit(p.runner.Launch)
}

// RemoveMonitor does what Reset does for one monitor, but runs no launch hooks. The first monitor
// cannot be removed.
func (p *Pool) RemoveMonitor(m wire.MonitorID) {
	if m == policies.PrimaryMonitor {
		return
	}
	p.clearMonitors(func(o wire.MonitorID) bool { return o == m }, "the monitor was removed")
	p.step.AddOps(p.tape.PruneMonitor(m)...)
	p.step.AddOps(p.tasks.Rewind(m, 0)...)
	p.advance()
}

// clearMonitors ends all turns of the selected monitors, rejects their queued messages and deletes
// their threads, timelines, questions, groups and budgets.
func (p *Pool) clearMonitors(on func(wire.MonitorID) bool, reason string) {
	p.rejectRemoved(p.dequeue(func(w *queuedMessage) bool { return on(w.Monitor) }), reason)
	agents := map[string]bool{}
	for _, t := range p.sortedTurns() {
		if on(t.Monitor) {
			agents[t.Agent] = true
			p.endTurnNow(t, reason)
		}
	}
	for agent, h := range p.threads {
		if on(h.Monitor) {
			agents[agent] = true
		}
	}
	for _, agent := range sortedKeys(agents) {
		p.deleteThread(agent)
		p.step.AfterCommit(func() { p.runner.Dispose(agent) })
	}
	for _, monitor := range sortedKeys(p.timelines) {
		if on(monitor) {
			p.step.AddOps(p.timelines[monitor].Clear()...)
			delete(p.timelines, monitor)
		}
	}
	for _, ts := range sortedKeys(p.resumeAsks) {
		if on(p.resumeAsks[ts].Monitor) {
			p.deleteAsk(ts)
		}
	}
	for _, m := range p.state.Desktop().Monitors() {
		if on(m.MonitorID) {
			p.groups.RemoveMonitor(m.MonitorID)
			p.budget.RemoveMonitor(m.MonitorID)
			p.step.AddOps(store.Unset(budgetPrefix+string(m.MonitorID), budgetField))
		}
	}
	p.storeGroups()
}

// endTurnNow ends a turn without waiting for its run. The caller disposes of the agent.
func (p *Pool) endTurnNow(t *turn, reason string) {
	t.abort(reason)
	for _, task := range p.tasksOf(t) {
		p.endTurnNow(task, reason)
	}
	if p.turns[t.key()] == t {
		p.endTurn(t, providers.Interrupted, reason)
	}
}
