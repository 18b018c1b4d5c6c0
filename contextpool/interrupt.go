package contextpool

import (
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// stopTurn ends a turn, with its tasks, as soon as its run can be interrupted.
func (p *Pool) stop(t *turn, reason string) {
	if t.Stopping != "" {
		return
	}
	t.Stopping = reason
	p.keepTurn(t)
	if run := t.run(); t.State != turnWaiting { // a waiting turn has no run and ends with its tasks
		p.step.Then(func() { p.runner.Interrupt(run, reason) })
	}
	for _, task := range p.tasksOf(t) {
		p.stop(task, "the turn it works for was interrupted")
	}
}

// Interrupt stops turns and reports whether the scope exists. Depending on queues, queued
// messages begin when the turns have ended, or are rejected.
func (p *Pool) Interrupt(scope wire.InterruptScope, monitor wire.MonitorID, agent wire.AgentID, queues wire.InterruptQueues) bool {
	found := scope != wire.ScopeAgent
	for _, t := range p.sorted() {
		switch {
		case scope == wire.ScopeAgent && t.Role != agent:
		case scope == wire.ScopeMonitor && t.Monitor != monitor:
		default:
			found = true
			p.stop(t, "the user interrupted it")
			if scope == wire.ScopeAgent && queues == wire.QueuesDrop {
				p.drop(p.dequeue(func(w *waiting) bool { return w.isFor(t) }), takenOut)
			}
		}
	}
	if queues == wire.QueuesDrop && scope != wire.ScopeAgent {
		p.drop(p.dequeue(func(w *waiting) bool { return scope != wire.ScopeMonitor || w.Monitor == monitor }), takenOut)
	}
	p.settle()
	return found
}

// isForTurn reports whether a message is queued for the agent of the turn.
func (w *waiting) isFor(t *turn) bool {
	if w.Window != "" {
		return w.Agent == t.Agent
	}
	return t.Kind == wire.AgentMain && w.Monitor == t.Monitor
}

// Reset ends every turn in this step, rejects queued messages and deletes all threads and the
// tape. The reload cache stays.
func (p *Pool) Reset() {
	const reason = "the desktop was reset"
	p.clear(func(wire.MonitorID) bool { return true }, reason)
	p.step.Keep(p.tape.Clear()...)
	p.about.Launched = true
	p.keepAbout()
	p.settle()
	p.step.Then(p.runner.Launch)
}

// RemoveMonitor does what Reset does for one monitor. The first monitor cannot be removed.
func (p *Pool) RemoveMonitor(m wire.MonitorID) {
	if m == policies.PrimaryMonitor {
		return
	}
	p.clear(func(o wire.MonitorID) bool { return o == m }, "the monitor was removed")
	p.step.Keep(p.tape.PruneMonitor(m)...)
	p.step.Keep(p.tasks.Rewind(m, 0)...)
	p.settle()
}

// clearMonitors ends all turns and deletes all state of the selected monitors, except the tape.
func (p *Pool) clear(on func(wire.MonitorID) bool, reason string) {
	p.drop(p.dequeue(func(w *waiting) bool { return on(w.Monitor) }), reason)
	agents := map[string]bool{}
	for _, t := range p.sorted() {
		if on(t.Monitor) {
			agents[t.Agent] = true
			p.endNow(t, reason)
		}
	}
	for agent, h := range p.threads {
		if on(h.Monitor) {
			agents[agent] = true
		}
	}
	for _, agent := range sortedKeys(agents) {
		p.forgetThread(agent)
		p.step.Then(func() { p.runner.Dispose(agent) })
	}
	for _, monitor := range sortedKeys(p.timelines) {
		if on(monitor) {
			p.step.Keep(p.timelines[monitor].Clear()...)
			delete(p.timelines, monitor)
		}
	}
	for _, ts := range sortedKeys(p.asks) {
		if on(p.asks[ts].Monitor) {
			p.forgetAsk(ts)
		}
	}
	for _, m := range p.step.Desk().Monitors() {
		if on(m.MonitorID) {
			p.groups.RemoveMonitor(m.MonitorID)
			p.budget.RemoveMonitor(m.MonitorID)
			p.step.Keep(store.Unset(budgetPrefix+string(m.MonitorID), budgetField))
		}
	}
	p.keepGroups()
}

// endTurnNow ends a turn without waiting for its run. The caller disposes of the agent.
func (p *Pool) endNow(t *turn, reason string) {
	t.Stopping, t.Remembered = reason, false
	for _, task := range p.tasksOf(t) {
		p.endNow(task, reason)
	}
	if p.turns[t.key()] == t {
		p.end(t, providers.Interrupted, reason)
	}
}
