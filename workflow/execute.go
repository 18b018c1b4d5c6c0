package workflow

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// begin lets the todos run.
func (f *Flow) begin() {
	f.plan.Status, f.told = wire.PlanExecuting, tally{}
	f.enter(wire.LayerExecution, "Working on the plan")
}

// unblock is block, and tells of those at once that can run again: that they begin
// says less.
func (f *Flow) unblock() {
	for _, t := range f.block() {
		f.show(t)
	}
}

// block finds out which todos cannot run because of others that failed, and returns
// those that could not and can.
func (f *Flow) block() (freed []*todo) {
	for again := true; again; {
		again = false
		for _, t := range f.todos {
			blocked := slices.ContainsFunc(t.Draft.DependsOn, func(id wire.TodoID) bool {
				d := find(f.todos, id)
				return d != nil && (d.Status == wire.TodoStatusFailed || d.Status == wire.TodoBlocked)
			})
			switch {
			case blocked && waits(t.Status):
				f.withdraw(func(a *ask) bool { return a.Todo == t.Draft.ID })
				t.become(wire.TodoBlocked)
				again = true
			case !blocked && t.Status == wire.TodoBlocked:
				t.become(wire.TodoPending)
				freed = append(freed, t)
				again = true
			}
		}
	}
	return freed
}

// waits reports whether a todo has not begun and could.
func waits(s wire.TodoStatus) bool {
	return s == wire.TodoPending || s == wire.TodoNeedsInput || s == wire.TodoNeedsApproval
}

// ready reports whether a todo waits for nothing but its turn.
func (f *Flow) ready(t *todo) bool { return t.Status == wire.TodoPending && f.isClear(t) }

// isClear reports whether everything is done that a todo depends on.
func (f *Flow) isClear(t *todo) bool {
	return !slices.ContainsFunc(t.Draft.DependsOn, func(id wire.TodoID) bool {
		d := find(f.todos, id)
		return d != nil && !d.over()
	})
}

// execute begins what can begin, and asks what must be asked before.
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
		if f.asksFor(t) {
			continue
		}
		if running < f.cfg.Parallel {
			f.start(t)
			running++
		}
	}
}

// asksFor asks what must be known before a todo can begin, as far as there is room
// for questions, and reports whether there is something.
func (f *Flow) asksFor(t *todo) bool {
	missing := false
	for i := range t.Draft.Inputs {
		in := t.Draft.Inputs[i]
		if _, ok := t.valueOf(in.Field); ok {
			continue
		}
		missing = true
		if len(f.asks) < maxOpen && !f.asksInput(t.Draft.ID, in.Field) {
			f.open(&ask{Kind: askInput, Todo: t.Draft.ID, Input: &in}, f.cfg.AnswerTime)
			if t.Status != wire.TodoNeedsInput {
				t.become(wire.TodoNeedsInput)
			}
		}
	}
	if missing {
		return true
	}
	reason := f.risk(t)
	if reason != "" && len(f.asks) < maxOpen {
		t.become(wire.TodoNeedsApproval)
		f.open(&ask{Kind: askApproval, Todo: t.Draft.ID, Reason: reason}, 2*f.cfg.AnswerTime)
	}
	return reason != ""
}

// asksInput reports whether a todo has asked for a value.
func (f *Flow) asksInput(id wire.TodoID, field string) bool {
	return slices.ContainsFunc(f.asks, func(a *ask) bool { return a.Todo == id && a.Input != nil && a.Input.Field == field })
}

// risk is why somebody must say yes to a todo, if they must and have not.
func (f *Flow) risk(t *todo) string {
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

// start has somebody work on a todo.
func (f *Flow) start(t *todo) {
	prompt := f.brief(t)
	t.Attempt++
	t.Job = fmt.Sprintf("%s/%s.%d", f.plan.ID, t.Draft.ID, t.Attempt)
	t.Agent, t.Status, t.Began, t.Took = wire.AgentID(t.Job), wire.TodoInProgress, f.now(), 0
	t.RetryAt, t.Error, t.Progress, t.Result = 0, nil, progress{}, nil
	t.unhalt()
	t.said()
	j := f.job(t.Job, t.Draft.ID, t.Draft.Task, prompt)
	j.Profile = t.Draft.Tool
	f.stage.Emit(wire.TodoStarted{
		TodoID: t.Draft.ID, Task: t.Draft.Task, Tool: t.Draft.Tool, EstimatedDurationSec: t.Draft.EstimatedDurationSec,
		AgentID: t.Agent, MessageID: f.plan.Message,
	})
	f.hands.Begin(j)
}

// worked takes what came of the work on a todo.
func (f *Flow) worked(t *todo, w Worked) {
	halted, why, by := t.Halt, t.HaltWhy, t.HaltBy
	t.Job = ""
	t.unhalt()
	t.touched = true
	f.withdraw(func(a *ask) bool { return a.Todo == t.Draft.ID })
	switch {
	case w.Outcome == providers.Completed: // before it could be stopped, if it was to be
		f.finish(t, w.Text)
	case halted == haltSkip:
		f.skip(t, why, by)
	case w.Unsure != "":
		f.unsure(t, w.Unsure)
	case w.Outcome == providers.Interrupted && halted == haltInterrupt:
		f.putBack(t)
	case w.Outcome == providers.Interrupted:
		f.fail(t, codeInterrupted, reasonOf(w))
	default:
		f.stumble(t, failureCode(w.Failure, codeTool), reasonOf(w))
	}
}

// finish notes that a todo is done.
func (f *Flow) finish(t *todo, text string) {
	t.Result = resultOf(text)
	if len(t.Result) > resultBytes {
		t.Result = textResult(text)
	}
	t.Took, t.Progress.Percentage = f.since(t.Began), 100
	f.passed(t, wire.TodoStatusCompleted, f.plan.Message)
}

// textResult is a result that is no object of its own, or too long a one.
func textResult(text string) []byte {
	return compact(struct {
		Text string `json:"text"`
	}{cut(printable(text), maxResultText)})
}

// skip goes on without a todo.
func (f *Flow) skip(t *todo, reason string, by wire.MessageID) {
	f.withdraw(func(a *ask) bool { return a.Todo == t.Draft.ID })
	t.Result = compact(struct {
		Reason string `json:"reason"`
	}{cmp.Or(reason, "skipped")})
	f.passed(t, wire.TodoSkipped, cmp.Or(by, f.plan.Message))
}

// passed tells that nothing is left to do for a todo.
func (f *Flow) passed(t *todo, s wire.TodoStatus, by wire.MessageID) {
	t.Status, t.RetryAt, t.Error = s, 0, nil
	t.said()
	next := []wire.TodoID{}
	for _, d := range f.todos {
		waits := d.Status == wire.TodoPending || d.Status == wire.TodoBlocked
		if waits && slices.Contains(d.Draft.DependsOn, t.Draft.ID) && f.isClear(d) {
			next = append(next, d.Draft.ID)
		}
	}
	f.stage.Emit(wire.TodoCompleted{
		TodoID: t.Draft.ID, Task: t.Draft.Task, Status: s, ResultSummary: t.Result, DurationMS: t.Took, NextTodos: next, MessageID: by,
	})
}

// stumble notes that a todo did not work, and tries it again if it may.
func (f *Flow) stumble(t *todo, code, reason string) {
	if t.Retries >= t.maxRetries() {
		f.fail(t, code, reason)
		return
	}
	t.Retries++
	t.Status, t.RetryAt = wire.TodoPending, f.now()+f.backoff(t.Retries)
	f.failed(t, code, reason)
}

// fail notes that a todo did not work and is not tried again by itself: people have to
// choose between running it again and skipping it, which is what the error says.
func (f *Flow) fail(t *todo, code, reason string) {
	f.withdraw(func(a *ask) bool { return a.Todo == t.Draft.ID })
	t.Status, t.RetryAt = wire.TodoStatusFailed, 0
	f.failed(t, code, reason)
	if code == codeTimeout {
		return // the error of the question has said so
	}
	notice := wire.CodeTodoFailed.Notice(t.Error.Message)
	notice.Context = compact(struct {
		Todo wire.TodoID `json:"todo_id"`
		Tool string      `json:"tool,omitempty"`
	}{t.Draft.ID, t.Draft.Tool})
	f.stage.Emit(notice)
}

func (f *Flow) failed(t *todo, code, reason string) {
	t.Error = &wire.TodoError{Code: code, Message: cut(printable(reason), maxError), Recoverable: true}
	t.said()
	f.stage.Emit(wire.TodoFailed{
		TodoID: t.Draft.ID, Task: t.Draft.Task, Status: wire.TodoStatusFailed, Error: *t.Error,
		RetryCount: t.Retries, MaxRetries: t.maxRetries(), RetryAt: t.RetryAt,
	})
}

// unsure has people asked whether a todo may run again of which nobody knows how far
// it came.
func (f *Flow) unsure(t *todo, tool string) {
	t.Doubt = fmt.Sprintf("The tool %s may or may not have run. Run this again?", cut(printable(tool), maxStep))
	if tool == unsureWork {
		t.Doubt = "It is not known how far this came. Run it again?"
	}
	f.putBack(t)
}

// putBack has a todo wait that ran. That is told at once: others may begin in its
// stead, and that it begins says less.
func (f *Flow) putBack(t *todo) {
	t.become(wire.TodoPending)
	f.show(t)
}

// unsureWork stands for the tool when nobody knows how far a job came.
const unsureWork = "work"

// tally is how many todos are how far.
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

// tell shows the todos of which no other event told.
func (f *Flow) tell() {
	for _, t := range f.todos {
		if t.unsaid {
			f.show(t)
		}
	}
}

func (f *Flow) show(t *todo) {
	t.said()
	f.stage.Emit(wire.TodoUpdated{Todo: t.wire(), MessageID: cmp.Or(f.order, f.plan.Message)})
}

// sumUp shows how many todos are how far, if that is otherwise than was said.
func (f *Flow) sumUp() {
	c := f.count()
	if f.plan.Layer != wire.LayerExecution || c == f.told {
		return
	}
	f.told = c
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
	f.stage.Emit(e)
}
