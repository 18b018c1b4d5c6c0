package openai

import "github.com/everdesk/everdesk/providers/loop"

// windows holds the sizes of context windows, without the output tokens. Those of newer models are
// larger, but a longer conversation costs twice as much per token.
var windows = loop.Windows{
	"gpt-6": 272_000, "gpt-6.1": 272_000,
	"gpt-5": 272_000, "gpt-5.1": 272_000, "gpt-5.2": 272_000, "gpt-5.4": 272_000, "gpt-5.5": 272_000, "gpt-5.6": 272_000,
	"gpt-4.1": 1_000_000, "gpt-4o": 128_000, "gpt-4-turbo": 128_000, "gpt-4": 8192,
	"o1": 200_000, "o3": 200_000, "o4": 200_000,
}
