package agentpool

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
)

// reserveTimeout bounds TryReserve and the check for waiting agents.
const reserveTimeout = time.Second

// SessionRunner executes the agents of one session that this replica owns. Its methods do not
// block, except TryReserve, which accesses the store, and Close.
type SessionRunner struct {
	parent *Runner
	ref    SessionRef
	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup // all goroutines of the session runner but that of files
	files  fileChanges

	mu       sync.Mutex // guards the following
	closed   bool
	runs     map[string]*activeRun       // by run id
	idle     map[string]*providerSession // open provider sessions without a turn, by agent
	reserved map[*Slot]struct{}          // reserved slots that are not used yet
	disposed []*activeRun                // runs that Dispose has ended, until AwaitDisposed
}

// Close stops every agent without reports and returns when all goroutines have ended and every
// slot is released.
func (c *SessionRunner) Close() {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		for agent, t := range c.idle {
			delete(c.idle, agent)
			c.closeAsync(t)
		}
		for s := range c.reserved {
			c.releaseReserved(s)
		}
	}
	c.mu.Unlock()
	c.cancel()
	c.wg.Wait()
	c.parent.remove(c)
}

// TryReserve reserves a slot, or returns nil if none is free now.
func (c *SessionRunner) TryReserve() *Slot {
	ctx, cancel := context.WithTimeout(c.ctx, reserveTimeout)
	defer cancel()
	s, err := c.parent.cfg.Limiter.Try(ctx, c.claim("reserved"))
	if err != nil {
		if !errors.Is(err, ErrFull) && c.ctx.Err() == nil {
			c.log.WarnContext(ctx, "agent slot not reserved", "error", err)
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

// Cancel releases a reserved slot that is not used.
func (c *SessionRunner) Cancel(s *Slot) {
	if s == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.reserved[s]; ok {
		c.releaseReserved(s)
	}
}

// releaseReserved releases a reserved slot; Close waits for that. c.mu is held.
func (c *SessionRunner) releaseReserved(s *Slot) {
	delete(c.reserved, s)
	s.Release()
	c.wg.Go(func() { <-s.released })
}

func (c *SessionRunner) claim(holder string) Claim {
	return Claim{Session: c.ref.Session, User: c.ref.User, Holder: holder}
}

// Start starts a run. Its reports go to the session's sink.
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
	l := newActiveRun(c, r)
	c.runs[r.ID] = l
	c.wg.Go(l.execute)
}

// Steer sends a message to a running turn. [SteerAccepted] or [SteerRefused] follows; if the
// turn was already over, SteerRefused follows after [Ended].
func (c *SessionRunner) Steer(s Steering) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.runs[s.Run]; l != nil && l.steer(s) || c.closed {
		return
	}
	c.wg.Go(func() {
		if err := c.ref.Sink.Report(c.ctx, SteerRefused{RunRef: RunRef{s.Run}, Message: s.Message}); err != nil {
			c.log.DebugContext(c.ctx, "report of a refused message not delivered", "error", err)
		}
	})
}

// Interrupt stops a run; [Ended] follows.
func (c *SessionRunner) Interrupt(run, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.runs[run]; l != nil {
		l.interrupt(reason)
	}
}

// Dispose closes the agent's provider session and ends its runs without further reports.
func (c *SessionRunner) Dispose(agent string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.runs {
		if l.Agent == agent {
			l.abandon()
			c.addDisposed(l)
		}
	}
	if t := c.idle[agent]; t != nil && !c.closed {
		delete(c.idle, agent)
		c.closeAsync(t)
	}
}

// maxDisposed bounds the runs that [SessionRunner.AwaitDisposed] waits for. Older ones have had the most time to stop.
const maxDisposed = 256

// addDisposed adds a run to those that AwaitDisposed waits for. c.mu is held.
func (c *SessionRunner) addDisposed(l *activeRun) {
	if len(c.disposed) >= maxDisposed {
		c.disposed = c.disposed[1:]
	}
	c.disposed = append(c.disposed, l)
}

// AwaitDisposed waits until the runs that Dispose has ended do nothing any more: their tools and backend calls have
// returned, and their programs have ended. It returns the error of ctx if that ends first.
func (c *SessionRunner) AwaitDisposed(ctx context.Context) error {
	c.mu.Lock()
	runs := c.disposed
	c.disposed = nil
	c.mu.Unlock()
	for _, l := range runs {
		if err := l.awaitStop(ctx); err != nil {
			return err
		}
	}
	return nil
}

// provider returns the provider that is stored under a name.
func (c *SessionRunner) provider(name string) (providers.Provider, bool) {
	if all := c.parent.cfg.Profiles; all != nil {
		return all.Get(c.ref.User, name)
	}
	return c.parent.cfg.Providers.Get(name)
}

// FindProvider returns the name under which to store what the user means by a name, and whether there
// is such a provider.
func (c *SessionRunner) FindProvider(name string) (string, bool) {
	if all := c.parent.cfg.Profiles; all != nil {
		return all.Find(c.ref.User, name)
	}
	return name, c.HasProvider(name)
}

// DefaultProvider returns the user's own default of a role, or "".
func (c *SessionRunner) DefaultProvider(r profiles.Role) string {
	if all := c.parent.cfg.Profiles; all != nil {
		return all.Default(c.ref.User, r)
	}
	return ""
}

// Caps returns the capabilities of the provider, none if it does not exist.
func (c *SessionRunner) Caps(provider string) providers.Caps {
	p, ok := c.provider(provider)
	if !ok {
		return providers.Caps{}
	}
	return p.Caps()
}

// HasProvider reports whether the provider exists.
func (c *SessionRunner) HasProvider(provider string) bool {
	_, ok := c.provider(provider)
	return ok
}

// Launch runs the launch hooks of the user's configuration in the background.
func (c *SessionRunner) Launch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.wg.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				c.log.ErrorContext(c.ctx, "panic in launch hooks", "panic", v, "stack", string(debug.Stack()))
			}
		}()
		c.parent.cfg.Tools.Launch(c.ctx, tools.Caller{
			Session: c.ref.Session, User: c.ref.User, Desktop: c.ref.Desktop,
		})
	})
}

// removeRun removes a run from those that can be steered and interrupted.
func (c *SessionRunner) removeRun(ar *activeRun) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs[ar.ID] == ar {
		delete(c.runs, ar.ID)
	}
}
