package workflow

import (
	"bytes"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// concludeExecution ends the execution layer when no todo can run any more: with an answer
// if no todo failed.
func (f *Flow) concludeExecution() {
	busy := func(t *todo) bool { return notStarted(t.Status) || t.Status == wire.TodoInProgress }
	if f.plan.ModelTask != nil || slices.ContainsFunc(f.todos, busy) {
		return
	}
	f.emitUpdates()
	f.emitProgress()
	if i := slices.IndexFunc(f.todos, func(t *todo) bool { return t.Status == wire.TodoStatusFailed }); i >= 0 {
		t := f.todos[i]
		f.abortPlan(wire.PlanFailed, wire.PlanFailureError{
			Code: codeExecution, Message: truncateBytes("Todo "+string(t.Draft.ID)+" failed: "+t.Error.Message, maxError),
			FailedTodo: t.Draft.ID, Recoverable: true,
		})
		return
	}
	c := f.count()
	f.leaveLayer(struct {
		Completed int `json:"completed"`
		Skipped   int `json:"skipped"`
	}{c.completed, c.skipped}, wire.LayerResponse)
	f.enterLayer(wire.LayerResponse, "Writing the answer")
	f.plan.ModelTask = &modelTask{Layer: wire.LayerResponse}
}

// completePlan ends the plan with its answer.
func (f *Flow) completePlan(r wire.PlanResponse, reports []string) {
	f.leaveLayer(struct {
		Format string `json:"format"`
	}{r.Format}, "")
	status := "success"
	if f.count().skipped > 0 {
		status = "partial"
	}
	f.setEnded(wire.PlanCompleted)
	f.step.Emit(wire.PlanComplete{
		Status: status, Response: r, Statistics: f.statistics(), ReportPaths: reports, PlanID: f.plan.ID, MessageID: f.plan.Message,
	})
	f.closeMessage(Close{Outcome: providers.Completed, Text: r.Text})
}

// abortPlan ends the plan without an answer and stops its jobs.
func (f *Flow) abortPlan(s wire.PlanStatus, e wire.PlanFailureError) {
	if t := f.plan.ModelTask; t != nil && t.Job != "" {
		f.executor.Stop(t.Job, e.Message)
	}
	for _, t := range f.todos {
		if t.Job != "" {
			f.executor.Stop(t.Job, e.Message)
		}
		if notStarted(t.Status) || t.Status == wire.TodoInProgress || t.Status == wire.TodoBlocked && s != wire.PlanFailed {
			t.Job, t.RetryAt = "", 0
			t.clearHalt()
			t.setStatus(wire.TodoCancelled)
		}
	}
	f.cancelAsks(func(*ask) bool { return true })
	f.emitUpdates()
	f.setEnded(s)
	status, outcome := "cancelled", providers.Interrupted
	if s == wire.PlanFailed {
		status, outcome = "failed", providers.Failed
	}
	f.step.Emit(wire.PlanFailure{
		Status: status, Error: e, PartialResults: f.partialResults(), Statistics: f.statistics(), PlanID: f.plan.ID, MessageID: f.plan.Message,
	})
	f.closeMessage(Close{Outcome: outcome, Reason: e.Message})
}

func (f *Flow) setEnded(s wire.PlanStatus) {
	f.plan.Status, f.plan.ModelTask, f.plan.Instructions, f.plan.Paused = s, nil, nil, nil
	f.planDirty = true
}

// closeMessage reports the end of the plan's message.
func (f *Flow) closeMessage(c Close) {
	c.Message, c.Monitor, c.Role = f.plan.Message, f.plan.Monitor, f.plan.role()
	c.Started, c.Usage = f.plan.Started, f.plan.Spent
	if f.plan.Since != 0 {
		c.Started = f.plan.Since
	}
	f.executor.Close(c)
}

func (f *Flow) statistics() *wire.PlanStatistics {
	c, u := f.count(), f.plan.Usage
	return &wire.PlanStatistics{
		TotalTodos: c.total, Completed: c.completed, Failed: c.failed, Skipped: c.skipped, ExecutionTimeMS: f.since(f.plan.Started),
		TokensUsed: u.Input + u.Output + u.CacheRead + u.CacheWrite, CostUSD: u.USD,
	}
}

// partialResults returns the results of a plan without an answer. The event holds at most
// maxData bytes of them; the rest is in the events of the todos.
func (f *Flow) partialResults() *wire.PartialResults {
	var data bytes.Buffer
	data.WriteByte('{')
	for _, t := range f.todos {
		if t.Status != wire.TodoStatusCompleted || data.Len()+len(t.Result) > maxData {
			continue
		}
		if data.Len() > 1 {
			data.WriteByte(',')
		}
		data.Write(compact(t.Draft.ID))
		data.WriteByte(':')
		data.Write(t.Result)
	}
	data.WriteByte('}')
	return &wire.PartialResults{CompletedTodos: f.completed(), AvailableData: data.Bytes()}
}

// fallbackAnswer builds an answer from the todos' results, without a model.
func (f *Flow) fallbackAnswer() string {
	var b strings.Builder
	b.WriteString("The plan was carried out.\n")
	for _, t := range f.todos {
		b.WriteString("\n- " + oneLine(t.Draft.Task) + ": ")
		if t.Status == wire.TodoSkipped {
			b.WriteString("skipped")
		} else {
			b.WriteString(truncateBytes(string(t.Result), maxStep))
		}
	}
	return b.String()
}
