package session

import (
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// planning is the plan of a session that is owned here.
type planning struct {
	*workflow.Flow

	// worked is what came of jobs and the plan has not heard of. It hears of it in
	// the very step, after whatever tells of it has returned.
	worked []workflow.Worked
	// waits says that nothing begins yet, and silent that nothing is said. What
	// would, does so when release is called.
	waits, silent bool
	later         []workflow.Job
	unsaid        []wire.ServerPayload
	// undone says that the message of the plan was taken back in this step.
	undone bool
}

// planFrom makes the plan of what was kept of it.
func (l *owner) planFrom(table map[string][]byte) error {
	p := &l.agents.plan
	cfg := l.k.hub.cfg.Plan
	cfg.Session = l.k.id
	p.Flow = workflow.New(cfg, script{stage{l}}, planExecutor{l})
	if err := p.Restore(table); err != nil {
		return &store.CorruptError{Where: "plan of session " + string(l.k.id), Reason: err.Error()}
	}
	return nil
}

// script is the step of a session as its plan sees it.
type script struct{ stage }

// Emit implements [workflow.Stage].
func (s script) Emit(p wire.ServerPayload) {
	if plan := &s.agents.plan; plan.silent {
		plan.unsaid = append(plan.unsaid, p)
		return
	}
	s.emit(p)
}

// planExecutor do what the plan of a session needs.
type planExecutor struct{ *owner }

// Begin implements [workflow.Hands].
func (h planExecutor) Begin(j workflow.Job) {
	if p := &h.agents.plan; p.waits {
		p.later = append(p.later, j)
		return
	}
	h.agents.ask().Work(j)
}

// Stop implements [workflow.Hands].
func (h planExecutor) Stop(job, reason string) { h.agents.ask().StopJob(job, reason) }

// Answered implements [workflow.Hands].
func (h planExecutor) Answered(e workflow.Answered) { h.answerAfter(inputName(e.Request), e) }

// Close implements [workflow.Hands].
func (h planExecutor) Close(c workflow.Close) { h.agents.ask().EndPlan(c) }

// inputName is the name of a question of a plan, among those that are waited for.
func inputName(id wire.RequestID) string { return "h." + nameOf(string(id)) }

// Worked implements [contextpool.StepWriter].
func (s stage) Worked(w workflow.Worked) { s.agents.plan.worked = append(s.agents.plan.worked, w) }

// goOn tells the plan what came of its jobs, and of those that this lets it begin, if
// they ended at once.
func (a *agents) goOn() {
	if !a.unheard() {
		return
	}
	for len(a.plan.worked) > 0 {
		w := a.plan.worked[0]
		a.plan.worked = a.plan.worked[1:]
		a.plan.Worked(w)
	}
	a.plan.worked = nil
}

// unheard reports whether jobs have ended of which the plan has not heard.
func (a *agents) unheard() bool { return a != nil && len(a.plan.worked) > 0 }

// tickPlan does what is due in the plan.
func (a *agents) tickPlan(now time.Time) {
	if a == nil {
		return
	}
	if due := a.plan.Due(); !due.IsZero() && !now.Before(due) {
		a.plan.Tick()
	}
	a.goOn()
}

// release lets begin what waited for that.
func (l *owner) release() {
	p := &l.agents.plan
	p.waits, p.silent = false, false
	for _, e := range p.unsaid {
		l.emit(e)
	}
	for _, j := range p.later {
		l.agents.ask().Work(j)
	}
	p.unsaid, p.later = nil, nil
}

// dropPlan gives the plan up, whose jobs are over, and forgets it.
func (a *agents) dropPlan(reason string) {
	a.plan.worked = nil
	a.plan.Reset(reason)
	a.goOn()
}

// planNow is the plan that is under way, if there is one.
func (a *agents) planNow() (workflow.Look, bool) {
	if a == nil {
		return workflow.Look{}, false
	}
	return a.plan.Look()
}

// planOn reports whether that is one of a monitor.
func (a *agents) planOn(monitor wire.MonitorID) bool {
	now, ok := a.planNow()
	return ok && now.Monitor == monitor
}

// undo notes that rows are taken away, and whether that of the plan's message is
// among them.
func (p *planning) undo(since, stay []wire.UIRow) {
	now, ok := p.Look()
	has := func(rows []wire.UIRow) bool {
		return slices.ContainsFunc(rows, func(r wire.UIRow) bool {
			return r.MessageID == now.Message && r.Say == wire.SayUserFeedback
		})
	}
	p.undone = ok && has(since) && !has(stay)
}

// planRewound is told that the conversation of a monitor was rewound, which ended the
// turns there. Without its message there is no plan; else it stands still.
func (l *owner) planRewound(c *Command, monitor wire.MonitorID) {
	p := &l.agents.plan
	switch {
	case p.undone:
		l.agents.dropPlan("its message was taken back")
	case l.agents.planOn(monitor):
		p.Interrupted(c.From.Connection)
	}
	p.undone = false
}
