package agentpool

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/everdesk/everdesk/tools"
)

// reserveFor bounds how long a session waits for the store when it wants a slot
// at once.
const reserveFor = time.Second

// SessionRunner is the agents of one session that this replica owns. Its methods do not
// wait, but for TryReserve, which asks the store, and Close.
type SessionRunner struct {
	pool   *Runner
	ref    SessionRef
	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup // of everything that the session runner does

	mu       sync.Mutex // guards the following
	closed   bool
	runs     map[string]*activeRun       // by run
	idle     map[string]*providerSession // by agent: open and without a turn
	reserved map[*Slot]struct{}          // and not used yet
}

// Close stops every agent without a word and returns when nothing runs any more
// and every slot was given back.
func (c *SessionRunner) Close() {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		for agent, t := range c.idle {
			delete(c.idle, agent)
			c.retire(t)
		}
		for s := range c.reserved {
			c.giveBack(s)
		}
	}
	c.mu.Unlock()
	c.cancel()
	c.wg.Wait()
	c.pool.left(c)
}

// TryReserve takes a slot if one is free right now, else nil.
func (c *SessionRunner) TryReserve() *Slot {
	ctx, cancel := context.WithTimeout(c.ctx, reserveFor)
	defer cancel()
	s, err := c.pool.cfg.Limiter.Try(ctx, c.claim("reserved"))
	if err != nil {
		if !errors.Is(err, ErrFull) && c.ctx.Err() == nil {
			c.log.WarnContext(ctx, "no agent slot can be reserved", "error", err)
		}
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		s.Release()
		return nil
	}
	c.reserved[s] = struct{}{}
	return s
}

// Cancel gives back a slot that was reserved and is not used.
func (c *SessionRunner) Cancel(s *Slot) {
	if s == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.reserved[s]; ok {
		c.giveBack(s)
	}
}

// giveBack releases a reserved slot; Close waits for that. The lock is held.
func (c *SessionRunner) giveBack(s *Slot) {
	delete(c.reserved, s)
	s.Release()
	c.wg.Go(func() { <-s.gone })
}

func (c *SessionRunner) claim(holder string) Claim {
	return Claim{Session: c.ref.Session, User: c.ref.User, Holder: holder}
}

// Start begins a run. What comes of it is reported.
func (c *SessionRunner) Start(r Run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.reserved, r.Slot)
	if c.closed {
		if r.Slot != nil {
			r.Slot.Release()
		}
		return
	}
	l := newLife(c, r)
	c.runs[r.ID] = l
	c.wg.Go(l.live)
}

// Steer gives a message to a turn that runs. It is answered by [SteerAccepted] or
// [SteerRefused]; by the latter after [Ended] if the turn was over already.
func (c *SessionRunner) Steer(s Steering) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.runs[s.Run]; l != nil && l.steer(s) || c.closed {
		return
	}
	c.wg.Go(func() {
		if err := c.ref.Sink.Report(c.ctx, SteerRefused{Of: Of{s.Run}, Message: s.Message}); err != nil {
			c.log.DebugContext(c.ctx, "nobody hears that a message came too late", "error", err)
		}
	})
}

// Interrupt ends a run; [Ended] follows.
func (c *SessionRunner) Interrupt(run, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.runs[run]; l != nil {
		l.interrupt(reason)
	}
}

// Dispose forgets an agent's conversation and ends its runs. They report nothing
// any more.
func (c *SessionRunner) Dispose(agent string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.runs {
		if l.Agent == agent {
			l.mute()
		}
	}
	if t := c.idle[agent]; t != nil && !c.closed {
		delete(c.idle, agent)
		c.retire(t)
	}
}

// Steers reports whether a provider takes messages while a turn runs.
func (c *SessionRunner) Steers(provider string) bool {
	p, ok := c.pool.cfg.Providers.Get(provider)
	return ok && p.Caps().Steer
}

// Reads is how many tokens the model of a provider reads; 0 means that nobody
// knows.
func (c *SessionRunner) Reads(provider string) int {
	p, ok := c.pool.cfg.Providers.Get(provider)
	if !ok {
		return 0
	}
	return p.Caps().Window
}

// Has reports whether there is such a provider.
func (c *SessionRunner) Has(provider string) bool {
	_, ok := c.pool.cfg.Providers.Get(provider)
	return ok
}

// Launch does what the user wants to happen when a desktop begins.
func (c *SessionRunner) Launch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.wg.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				c.log.ErrorContext(c.ctx, "launch broke", "panic", v, "stack", string(debug.Stack()))
			}
		}()
		c.pool.cfg.Tools.Launch(c.ctx, tools.Caller{
			Session: c.ref.Session, User: c.ref.User, Desktop: c.ref.Desktop,
		})
	})
}

// leave takes a run out of those that can be steered and interrupted.
func (c *SessionRunner) leave(l *activeRun) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs[l.ID] == l {
		delete(c.runs, l.ID)
	}
}
