package session

import (
	"sync"

	"github.com/everdesk/everdesk/broadcast"
)

// stepSpare is how much of a step's memory is used again.
const stepSpare = 64 << 10

// steps are emptied steps. They are lent to sessions for a turn, so that one that
// is idle holds none and one that is busy makes no garbage.
type steps struct{ pool sync.Pool }

func (p *steps) get() *step {
	if s, ok := p.pool.Get().(*step); ok {
		return s
	}
	return &step{}
}

func (p *steps) put(s *step) {
	if cap(s.text) <= stepSpare && cap(s.events) <= stepEvents {
		p.pool.Put(s)
	}
}

// drain empties a step that is committed, but for the memory of its events and their
// frames, which are to be shown.
func (s *step) drain() {
	clear(s.frames)
	clear(s.ops)
	clear(s.consumed)
	*s = step{heading: s.heading, text: s.text, frames: s.frames[:0], ops: s.ops[:0], consumed: s.consumed[:0]}
}

// reuse gives a drained step the memory of its events and of their frames, which are
// shown.
func (s *step) reuse(events []broadcast.Event) {
	if events == nil {
		return
	}
	clear(events)
	s.events, s.text = events[:0], s.text[:0]
}
