package workflow

import (
	"errors"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// modelPrompt returns the title, which users see, and the prompt of a model task.
func (f *Flow) modelPrompt(t *modelTask) (title, prompt string) {
	switch t.Layer {
	case wire.LayerCognitive:
		return "Understand the request", cognitivePrompt(f.plan.request)
	case wire.LayerPlanning:
		b := planningBrief{
			Request: f.plan.request, Understood: f.plan.Insight, Question: f.plan.Question, Answer: f.plan.Clarified,
			Tools: f.cfg.Tools, Instruction: strings.Join(t.Instructions, "\n"),
		}
		if f.plan.Version > 0 {
			b.Old, b.Frozen = f.drafts(), f.frozen()
		}
		if t.Fault != "" {
			return "Mend the plan", repairPrompt(b, errors.New(t.Fault), t.Rejected)
		}
		return "Plan the work", planningPrompt(b)
	default:
		return "Write the answer", responsePrompt(responseBrief{
			Request: f.plan.request, Comment: f.plan.Comment, Results: f.results(func(*todo) bool { return true }),
		})
	}
}

// todoPromptOf returns the prompt for the agent of a todo.
func (f *Flow) todoPromptOf(t *todo) string {
	b := todoBrief{
		Request: f.plan.request, Comment: f.plan.Comment, Todo: t.Draft, Attempt: t.Retries + 1, Attempts: t.maxRetries() + 1,
		Results: f.results(func(d *todo) bool { return slices.Contains(t.Draft.DependsOn, d.Draft.ID) }),
	}
	for _, v := range t.Values {
		b.Values = append(b.Values, todoValue(v))
	}
	if t.Error != nil {
		b.Trouble = t.Error.Message
	}
	return todoPrompt(b)
}

// results returns the results of the matching todos that are done.
func (f *Flow) results(which func(*todo) bool) []todoResult {
	var out []todoResult
	for _, t := range f.todos {
		if t.isDone() && which(t) {
			out = append(out, todoResult{ID: t.Draft.ID, Task: t.Draft.Task, Status: t.Status, Result: t.Result})
		}
	}
	return out
}
