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
func (ct *commitTimer) start(parent context.Context, e *environment) context.Context {
	if ct.deadlineContext == nil || ct.ended.Load() {
		ct.deadlineContext = newDeadlineContext(parent, e)
	}
	ct.until.Store(int64(e.uptime() + commitTimeout))
	ct.arm(commitTimeout)
	return ct.ctx
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

func newDeadlineContext(parent context.Context, e *environment) *deadlineContext {
	c := &deadlineContext{env: e}
	c.ctx, c.cancel = context.WithCancelCause(parent)
	c.armed.Store(true)
	c.timer = time.AfterFunc(commitTimeout, c.onTimer)
	return c
}

func (c *deadlineContext) stop() { c.until.Store(0) }

// arm starts the timer unless it is running.
func (c *deadlineContext) arm(d time.Duration) {
	if !c.armed.Load() && c.armed.CompareAndSwap(false, true) {
		c.timer.Reset(d)
	}
}

// onTimer ends ctx if the running operation has timed out, else it waits for the rest.
func (c *deadlineContext) onTimer() {
	c.armed.Store(false)
	until := c.until.Load()
	if until == 0 {
		return // the next start arms the timer
	}
	if left := time.Duration(until) - c.env.uptime(); left > 0 {
		c.arm(left)
		return
	}
	c.ended.Store(true)
	c.cancel(context.DeadlineExceeded)
}
