package session

import (
	"context"
	"sync/atomic"
	"time"
)

// patience makes contexts that end when a commit takes too long. They are used again and
// again: one for every step would cost more than the rest of the step.
type patience struct{ *watch }

// start returns a context that ends after commitTimeout, unless stop is called.
func (p *patience) start(parent context.Context, h *Hub) context.Context {
	if p.watch == nil || p.ended.Load() {
		p.watch = newWatch(parent, h)
	}
	p.until.Store(int64(h.age() + commitTimeout))
	p.wait(commitTimeout)
	return p.ctx
}

// watch is a context that ends when something takes longer than commitTimeout. Its timer
// is not stopped whenever something has not: when it goes off, it looks how long to wait
// for what is under way then, if something is.
type watch struct {
	hub    *Hub
	ctx    context.Context //nolint:containedctx // it is for all that is watched
	cancel context.CancelCauseFunc
	timer  *time.Timer
	until  atomic.Int64 // the age of the hub at which something has taken too long; 0 while nothing is under way
	armed  atomic.Bool  // the timer will go off
	ended  atomic.Bool  // ctx has ended because of it
}

func newWatch(parent context.Context, h *Hub) *watch {
	w := &watch{hub: h}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.armed.Store(true)
	w.timer = time.AfterFunc(commitTimeout, w.look)
	return w
}

func (w *watch) stop() { w.until.Store(0) }

// wait has the timer go off, if it will not anyway.
func (w *watch) wait(d time.Duration) {
	if !w.armed.Load() && w.armed.CompareAndSwap(false, true) {
		w.timer.Reset(d)
	}
}

// look is what happens when the timer goes off.
func (w *watch) look() {
	w.armed.Store(false)
	until := w.until.Load()
	if until == 0 {
		return // whoever starts arms it
	}
	if left := time.Duration(until) - w.hub.age(); left > 0 {
		w.wait(left)
		return
	}
	w.ended.Store(true)
	w.cancel(context.DeadlineExceeded)
}
