package workflow

import (
	"cmp"
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Control takes an order of a person: one of the five control messages. A retry or a
// skip makes a plan go on that had failed: then it is worked on for that message.
//
// What comes of an order at once names its message. Only of an instruction, about
// which a model thinks, and of the end of a plan for which nothing was left to do but
// to think, nothing does.
func (f *Flow) Control(_ wire.ConnectionID, m wire.ClientPayload) *Refusal {
	if f.plan == nil {
		return refuse("there is no plan")
	}
	f.order = wire.MessageOf(m)
	defer func() { f.order = "" }()
	switch m := m.(type) {
	case wire.ControlRetry:
		return f.retry(m)
	case wire.ControlSkip:
		return f.skipped(m)
	}
	if !f.Active() {
		return refuse("the plan has ended")
	}
	switch m := m.(type) {
	case wire.ControlPause:
		if f.plan.Paused != nil {
			return refuse("the plan is paused already")
		}
		defer f.done()
		f.pause(byUser, m.Reason, m.MessageID)
	case wire.ControlResume:
		return f.resume(m)
	case wire.ControlCancel:
		defer f.done()
		f.giveUp(wire.PlanCancelled, wire.PlanFailureError{
			Code: codeCancelled, Message: cmp.Or(cut(printable(m.Reason), maxError), "The plan was cancelled."),
		})
	default:
		return &Refusal{Code: wire.CodeInvalidMessage, Reason: "this is no order to a plan", Field: "type"}
	}
	return nil
}

// pause makes the plan stand still.
func (f *Flow) pause(by, reason string, id wire.MessageID) {
	reason = cut(printable(reason), maxError)
	f.plan.Paused = &pause{By: by, Reason: reason}
	f.reworded = true
	for _, a := range f.asks {
		a.Left, a.Until, a.touched = max(a.Until-f.now(), 1), 0, true
	}
	e := wire.HITLPaused{PausedBy: by, Reason: reason, CompletedTodos: f.completed(), CanResume: true, MessageID: id}
	if i := slices.IndexFunc(f.todos, func(t *todo) bool { return t.Status == wire.TodoInProgress }); i >= 0 {
		e.CurrentTodo = f.todos[i].Draft.ID
	}
	f.stage.Emit(e)
}

// completed are the todos that are done.
func (f *Flow) completed() []wire.TodoID {
	out := []wire.TodoID{}
	for _, t := range f.todos {
		if t.Status == wire.TodoStatusCompleted {
			out = append(out, t.Draft.ID)
		}
	}
	return out
}

// resume lets the plan go on, perhaps as another one.
func (f *Flow) resume(m wire.ControlResume) *Refusal {
	if f.plan.Paused == nil && len(m.Modifications) == 0 {
		return refuse("the plan is not paused")
	}
	next, instructions, refused := f.modified(m)
	if refused != nil {
		return refused
	}
	defer f.done()
	if f.plan.Paused != nil {
		f.wake(m.MessageID)
	}
	if len(m.Modifications) > 0 {
		f.withdraw(func(a *ask) bool { return a.Kind == askReview })
	}
	if next != nil {
		f.replan(next, m.MessageID)
	}
	switch waiting := f.plan.Status == wire.PlanPendingApproval && f.plan.Think == nil && len(f.plan.Instructions) == 0; {
	case waiting && len(instructions) > 0:
		f.revise(instructions...)
	case waiting && next != nil:
		f.open(&ask{Kind: askReview}, f.cfg.AnswerTime)
	default:
		f.plan.Instructions = append(f.plan.Instructions, instructions...)
		f.reworded = true
	}
	return nil
}

// wake lets the plan go on. Open questions have as much time as they had left.
func (f *Flow) wake(id wire.MessageID) {
	f.plan.Paused = nil
	f.reworded = true
	f.stage.Emit(wire.HITLResumed{PlanID: f.plan.ID, ResumedBy: byUser, MessageID: id})
	for _, a := range f.asks {
		a.Until, a.Left, a.touched = f.now()+a.Left, 0, true
		f.stage.Emit(f.question(a))
	}
	f.lapse()
}

// modified is the plan with modifications, nil if only instructions change it.
func (f *Flow) modified(m wire.ControlResume) (next []draftTodo, instructions []string, refused *Refusal) {
	if len(m.Modifications) == 0 {
		return nil, nil, nil
	}
	switch {
	case f.plan.Version == 0:
		return nil, nil, refuse("there are no todos yet")
	case f.plan.Layer == wire.LayerResponse:
		return nil, nil, refuse("all todos are done")
	}
	old := f.drafts()
	next, instructions, refused = change(old, f.frozen(), m.Modifications, f.cfg.Tools)
	switch {
	case refused != nil:
		return nil, nil, refused
	case len(f.plan.Instructions)+len(instructions) > maxInstructions:
		return nil, nil, refuse("%d instructions wait already", len(f.plan.Instructions))
	case len(instructions) == len(m.Modifications):
		return nil, instructions, nil
	case f.plan.Think != nil:
		return nil, nil, refuse("the plan is being changed")
	}
	return next, instructions, nil
}

// ordered is the todo that an order is about.
func (f *Flow) ordered(id wire.TodoID) (*todo, *Refusal) {
	t := find(f.todos, id)
	switch {
	case t == nil:
		return nil, &Refusal{Code: wire.CodeInvalidMessage, Reason: "there is no such todo", Field: "todo_id"}
	case f.Active() && f.plan.Layer != wire.LayerExecution:
		return nil, refuse("the todos do not run now")
	case !f.Active() && f.plan.Status != wire.PlanFailed:
		return nil, refuse("the plan has ended")
	}
	return t, nil
}

// retry runs a failed todo again, or those because of which one is blocked.
func (f *Flow) retry(m wire.ControlRetry) *Refusal {
	t, refused := f.ordered(m.TodoID)
	if refused != nil {
		return refused
	}
	again := []*todo{t}
	switch {
	case t.Status == wire.TodoBlocked:
		again = f.causes(t)
	case t.Status == wire.TodoPending && t.RetryAt != 0:
	case t.Status != wire.TodoStatusFailed:
		return refuse("todo %q is %s", m.TodoID, t.Status)
	}
	defer f.done()
	f.reopen(m.MessageID)
	for _, t := range again {
		t.Retries, t.RetryAt, t.Error, t.Doubt = 0, 0, nil, "" // whoever orders it knows
		f.putBack(t)
	}
	return nil
}

// causes are the failed todos because of which one is blocked.
func (f *Flow) causes(t *todo) []*todo {
	var out []*todo
	seen := map[*todo]bool{t: true}
	for queue := []*todo{t}; len(queue) > 0; queue = queue[1:] {
		for _, id := range queue[0].Draft.DependsOn {
			d := find(f.todos, id)
			if d == nil || seen[d] {
				continue
			}
			seen[d] = true
			if d.Status == wire.TodoStatusFailed {
				out = append(out, d)
			} else {
				queue = append(queue, d)
			}
		}
	}
	return out
}

// skipped goes on without a todo.
func (f *Flow) skipped(m wire.ControlSkip) *Refusal {
	t, refused := f.ordered(m.TodoID)
	if refused != nil {
		return refused
	}
	reason := cut(printable(m.Reason), maxError)
	switch {
	case t.Halt == haltSkip:
		return refuse("todo %q is being stopped", m.TodoID)
	case t.over() || t.Status == wire.TodoCancelled:
		return refuse("todo %q is %s", m.TodoID, t.Status)
	}
	defer f.done()
	if t.Status == wire.TodoInProgress {
		t.Halt, t.HaltWhy, t.HaltBy = haltSkip, reason, m.MessageID
		f.hands.Stop(t.Job, cmp.Or(reason, "the todo is skipped"))
		f.show(t)
		return nil
	}
	ended := !f.Active()
	f.skip(t, reason, m.MessageID)
	if ended && f.canGoOn() {
		f.reopen(m.MessageID)
	}
	return nil
}

// canGoOn reports whether something is left to do in a plan that had failed: todos
// can run now, or none of them has failed any more.
func (f *Flow) canGoOn() bool {
	f.unblock()
	failed := slices.ContainsFunc(f.todos, func(t *todo) bool { return t.Status == wire.TodoStatusFailed })
	return !failed || slices.ContainsFunc(f.todos, func(t *todo) bool { return t.Status == wire.TodoPending })
}

// reopen works on a plan that had failed, for the message of who wants it.
func (f *Flow) reopen(id wire.MessageID) {
	if f.Active() {
		return
	}
	f.plan.Message, f.plan.Since = id, f.now()
	f.plan.Spent = providers.Usage{}
	f.begin()
}
