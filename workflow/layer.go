package workflow

import (
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// modelRetries is the number of retries of a model task whose backend was not reachable.
const modelRetries = 3

// planner leads a plan through its layers: it runs the model tasks, applies versions of the
// plan, and ends it.
type planner struct {
	*state
	questions questions
	execution execution
}

// enterLayer starts a layer and emits it.
func (p planner) enterLayer(l wire.Layer, what string) {
	p.plan.Layer, p.plan.Entered = l, p.now()
	p.planDirty = true
	p.step.Emit(wire.LayerStart{Layer: l, Description: what})
}

// leaveLayer emits the end of the current layer.
func (p planner) leaveLayer(result any, next wire.Layer) {
	p.step.Emit(wire.LayerComplete{
		Layer: p.plan.Layer, Result: compact(result), NextLayer: next, DurationMS: p.since(p.plan.Entered),
	})
}

// startRevision makes the pending instructions the next model task, unless one is in
// progress.
func (p planner) startRevision() {
	if p.plan.ModelTask == nil && len(p.plan.Instructions) > 0 {
		p.plan.ModelTask = &modelTask{Layer: wire.LayerPlanning, Instructions: p.plan.Instructions}
		p.plan.Instructions = nil
		p.planDirty = true
	}
}

// startModelTask starts the job of the plan's model task, if there is one and its retry
// delay is over.
func (p planner) startModelTask() {
	t := p.plan.ModelTask
	if !p.Active() || t == nil || t.Job != "" || t.At != 0 {
		return
	}
	title, prompt := p.modelPrompt(t)
	p.plan.ModelJobs[t.Layer]++
	t.Job = fmt.Sprintf("%s/%s", p.plan.ID, t.Layer)
	if n := p.plan.ModelJobs[t.Layer]; n > 1 || t.Layer == wire.LayerPlanning {
		t.Job += fmt.Sprintf(".%d", n)
	}
	p.planDirty = true
	p.executor.Begin(p.job(t.Job, "", title, prompt))
}

// handleModelResult applies the result of a model task.
func (p planner) handleModelResult(t *modelTask, w JobResult) {
	t.Job = ""
	p.planDirty = true
	switch w.Outcome {
	case providers.Completed:
		p.handleModelText(t, w.Text)
	case providers.Interrupted: // the task is repeated when the plan continues
		if p.plan.Paused == nil {
			p.pause(byInterrupt, w.Reason, "")
		}
	default:
		if retryable(w.Failure) && t.Tries < modelRetries {
			t.Tries++
			t.At = p.now() + p.backoff(t.Tries)
			return
		}
		p.continueWithoutModel(t, w)
	}
}

// handleModelText applies the text of a completed model task.
func (p planner) handleModelText(t *modelTask, text string) {
	switch t.Layer {
	case wire.LayerCognitive:
		p.handleInsight(readInsight(text))
	case wire.LayerPlanning:
		p.handleDraft(t, text)
	default:
		response, reports := readResponse(text, p.cfg.Session)
		if response.Text == "" {
			response.Text = p.todos.fallbackAnswer()
		}
		p.completePlan(response, reports)
	}
}

// continueWithoutModel continues after a failed model task.
func (p planner) continueWithoutModel(t *modelTask, w JobResult) {
	switch t.Layer {
	case wire.LayerCognitive:
		p.handleInsight(readInsight(""))
	case wire.LayerPlanning:
		p.planningFailed(failureCode(w.Failure, codeInvalid), reasonOf(w))
	default:
		response, reports := readResponse(p.todos.fallbackAnswer(), p.cfg.Session)
		p.completePlan(response, reports)
	}
}

// retryable reports whether the same request may succeed later.
func retryable(c providers.Class) bool {
	return c == providers.Rate || c == providers.Overloaded || c == providers.Transport
}

// failureCode returns the error code for a class of backend errors, or the given default.
func failureCode(c providers.Class, otherwise string) string {
	if retryable(c) || c == providers.Auth {
		return codeProvider
	}
	return otherwise
}

// reasonOf returns why a job did not complete.
func reasonOf(w JobResult) string {
	if w.Reason == "" {
		return "the work was not done"
	}
	return truncateBytes(printable(w.Reason), maxError)
}

// handleInsight stores the interpretation of the request, and opens the clarifying question
// or starts planning.
func (p planner) handleInsight(in insight) {
	p.plan.Insight, p.plan.ModelTask = in.Result, nil
	p.planDirty = true
	if in.Clarification == nil {
		p.startPlanning("")
		return
	}
	p.plan.Question = in.Clarification.Question
	p.questions.open(&ask{Kind: askClarification, Clarification: in.Clarification}, p.cfg.AnswerTime)
}

// startPlanning enters the planning layer. answer is the user's clarification, if any.
func (p planner) startPlanning(answer string) {
	p.plan.Clarified = truncateBytes(answer, maxComment)
	p.leaveLayer(p.plan.Insight, wire.LayerPlanning)
	p.enterLayer(wire.LayerPlanning, "Planning the work")
	p.plan.ModelTask = &modelTask{Layer: wire.LayerPlanning}
}

// handleDraft applies a plan that a model wrote, or sends it back for correction once.
func (p planner) handleDraft(t *modelTask, text string) {
	d, err := readDraft(text, p.cfg.Tools)
	next := d.Todos
	if err == nil && p.plan.Version > 0 {
		next = mergePlan(p.todos.drafts(), d.Todos, p.todos.frozen())
		err = checkGraph(next)
	}
	if err == nil {
		err = p.cfg.checkModes(d.Todos)
	}
	switch {
	case err == nil:
		p.plan.ModelTask = nil
		p.applyTodos(next, p.plan.Message)
		p.requestReview()
	case t.Fault == "":
		t.Fault, t.Rejected = truncateBytes(err.Error(), maxRejected), truncateBytes(printable(text), maxRejected)
	default:
		p.planningFailed(codeInvalid, truncateBytes(err.Error(), maxError))
	}
}

// planningFailed continues without the plan that a model was to write. An earlier version
// of the plan stays.
func (p planner) planningFailed(code, reason string) {
	p.plan.ModelTask = nil
	p.planDirty = true
	if p.plan.Version == 0 {
		p.abortPlan(wire.PlanFailed, wire.PlanFailureError{Code: code, Message: "No plan could be made: " + reason})
		return
	}
	notice := wire.CodeExecutionFailed.Notice("The plan stays as it was: " + reason)
	notice.Context = compact(map[string]any{"plan_id": p.plan.ID})
	p.step.Emit(notice)
	p.requestReview()
}

// applyTodos makes the todos the plan, or the next version of it.
func (p planner) applyTodos(next []draftTodo, by wire.MessageID) {
	old := p.todos.drafts()
	changes := diff(old, next)
	p.replaceTodos(next, changes)
	p.plan.Version++
	p.planDirty = true
	if p.plan.Version == 1 {
		p.plan.Status = wire.PlanPendingApproval
		p.step.Emit(wire.PlanGenerated{
			PlanID: p.plan.ID, Version: 1, Status: p.plan.Status, PlanBody: p.todos.body(),
			Request: truncateBytes(p.plan.request, maxShown), MessageID: by,
		})
	} else {
		if p.plan.Layer == wire.LayerExecution {
			p.execution.updateBlocked()
		}
		body := p.todos.body()
		p.step.Emit(wire.PlanModified{
			PlanID: p.plan.ID, OldVersion: p.plan.Version - 1, NewVersion: p.plan.Version, Changes: changes, UpdatedTodos: body.Todos,
			EstimatedDurationSec: body.EstimatedDurationSec, EstimatedCostUSD: body.EstimatedCostUSD,
			MermaidDiagram: body.MermaidDiagram, MessageID: by,
		})
	}
	for _, t := range p.todos {
		t.markReported()
	}
}

// requestReview ends the planning layer and asks the user to approve the plan, unless it is
// approved already or is to be changed first.
func (p planner) requestReview() {
	if p.plan.Status != wire.PlanPendingApproval || len(p.plan.Instructions) > 0 {
		return
	}
	p.questions.open(&ask{Kind: askReview}, p.cfg.AnswerTime)
	p.leaveLayer(struct {
		Plan    wire.PlanID `json:"plan_id"`
		Version int         `json:"version"`
		Todos   int         `json:"total_todos"`
	}{p.plan.ID, p.plan.Version, len(p.todos)}, wire.LayerExecution)
}

// requestRevision has a model change the plan before it was approved.
func (p planner) requestRevision(instructions ...string) {
	p.plan.Instructions = append(p.plan.Instructions, instructions...)
	p.enterLayer(wire.LayerPlanning, "Changing the plan")
}

// replaceTodos replaces the todos by those of a new version. Unchanged todos keep their
// state.
func (p planner) replaceTodos(next []draftTodo, changes []wire.PlanChange) {
	before := p.todos
	p.todos = make([]*todo, 0, len(next))
	for i, d := range next {
		t := before.find(d.ID)
		if t == nil {
			t = &todo{Status: wire.TodoPending, Attempt: p.plan.Attempts}
		} else if !t.frozen() && slices.ContainsFunc(changes, func(c wire.PlanChange) bool { return c.TodoID == d.ID }) {
			p.questions.cancel(func(a *ask) bool { return a.Todo == d.ID })
			t = &todo{Status: wire.TodoPending, Attempt: t.Attempt, Doubt: t.Doubt}
		}
		t.Place, t.Draft, t.dirty = i, d, true
		p.todos = append(p.todos, t)
	}
	for _, t := range before {
		if p.todos.find(t.Draft.ID) == nil {
			p.questions.cancel(func(a *ask) bool { return a.Todo == t.Draft.ID })
			p.plan.Attempts = max(p.plan.Attempts, t.Attempt)
			p.removed = append(p.removed, todoField(t.Draft.ID))
		}
	}
}

// startExecution enters the execution layer.
func (p planner) startExecution() {
	p.plan.Status, p.reported = wire.PlanExecuting, tally{}
	p.enterLayer(wire.LayerExecution, "Working on the plan")
}

// pause pauses the plan and stops the clocks of its questions.
func (p planner) pause(by, reason string, id wire.MessageID) {
	reason = truncateBytes(printable(reason), maxError)
	p.plan.Paused = &pause{By: by, Reason: reason}
	p.planDirty = true
	for _, a := range p.asks {
		a.Left, a.Until, a.dirty = max(a.Until-p.now(), 1), 0, true
	}
	e := wire.HITLPaused{PausedBy: by, Reason: reason, CompletedTodos: p.todos.completed(), CanResume: true, MessageID: id}
	if i := slices.IndexFunc(p.todos, func(t *todo) bool { return t.Status == wire.TodoInProgress }); i >= 0 {
		e.CurrentTodo = p.todos[i].Draft.ID
	}
	p.step.Emit(e)
}
