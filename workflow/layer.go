package workflow

import (
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// modelRetries is the number of retries of a model task whose backend was not reachable.
const modelRetries = 3

// enterLayer starts a layer and emits it.
func (f *Flow) enterLayer(l wire.Layer, what string) {
	f.plan.Layer, f.plan.Entered = l, f.now()
	f.planDirty = true
	f.step.Emit(wire.LayerStart{Layer: l, Description: what})
}

// leaveLayer emits the end of the current layer.
func (f *Flow) leaveLayer(result any, next wire.Layer) {
	f.step.Emit(wire.LayerComplete{
		Layer: f.plan.Layer, Result: compact(result), NextLayer: next, DurationMS: f.since(f.plan.Entered),
	})
}

// since returns the milliseconds that have passed since t.
func (f *Flow) since(t wire.Millis) int { return int(max(f.now()-t, 0)) }

// startRevision makes the pending instructions the next model task, unless one is in
// progress.
func (f *Flow) startRevision() {
	if f.plan.ModelTask == nil && len(f.plan.Instructions) > 0 {
		f.plan.ModelTask = &modelTask{Layer: wire.LayerPlanning, Instructions: f.plan.Instructions}
		f.plan.Instructions = nil
		f.planDirty = true
	}
}

// startModelTask starts the job of the plan's model task, if there is one and its retry
// delay is over.
func (f *Flow) startModelTask() {
	t := f.plan.ModelTask
	if !f.Active() || t == nil || t.Job != "" || t.At != 0 {
		return
	}
	title, prompt := f.modelPrompt(t)
	f.plan.ModelJobs[t.Layer]++
	t.Job = fmt.Sprintf("%s/%s", f.plan.ID, t.Layer)
	if n := f.plan.ModelJobs[t.Layer]; n > 1 || t.Layer == wire.LayerPlanning {
		t.Job += fmt.Sprintf(".%d", n)
	}
	f.planDirty = true
	f.executor.Begin(f.job(t.Job, "", title, prompt))
}

// job returns a job of the plan.
func (f *Flow) job(name string, todo wire.TodoID, title, prompt string) Job {
	return Job{
		Name: name, Plan: f.plan.ID, Message: f.plan.Message, Monitor: f.plan.Monitor, Guest: f.plan.Guest,
		Role: wire.AgentID(name), Todo: todo, Title: truncateBytes(title, maxTitle), Prompt: prompt,
	}
}

// handleModelResult applies the result of a model task.
func (f *Flow) handleModelResult(t *modelTask, w JobResult) {
	t.Job = ""
	f.planDirty = true
	switch w.Outcome {
	case providers.Completed:
		f.handleModelText(t, w.Text)
	case providers.Interrupted: // the task is repeated when the plan continues
		if f.plan.Paused == nil {
			f.pause(byInterrupt, w.Reason, "")
		}
	default:
		if retryable(w.Failure) && t.Tries < modelRetries {
			t.Tries++
			t.At = f.now() + f.backoff(t.Tries)
			return
		}
		f.continueWithoutModel(t, w)
	}
}

// handleModelText applies the text of a completed model task.
func (f *Flow) handleModelText(t *modelTask, text string) {
	switch t.Layer {
	case wire.LayerCognitive:
		f.handleInsight(readInsight(text))
	case wire.LayerPlanning:
		f.handleDraft(t, text)
	default:
		response, reports := readResponse(text, f.cfg.Session)
		if response.Text == "" {
			response.Text = f.fallbackAnswer()
		}
		f.completePlan(response, reports)
	}
}

// continueWithoutModel continues after a failed model task.
func (f *Flow) continueWithoutModel(t *modelTask, w JobResult) {
	switch t.Layer {
	case wire.LayerCognitive:
		f.handleInsight(readInsight(""))
	case wire.LayerPlanning:
		f.planningFailed(failureCode(w.Failure, codeInvalid), reasonOf(w))
	default:
		response, reports := readResponse(f.fallbackAnswer(), f.cfg.Session)
		f.completePlan(response, reports)
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
func (f *Flow) handleInsight(in insight) {
	f.plan.Insight, f.plan.ModelTask = in.Result, nil
	f.planDirty = true
	if in.Clarification == nil {
		f.startPlanning("")
		return
	}
	f.plan.Question = in.Clarification.Question
	f.openAsk(&ask{Kind: askClarification, Clarification: in.Clarification}, f.cfg.AnswerTime)
}

// startPlanning enters the planning layer. answer is the user's clarification, if any.
func (f *Flow) startPlanning(answer string) {
	f.plan.Clarified = truncateBytes(answer, maxComment)
	f.leaveLayer(f.plan.Insight, wire.LayerPlanning)
	f.enterLayer(wire.LayerPlanning, "Planning the work")
	f.plan.ModelTask = &modelTask{Layer: wire.LayerPlanning}
}

// handleDraft applies a plan that a model wrote, or sends it back for correction once.
func (f *Flow) handleDraft(t *modelTask, text string) {
	d, err := readDraft(text, f.cfg.Tools)
	next := d.Todos
	if err == nil && f.plan.Version > 0 {
		next = mergePlan(f.drafts(), d.Todos, f.frozen())
		err = checkGraph(next)
	}
	switch {
	case err == nil:
		f.plan.ModelTask = nil
		f.applyTodos(next, f.plan.Message)
		f.requestReview()
	case t.Fault == "":
		t.Fault, t.Rejected = truncateBytes(err.Error(), maxRejected), truncateBytes(printable(text), maxRejected)
	default:
		f.planningFailed(codeInvalid, truncateBytes(err.Error(), maxError))
	}
}

// planningFailed continues without the plan that a model was to write. An earlier version
// of the plan stays.
func (f *Flow) planningFailed(code, reason string) {
	f.plan.ModelTask = nil
	f.planDirty = true
	if f.plan.Version == 0 {
		f.abortPlan(wire.PlanFailed, wire.PlanFailureError{Code: code, Message: "No plan could be made: " + reason})
		return
	}
	notice := wire.CodeExecutionFailed.Notice("The plan stays as it was: " + reason)
	notice.Context = compact(map[string]any{"plan_id": f.plan.ID})
	f.step.Emit(notice)
	f.requestReview()
}

// applyTodos makes the todos the plan, or the next version of it.
func (f *Flow) applyTodos(next []draftTodo, by wire.MessageID) {
	old := f.drafts()
	changes := diff(old, next)
	f.replaceTodos(next, changes)
	f.plan.Version++
	f.planDirty = true
	if f.plan.Version == 1 {
		f.plan.Status = wire.PlanPendingApproval
		f.step.Emit(wire.PlanGenerated{
			PlanID: f.plan.ID, Version: 1, Status: f.plan.Status, PlanBody: f.body(),
			Request: truncateBytes(f.plan.request, maxShown), MessageID: by,
		})
	} else {
		if f.plan.Layer == wire.LayerExecution {
			f.updateBlocked()
		}
		body := f.body()
		f.step.Emit(wire.PlanModified{
			PlanID: f.plan.ID, OldVersion: f.plan.Version - 1, NewVersion: f.plan.Version, Changes: changes, UpdatedTodos: body.Todos,
			EstimatedDurationSec: body.EstimatedDurationSec, EstimatedCostUSD: body.EstimatedCostUSD,
			MermaidDiagram: body.MermaidDiagram, MessageID: by,
		})
	}
	for _, t := range f.todos {
		t.markReported()
	}
}

// requestReview ends the planning layer and asks the user to approve the plan, unless it is
// approved already or is to be changed first.
func (f *Flow) requestReview() {
	if f.plan.Status != wire.PlanPendingApproval || len(f.plan.Instructions) > 0 {
		return
	}
	f.openAsk(&ask{Kind: askReview}, f.cfg.AnswerTime)
	f.leaveLayer(struct {
		Plan    wire.PlanID `json:"plan_id"`
		Version int         `json:"version"`
		Todos   int         `json:"total_todos"`
	}{f.plan.ID, f.plan.Version, len(f.todos)}, wire.LayerExecution)
}

// requestRevision has a model change the plan before it was approved.
func (f *Flow) requestRevision(instructions ...string) {
	f.plan.Instructions = append(f.plan.Instructions, instructions...)
	f.enterLayer(wire.LayerPlanning, "Changing the plan")
}

// replaceTodos replaces the todos by those of a new version. Unchanged todos keep their
// state.
func (f *Flow) replaceTodos(next []draftTodo, changes []wire.PlanChange) {
	before := f.todos
	f.todos = make([]*todo, 0, len(next))
	for i, d := range next {
		t := find(before, d.ID)
		if t == nil {
			t = &todo{Status: wire.TodoPending, Attempt: f.plan.Attempts}
		} else if !t.frozen() && slices.ContainsFunc(changes, func(c wire.PlanChange) bool { return c.TodoID == d.ID }) {
			f.cancelAsks(func(a *ask) bool { return a.Todo == d.ID })
			t = &todo{Status: wire.TodoPending, Attempt: t.Attempt, Doubt: t.Doubt}
		}
		t.Place, t.Draft, t.dirty = i, d, true
		f.todos = append(f.todos, t)
	}
	for _, t := range before {
		if find(f.todos, t.Draft.ID) == nil {
			f.cancelAsks(func(a *ask) bool { return a.Todo == t.Draft.ID })
			f.plan.Attempts = max(f.plan.Attempts, t.Attempt)
			f.removed = append(f.removed, todoField(t.Draft.ID))
		}
	}
}

func find(todos []*todo, id wire.TodoID) *todo {
	for _, t := range todos {
		if t.Draft.ID == id {
			return t
		}
	}
	return nil
}

// drafts returns the todos as they were planned.
func (f *Flow) drafts() []draftTodo {
	out := make([]draftTodo, 0, len(f.todos))
	for _, t := range f.todos {
		out = append(out, t.Draft)
	}
	return out
}

// frozen returns the ids of todos that can no longer be changed.
func (f *Flow) frozen() map[wire.TodoID]bool {
	out := map[wire.TodoID]bool{}
	for _, t := range f.todos {
		if t.frozen() {
			out[t.Draft.ID] = true
		}
	}
	return out
}

// body returns the plan for the client.
func (f *Flow) body() wire.PlanBody {
	drafts := f.drafts()
	b := wire.PlanBody{Todos: make([]wire.Todo, 0, len(f.todos)), DependencyGraph: graphOf(drafts), MermaidDiagram: mermaid(drafts)}
	b.EstimatedDurationSec, b.EstimatedCostUSD = estimate(drafts)
	for _, t := range f.todos {
		b.Todos = append(b.Todos, t.wire())
	}
	return b
}
