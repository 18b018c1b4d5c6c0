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

// reuse gives an empty step the memory of events and of their frames, which
// nobody needs any more. Without frames it is not known whether that is so.
func (s *step) reuse(events []broadcast.Event, frames []byte) {
	if frames == nil {
		return
	}
	clear(events)
	s.events, s.text = events[:0], frames[:0]
}
