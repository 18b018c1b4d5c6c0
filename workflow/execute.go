package workflow

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// startExecution enters the execution layer.
func (f *Flow) startExecution() {
	f.plan.Status, f.reported = wire.PlanExecuting, tally{}
	f.enterLayer(wire.LayerExecution, "Working on the plan")
}

// unblock is updateBlocked, and emits the todos that can run again immediately: the event
// of their start would say less.
func (f *Flow) unblock() {
	for _, t := range f.updateBlocked() {
		f.emitTodo(t)
	}
}

// updateBlocked sets and clears the status blocked of todos that depend on failed ones, and
// returns those it cleared.
func (f *Flow) updateBlocked() (freed []*todo) {
	for again := true; again; {
		again = false
		for _, t := range f.todos {
			blocked := slices.ContainsFunc(t.Draft.DependsOn, func(id wire.TodoID) bool {
				d := find(f.todos, id)
				return d != nil && (d.Status == wire.TodoStatusFailed || d.Status == wire.TodoBlocked)
			})
			switch {
			case blocked && notStarted(t.Status):
				f.cancelAsks(func(a *ask) bool { return a.Todo == t.Draft.ID })
				t.setStatus(wire.TodoBlocked)
				again = true
			case !blocked && t.Status == wire.TodoBlocked:
				t.setStatus(wire.TodoPending)
				freed = append(freed, t)
				again = true
			}
		}
	}
	return freed
}

// notStarted reports whether a todo in this status has not started and is not blocked.
func notStarted(s wire.TodoStatus) bool {
	return s == wire.TodoPending || s == wire.TodoNeedsInput || s == wire.TodoNeedsApproval
}

// ready reports whether a todo waits only for a free slot.
func (f *Flow) ready(t *todo) bool { return t.Status == wire.TodoPending && f.dependenciesDone(t) }

// dependenciesDone reports whether all dependencies of a todo are done.
func (f *Flow) dependenciesDone(t *todo) bool {
	return !slices.ContainsFunc(t.Draft.DependsOn, func(id wire.TodoID) bool {
		d := find(f.todos, id)
		return d != nil && !d.isDone()
	})
}

// execute starts the todos that can start, and opens the questions they need first.
func (f *Flow) execute() {
	running, waiting := 0, []*todo{}
	for _, t := range f.todos {
		if t.Status == wire.TodoInProgress {
			running++
		}
		if f.ready(t) && t.RetryAt == 0 || t.Status == wire.TodoNeedsInput {
			waiting = append(waiting, t)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *todo) int { return cmp.Compare(b.Draft.Priority, a.Draft.Priority) })
	for _, t := range waiting {
		if f.askRequirements(t) {
			continue
		}
		if running < f.cfg.Parallel {
			f.startTodo(t)
			running++
		}
	}
}

// askRequirements opens the questions that must be answered before a todo can start, as far
// as the limit of open questions allows, and reports whether there are any.
func (f *Flow) askRequirements(t *todo) bool {
	missing := false
	for i := range t.Draft.Inputs {
		in := t.Draft.Inputs[i]
		if _, ok := t.valueOf(in.Field); ok {
			continue
		}
		missing = true
		if len(f.asks) < maxOpen && !f.hasOpenInput(t.Draft.ID, in.Field) {
			f.openAsk(&ask{Kind: askInput, Todo: t.Draft.ID, Input: &in}, f.cfg.AnswerTime)
			if t.Status != wire.TodoNeedsInput {
				t.setStatus(wire.TodoNeedsInput)
			}
		}
	}
	if missing {
		return true
	}
	reason := f.approvalReason(t)
	if reason != "" && len(f.asks) < maxOpen {
		t.setStatus(wire.TodoNeedsApproval)
		f.openAsk(&ask{Kind: askApproval, Todo: t.Draft.ID, Reason: reason}, 2*f.cfg.AnswerTime)
	}
	return reason != ""
}

// hasOpenInput reports whether a question for a field of a todo is open.
func (f *Flow) hasOpenInput(id wire.TodoID, field string) bool {
	return slices.ContainsFunc(f.asks, func(a *ask) bool { return a.Todo == id && a.Input != nil && a.Input.Field == field })
}

// approvalReason returns why a todo needs an approval, or "" if it needs none or has it.
func (f *Flow) approvalReason(t *todo) string {
	d := t.Draft
	switch {
	case t.Doubt != "":
		return t.Doubt
	case t.Approved:
		return ""
	case d.RequiresApproval || d.ApprovalReason != "":
		return cmp.Or(d.ApprovalReason, "The plan wants somebody to agree to this.")
	case f.cfg.AskAbove >= 0 && d.EstimatedCostUSD >= f.cfg.AskAbove:
		return fmt.Sprintf("This is estimated to cost $%.2f.", d.EstimatedCostUSD)
	case slices.Contains(f.cfg.Dangerous, d.Tool):
		return fmt.Sprintf("The tool %s can do harm.", d.Tool)
	}
	return ""
}

// startTodo starts a job for a todo.
func (f *Flow) startTodo(t *todo) {
	prompt := f.todoPromptOf(t)
	t.Attempt++
	t.Job = fmt.Sprintf("%s/%s.%d", f.plan.ID, t.Draft.ID, t.Attempt)
	t.Agent, t.Status, t.Began, t.Took = wire.AgentID(t.Job), wire.TodoInProgress, f.now(), 0
	t.RetryAt, t.Error, t.Progress, t.Result = 0, nil, progress{}, nil
	t.clearHalt()
	t.markReported()
	j := f.job(t.Job, t.Draft.ID, t.Draft.Task, prompt)
	j.Profile = t.Draft.Tool
	f.step.Emit(wire.TodoStarted{
		TodoID: t.Draft.ID, Task: t.Draft.Task, Tool: t.Draft.Tool, EstimatedDurationSec: t.Draft.EstimatedDurationSec,
		AgentID: t.Agent, MessageID: f.plan.Message,
	})
	f.executor.Begin(j)
}

// handleTodoResult applies the result of a todo's job.
func (f *Flow) handleTodoResult(t *todo, w JobResult) {
	halted, why, by := t.Halt, t.HaltReason, t.HaltBy
	t.Job = ""
	t.clearHalt()
	t.dirty = true
	f.cancelAsks(func(a *ask) bool { return a.Todo == t.Draft.ID })
	switch {
	case w.Outcome == providers.Completed: // even if it was being stopped
		f.completeTodo(t, w.Text)
	case halted == haltSkip:
		f.skipTodo(t, why, by)
	case w.Unsure != "":
		f.markUnsure(t, w.Unsure)
	case w.Outcome == providers.Interrupted && halted == haltInterrupt:
		f.requeue(t)
	case w.Outcome == providers.Interrupted:
		f.failTodo(t, codeInterrupted, reasonOf(w))
	default:
		f.retryOrFail(t, failureCode(w.Failure, codeTool), reasonOf(w))
	}
}

// completeTodo marks a todo as completed.
func (f *Flow) completeTodo(t *todo, text string) {
	t.Result = resultOf(text)
	if len(t.Result) > resultBytes {
		t.Result = textResult(text)
	}
	t.Took, t.Progress.Percentage = f.since(t.Began), 100
	f.markDone(t, wire.TodoStatusCompleted, f.plan.Message)
}

// textResult wraps a result that is not a JSON object, or too long a one.
func textResult(text string) []byte {
	return compact(struct {
		Text string `json:"text"`
	}{truncateBytes(printable(text), maxResultText)})
}

// skipTodo marks a todo as skipped.
func (f *Flow) skipTodo(t *todo, reason string, by wire.MessageID) {
	f.cancelAsks(func(a *ask) bool { return a.Todo == t.Draft.ID })
	t.Result = compact(struct {
		Reason string `json:"reason"`
	}{cmp.Or(reason, "skipped")})
	f.markDone(t, wire.TodoSkipped, cmp.Or(by, f.plan.Message))
}

// markDone sets the final status of a todo and emits it.
func (f *Flow) markDone(t *todo, s wire.TodoStatus, by wire.MessageID) {
	t.Status, t.RetryAt, t.Error = s, 0, nil
	t.markReported()
	next := []wire.TodoID{}
	for _, d := range f.todos {
		waits := d.Status == wire.TodoPending || d.Status == wire.TodoBlocked
		if waits && slices.Contains(d.Draft.DependsOn, t.Draft.ID) && f.dependenciesDone(d) {
			next = append(next, d.Draft.ID)
		}
	}
	f.step.Emit(wire.TodoCompleted{
		TodoID: t.Draft.ID, Task: t.Draft.Task, Status: s, ResultSummary: t.Result, DurationMS: t.Took, NextTodos: next, MessageID: by,
	})
}

// retryOrFail records a failed attempt and schedules a retry if the todo has any left.
func (f *Flow) retryOrFail(t *todo, code, reason string) {
	if t.Retries >= t.maxRetries() {
		f.failTodo(t, code, reason)
		return
	}
	t.Retries++
	t.Status, t.RetryAt = wire.TodoPending, f.now()+f.backoff(t.Retries)
	f.emitFailed(t, code, reason)
}

// failTodo marks a todo as failed without an automatic retry: the user has to choose
// between retry and skip, which the error event says.
func (f *Flow) failTodo(t *todo, code, reason string) {
	f.cancelAsks(func(a *ask) bool { return a.Todo == t.Draft.ID })
	t.Status, t.RetryAt = wire.TodoStatusFailed, 0
	f.emitFailed(t, code, reason)
	if code == codeTimeout {
		return // the event of the expired question has reported it
	}
	notice := wire.CodeTodoFailed.Notice(t.Error.Message)
	notice.Context = compact(struct {
		Todo wire.TodoID `json:"todo_id"`
		Tool string      `json:"tool,omitempty"`
	}{t.Draft.ID, t.Draft.Tool})
	f.step.Emit(notice)
}

func (f *Flow) emitFailed(t *todo, code, reason string) {
	t.Error = &wire.TodoError{Code: code, Message: truncateBytes(printable(reason), maxError), Recoverable: true}
	t.markReported()
	f.step.Emit(wire.TodoFailed{
		TodoID: t.Draft.ID, Task: t.Draft.Task, Status: wire.TodoStatusFailed, Error: *t.Error,
		RetryCount: t.Retries, MaxRetries: t.maxRetries(), RetryAt: t.RetryAt,
	})
}

// markUnsure requeues a todo whose job was lost, and has the user asked before it runs
// again.
func (f *Flow) markUnsure(t *todo, tool string) {
	t.Doubt = fmt.Sprintf("The tool %s may or may not have run. Run this again?", truncateBytes(printable(tool), maxStep))
	if tool == unsureWork {
		t.Doubt = "It is not known how far this came. Run it again?"
	}
	f.requeue(t)
}

// requeue sets a started todo back to pending. It emits the change immediately, because
// other todos may start in its place, and the event of a later start would say less.
func (f *Flow) requeue(t *todo) {
	t.setStatus(wire.TodoPending)
	f.emitTodo(t)
}

// unsureWork stands for the name of the tool when the progress of a lost job is unknown.
const unsureWork = "work"

// tally counts todos by status.
type tally struct {
	total, completed, running, pending, failed, blocked, skipped int
}

func (f *Flow) count() tally {
	c := tally{total: len(f.todos)}
	for _, t := range f.todos {
		switch t.Status {
		case wire.TodoStatusCompleted:
			c.completed++
		case wire.TodoInProgress:
			c.running++
		case wire.TodoStatusFailed:
			c.failed++
		case wire.TodoBlocked:
			c.blocked++
		case wire.TodoSkipped:
			c.skipped++
		case wire.TodoPending, wire.TodoNeedsInput, wire.TodoNeedsApproval:
			c.pending++
		}
	}
	return c
}

// emitUpdates emits the todos whose change no other event has reported.
func (f *Flow) emitUpdates() {
	for _, t := range f.todos {
		if t.unreported {
			f.emitTodo(t)
		}
	}
}

func (f *Flow) emitTodo(t *todo) {
	t.markReported()
	f.step.Emit(wire.TodoUpdated{Todo: t.wire(), MessageID: cmp.Or(f.control, f.plan.Message)})
}

// emitProgress emits the counts of todos by status if they changed since the last time.
func (f *Flow) emitProgress() {
	c := f.count()
	if f.plan.Layer != wire.LayerExecution || c == f.reported {
		return
	}
	f.reported = c
	e := wire.ExecutionProgress{
		TotalTodos: c.total, Completed: c.completed, InProgress: c.running, Pending: c.pending,
		Failed: c.failed, Blocked: c.blocked, Skipped: c.skipped,
	}
	if c.total > 0 {
		e.ProgressPercentage = float64((c.completed+c.skipped)*1000/c.total) / 10
	}
	if i := slices.IndexFunc(f.todos, func(t *todo) bool { return t.Status == wire.TodoInProgress }); i >= 0 {
		e.CurrentTodo = &wire.TodoRef{ID: f.todos[i].Draft.ID, Task: f.todos[i].Draft.Task}
	}
	f.step.Emit(e)
}
