package agentpool

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// patience is how long a backend may take to interrupt a turn, to give up opening
// a conversation and to close one. After that the session runner goes on without it.
const patience = 5 * time.Second

// wantedEvery is how often an idle process finds out whether somebody waits for
// its slot.
const wantedEvery = 2 * time.Second

// providerSession is an open conversation with a backend.
type providerSession struct {
	runner   *SessionRunner
	agent    string
	provider string
	profile  string
	guest    bool // what it was told at the beginning is for guests
	process  bool // it counts as an agent while it is open
	session  providers.Session
	// revoke ends the badge of a backend that acts over MCP. A badge is of one
	// turn, so such a conversation is not kept.
	revoke func()
	// slot is held while the conversation is open, if it is a process, and
	// unwatch ends waiting for its loss.
	slot    *Slot
	unwatch func() bool
	// since is when it was used last, and parking sees to it when that is long
	// ago.
	since   time.Time
	parking *time.Timer
	// over is closed when nothing is heard of it any more.
	over chan struct{}
	shut sync.Once

	mu   sync.Mutex // guards the following
	turn *activeRun // whose turn it is
	dead bool       // ended by itself
}

// handleEvent takes what happens to whoever's turn it is.
func (t *providerSession) handleEvent(e providers.Event) {
	t.mu.Lock()
	l := t.turn
	t.dead = t.dead || e.Kind == providers.EventExit
	dead := t.dead
	t.mu.Unlock()
	if l != nil {
		l.hear(e, t.over)
	} else if dead {
		t.runner.park(t)
	}
}

// call uses a tool for whoever's turn it is.
func (t *providerSession) call(ctx context.Context, call providers.ToolCall) providers.ToolResult {
	t.mu.Lock()
	l := t.turn
	t.mu.Unlock()
	if l == nil {
		return over()
	}
	return l.call(ctx, call)
}

// owns says whose turn it is and reports whether the conversation lives.
func (t *providerSession) owns(l *activeRun) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn = l
	return !t.dead
}

// take returns the open conversation of an agent, if the run can go on with it.
func (c *SessionRunner) take(l *activeRun) *providerSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.idle[l.Agent]
	if t == nil || l.Fork || c.closed {
		return nil
	}
	delete(c.idle, l.Agent)
	t.parking.Stop()
	if t.provider != l.Provider || t.profile != l.Profile || t.guest != l.Guest || l.Continue || !t.owns(l) {
		c.retire(t)
		return nil
	}
	if t.unwatch != nil {
		t.unwatch()
	}
	return t
}

// keep leaves a conversation open for the agent's next turn, until it was not
// used for a while, and reports whether it does.
func (c *SessionRunner) keep(l *activeRun, t *providerSession) bool {
	if t.process && t.slot.wanted(l.ctx) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || l.ctx.Err() != nil || c.idle[t.agent] != nil || !t.owns(nil) {
		return false
	}
	c.idle[t.agent] = t
	t.since = time.Now()
	wait := c.pool.cfg.Park
	if t.process {
		wait = min(wait, wantedEvery)
		t.unwatch = context.AfterFunc(t.slot.life, func() { c.park(t) })
	}
	t.parking = time.AfterFunc(wait, func() { c.check(t) })
	return true
}

// check parks a conversation that was idle for long, or whose slot somebody
// waits for.
func (c *SessionRunner) check(t *providerSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle[t.agent] != t {
		return
	}
	if !t.process || time.Since(t.since) >= c.pool.cfg.Park {
		delete(c.idle, t.agent)
		c.retire(t)
		return
	}
	slot := t.slot
	c.wg.Go(func() {
		if slot.wanted(c.ctx) {
			c.park(t)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.idle[t.agent] == t {
			t.parking.Reset(wantedEvery)
		}
	})
}

// park closes a conversation if nobody uses it.
func (c *SessionRunner) park(t *providerSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle[t.agent] == t {
		delete(c.idle, t.agent)
		c.retire(t)
	}
}

// retire closes a conversation in the background. The lock is held and the session runner
// is not closed.
func (c *SessionRunner) retire(t *providerSession) { c.wg.Go(func() { c.end(t) }) }

// end closes a conversation and gives back what it holds. A backend that does not
// close in time is left alone with that.
func (c *SessionRunner) end(t *providerSession) {
	t.owns(nil)
	// What it has to say now would be heard by nobody, and closing waits for it.
	t.shut.Do(func() { close(t.over) })
	if t.parking != nil {
		t.parking.Stop()
	}
	select {
	case err := <-attempt(t.session.Close):
		if err != nil {
			c.log.WarnContext(c.ctx, "conversation did not close well", "agent", t.agent, "provider", t.provider, "error", err)
		}
	case <-time.After(patience):
		c.log.ErrorContext(c.ctx, "conversation does not close; it is left behind", "agent", t.agent, "provider", t.provider)
	}
	if t.revoke != nil {
		t.revoke()
	}
	if t.slot != nil {
		if t.unwatch != nil {
			t.unwatch()
		}
		t.slot.Release()
		<-t.slot.gone
	}
}

// attempt calls into a backend on a goroutine of its own, so that whoever waits
// for the answer need not wait for ever. A panic is an error.
func attempt(call func() error) <-chan error {
	answer := make(chan error, 1)
	go func() { // ends with the call; all who attempt wait for it, as long as they can
		answer <- guarded(call)
	}()
	return answer
}

// guarded makes an error of a panic.
func guarded(call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{value: v, stack: debug.Stack()}
		}
	}()
	return call()
}

// panicked is something that broke.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("something inside broke: %v", p.value) }

// over is the answer to a tool call that comes when the turn has ended.
func over() providers.ToolResult {
	return providers.ToolResult{Text: "The turn is over.", IsError: true}
}
