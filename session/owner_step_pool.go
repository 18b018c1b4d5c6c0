package session

import (
	"sync"

	"github.com/everdesk/everdesk/broadcast"
)

// maxPooledBuffer is the largest buffer, in bytes, of a step that is reused.
const maxPooledBuffer = 64 << 10

// stepPool holds empty steps. A session borrows one while it processes its mailbox, so that an idle
// session holds no step memory and a busy one produces no garbage.
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

// reset empties a committed step, except for the memory of its events and frames, which are still
// to be published.
func (s *step) reset() {
	clear(s.frames)
	clear(s.ops)
	clear(s.consumed)
	*s = step{heading: s.heading, buf: s.buf, frames: s.frames[:0], ops: s.ops[:0], consumed: s.consumed[:0]}
}

// reuseEvents returns the memory of published events and their frames to a step that was reset.
func (s *step) reuseEvents(events []broadcast.Event) {
	if events == nil {
		return
	}
	clear(events)
	s.events, s.buf = events[:0], s.buf[:0]
}
