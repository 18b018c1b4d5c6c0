package workflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// execution runs the todos of a plan and emits their changes.
type execution struct {
	*state
	questions questions
}

// unblock is updateBlocked, and emits the todos that can run again immediately: the event
// of their start would say less.
func (x execution) unblock() {
	for _, t := range x.updateBlocked() {
		x.emitTodo(t)
	}
}

// updateBlocked sets and clears the status blocked of todos that depend on failed ones, and
// returns those it cleared.
func (x execution) updateBlocked() (freed []*todo) {
	for again := true; again; {
		again = false
		for _, t := range x.todos {
			blocked := slices.ContainsFunc(t.Draft.DependsOn, func(id wire.TodoID) bool {
				d := x.todos.find(id)
				return d != nil && (d.Status == wire.TodoStatusFailed || d.Status == wire.TodoBlocked)
			})
			switch {
			case blocked && notStarted(t.Status):
				x.questions.cancel(func(a *ask) bool { return a.Todo == t.Draft.ID })
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

// startReady starts the todos that can start, and opens the questions they need first.
func (x execution) startReady() {
	running, waiting := 0, []*todo{}
	for _, t := range x.todos {
		if t.Status == wire.TodoInProgress {
			running++
		}
		if x.todos.ready(t) && t.RetryAt == 0 || t.Status == wire.TodoNeedsInput {
			waiting = append(waiting, t)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *todo) int { return cmp.Compare(b.Draft.Priority, a.Draft.Priority) })
	for _, t := range waiting {
		if x.askRequirements(t) {
			continue
		}
		if running < x.cfg.Parallel {
			x.start(t)
			running++
		}
	}
}

// askRequirements opens the questions that must be answered before a todo can start, as far
// as the limit of open questions allows, and reports whether there are any.
func (x execution) askRequirements(t *todo) bool {
	missing := false
	for i := range t.Draft.Inputs {
		in := t.Draft.Inputs[i]
		if _, ok := t.valueOf(in.Field); ok {
			continue
		}
		missing = true
		if len(x.asks) < maxOpen && !x.questions.hasInput(t.Draft.ID, in.Field) {
			x.questions.open(&ask{Kind: askInput, Todo: t.Draft.ID, Input: &in}, x.cfg.AnswerTime)
			if t.Status != wire.TodoNeedsInput {
				t.setStatus(wire.TodoNeedsInput)
			}
		}
	}
	if missing {
		return true
	}
	reason := x.approvalReason(t)
	if reason != "" && len(x.asks) < maxOpen {
		t.setStatus(wire.TodoNeedsApproval)
		x.questions.open(&ask{Kind: askApproval, Todo: t.Draft.ID, Reason: reason}, 2*x.cfg.AnswerTime)
	}
	return reason != ""
}

// approvalReason returns why a todo needs an approval, or "" if it needs none or has it.
func (x execution) approvalReason(t *todo) string {
	d := t.Draft
	switch {
	case t.Doubt != "":
		return t.Doubt
	case t.Approved:
		return ""
	case d.RequiresApproval || d.ApprovalReason != "":
		return cmp.Or(d.ApprovalReason, "The plan requires your approval for this.")
	case x.cfg.AskAbove >= 0 && d.EstimatedCostUSD >= x.cfg.AskAbove:
		return fmt.Sprintf("This is estimated to cost $%.2f.", d.EstimatedCostUSD)
	}
	return ""
}

// start starts a job for a todo.
func (x execution) start(t *todo) {
	prompt := x.todoPromptOf(t)
	t.Attempt++
	t.Job = fmt.Sprintf("%s/%s.%d", x.plan.ID, t.Draft.ID, t.Attempt)
	t.Agent, t.Status, t.Began, t.DurationMS = wire.AgentID(t.Job), wire.TodoInProgress, x.now(), 0
	t.RetryAt, t.Error, t.Progress, t.Result = 0, nil, progress{}, nil
	t.clearHalt()
	t.markReported()
	j := x.job(t.Job, t.Draft.ID, t.Draft.Task, prompt)
	j.Profile, j.Mode = t.Draft.Tool, t.Draft.Mode
	x.step.Emit(wire.TodoStarted{
		TodoID: t.Draft.ID, Task: t.Draft.Task, Tool: t.Draft.Tool, EstimatedDurationSec: t.Draft.EstimatedDurationSec,
		AgentID: t.Agent, MessageID: x.plan.Message,
	})
	x.executor.Begin(j)
}

// handleResult applies the result of a todo's job.
func (x execution) handleResult(t *todo, w JobResult) {
	halted, why, by := t.Halt, t.HaltReason, t.HaltBy
	t.Job = ""
	t.clearHalt()
	t.dirty = true
	x.questions.cancel(func(a *ask) bool { return a.Todo == t.Draft.ID })
	switch {
	case w.Outcome == providers.Completed: // even if it was being stopped
		x.complete(t, w.Text)
	case halted == haltSkip:
		x.skip(t, why, by)
	case w.Unsure != "":
		x.markUnsure(t, w.Unsure)
	case w.Outcome == providers.Interrupted && halted == haltInterrupt:
		x.requeue(t)
	case w.Outcome == providers.Interrupted:
		x.fail(t, codeInterrupted, reasonOf(w))
	default:
		x.retryOrFail(t, failureCode(w.Failure, codeTool), reasonOf(w))
	}
}

// complete marks a todo as completed.
func (x execution) complete(t *todo, text string) {
	t.Result = resultOf(text)
	if len(t.Result) > resultBytes {
		t.Result = textResult(text)
	}
	t.DurationMS, t.Progress.Percentage = x.since(t.Began), 100
	x.markDone(t, wire.TodoStatusCompleted, x.plan.Message)
}

// textResult wraps a result that is not a JSON object, or too long a one.
func textResult(text string) []byte {
	return compact(struct {
		Text string `json:"text"`
	}{truncateBytes(printable(text), maxResultText)})
}

// skip marks a todo as skipped.
func (x execution) skip(t *todo, reason string, by wire.MessageID) {
	x.questions.cancel(func(a *ask) bool { return a.Todo == t.Draft.ID })
	t.Result = compact(struct {
		Reason string `json:"reason"`
	}{cmp.Or(reason, "skipped")})
	x.markDone(t, wire.TodoSkipped, cmp.Or(by, x.plan.Message))
}

// markDone sets the final status of a todo and emits it.
func (x execution) markDone(t *todo, s wire.TodoStatus, by wire.MessageID) {
	t.Status, t.RetryAt, t.Error = s, 0, nil
	t.markReported()
	next := []wire.TodoID{}
	for _, d := range x.todos {
		waits := d.Status == wire.TodoPending || d.Status == wire.TodoBlocked
		if waits && slices.Contains(d.Draft.DependsOn, t.Draft.ID) && x.todos.dependenciesDone(d) {
			next = append(next, d.Draft.ID)
		}
	}
	x.step.Emit(wire.TodoCompleted{
		TodoID: t.Draft.ID, Task: t.Draft.Task, Status: s, ResultSummary: t.Result, DurationMS: t.DurationMS, NextTodos: next, MessageID: by,
	})
}

// retryOrFail records a failed attempt and schedules a retry if the todo has any left.
func (x execution) retryOrFail(t *todo, code, reason string) {
	if t.Retries >= t.maxRetries() {
		x.fail(t, code, reason)
		return
	}
	t.Retries++
	t.Status, t.RetryAt = wire.TodoPending, x.now()+x.backoff(t.Retries)
	x.emitFailed(t, code, reason)
}

// fail marks a todo as failed without an automatic retry: the user has to choose
// between retry and skip, which the error event says.
func (x execution) fail(t *todo, code, reason string) {
	x.questions.cancel(func(a *ask) bool { return a.Todo == t.Draft.ID })
	t.Status, t.RetryAt = wire.TodoStatusFailed, 0
	x.emitFailed(t, code, reason)
	if code == codeTimeout {
		return // the event of the expired question has reported it
	}
	notice := wire.CodeTodoFailed.Notice(t.Error.Message)
	notice.Context = compact(struct {
		Todo wire.TodoID `json:"todo_id"`
		Tool string      `json:"tool,omitempty"`
	}{t.Draft.ID, t.Draft.Tool})
	x.step.Emit(notice)
}

func (x execution) emitFailed(t *todo, code, reason string) {
	t.Error = &wire.TodoError{Code: code, Message: truncateBytes(printable(reason), maxError), Recoverable: true}
	t.markReported()
	x.step.Emit(wire.TodoFailed{
		TodoID: t.Draft.ID, Task: t.Draft.Task, Status: wire.TodoStatusFailed, Error: *t.Error,
		RetryCount: t.Retries, MaxRetries: t.maxRetries(), RetryAt: t.RetryAt,
	})
}

// markUnsure requeues a todo whose job was lost, and has the user asked before it runs
// again.
func (x execution) markUnsure(t *todo, tool string) {
	t.Doubt = fmt.Sprintf("The tool %s may or may not have run. Run this again?", truncateBytes(printable(tool), maxStep))
	if tool == unsureWork {
		t.Doubt = "It is not known how far this came. Run it again?"
	}
	x.requeue(t)
}

// requeue sets a started todo back to pending. It emits the change immediately, because
// other todos may start in its place, and the event of a later start would say less.
func (x execution) requeue(t *todo) {
	t.setStatus(wire.TodoPending)
	x.emitTodo(t)
}

// unsureWork stands for the name of the tool when the progress of a lost job is unknown.
const unsureWork = "work"

// emitUpdates emits the todos whose change no other event has reported.
func (x execution) emitUpdates() {
	for _, t := range x.todos {
		if t.unreported {
			x.emitTodo(t)
		}
	}
}

func (x execution) emitTodo(t *todo) {
	t.markReported()
	x.step.Emit(wire.TodoUpdated{Todo: t.wire(), MessageID: cmp.Or(x.control, x.plan.Message)})
}

// emitProgress emits the counts of todos by status if they changed since the last time.
func (x execution) emitProgress() {
	c := x.todos.count()
	if x.plan.Layer != wire.LayerExecution || c == x.reported {
		return
	}
	x.reported = c
	e := wire.ExecutionProgress{
		TotalTodos: c.total, Completed: c.completed, InProgress: c.running, Pending: c.pending,
		Failed: c.failed, Blocked: c.blocked, Skipped: c.skipped,
	}
	if c.total > 0 {
		e.ProgressPercentage = float64((c.completed+c.skipped)*1000/c.total) / 10
	}
	if i := slices.IndexFunc(x.todos, func(t *todo) bool { return t.Status == wire.TodoInProgress }); i >= 0 {
		e.CurrentTodo = &wire.TodoRef{ID: x.todos[i].Draft.ID, Task: x.todos[i].Draft.Task}
	}
	x.step.Emit(e)
}

// canContinue reports whether a failed plan can continue: a todo can run now, or none has
// failed any more.
func (x execution) canContinue() bool {
	x.unblock()
	failed := slices.ContainsFunc(x.todos, func(t *todo) bool { return t.Status == wire.TodoStatusFailed })
	return !failed || slices.ContainsFunc(x.todos, func(t *todo) bool { return t.Status == wire.TodoPending })
}

// setValue stores a value for a todo.
func (x execution) setValue(a *ask, v json.RawMessage, why wire.CloseReason) {
	t := x.todos.find(a.Todo)
	t.Values = append(t.Values, value{a.Input.Field, v})
	t.dirty = true
	if a.Job != "" {
		x.executor.Answered(Answered{Request: a.ID, Value: v, Reason: why})
		return
	}
	for _, in := range t.Draft.Inputs {
		if _, ok := t.valueOf(in.Field); !ok {
			return
		}
	}
	t.setStatus(wire.TodoPending)
}
