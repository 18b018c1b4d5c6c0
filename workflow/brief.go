package workflow

import (
	"github.com/everdesk/everdesk/wire"
)

// askModel is what a model is to think about: what people read of it, and what it is
// told.
func (f *Flow) askModel(t *thought) (title, prompt string) {
	switch t.Layer {
	case wire.LayerCognitive:
		return "Understand the request", "[everdesk plan: cognitive]"
	case wire.LayerPlanning:
		return "Plan the work", "[everdesk plan: planning]"
	default:
		return "Write the answer", "[everdesk plan: response]"
	}
}

// brief is what the agent of a todo is told.
func (f *Flow) brief(t *todo) string { return "[everdesk plan: todo]" }
