package workflow

import (
	"errors"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// modelPrompt returns the title, which users see, and the prompt of a model task.
func (p planner) modelPrompt(t *modelTask) (title, prompt string) {
	switch t.Layer {
	case wire.LayerCognitive:
		return "Understand the request", cognitivePrompt(p.plan.request)
	case wire.LayerPlanning:
		b := planningBrief{
			Request: p.plan.request, Understood: p.plan.Insight, Question: p.plan.Question, Answer: p.plan.Clarified,
			Tools: p.cfg.Tools, Modes: p.cfg.modes(), Instruction: strings.Join(t.Instructions, "\n"),
		}
		if p.plan.Version > 0 {
			b.Old, b.Frozen = p.todos.drafts(), p.todos.frozen()
		}
		if t.Fault != "" {
			return "Mend the plan", repairPrompt(b, errors.New(t.Fault), t.Rejected)
		}
		return "Plan the work", planningPrompt(b)
	default:
		return "Write the answer", responsePrompt(responseBrief{
			Request: p.plan.request, Comment: p.plan.Comment, Results: p.todos.results(func(*todo) bool { return true }),
		})
	}
}

// todoPromptOf returns the prompt for the agent of a todo.
func (x execution) todoPromptOf(t *todo) string {
	b := todoBrief{
		Request: x.plan.request, Comment: x.plan.Comment, Todo: t.Draft, Attempt: t.Retries + 1, Attempts: t.maxRetries() + 1,
		Results: x.todos.results(func(d *todo) bool { return slices.Contains(t.Draft.DependsOn, d.Draft.ID) }),
	}
	for _, v := range t.Values {
		b.Values = append(b.Values, todoValue(v))
	}
	if t.Error != nil {
		b.PreviousError = t.Error.Message
	}
	return todoPrompt(b)
}
