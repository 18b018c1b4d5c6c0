package tools

import (
	"context"
	"encoding/json"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// planTools returns the tools of agents that work on a todo of a plan. The plan stores progress
// and answers and gives a repeated question the same answer, so the calls are not reported to
// the session.
func planTools() []tool {
	return []tool{
		{
			name: "plan:progress", in: workers, asks: true, todo: true, repeatable: true, use: with(planProgress),
			about: "Say how far your todo is. People see it while you work; say it when a step is done, not all the time.",
		},
		{
			name: "plan:input", in: workers, asks: true, todo: true, repeatable: true, use: with(planInput),
			about: "Ask people for a value that your todo cannot go on without, and wait for it. What was answered before for the same field is the answer at once.",
		},
	}
}

type progressInput struct {
	Percentage     float64 `json:"percentage" jsonschema:"How much is done, from 0 to 100." wire:"min=0,max=100"`
	Step           string  `json:"step,omitempty" jsonschema:"What you do now, in a few words." wire:"max=500"`
	ItemsProcessed int     `json:"items_processed,omitempty" wire:"min=0"`
	ItemsTotal     int     `json:"items_total,omitempty" wire:"min=0"`
}

func planProgress(ctx context.Context, u *use, in progressInput) providers.ToolResult {
	return u.attempt(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		err := u.Desktop.Tasks.Progress(ctx, u.Caller, wire.TodoProgress{
			TodoID: u.Todo, ProgressPercentage: in.Percentage, CurrentStep: in.Step,
			ItemsProcessed: in.ItemsProcessed, ItemsTotal: in.ItemsTotal,
		})
		return text("Noted."), err
	})
}

type inputInput struct {
	Field        string            `json:"field" jsonschema:"A short name for the value, such as period." wire:"min=1,max=64"`
	Question     string            `json:"question" wire:"min=1,max=2000"`
	InputType    wire.InputType    `json:"input_type" jsonschema:"How it is answered: a text, one or several of the options, a number, a date such as 2026-02-06, or yes or no."`
	Options      []json.RawMessage `json:"options,omitempty" jsonschema:"For choice and multi: at least two, each a string or an object with value and label."`
	Required     bool              `json:"required,omitempty" jsonschema:"Without an answer the todo fails; else you get null."`
	DefaultValue json.RawMessage   `json:"default_value,omitempty" jsonschema:"Used if the question is not answered."`
	Range        bool              `json:"range,omitempty" jsonschema:"A date is one with from and to."`
	Min          *float64          `json:"min,omitempty" jsonschema:"The least number."`
	Max          *float64          `json:"max,omitempty" jsonschema:"The greatest number."`
	TimeoutSec   int               `json:"timeout_sec,omitempty" jsonschema:"How long people have for an answer." wire:"min=0,max=86400"`
}

func planInput(ctx context.Context, u *use, in inputInput) providers.ToolResult {
	q := wire.HITLInputRequest{
		Field: in.Field, Question: in.Question, InputType: in.InputType, Required: in.Required, DefaultValue: in.DefaultValue,
		Range: in.Range, Min: in.Min, Max: in.Max, TodoID: u.Todo, HITLDeadline: wire.HITLDeadline{TimeoutSec: in.TimeoutSec},
	}
	if in.InputType == wire.AnswerChoice || in.InputType == wire.AnswerMulti {
		choices, err := options(in.Options)
		if err != nil {
			return u.refuse(ctx, "%s", sentence(err.Error()))
		}
		for _, o := range choices {
			q.Options = append(q.Options, wire.Option{Value: o.Value, Label: o.Label})
		}
	}
	return u.attempt(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		value, err := u.Desktop.Users.Input(ctx, u.Caller, q)
		if err != nil {
			return providers.ToolResult{}, err
		}
		if len(value) == 0 {
			value = json.RawMessage("null")
		}
		return asJSON(given{value}), nil
	})
}

// given is the result of plan:input; the value is null if there is none.
type given struct {
	Value json.RawMessage `json:"value"`
}
