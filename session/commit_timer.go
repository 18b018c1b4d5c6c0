package session

import (
	"context"
	"sync/atomic"
	"time"
)

// commitTimer makes contexts that end when a commit takes too long. They are used again and
// again: one for every step would cost more than the rest of the step.
type commitTimer struct{ *deadlineContext }

// start returns a context that ends after commitTimeout, unless stop is called.
func (p *commitTimer) start(parent context.Context, h *Hub) context.Context {
	if p.deadlineContext == nil || p.ended.Load() {
		p.deadlineContext = newWatch(parent, h)
	}
	p.until.Store(int64(h.uptime() + commitTimeout))
	p.arm(commitTimeout)
	return p.ctx
}

// deadlineContext is a context that ends when something takes longer than commitTimeout. Its timer
// is not stopped whenever something has not: when it goes off, it looks how long to wait
// for what is under way then, if something is.
type deadlineContext struct {
	hub    *Hub
	ctx    context.Context //nolint:containedctx // it is for all that is watched
	cancel context.CancelCauseFunc
	timer  *time.Timer
	until  atomic.Int64 // the age of the hub at which something has taken too long; 0 while nothing is under way
	armed  atomic.Bool  // the timer will go off
	ended  atomic.Bool  // ctx has ended because of it
}

func newWatch(parent context.Context, h *Hub) *deadlineContext {
	w := &deadlineContext{hub: h}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.armed.Store(true)
	w.timer = time.AfterFunc(commitTimeout, w.onTimer)
	return w
}

func (w *deadlineContext) stop() { w.until.Store(0) }

// arm has the timer go off, if it will not anyway.
func (w *deadlineContext) arm(d time.Duration) {
	if !w.armed.Load() && w.armed.CompareAndSwap(false, true) {
		w.timer.Reset(d)
	}
}

// onTimer is what happens when the timer goes off.
func (w *deadlineContext) onTimer() {
	w.armed.Store(false)
	until := w.until.Load()
	if until == 0 {
		return // whoever starts arms it
	}
	if left := time.Duration(until) - w.hub.uptime(); left > 0 {
		w.arm(left)
		return
	}
	w.ended.Store(true)
	w.cancel(context.DeadlineExceeded)
}
