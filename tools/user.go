package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

func userTools() []tool {
	return []tool{
		{
			name: "user:ask", in: everyone, asks: true, repeatable: true, use: with(askUser),
			about: "Ask the user to choose, and wait for the answer. Only ask what you cannot find out yourself.",
		},
		{
			name: "user:request", in: everyone, asks: true, repeatable: true, use: with(requestText),
			about: "Ask the user for a text, and wait for the answer.",
		},
	}
}

// answerTimeout is the wait passed to [Desktop.Ask].
const answerTimeout = 5 * time.Minute

// maxOptions bounds the options of a prompt.
const maxOptions = 50

type askInput struct {
	Title       string            `json:"title" wire:"max=500"`
	Message     string            `json:"message" wire:"max=10000"`
	Options     []json.RawMessage `json:"options" jsonschema:"At least two, each a string or an object with value, label and maybe description."`
	MultiSelect bool              `json:"multiSelect,omitempty" jsonschema:"Several may be chosen."`
	AllowText   bool              `json:"allowText,omitempty" jsonschema:"The user may write something else."`
}

type requestInput struct {
	Title            string `json:"title" wire:"max=500"`
	Message          string `json:"message" wire:"max=10000"`
	InputLabel       string `json:"inputLabel,omitempty" wire:"max=500"`
	InputPlaceholder string `json:"inputPlaceholder,omitempty" wire:"max=500"`
	Multiline        bool   `json:"multiline,omitempty"`
}

// options decodes the options of a prompt: 2 to maxOptions, each with a unique value. An option
// without a label uses its value.
func options(raw []json.RawMessage) ([]wire.PromptOption, error) {
	if len(raw) < 2 || len(raw) > maxOptions {
		return nil, fmt.Errorf("options: there are %d, it takes 2 to %d", len(raw), maxOptions)
	}
	seen := map[string]bool{}
	out := make([]wire.PromptOption, len(raw))
	for i, r := range raw {
		o := &out[i]
		if json.Unmarshal(r, &o.Value) == nil {
			o.Label = o.Value
		} else if json.Unmarshal(r, o) != nil {
			return nil, fmt.Errorf("options[%d]: it is a string or an object with value and label", i)
		}
		if o.Label == "" {
			o.Label = o.Value
		}
		switch {
		case o.Value == "":
			return nil, fmt.Errorf("options[%d].value: it is empty", i)
		case seen[o.Value]:
			return nil, fmt.Errorf("options[%d].value: %q is there twice", i, truncate(o.Value, 100))
		}
		seen[o.Value] = true
	}
	return out, nil
}

func askUser(ctx context.Context, u *use, in askInput) providers.ToolResult {
	choices, err := options(in.Options)
	if err != nil {
		return u.refuse(ctx, "%s", sentence(err.Error()))
	}
	p := wire.Prompt{Title: in.Title, Message: in.Message, Options: choices, MultiSelect: in.MultiSelect}
	if in.AllowText {
		p.InputField = &wire.PromptInput{Type: wire.PromptText}
	}
	return u.prompt(ctx, p)
}

func requestText(ctx context.Context, u *use, in requestInput) providers.ToolResult {
	field := &wire.PromptInput{Label: in.InputLabel, Placeholder: in.InputPlaceholder, Type: wire.PromptText}
	if in.Multiline {
		field.Type = wire.PromptTextarea
	}
	return u.prompt(ctx, wire.Prompt{Title: in.Title, Message: in.Message, InputField: field})
}

// answer is the JSON result of a prompt.
type answer struct {
	Selected []string `json:"selected,omitempty"`
	Text     string   `json:"text,omitempty"`
}

func (u *use) prompt(ctx context.Context, p wire.Prompt) providers.ToolResult {
	return u.askFor(ctx, p, "The user did not answer.", func(r wire.UserPromptResponse) providers.ToolResult {
		return asJSON(answer{r.SelectedValues, r.Text})
	})
}

// askFor waits for the answer to a prompt, and returns what result makes of it, or unanswered.
func (u *use) askFor(ctx context.Context, p wire.Prompt, unanswered string, result func(wire.UserPromptResponse) providers.ToolResult) providers.ToolResult {
	p.ID = wire.PromptID(u.question(p.Title, p.Message))
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		r, err := u.Desktop.Users.Ask(ctx, u.Caller, p, answerTimeout)
		switch {
		case err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded), err == nil && r.Dismissed:
			return text(unanswered), nil
		case err != nil:
			return providers.ToolResult{}, err
		}
		return result(r), nil
	})
}
