package anthropic

import "github.com/everdesk/everdesk/providers/loop"

// windows holds the sizes of context windows. Some models offer larger ones on request.
var windows = loop.Windows{
	"claude": 200_000, "claude-fable-5": 1_000_000, "claude-mythos-5": 1_000_000, "claude-opus-5": 1_000_000, "claude-sonnet-5": 1_000_000,
	"claude-haiku-5": 1_000_000,
}
