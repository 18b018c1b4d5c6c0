package session

import (
	"sync"

	"github.com/everdesk/everdesk/broadcast"
)

// maxPooledBuffer is how much of a step's memory is used again.
const maxPooledBuffer = 64 << 10

// stepPool are emptied steps. They are lent to sessions for a turn, so that one that
// is idle holds none and one that is busy makes no garbage.
type stepPool struct{ pool sync.Pool }

func (p *stepPool) get() *step {
	if s, ok := p.pool.Get().(*step); ok {
		return s
	}
	return &step{}
}

func (p *stepPool) put(s *step) {
	if cap(s.buf) <= maxPooledBuffer && cap(s.events) <= stepEvents {
		p.pool.Put(s)
	}
}

// reset empties a step that is committed, but for the memory of its events and their
// frames, which are to be shown.
func (s *step) reset() {
	clear(s.frames)
	clear(s.ops)
	clear(s.consumed)
	*s = step{heading: s.heading, buf: s.buf, frames: s.frames[:0], ops: s.ops[:0], consumed: s.consumed[:0]}
}

// reuseEvents gives a drained step the memory of its events and of their frames, which are
// shown.
func (s *step) reuseEvents(events []broadcast.Event) {
	if events == nil {
		return
	}
	clear(events)
	s.events, s.buf = events[:0], s.buf[:0]
}
