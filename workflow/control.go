package workflow

import (
	"cmp"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Control executes one of the five control messages of a user. A retry or a skip continues
// a plan that had failed; the plan then works for that message.
//
// Events that result from the control message directly name it. There are none for an
// instruction, which a model processes first, and for the end of a plan that only waited
// for a model.
func (f *Flow) Control(_ wire.ConnectionID, m wire.ClientPayload) *Refusal {
	if f.plan == nil {
		return refuse("there is no plan")
	}
	f.control = wire.MessageOf(m)
	defer func() { f.control = "" }()
	switch m := m.(type) {
	case wire.ControlRetry:
		return f.handleRetry(m)
	case wire.ControlSkip:
		return f.handleSkip(m)
	}
	if !f.Active() {
		return refuse("the plan has ended")
	}
	switch m := m.(type) {
	case wire.ControlPause:
		if f.plan.Paused != nil {
			return refuse("the plan is paused already")
		}
		defer f.finishCall()
		f.planner.pause(byUser, m.Reason, m.MessageID)
	case wire.ControlResume:
		return f.handleResume(m)
	case wire.ControlCancel:
		defer f.finishCall()
		f.planner.abortPlan(wire.PlanCancelled, wire.PlanFailureError{
			Code: codeCancelled, Message: cmp.Or(truncateBytes(printable(m.Reason), maxError), "The plan was cancelled."),
		})
	default:
		return &Refusal{Code: wire.CodeInvalidMessage, Reason: "this is no order to a plan", Field: "type"}
	}
	return nil
}

// handleResume continues the plan, with modifications if the message has any.
func (f *Flow) handleResume(m wire.ControlResume) *Refusal {
	if f.plan.Paused == nil && len(m.Modifications) == 0 {
		return refuse("the plan is not paused")
	}
	next, instructions, refused := f.modified(m)
	if refused != nil {
		return refused
	}
	defer f.finishCall()
	if f.plan.Paused != nil {
		f.unpause(m.MessageID)
	}
	if len(m.Modifications) > 0 {
		f.questions.cancel(func(a *ask) bool { return a.Kind == askReview })
	}
	if next != nil {
		f.planner.applyTodos(next, m.MessageID)
	}
	switch waiting := f.plan.Status == wire.PlanPendingApproval && f.plan.ModelTask == nil && len(f.plan.Instructions) == 0; {
	case waiting && len(instructions) > 0:
		f.planner.requestRevision(instructions...)
	case waiting && next != nil:
		f.questions.open(&ask{Kind: askReview}, f.cfg.AnswerTime)
	default:
		f.plan.Instructions = append(f.plan.Instructions, instructions...)
		f.planDirty = true
	}
	return nil
}

// unpause continues the plan. Open questions get the time they had left.
func (f *Flow) unpause(id wire.MessageID) {
	f.plan.Paused = nil
	f.planDirty = true
	f.step.Emit(wire.HITLResumed{PlanID: f.plan.ID, ResumedBy: byUser, MessageID: id})
	for _, a := range f.asks {
		a.Until, a.Left, a.dirty = f.now()+a.Left, 0, true
		f.step.Emit(f.questions.event(a))
	}
	f.processDue()
}

// modified returns the plan with the modifications applied; next is nil if there are only
// instructions.
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
	old := f.todos.drafts()
	next, instructions, refused = applyChanges(old, f.todos.frozen(), m.Modifications, f.cfg.Tools)
	if refused == nil {
		if err := f.cfg.checkModes(next); err != nil {
			refused = refuseChange("modifications", err.Error())
		}
	}
	switch {
	case refused != nil:
		return nil, nil, refused
	case len(f.plan.Instructions)+len(instructions) > maxInstructions:
		return nil, nil, refuse("%d instructions wait already", len(f.plan.Instructions))
	case len(instructions) == len(m.Modifications):
		return nil, instructions, nil
	case f.plan.ModelTask != nil:
		return nil, nil, refuse("the plan is being changed")
	}
	return next, instructions, nil
}

// controlledTodo returns the todo that a control message names.
func (f *Flow) controlledTodo(id wire.TodoID) (*todo, *Refusal) {
	t := f.todos.find(id)
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

// handleRetry runs a failed todo again, or the failed todos that block the named one.
func (f *Flow) handleRetry(m wire.ControlRetry) *Refusal {
	t, refused := f.controlledTodo(m.TodoID)
	if refused != nil {
		return refused
	}
	again := []*todo{t}
	switch {
	case t.Status == wire.TodoBlocked:
		again = f.todos.failedCauses(t)
	case t.Status == wire.TodoPending && t.RetryAt != 0:
	case t.Status != wire.TodoStatusFailed:
		return refuse("todo %q is %s", m.TodoID, t.Status)
	}
	defer f.finishCall()
	f.reopen(m.MessageID)
	for _, t := range again {
		t.Retries, t.RetryAt, t.Error, t.Doubt = 0, 0, nil, "" // the user has decided, so no question follows
		f.execution.requeue(t)
	}
	return nil
}

// handleSkip continues the plan without a todo.
func (f *Flow) handleSkip(m wire.ControlSkip) *Refusal {
	t, refused := f.controlledTodo(m.TodoID)
	if refused != nil {
		return refused
	}
	reason := truncateBytes(printable(m.Reason), maxError)
	switch {
	case t.Halt == haltSkip:
		return refuse("todo %q is being stopped", m.TodoID)
	case t.isDone() || t.Status == wire.TodoCancelled:
		return refuse("todo %q is %s", m.TodoID, t.Status)
	}
	defer f.finishCall()
	if t.Status == wire.TodoInProgress {
		t.Halt, t.HaltReason, t.HaltBy = haltSkip, reason, m.MessageID
		f.executor.Stop(t.Job, cmp.Or(reason, "the todo is skipped"))
		f.execution.emitTodo(t)
		return nil
	}
	ended := !f.Active()
	f.execution.skip(t, reason, m.MessageID)
	if ended && f.execution.canContinue() {
		f.reopen(m.MessageID)
	}
	return nil
}

// reopen continues a plan that had failed, on behalf of the given message.
func (f *Flow) reopen(id wire.MessageID) {
	if f.Active() {
		return
	}
	f.plan.Message, f.plan.Since = id, f.now()
	f.plan.Spent = providers.Usage{}
	f.planner.startExecution()
}
