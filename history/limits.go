package history

import (
	"unicode/utf8"

	"github.com/everdesk/everdesk/providers"
)

// What an estimate takes for what has no letters.
const (
	entryTokens = 4
	imageTokens = 1500
)

// Tokens is about how many tokens a model makes of a conversation, where no backend
// has counted: four letters of ASCII are one, and every other character is.
func Tokens(entries []providers.Entry) (n int) {
	for i := range entries {
		n += entryTokens
		for j := range entries[i].Blocks {
			b := &entries[i].Blocks[j]
			n += entryTokens + letters(b.Text) + letters(b.Tool) + letters(b.Input) + letters(b.Signature) + letters(b.Opaque)
			n += imageTokens * len(b.Images)
			if b.Image != nil {
				n += imageTokens
			}
		}
	}
	return n
}

func letters[T ~string | ~[]byte](text T) int {
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

// Limits are those of a model's memory.
type Limits struct {
	// Window is how many tokens it can read and write together; 0 is unknown.
	Window int
	// Reserve is how many of them an answer needs; 0 takes a default.
	Reserve int
	// Threshold is the share of the window, in percent, from which on it is
	// condensed; 0 is never.
	Threshold int
}

// Action is what is to be done about a thread.
type Action int

// What is to be done.
const (
	Leave Action = iota
	Condense
	Truncate
)

// defaultReserve is what an answer needs if nobody says.
const defaultReserve = 8192

// Allowed is how many tokens a thread may have: what is left of nine tenths of the
// window when an answer has its room, which is never more than half of it.
func (l Limits) Allowed() int {
	reserve := l.Reserve
	if reserve <= 0 {
		reserve = defaultReserve
	}
	return l.Window/10*9 + l.Window%10*9/10 - min(reserve, l.Window/2)
}

// Decide says what to do about a thread with so many tokens. When condensing has
// failed, the same limits without a threshold say what to do then.
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
