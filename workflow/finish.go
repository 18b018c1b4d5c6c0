package workflow

import (
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// concludeExecution ends the execution layer when no todo can run any more: with an answer
// if no todo failed.
func (p planner) concludeExecution() {
	busy := func(t *todo) bool { return notStarted(t.Status) || t.Status == wire.TodoInProgress }
	if p.plan.ModelTask != nil || slices.ContainsFunc(p.todos, busy) {
		return
	}
	p.execution.emitUpdates()
	p.execution.emitProgress()
	if i := slices.IndexFunc(p.todos, func(t *todo) bool { return t.Status == wire.TodoStatusFailed }); i >= 0 {
		t := p.todos[i]
		p.abortPlan(wire.PlanFailed, wire.PlanFailureError{
			Code: codeExecution, Message: truncateBytes("Todo "+string(t.Draft.ID)+" failed: "+t.Error.Message, maxError),
			FailedTodo: t.Draft.ID, Recoverable: true,
		})
		return
	}
	c := p.todos.count()
	p.leaveLayer(struct {
		Completed int `json:"completed"`
		Skipped   int `json:"skipped"`
	}{c.completed, c.skipped}, wire.LayerResponse)
	p.enterLayer(wire.LayerResponse, "Writing the answer")
	p.plan.ModelTask = &modelTask{Layer: wire.LayerResponse}
}

// completePlan ends the plan with its answer.
func (p planner) completePlan(r wire.PlanResponse, reports []string) {
	p.leaveLayer(struct {
		Format string `json:"format"`
	}{r.Format}, "")
	status := "success"
	if p.todos.count().skipped > 0 {
		status = "partial"
	}
	p.setEnded(wire.PlanCompleted)
	p.step.Emit(wire.PlanComplete{
		Status: status, Response: r, Statistics: p.statistics(), ReportPaths: reports, PlanID: p.plan.ID, MessageID: p.plan.Message,
	})
	p.closeMessage(Close{Outcome: providers.Completed, Text: r.Text})
}

// abortPlan ends the plan without an answer and stops its jobs.
func (p planner) abortPlan(s wire.PlanStatus, e wire.PlanFailureError) {
	if t := p.plan.ModelTask; t != nil && t.Job != "" {
		p.executor.Stop(t.Job, e.Message)
	}
	for _, t := range p.todos {
		if t.Job != "" {
			p.executor.Stop(t.Job, e.Message)
		}
		if notStarted(t.Status) || t.Status == wire.TodoInProgress || t.Status == wire.TodoBlocked && s != wire.PlanFailed {
			t.Job, t.RetryAt = "", 0
			t.clearHalt()
			t.setStatus(wire.TodoCancelled)
		}
	}
	p.questions.cancel(func(*ask) bool { return true })
	p.execution.emitUpdates()
	p.setEnded(s)
	status, outcome := "cancelled", providers.Interrupted
	if s == wire.PlanFailed {
		status, outcome = "failed", providers.Failed
	}
	p.step.Emit(wire.PlanFailure{
		Status: status, Error: e, PartialResults: p.todos.partialResults(), Statistics: p.statistics(), PlanID: p.plan.ID, MessageID: p.plan.Message,
	})
	p.closeMessage(Close{Outcome: outcome, Reason: e.Message})
}

func (p planner) setEnded(s wire.PlanStatus) {
	p.plan.Status, p.plan.ModelTask, p.plan.Instructions, p.plan.Paused = s, nil, nil, nil
	p.planDirty = true
}

// closeMessage reports the end of the plan's message.
func (p planner) closeMessage(c Close) {
	c.Message, c.Monitor, c.Role = p.plan.Message, p.plan.Monitor, p.plan.role()
	c.Started, c.Usage = p.plan.Started, p.plan.Spent
	if p.plan.Since != 0 {
		c.Started = p.plan.Since
	}
	p.executor.Close(c)
}
