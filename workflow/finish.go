package workflow

import (
	"bytes"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// conclude ends the execution when nothing is left to do: with an answer, if
// everything was done that was not skipped.
func (f *Flow) conclude() {
	busy := func(t *todo) bool { return waits(t.Status) || t.Status == wire.TodoInProgress }
	if f.plan.Think != nil || slices.ContainsFunc(f.todos, busy) {
		return
	}
	f.tell()
	f.sumUp()
	if i := slices.IndexFunc(f.todos, func(t *todo) bool { return t.Status == wire.TodoStatusFailed }); i >= 0 {
		t := f.todos[i]
		f.giveUp(wire.PlanFailed, wire.PlanFailureError{
			Code: codeExecution, Message: cut("Todo "+string(t.Draft.ID)+" failed: "+t.Error.Message, maxError),
			FailedTodo: t.Draft.ID, Recoverable: true,
		})
		return
	}
	c := f.count()
	f.leave(struct {
		Completed int `json:"completed"`
		Skipped   int `json:"skipped"`
	}{c.completed, c.skipped}, wire.LayerResponse)
	f.enter(wire.LayerResponse, "Writing the answer")
	f.plan.Think = &thought{Layer: wire.LayerResponse}
}

// complete ends the plan with its answer.
func (f *Flow) complete(r wire.PlanResponse, reports []string) {
	f.leave(struct {
		Format string `json:"format"`
	}{r.Format}, "")
	status := "success"
	if f.count().skipped > 0 {
		status = "partial"
	}
	f.end(wire.PlanCompleted)
	f.stage.Emit(wire.PlanComplete{
		Status: status, Response: r, Statistics: f.statistics(), ReportPaths: reports, PlanID: f.plan.ID, MessageID: f.plan.Message,
	})
	f.close(Close{Outcome: providers.Completed, Text: r.Text})
}

// giveUp ends the plan without an answer. Whoever works for it is told to stop.
func (f *Flow) giveUp(s wire.PlanStatus, e wire.PlanFailureError) {
	if t := f.plan.Think; t != nil && t.Job != "" {
		f.hands.Stop(t.Job, e.Message)
	}
	for _, t := range f.todos {
		if t.Job != "" {
			f.hands.Stop(t.Job, e.Message)
		}
		if waits(t.Status) || t.Status == wire.TodoInProgress || t.Status == wire.TodoBlocked && s != wire.PlanFailed {
			t.Job, t.RetryAt = "", 0
			t.unhalt()
			t.become(wire.TodoCancelled)
		}
	}
	f.withdraw(func(*ask) bool { return true })
	f.tell()
	f.end(s)
	status, outcome := "cancelled", providers.Interrupted
	if s == wire.PlanFailed {
		status, outcome = "failed", providers.Failed
	}
	f.stage.Emit(wire.PlanFailure{
		Status: status, Error: e, PartialResults: f.partial(), Statistics: f.statistics(), PlanID: f.plan.ID, MessageID: f.plan.Message,
	})
	f.close(Close{Outcome: outcome, Reason: e.Message})
}

func (f *Flow) end(s wire.PlanStatus) {
	f.plan.Status, f.plan.Think, f.plan.Instructions, f.plan.Paused = s, nil, nil, nil
	f.reworded = true
}

// close ends the message of the plan.
func (f *Flow) close(c Close) {
	c.Message, c.Monitor, c.Role = f.plan.Message, f.plan.Monitor, f.plan.role()
	c.Started, c.Usage = f.plan.Started, f.plan.Spent
	if f.plan.Since != 0 {
		c.Started = f.plan.Since
	}
	f.hands.Close(c)
}

func (f *Flow) statistics() *wire.PlanStatistics {
	c, u := f.count(), f.plan.Usage
	return &wire.PlanStatistics{
		TotalTodos: c.total, Completed: c.completed, Failed: c.failed, Skipped: c.skipped, ExecutionTimeMS: f.since(f.plan.Started),
		TokensUsed: u.Input + u.Output + u.CacheRead + u.CacheWrite, CostUSD: u.USD,
	}
}

// partial is what there is of a plan without an answer. There is a bound to how much
// of the results stands in an event; what is beyond it is in those of the todos.
func (f *Flow) partial() *wire.PartialResults {
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

// inOwnWords is an answer that no model has written: what came of the todos.
func (f *Flow) inOwnWords() string {
	var b strings.Builder
	b.WriteString("The plan was carried out.\n")
	for _, t := range f.todos {
		b.WriteString("\n- " + oneLine(t.Draft.Task) + ": ")
		if t.Status == wire.TodoSkipped {
			b.WriteString("skipped")
		} else {
			b.WriteString(cut(string(t.Result), maxStep))
		}
	}
	return b.String()
}
