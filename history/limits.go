package history

import (
	"unicode/utf8"

	"github.com/everdesk/everdesk/providers"
)

// Estimated tokens of parts that have no text.
const (
	entryTokens = 4
	imageTokens = 1500
)

// Tokens estimates how many tokens a conversation has for a model, for use when no backend
// has counted them: one per four ASCII characters and one per other character.
func Tokens(entries []providers.Entry) (n int) {
	for i := range entries {
		n += entryTokens
		for j := range entries[i].Blocks {
			b := &entries[i].Blocks[j]
			n += entryTokens + textTokens(b.Text) + textTokens(b.Tool) + textTokens(b.Input) + textTokens(b.Signature) + textTokens(b.Opaque)
			n += imageTokens * len(b.Images)
			if b.Image != nil {
				n += imageTokens
			}
		}
	}
	return n
}

func textTokens[T ~string | ~[]byte](text T) int {
	ascii, other := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c < utf8.RuneSelf:
			ascii++
		case utf8.RuneStart(c):
			other++
		}
	}
	return (ascii+3)/4 + other
}

// Limits describes the context window of a model.
type Limits struct {
	// Window is the number of tokens for input and output together; 0 means unknown.
	Window int
	// Reserve is the number of those tokens reserved for an answer; 0 means the default.
	Reserve int
	// Threshold is the share of the window in percent from which on a thread is condensed;
	// 0 means never.
	Threshold int
}

// Action is the measure to take for a thread.
type Action int

// The measures, from the mildest to the strongest.
const (
	Leave Action = iota
	Condense
	Truncate
)

// defaultReserve is the default of [Limits.Reserve], at most a quarter of the window.
const defaultReserve = 8192

// Allowed returns the maximum number of tokens of a thread: 90 % of the window, minus the
// reserve, which is at most half of the window.
func (l Limits) Allowed() int {
	reserve := l.Reserve
	if reserve <= 0 {
		reserve = min(defaultReserve, l.Window/4)
	}
	return l.Window/10*9 + l.Window%10*9/10 - min(reserve, l.Window/2)
}

// Decide returns the action for a thread with the given number of tokens. After a failed
// condensing, the caller uses the same limits with Threshold 0.
func (l Limits) Decide(tokens int) Action {
	over := tokens > l.Allowed()
	switch {
	case l.Window <= 0:
		return Leave
	case l.Threshold > 0 && (over || float64(tokens) >= float64(l.Window)*float64(l.Threshold)/100):
		return Condense
	case over:
		return Truncate
	default:
		return Leave
	}
}
