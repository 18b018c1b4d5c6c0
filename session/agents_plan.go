package session

import (
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// ownedPlan is the plan of a session that this replica owns, with the jobs, results and events that wait for the end
// of a call into the plan.
type ownedPlan struct {
	*workflow.Flow

	// jobResults are the results that the plan has not processed. deliverJobResults passes them on
	// in the same step, after the call that produced them has returned, because the plan must not
	// be called back.
	jobResults []workflow.JobResult
	// holdJobs and holdEvents collect the jobs that the plan starts and the events that it emits in
	// heldJobs and heldEvents, until releaseHeldPlan.
	holdJobs, holdEvents bool
	heldJobs             []workflow.Job
	heldEvents           []wire.ServerPayload
	// messageRemoved says that a rewind of this step removed the row of the plan's message.
	messageRemoved bool
}

// restorePlan restores the plan from its table.
func (a *agents) restorePlan(cfg workflow.Config, table map[string][]byte) error {
	cfg.Session = a.w.id
	a.plan.Flow = workflow.New(cfg, planStepWriter{stepWriter: a.w, plan: &a.plan}, planExecutor{a})
	if err := a.plan.Restore(table); err != nil {
		return &store.CorruptError{Where: "plan of session " + string(a.w.id), Reason: err.Error()}
	}
	return nil
}

// planStepWriter is the stepWriter of the plan, which can hold back its events.
type planStepWriter struct {
	*stepWriter
	plan *ownedPlan
}

// Emit implements [workflow.StepWriter].
func (s planStepWriter) Emit(p wire.ServerPayload) {
	if s.plan.holdEvents {
		s.plan.heldEvents = append(s.plan.heldEvents, p)
		return
	}
	s.stepWriter.Emit(p)
}

// planExecutor executes what the plan of a session needs.
type planExecutor struct{ agents *agents }

// Begin implements [workflow.Executor].
func (pe planExecutor) Begin(j workflow.Job) {
	if p := &pe.agents.plan; p.holdJobs {
		p.heldJobs = append(p.heldJobs, j)
		return
	}
	pe.agents.poolForUpdate().StartJob(j)
}

// Stop implements [workflow.Executor].
func (pe planExecutor) Stop(job, reason string) { pe.agents.poolForUpdate().StopJob(job, reason) }

// Answered implements [workflow.Executor].
func (pe planExecutor) Answered(e workflow.Answered) {
	pe.agents.answerAfterCommit(planQuestionName(e.Request), e)
}

// Close implements [workflow.Executor].
func (pe planExecutor) Close(c workflow.Close) { pe.agents.poolForUpdate().EndPlan(c) }

// planQuestionName returns the key of a plan's question among the answer waits.
func planQuestionName(id wire.RequestID) string { return "h." + fieldName(string(id)) }

// deliverJobResults passes the results of jobs to the plan, including those of jobs that the plan
// starts meanwhile and that end at once.
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

// hasJobResults reports whether there are results that the plan has not processed.
func (a *agents) hasJobResults() bool { return a != nil && len(a.plan.jobResults) > 0 }

// tickPlan runs what is due in the plan.
func (a *agents) tickPlan(now time.Time) {
	if a == nil {
		return
	}
	if due := a.plan.Due(); !due.IsZero() && !now.Before(due) {
		a.plan.Tick()
	}
	a.deliverJobResults()
}

// releaseHeldPlan ends holdJobs and holdEvents: it emits the held events and starts the held jobs.
func (a *agents) releaseHeldPlan() {
	p := &a.plan
	p.holdJobs, p.holdEvents = false, false
	for _, e := range p.heldEvents {
		a.w.Emit(e)
	}
	for _, j := range p.heldJobs {
		a.poolForUpdate().StartJob(j)
	}
	p.heldEvents, p.heldJobs = nil, nil
}

// dropPlan ends and deletes the plan. Its jobs must have been stopped.
func (a *agents) dropPlan(reason string) {
	a.plan.jobResults = nil
	a.plan.Reset(reason)
	a.deliverJobResults()
}

// activePlan returns the plan that runs, if there is one.
func (a *agents) activePlan() (workflow.Summary, bool) {
	if a == nil {
		return workflow.Summary{}, false
	}
	return a.plan.Summary()
}

// planOn reports whether a plan runs on a monitor.
func (a *agents) planOn(monitor wire.MonitorID) bool {
	active, ok := a.activePlan()
	return ok && active.Monitor == monitor
}

// recordRewind sets messageRemoved if a rewind removes the row of the plan's message. Of the rows from the target of
// the rewind on, before are those until now and after those that remain.
func (p *ownedPlan) recordRewind(before, after []wire.UIRow) {
	summary, ok := p.Summary()
	has := func(rows []wire.UIRow) bool {
		return slices.ContainsFunc(rows, func(r wire.UIRow) bool {
			return r.MessageID == summary.Message && r.Say == wire.SayUserFeedback
		})
	}
	p.messageRemoved = ok && has(before) && !has(after)
}

// planRewound updates the plan after a rewind of a monitor's conversation, which has ended the
// turns there: a plan whose message was removed is dropped, any other plan of the monitor is
// interrupted.
func (a *agents) planRewound(c *Command, monitor wire.MonitorID) {
	p := &a.plan
	switch {
	case p.messageRemoved:
		a.dropPlan("a rewind removed its message")
	case a.planOn(monitor):
		p.Interrupted(c.From.Connection)
	}
	p.messageRemoved = false
}
