package workflow

import (
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// thoughtTries is how often a model is asked again that could not be reached.
const thoughtTries = 3

// enter begins a layer.
func (f *Flow) enter(l wire.Layer, what string) {
	f.plan.Layer, f.plan.Entered = l, f.now()
	f.reworded = true
	f.stage.Emit(wire.LayerStart{Layer: l, Description: what})
}

// leave ends the layer.
func (f *Flow) leave(result any, next wire.Layer) {
	f.stage.Emit(wire.LayerComplete{
		Layer: f.plan.Layer, Result: compact(result), NextLayer: next, DurationMS: f.since(f.plan.Entered),
	})
}

// since is how long something took, in milliseconds.
func (f *Flow) since(t wire.Millis) int { return int(max(f.now()-t, 0)) }

// rethink takes up instructions, when the one before is carried out.
func (f *Flow) rethink() {
	if f.plan.Think == nil && len(f.plan.Instructions) > 0 {
		f.plan.Think = &thought{Layer: wire.LayerPlanning, Instructions: f.plan.Instructions}
		f.plan.Instructions = nil
		f.reworded = true
	}
}

// think begins the job that is to think, if there is one and it is time.
func (f *Flow) think() {
	t := f.plan.Think
	if !f.Active() || t == nil || t.Job != "" || t.At != 0 {
		return
	}
	title, prompt := f.askModel(t)
	f.plan.Thoughts[t.Layer]++
	t.Job = fmt.Sprintf("%s/%s", f.plan.ID, t.Layer)
	if n := f.plan.Thoughts[t.Layer]; n > 1 || t.Layer == wire.LayerPlanning {
		t.Job += fmt.Sprintf(".%d", n)
	}
	f.reworded = true
	f.hands.Begin(f.job(t.Job, "", title, prompt))
}

// job is work of the plan.
func (f *Flow) job(name string, todo wire.TodoID, title, prompt string) Job {
	return Job{
		Name: name, Plan: f.plan.ID, Message: f.plan.Message, Monitor: f.plan.Monitor, Guest: f.plan.Guest,
		Role: wire.AgentID(name), Todo: todo, Title: cut(title, maxTitle), Prompt: prompt,
	}
}

// thought takes what came of a job that was to think.
func (f *Flow) thought(t *thought, w Worked) {
	t.Job = ""
	f.reworded = true
	switch w.Outcome {
	case providers.Completed:
		f.concluded(t, w.Text)
	case providers.Interrupted: // it is thought about anew when the plan goes on
		if f.plan.Paused == nil {
			f.pause(byInterrupt, w.Reason, "")
		}
	default:
		if unreachable(w.Failure) && t.Tries < thoughtTries {
			t.Tries++
			t.At = f.now() + f.backoff(t.Tries)
			return
		}
		f.speechless(t, w)
	}
}

// concluded takes what a model thought.
func (f *Flow) concluded(t *thought, text string) {
	switch t.Layer {
	case wire.LayerCognitive:
		f.understood(readInsight(text))
	case wire.LayerPlanning:
		f.planned(t, text)
	default:
		response, reports := readResponse(text, f.cfg.Session)
		if response.Text == "" {
			response.Text = f.inOwnWords()
		}
		f.complete(response, reports)
	}
}

// speechless goes on without what a model would have thought.
func (f *Flow) speechless(t *thought, w Worked) {
	switch t.Layer {
	case wire.LayerCognitive:
		f.understood(readInsight(""))
	case wire.LayerPlanning:
		f.unplanned(failureCode(w.Failure, codeInvalid), reasonOf(w))
	default:
		response, reports := readResponse(f.inOwnWords(), f.cfg.Session)
		f.complete(response, reports)
	}
}

// unreachable reports whether it is worth asking the same again.
func unreachable(c providers.Class) bool {
	return c == providers.Rate || c == providers.Overloaded || c == providers.Transport
}

// failureCode is the word for a trouble of a backend, or otherwise.
func failureCode(c providers.Class, otherwise string) string {
	if unreachable(c) || c == providers.Auth {
		return codeProvider
	}
	return otherwise
}

// reasonOf is why a job did not get to its end.
func reasonOf(w Worked) string {
	if w.Reason == "" {
		return "the work was not done"
	}
	return cut(printable(w.Reason), maxError)
}

// understood goes on with what the request was understood as.
func (f *Flow) understood(in insight) {
	f.plan.Insight, f.plan.Think = in.Result, nil
	f.reworded = true
	if in.Clarification == nil {
		f.clarified("")
		return
	}
	f.plan.Question = in.Clarification.Question
	f.open(&ask{Kind: askClarification, Clarification: in.Clarification}, f.cfg.AnswerTime)
}

// clarified begins to plan.
func (f *Flow) clarified(answer string) {
	f.plan.Clarified = cut(answer, maxComment)
	f.leave(f.plan.Insight, wire.LayerPlanning)
	f.enter(wire.LayerPlanning, "Planning the work")
	f.plan.Think = &thought{Layer: wire.LayerPlanning}
}

// planned takes the plan that a model made, or has it mended once.
func (f *Flow) planned(t *thought, text string) {
	d, err := readDraft(text, f.cfg.Tools)
	next := d.Todos
	if err == nil && f.plan.Version > 0 {
		next = merge(f.drafts(), d.Todos, f.frozen())
		err = checkGraph(next)
	}
	switch {
	case err == nil:
		f.plan.Think = nil
		f.replan(next, f.plan.Message)
		f.review()
	case t.Wrong == "":
		t.Wrong, t.Said = cut(err.Error(), maxSaid), cut(printable(text), maxSaid)
	default:
		f.unplanned(codeInvalid, cut(err.Error(), maxError))
	}
}

// unplanned goes on without the plan that a model was to make. If there was one
// before, that stays.
func (f *Flow) unplanned(code, reason string) {
	f.plan.Think = nil
	f.reworded = true
	if f.plan.Version == 0 {
		f.giveUp(wire.PlanFailed, wire.PlanFailureError{Code: code, Message: "No plan could be made: " + reason})
		return
	}
	notice := wire.CodeExecutionFailed.Notice("The plan stays as it was: " + reason)
	notice.Context = compact(map[string]any{"plan_id": f.plan.ID})
	f.stage.Emit(notice)
	f.review()
}

// replan makes a plan of the todos, or another one of that there is.
func (f *Flow) replan(next []draftTodo, by wire.MessageID) {
	old := f.drafts()
	changes := diff(old, next)
	f.adopt(next, changes)
	f.plan.Version++
	f.reworded = true
	if f.plan.Version == 1 {
		f.plan.Status = wire.PlanPendingApproval
		f.stage.Emit(wire.PlanGenerated{
			PlanID: f.plan.ID, Version: 1, Status: f.plan.Status, PlanBody: f.body(),
			Request: cut(f.plan.request, maxShown), MessageID: by,
		})
	} else {
		if f.plan.Layer == wire.LayerExecution {
			f.block()
		}
		body := f.body()
		f.stage.Emit(wire.PlanModified{
			PlanID: f.plan.ID, OldVersion: f.plan.Version - 1, NewVersion: f.plan.Version, Changes: changes, UpdatedTodos: body.Todos,
			EstimatedDurationSec: body.EstimatedDurationSec, EstimatedCostUSD: body.EstimatedCostUSD,
			MermaidDiagram: body.MermaidDiagram, MessageID: by,
		})
	}
	for _, t := range f.todos {
		t.said()
	}
}

// review ends the planning and asks whether the plan may run, unless it does, or is
// to be changed before.
func (f *Flow) review() {
	if f.plan.Status != wire.PlanPendingApproval || len(f.plan.Instructions) > 0 {
		return
	}
	f.open(&ask{Kind: askReview}, f.cfg.AnswerTime)
	f.leave(struct {
		Plan    wire.PlanID `json:"plan_id"`
		Version int         `json:"version"`
		Todos   int         `json:"total_todos"`
	}{f.plan.ID, f.plan.Version, len(f.todos)}, wire.LayerExecution)
}

// revise has the plan changed before it was approved.
func (f *Flow) revise(instructions ...string) {
	f.plan.Instructions = append(f.plan.Instructions, instructions...)
	f.enter(wire.LayerPlanning, "Changing the plan")
}

// adopt makes the todos those of a new plan. What is the same in both stays as it is.
func (f *Flow) adopt(next []draftTodo, changes []wire.PlanChange) {
	before := f.todos
	f.todos = make([]*todo, 0, len(next))
	for i, d := range next {
		t := find(before, d.ID)
		if t == nil {
			t = &todo{Status: wire.TodoPending, Attempt: f.plan.Attempts}
		} else if !t.frozen() && slices.ContainsFunc(changes, func(c wire.PlanChange) bool { return c.TodoID == d.ID }) {
			f.withdraw(func(a *ask) bool { return a.Todo == d.ID })
			t = &todo{Status: wire.TodoPending, Attempt: t.Attempt, Doubt: t.Doubt}
		}
		t.Place, t.Draft, t.touched = i, d, true
		f.todos = append(f.todos, t)
	}
	for _, t := range before {
		if find(f.todos, t.Draft.ID) == nil {
			f.withdraw(func(a *ask) bool { return a.Todo == t.Draft.ID })
			f.plan.Attempts = max(f.plan.Attempts, t.Attempt)
			f.gone = append(f.gone, todoField(t.Draft.ID))
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

// drafts are the todos as somebody planned them.
func (f *Flow) drafts() []draftTodo {
	out := make([]draftTodo, 0, len(f.todos))
	for _, t := range f.todos {
		out = append(out, t.Draft)
	}
	return out
}

// frozen are the todos that can no longer be changed.
func (f *Flow) frozen() map[wire.TodoID]bool {
	out := map[wire.TodoID]bool{}
	for _, t := range f.todos {
		if t.frozen() {
			out[t.Draft.ID] = true
		}
	}
	return out
}

// body is the plan as people see it.
func (f *Flow) body() wire.PlanBody {
	drafts := f.drafts()
	b := wire.PlanBody{Todos: make([]wire.Todo, 0, len(f.todos)), DependencyGraph: graphOf(drafts), MermaidDiagram: mermaid(drafts)}
	b.EstimatedDurationSec, b.EstimatedCostUSD = estimate(drafts)
	for _, t := range f.todos {
		b.Todos = append(b.Todos, t.wire())
	}
	return b
}
