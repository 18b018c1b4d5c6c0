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

	// jobResults is what came of jobs and the plan has not heard of. It hears of it in
	// the very step, after whatever tells of it has returned.
	jobResults []workflow.JobResult
	// holdJobs says that nothing begins yet, and silent that nothing is said. What
	// would, does so when release is called.
	holdJobs, holdEvents bool
	heldJobs             []workflow.Job
	heldEvents           []wire.ServerPayload
	// messageRemoved says that the message of the plan was taken back in this step.
	messageRemoved bool
}

// restorePlan makes the plan of what was kept of it.
func (l *owner) restorePlan(table map[string][]byte) error {
	p := &l.agents.plan
	cfg := l.live.hub.cfg.Plan
	cfg.Session = l.live.id
	p.Flow = workflow.New(cfg, planStepWriter{stepWriter{l}}, planExecutor{l})
	if err := p.Restore(table); err != nil {
		return &store.CorruptError{Where: "plan of session " + string(l.live.id), Reason: err.Error()}
	}
	return nil
}

// planStepWriter is the step of a session as its plan sees it.
type planStepWriter struct{ stepWriter }

// Emit implements [workflow.StepWriter].
func (s planStepWriter) Emit(p wire.ServerPayload) {
	if plan := &s.agents.plan; plan.holdEvents {
		plan.heldEvents = append(plan.heldEvents, p)
		return
	}
	s.emit(p)
}

// planExecutor do what the plan of a session needs.
type planExecutor struct{ *owner }

// Begin implements [workflow.Executor].
func (h planExecutor) Begin(j workflow.Job) {
	if p := &h.agents.plan; p.holdJobs {
		p.heldJobs = append(p.heldJobs, j)
		return
	}
	h.agents.poolForUpdate().StartJob(j)
}

// Stop implements [workflow.Executor].
func (h planExecutor) Stop(job, reason string) { h.agents.poolForUpdate().StopJob(job, reason) }

// Answered implements [workflow.Executor].
func (h planExecutor) Answered(e workflow.Answered) { h.answerAfterCommit(inputName(e.Request), e) }

// Close implements [workflow.Executor].
func (h planExecutor) Close(c workflow.Close) { h.agents.poolForUpdate().EndPlan(c) }

// inputName is the name of a question of a plan, among those that are waited for.
func inputName(id wire.RequestID) string { return "h." + fieldName(string(id)) }

// JobEnded implements [contextpool.StepWriter].
func (s stepWriter) JobEnded(w workflow.JobResult) {
	s.agents.plan.jobResults = append(s.agents.plan.jobResults, w)
}

// deliverJobResults tells the plan what came of its jobs, and of those that this lets it begin, if
// they ended at once.
func (a *agents) deliverJobResults() {
	if !a.hasJobResults() {
		return
	}
	for len(a.plan.jobResults) > 0 {
		w := a.plan.jobResults[0]
		a.plan.jobResults = a.plan.jobResults[1:]
		a.plan.HandleJobResult(w)
	}
	a.plan.jobResults = nil
}

// hasJobResults reports whether jobs have ended of which the plan has not heard.
func (a *agents) hasJobResults() bool { return a != nil && len(a.plan.jobResults) > 0 }

// tickPlan does what is due in the plan.
func (a *agents) tickPlan(now time.Time) {
	if a == nil {
		return
	}
	if due := a.plan.Due(); !due.IsZero() && !now.Before(due) {
		a.plan.Tick()
	}
	a.deliverJobResults()
}

// releaseHeldPlan lets begin what waited for that.
func (l *owner) releaseHeldPlan() {
	p := &l.agents.plan
	p.holdJobs, p.holdEvents = false, false
	for _, e := range p.heldEvents {
		l.emit(e)
	}
	for _, j := range p.heldJobs {
		l.agents.poolForUpdate().StartJob(j)
	}
	p.heldEvents, p.heldJobs = nil, nil
}

// dropPlan gives the plan up, whose jobs are over, and forgets it.
func (a *agents) dropPlan(reason string) {
	a.plan.jobResults = nil
	a.plan.Reset(reason)
	a.deliverJobResults()
}

// activePlan is the plan that is under way, if there is one.
func (a *agents) activePlan() (workflow.Summary, bool) {
	if a == nil {
		return workflow.Summary{}, false
	}
	return a.plan.Summary()
}

// planOn reports whether that is one of a monitor.
func (a *agents) planOn(monitor wire.MonitorID) bool {
	now, ok := a.activePlan()
	return ok && now.Monitor == monitor
}

// recordRewind notes that rows are taken away, and whether that of the plan's message is
// among them.
func (p *planning) recordRewind(since, stay []wire.UIRow) {
	now, ok := p.Summary()
	has := func(rows []wire.UIRow) bool {
		return slices.ContainsFunc(rows, func(r wire.UIRow) bool {
			return r.MessageID == now.Message && r.Say == wire.SayUserFeedback
		})
	}
	p.messageRemoved = ok && has(since) && !has(stay)
}

// planRewound is told that the conversation of a monitor was rewound, which ended the
// turns there. Without its message there is no plan; else it stands still.
func (l *owner) planRewound(c *Command, monitor wire.MonitorID) {
	p := &l.agents.plan
	switch {
	case p.messageRemoved:
		l.agents.dropPlan("its message was taken back")
	case l.agents.planOn(monitor):
		p.Interrupted(c.From.Connection)
	}
	p.messageRemoved = false
}
