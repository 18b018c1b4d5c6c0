package contextpool

import (
	"fmt"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// BeginPlan accepts a message that is executed as a plan. People see the plan as an agent with
// that role until [Pool.EndPlan].
func (p *Pool) BeginPlan(m Message, role wire.AgentID) {
	p.plans.begin(m, role)
	p.advance()
}

// EndPlan publishes the end of a plan and adds it to the timeline, which the monitor's main
// agent reads at its next turn.
func (p *Pool) EndPlan(c workflow.Close) {
	p.plans.end(c)
	p.advance()
}

// Condense starts summarising the thread of a monitor's main agent. The error says why it
// cannot.
func (p *Pool) Condense(monitor wire.MonitorID) error {
	if err := p.compaction.condense(monitor); err != nil {
		return err
	}
	p.advance()
	return nil
}

// Interrupt stops the turns of a scope and reports whether the scope exists. Its queued messages begin when the
// turns have ended; with drop they are rejected.
func (p *Pool) Interrupt(s Scope, drop bool) bool {
	defer p.advance()
	return p.resets.interrupt(s, drop)
}

// Reset ends every turn in this step, rejects queued messages, deletes all threads and the tape,
// and runs the launch hooks. The reload cache stays.
func (p *Pool) Reset() {
	const reason = "the desktop was reset"
	p.resets.clearMonitors(func(wire.MonitorID) bool { return true }, reason)
	p.step.AddOps(p.transcript.tape.Clear()...)
	p.turns.setLaunched()
	p.advance()
	p.step.AfterCommit(p.runner.Launch)
}

// RemoveMonitor does what Reset does for one monitor, but runs no launch hooks. The first monitor
// cannot be removed.
func (p *Pool) RemoveMonitor(m wire.MonitorID) {
	if m == policies.PrimaryMonitor {
		return
	}
	p.resets.clearMonitors(func(o wire.MonitorID) bool { return o == m }, "the monitor was removed")
	p.step.AddOps(p.transcript.tape.PruneMonitor(m)...)
	p.step.AddOps(p.tasks.list.Rewind(m, 0)...)
	p.advance()
}

// StartJob starts a job of a plan with an agent of its own, on a copy of the main agent's
// thread. The job waits for a slot like any other turn. Exactly one [EndListener.JobEnded]
// follows, in the step in which the job ends.
func (p *Pool) StartJob(j workflow.Job) {
	p.starter.startJob(j)
	p.advance()
}

// StopJob ends a job as soon as its run can be interrupted.
func (p *Pool) StopJob(name, reason string) {
	if t := p.turns.ofJob(name); t != nil {
		p.ender.stop(t, reason)
		p.advance()
	}
}

// CanRestoreTurnEnd reports whether [Pool.RestoreTurnEnd] can end the turn: it is under way
// here and has used no tool under this owner, or its message is queued, or the session does not
// know the message. It cannot if another turn has taken a message that joined the turn, because
// the actions done for that message cannot be identified.
func (p *Pool) CanRestoreTurnEnd(c LostTurnEnd) bool { return p.recovery.canRestoreTurnEnd(c) }

// RestoreTurnEnd ends a turn here as it ended at the previous owner: it stops the run, if there
// is one, and publishes the turn's events again. Actions that the current desktop state refuses are
// skipped; it returns the first refusal.
func (p *Pool) RestoreTurnEnd(c LostTurnEnd) *desktop.Refusal {
	defer p.advance()
	return p.recovery.restoreTurnEnd(c)
}

// Recover is called once by a new owner, inside a step. It restarts or ends the turns that were
// under way and starts queued messages. In a session that has never run it runs the launch
// hooks. If more remains than the step has room for, [Pool.Tick] continues, before anything
// else happens.
func (p *Pool) Recover() (more bool) {
	if !p.turns.about.Launched {
		p.turns.setLaunched()
		p.step.AfterCommit(p.runner.Launch)
	}
	p.tasks.storeUnsaved()
	if len(p.turns.byKey) > 0 {
		p.recovery.restoreTexts()
	}
	p.turnRows.finishOrphanRows()
	p.recovery.begin()
	return p.Tick()
}

// PrepareHandOver prepares the running turns for an orderly hand-over of the session, or for a
// rewrite of its log by the same owner. The turns continue afterwards, and the interruption
// does not count in Cut.
func (p *Pool) PrepareHandOver() {
	for _, t := range p.turns.sorted() {
		t.uncountCut()
		p.turns.store(t)
	}
}

// HandleReport applies a report of the session runner. It ignores reports of runs that are no
// longer under way.
func (p *Pool) HandleReport(r agentpool.Report) {
	if p.reports.apply(r) {
		p.advance()
	}
}

// FailOversized is called before [Pool.Recover], in the same step, after the previous owner
// closed the session because a batch was too large to be stored. If who is a run or an agent,
// its turn fails, because a restart would produce the same batch. For the other turns the
// interruption does not count as a cut.
func (p *Pool) FailOversized(who string) {
	p.recovery.restoreTexts()
	for _, t := range p.turns.sorted() {
		if t.uncountCut(); t.runID() == who || string(t.Role) == who {
			p.ender.end(t, providers.Failed, "what the agent said or did at once is too large to be kept")
		}
	}
}

// Rewind removes a row and everything after it, for people and for models, in this step, or
// returns the reason why it cannot. Turns of the monitor end as interrupted, and their agents
// begin the next turns with the remaining threads; queued messages whose rows are removed are
// rejected. Changes of windows stay, and so does the reload cache. The timeline is not
// restored: a new turn reads which windows are open.
func (p *Pool) Rewind(u RewindRequest) *desktop.Refusal {
	rows, refused := p.resets.rowsFrom(u, false)
	if refused != nil {
		return refused
	}
	plan, refused := p.resets.planRewind(u, rows)
	if refused != nil {
		return refused
	}
	p.resets.applyRewind(plan)
	p.advance()
	return nil
}

// Edit rewinds to the nearest user message at or before the named row and routes m in its
// place, to the same monitor or window, in the same step. If it returns a reason, nothing has
// changed.
func (p *Pool) Edit(u RewindRequest, m Message) *desktop.Refusal {
	m, refused := p.rewindForEdit(u, m)
	if refused == nil {
		p.EndEdit(m)
	}
	return refused
}

// BeginEdit is the first half of Edit: it rewinds, and returns the message for [Pool.EndEdit], which
// routes it later.
func (p *Pool) BeginEdit(u RewindRequest, m Message) (Message, *desktop.Refusal) {
	m, refused := p.rewindForEdit(u, m)
	if refused == nil {
		p.advance()
	}
	return m, refused
}

// EndEdit routes the message of an edit.
func (p *Pool) EndEdit(m Message) {
	if m.Window == "" {
		p.Messages.HandleUserMessage(m)
	} else {
		p.Messages.HandleWindowMessage(m)
	}
}

// rewindForEdit rewinds to the nearest user message at or before the named row, and returns m with the
// address of that message.
func (p *Pool) rewindForEdit(u RewindRequest, m Message) (Message, *desktop.Refusal) {
	rows, refused := p.resets.rowsFrom(u, true)
	if refused != nil {
		return m, refused
	}
	u.TS, u.Include = rows[0].TS, false
	m.Monitor, m.Window = u.Monitor, rows[0].WindowID
	if _, open := p.state.Desktop().Window(m.Monitor, m.Window); m.Window != "" && !open {
		return m, invalidState("there is no window %q any more", m.Window)
	}
	if !p.providers.HasProvider(p.turns.provider()) {
		return m, &desktop.Refusal{Code: wire.CodeProviderUnavailable, Reason: fmt.Sprintf("there is no provider %q", p.turns.provider())}
	}
	plan, refused := p.resets.planRewind(u, rows)
	if refused != nil {
		return m, refused
	}
	p.resets.applyRewind(plan)
	return m, nil
}

// WindowClosed handles a window that a user or a program closed.
func (p *Pool) WindowClosed(monitor wire.MonitorID, window wire.WindowID) {
	p.actions.removeWindow(policies.Key{Monitor: monitor, Window: window}, nil)
	p.advance()
}
