package agentpool

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
)

// backendTimeout bounds how long a backend may take to interrupt a turn, to abort opening a
// session and to close one. After that the session runner continues without it.
const backendTimeout = 5 * time.Second

// slotCheckInterval is the interval at which an idle process checks whether another agent waits
// for its slot.
const slotCheckInterval = 2 * time.Second

// providerSession is a conversation held open with a backend.
type providerSession struct {
	runner   *SessionRunner
	agent    string
	provider string
	revision string // of the provider's settings and the tools
	profile  string
	orders   string // identifies the mode and the instructions that it was opened with
	dir      string // the folder that it works in
	guest    bool   // opened with the system prompt for guests
	process  bool   // the backend is a process, which needs a slot while it is open
	session  providers.Session
	// slot is held while the session is open and idle, if it is a process. unwatch stops
	// waiting for the loss of the slot.
	slot    *Slot
	unwatch func() bool
	// lastUsed is the time of the last use, and parking the timer that checks it.
	lastUsed  time.Time
	idleTimer *time.Timer
	// over is closed when events of the session are ignored from now on.
	over chan struct{}
	shut sync.Once

	mu   sync.Mutex // guards the following
	run  *activeRun // the run that uses the session; nil if idle
	dead bool       // the backend ended the session
	// revoke revokes the MCP tokens of a backend that calls tools over MCP. They are valid as
	// long as the session is open, for all of its turns; revoked says that they were.
	revoke  []func()
	revoked bool
}

// handleEvent forwards an event to the run that uses the session.
func (t *providerSession) handleEvent(e providers.Event) {
	t.mu.Lock()
	ar := t.run
	t.dead = t.dead || e.Kind == providers.EventExit
	dead := t.dead
	t.mu.Unlock()
	if ar != nil {
		ar.deliver(e, t.over)
	} else if dead {
		t.runner.closeIdle(t)
	}
}

// handleToolCall executes a tool for the run that uses the session. Between two turns it refuses the call. A
// late call of a turn that has ended counts for the turn that runs when it arrives: over MCP it
// cannot be distinguished from a call of that turn, and there users see it and can stop it.
func (t *providerSession) handleToolCall(ctx context.Context, call providers.ToolCall) providers.ToolResult {
	t.mu.Lock()
	ar := t.run
	t.mu.Unlock()
	if ar == nil {
		return providers.ToolResult{Text: "No turn is running. Tools can be called only while the agent works on a message.", IsError: true}
	}
	return ar.handleToolCall(ctx, call)
}

// assignTo assigns the session to a run and reports whether the backend still has it open.
func (t *providerSession) assignTo(ar *activeRun) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.run = ar
	return !t.dead
}

// ownToken makes an MCP token end with the session.
func (t *providerSession) ownToken(revoke func()) {
	t.mu.Lock()
	late := t.revoked
	t.revoke = append(t.revoke, revoke)
	t.mu.Unlock()
	if late {
		revoke()
	}
}

// revokeTokens revokes the MCP tokens of the session.
func (t *providerSession) revokeTokens() {
	t.mu.Lock()
	all := t.revoke
	t.revoke, t.revoked = nil, true
	t.mu.Unlock()
	for _, revoke := range all {
		revoke()
	}
}

// revised is a provider whose settings can change.
type revised interface{ Revision() string }

// changingTools are tools that change; [tools.Executor] implements it.
type changingTools interface {
	// Revision returns a text that changes when the tools of the caller change.
	Revision(c tools.Caller) string
}

// revisionOf returns the revision of a provider's settings and of the caller's tools, or "" if they do not
// change.
func (ar *activeRun) revisionOf(p providers.Provider) string {
	revision := ""
	if r, ok := p.(revised); ok {
		revision = r.Revision()
	}
	if t, ok := ar.runner.parent.cfg.Tools.(changingTools); ok && ar.System == "" {
		revision += t.Revision(ar.caller)
	}
	return revision
}

// ordersOf identifies the mode and the instructions of a run. They are in the system prompt and the tools of
// backends that hold the conversation themselves.
func ordersOf(r Run) string {
	if r.Mode == nil {
		return r.Instructions
	}
	return strings.Join([]string{r.Mode.ID, r.Mode.Name, r.Mode.Tools, r.Mode.Instructions, r.Instructions}, "\x00")
}

// takeIdle returns the agent's idle provider session if the run can reuse it, else nil. revision is
// that of the settings of the provider now.
func (c *SessionRunner) takeIdle(ar *activeRun, revision string) *providerSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.idle[ar.Agent]
	if t == nil || ar.Fork || c.closed {
		return nil
	}
	delete(c.idle, ar.Agent)
	t.idleTimer.Stop()
	if t.provider != ar.Provider || t.revision != revision || t.profile != ar.Profile || t.orders != ordersOf(ar.Run) || t.dir != ar.dir.Path || t.guest != ar.Guest || ar.Continue || !t.assignTo(ar) {
		c.closeAsync(t)
		return nil
	}
	if t.unwatch != nil {
		t.unwatch()
	}
	return t
}

// keepIdle keeps a session open for the agent's next turn, and reports whether it does.
func (c *SessionRunner) keepIdle(ar *activeRun, t *providerSession) bool {
	if t.process && t.slot.hasWaiters(ar.ctx) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || ar.ctx.Err() != nil || c.idle[t.agent] != nil || !t.assignTo(nil) {
		return false
	}
	c.idle[t.agent] = t
	t.lastUsed = time.Now()
	wait := c.parent.cfg.IdleTimeout
	if t.process {
		wait = min(wait, slotCheckInterval)
		t.unwatch = context.AfterFunc(t.slot.lostCtx, func() { c.closeIdle(t) })
	}
	t.idleTimer = time.AfterFunc(wait, func() { c.checkIdle(t) })
	return true
}

// checkIdle closes a session that was idle for too long, or whose slot another agent waits for.
func (c *SessionRunner) checkIdle(t *providerSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle[t.agent] != t {
		return
	}
	if !t.process || time.Since(t.lastUsed) >= c.parent.cfg.IdleTimeout {
		delete(c.idle, t.agent)
		c.closeAsync(t)
		return
	}
	slot := t.slot
	c.wg.Go(func() {
		if slot.hasWaiters(c.ctx) {
			c.closeIdle(t)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.idle[t.agent] == t {
			t.idleTimer.Reset(slotCheckInterval)
		}
	})
}

// closeIdle closes a session if it is idle.
func (c *SessionRunner) closeIdle(t *providerSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle[t.agent] == t {
		delete(c.idle, t.agent)
		c.closeAsync(t)
	}
}

// closeAsync closes a session in the background. c.mu is held and the session runner is not
// closed.
func (c *SessionRunner) closeAsync(t *providerSession) { c.wg.Go(func() { c.closeSession(t) }) }

// closeSession closes a session and releases its token and slot. If the backend does not close
// in time, it is abandoned.
func (c *SessionRunner) closeSession(t *providerSession) {
	t.assignTo(nil)
	// Events from now on are ignored, because closing waits for their delivery.
	t.shut.Do(func() { close(t.over) })
	if t.idleTimer != nil {
		t.idleTimer.Stop()
	}
	select {
	case err := <-attempt(t.session.Close):
		if err != nil {
			c.log.WarnContext(c.ctx, "provider session closed with an error", "agent", t.agent, "provider", t.provider, "error", err)
		}
	case <-time.After(backendTimeout):
		c.log.ErrorContext(c.ctx, "provider session does not close, abandoning it", "agent", t.agent, "provider", t.provider)
	}
	t.revokeTokens()
	if t.slot != nil {
		if t.unwatch != nil {
			t.unwatch()
		}
		t.slot.Release()
		<-t.slot.released
	}
}

// attempt calls into a backend on a goroutine of its own, so that the caller can stop waiting
// for it. A panic becomes an error.
func attempt(call func() error) <-chan error {
	answer := make(chan error, 1)
	go func() { // ends when the call returns
		answer <- guarded(call)
	}()
	return answer
}

// guarded turns a panic into an error.
func guarded(call func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{value: v, stack: debug.Stack()}
		}
	}()
	return call()
}

// panicked is a recovered panic.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("internal error: %v", p.value) }

// turnOver is the result of a tool call after the end of the turn.
func turnOver() providers.ToolResult {
	return providers.ToolResult{Text: "The turn is over.", IsError: true}
}
