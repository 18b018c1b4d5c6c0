package anthropic

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/loop"
)

// thinking is the part of a request that turns thinking on. Models before version 4.6 have a budget
// of tokens, later ones adapt to the effort in outputConfig.
type thinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens,omitempty"`
	Display string `json:"display,omitempty"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

// Versions of models, as major*100+minor: the first that think, and the first that adapt.
const (
	firstThinking = 307
	firstAdaptive = 406
)

// minimal is the effort without thinking.
const minimal = "minimal"

// budgets holds the thinking tokens of each reasoning effort. They are added to the tokens of the reply.
var budgets = map[string]int{minimal: 0, "": 2048, "low": 2048, "medium": 6144, "high": 12288}

// modelName matches names such as claude-3-7-sonnet-20250219, claude-sonnet-4-20250514 and
// claude-opus-4-5.
var modelName = regexp.MustCompile(`^claude-(?:[a-z]+-)?(\d+)(?:-(\d{1,2}))?(?:-|$)`)

// modelVersion returns the version of a model, or 0 if its name has none.
func modelVersion(model string) int {
	m := modelName.FindStringSubmatch(model)
	if m == nil {
		return 0
	}
	major, _ := strconv.Atoi(m[1]) // digits
	minor, _ := strconv.Atoi(m[2]) // digits, or "" for 0
	return major*100 + minor
}

// setThinking requests thinking if the model has it, or if an effort was chosen.
func (c *client) setThinking(out *request, r loop.Request) {
	v := modelVersion(r.Model)
	budget, more := c.cfg.Thinking, 0
	if b, ok := budgets[r.Effort]; ok && (r.Effort != "" || budget == 0 && v >= firstThinking) {
		budget, more = b, b
	}
	switch {
	case !mayThink(r.Entries):
	case v >= firstAdaptive && r.Effort != minimal:
		out.Thinking = &thinking{Type: "adaptive", Display: "summarized"}
		if r.Effort != "" {
			out.Output = &outputConfig{r.Effort}
		}
	case v < firstAdaptive && budget > 0:
		out.Thinking = &thinking{Type: "enabled", Budget: budget}
		out.MaxTokens += more
	}
}

// mayThink reports whether a request may turn thinking on: within a turn the API accepts it only if
// the reply with the newest calls began with thinking, and another backend may have written that.
func mayThink(entries []providers.Entry) bool {
	for _, e := range slices.Backward(entries) {
		if e.Role != providers.RoleAssistant || len(e.Blocks) == 0 {
			continue
		}
		for _, b := range e.Blocks {
			if b.Kind == providers.BlockToolCall {
				first := e.Blocks[0]
				return first.Kind == providers.BlockOpaque || first.Kind == providers.BlockThinking && first.Signature != ""
			}
		}
		return true
	}
	return true
}
