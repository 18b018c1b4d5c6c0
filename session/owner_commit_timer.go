package session

import (
	"context"
	"sync/atomic"
	"time"
)

// commitTimer provides contexts that end when a commit attempt takes longer than commitTimeout. It
// reuses them: a new context per step would cost more than the rest of the step.
type commitTimer struct{ *deadlineContext }

// start returns a context that ends after commitTimeout, unless stop is called before.
func (p *commitTimer) start(parent context.Context, e *environment) context.Context {
	if p.deadlineContext == nil || p.ended.Load() {
		p.deadlineContext = newWatch(parent, e)
	}
	p.until.Store(int64(e.uptime() + commitTimeout))
	p.arm(commitTimeout)
	return p.ctx
}

// deadlineContext is a context that ends when an operation takes longer than commitTimeout. stop
// does not stop its timer: when the timer fires, it waits for the rest of the operation that is
// running then, if there is one.
type deadlineContext struct {
	env    *environment
	ctx    context.Context //nolint:containedctx // shared by all operations
	cancel context.CancelCauseFunc
	timer  *time.Timer
	until  atomic.Int64 // the hub's uptime at which the running operation times out; 0 while none runs
	armed  atomic.Bool  // the timer is running
	ended  atomic.Bool  // ctx has ended because of a timeout
}

func newWatch(parent context.Context, e *environment) *deadlineContext {
	w := &deadlineContext{env: e}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.armed.Store(true)
	w.timer = time.AfterFunc(commitTimeout, w.onTimer)
	return w
}

func (w *deadlineContext) stop() { w.until.Store(0) }

// arm starts the timer unless it is running.
func (w *deadlineContext) arm(d time.Duration) {
	if !w.armed.Load() && w.armed.CompareAndSwap(false, true) {
		w.timer.Reset(d)
	}
}

// onTimer ends ctx if the running operation has timed out, else it waits for the rest.
func (w *deadlineContext) onTimer() {
	w.armed.Store(false)
	until := w.until.Load()
	if until == 0 {
		return // the next start arms the timer
	}
	if left := time.Duration(until) - w.env.uptime(); left > 0 {
		w.arm(left)
		return
	}
	w.ended.Store(true)
	w.cancel(context.DeadlineExceeded)
}
