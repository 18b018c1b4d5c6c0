package agentpool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
)

const (
	// openTimeout bounds opening a provider session; backends that are programs take seconds.
	openTimeout = time.Minute
	// cleanupTimeout bounds how long the end of a run is delayed so that its slot is free when
	// the session receives the end.
	cleanupTimeout = time.Second
	// maxSteers bounds the messages waiting for a turn to accept them.
	maxSteers = 64
	// maxEarly bounds the approvals requested while the provider session is being opened.
	maxEarly = 16
	// maxApprovals bounds the different approvals requested in one turn.
	maxApprovals = 1000

	lostSlot = "the agent lost its slot"
)

// activeRun is a run from its start to its end. One goroutine executes it; methods that other
// goroutines may call say so.
type activeRun struct {
	Run
	runner *SessionRunner
	caller tools.Caller
	log    *slog.Logger

	// ctx ends when the run must not report any more. workCtx also ends when the run is to stop;
	// its cause says how the run ends then.
	ctx      context.Context
	abandon  context.CancelFunc
	workCtx  context.Context
	stopWork context.CancelCauseFunc

	events  chan providers.Event
	flushes chan chan struct{} // from tool calls that need the text before them reported first
	wake    chan struct{}      // signals a new message in steers
	over    chan struct{}      // closed when the run no longer receives events

	slot            *Slot
	providerSession *providerSession
	dir             string // the folder in which a backend that is a process works
	beganAt         time.Time
	output          outputBuffer
	trace           RunTrace // nil without a tracer
	// broken says that the backend failed or did not obey, so that its provider session is not
	// reused.
	broken bool
	// briefing is the briefing of the agent, for a backend with Caps.Prefix.
	briefing tools.Briefing
	// earlyApprovals holds approvals requested before the provider session was open, when an answer
	// could not be delivered yet.
	earlyApprovals []providers.Event

	mu        sync.Mutex // guards the following
	ended     bool
	busy      int           // tools and backend calls in progress
	quiet     chan struct{} // closed when the run has ended and busy is 0
	steers    []*steer
	approvals map[string]*pendingApproval // approvals waiting for an answer
	// approvalCounts counts the requests of each approval.
	approvalCounts map[string]int
}

// stopped is the cause of workCtx when a run is stopped; end is how the run ends.
type stopped struct{ end Ended }

func (s *stopped) Error() string { return "the run was stopped: " + s.end.Reason }

func newActiveRun(c *SessionRunner, r Run) *activeRun {
	l := &activeRun{
		Run: r, runner: c, slot: r.Slot,
		log:    c.log.With("agent", r.Agent, "run", r.ID),
		events: make(chan providers.Event), flushes: make(chan chan struct{}), wake: make(chan struct{}, 1),
		over: make(chan struct{}), quiet: make(chan struct{}), approvals: map[string]*pendingApproval{}, approvalCounts: map[string]int{},
		caller: tools.Caller{
			Session: c.ref.Session, User: c.ref.User, Monitor: r.Monitor, Agent: r.Role, Turn: r.Turn,
			Kind: r.Kind, Window: r.Window, Profile: r.Profile, ViewOf: r.ViewOf, Mode: r.Mode, Instructions: r.Instructions, Guest: r.Guest, Provider: r.Provider, Desktop: c.ref.Desktop,
			Job: r.Job, Todo: r.Todo, Viewer: r.Viewer, ClientTools: r.ClientTools, ContextWindow: r.ContextWindow,
		},
	}
	if t := c.parent.cfg.Tracer; t != nil {
		l.trace = t.Run(c.ref, &l.Run)
	}
	l.ctx, l.abandon = context.WithCancel(c.ctx)
	l.workCtx, l.stopWork = context.WithCancelCause(l.ctx)
	return l
}

// interrupt stops the run. It is safe for concurrent use.
func (l *activeRun) interrupt(reason string) {
	l.stopWork(&stopped{Ended{Outcome: providers.Interrupted, Reason: reason}})
}

// execute runs the turn, in the goroutine of the run, and reports its end. A panic ends the run as
// failed.
func (l *activeRun) execute() {
	defer l.abandon()
	var end Ended
	err := guarded(func() (err error) {
		if l.Call != nil {
			end, err = l.executeCall()
		} else {
			end, err = l.runTurn()
		}
		return err
	})
	if err != nil {
		end = l.endAfter(err)
	}
	l.finish(end)
}

// endAfter returns the end of a run that cannot continue because of err.
func (l *activeRun) endAfter(err error) Ended {
	l.broken = true
	if s, ok := errors.AsType[*stopped](context.Cause(l.workCtx)); ok {
		return s.end
	}
	return l.failedEnd(err)
}

// failedEnd returns the end of a run that failed with err.
func (l *activeRun) failedEnd(err error) Ended {
	if p, ok := errors.AsType[*panicked](err); ok {
		l.log.ErrorContext(l.ctx, "panic in a run", "panic", p.value, "stack", string(p.stack))
	}
	f, ok := errors.AsType[*providers.Failure](err)
	if !ok {
		f = &providers.Failure{Class: providers.Transport, Err: err}
		if _, broke := errors.AsType[*panicked](err); broke {
			f.Class = providers.Invalid
		}
	}
	return Ended{Outcome: providers.Failed, Failure: f}
}

// runTurn acquires a slot, opens or reuses a provider session, and executes the turn in it. If a reused
// provider session has ended meanwhile, runTurn opens a new one.
func (l *activeRun) runTurn() (Ended, error) {
	p, ok := l.runner.provider(l.Provider)
	if !ok {
		return Ended{}, &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("there is no provider %q here", l.Provider)}
	}
	if err := l.findDir(p); err != nil {
		return Ended{}, err
	}
	l.providerSession = l.runner.takeIdle(l, l.revisionOf(p))
	if err := l.acquireSlot(); err != nil {
		return Ended{}, err
	}
	defer context.AfterFunc(l.slot.lostCtx, func() { l.interrupt(lostSlot) })()
	if err := l.begin(); err != nil {
		return Ended{}, err
	}
	if err := l.preparePrompt(p.Caps()); err != nil {
		return Ended{}, fmt.Errorf("build the prompt: %w", err)
	}
	for {
		reused := l.providerSession != nil
		if !reused {
			if err := l.open(p); err != nil {
				return Ended{}, err
			}
		}
		if err := context.Cause(l.workCtx); err != nil {
			return Ended{}, err
		}
		end, err := l.turn()
		if reused && errors.Is(err, providers.ErrClosed) && l.workCtx.Err() == nil {
			l.log.DebugContext(l.ctx, "provider session had ended, opening a new one")
			l.runner.closeSession(l.providerSession)
			l.providerSession = nil
			continue
		}
		return end, err
	}
}

// findDir finds the working directory of a backend that is a process.
func (l *activeRun) findDir(p providers.Provider) (err error) {
	dir := l.runner.parent.cfg.Dir
	if dir == nil || !p.Caps().Process {
		return nil
	}
	if l.dir, err = dir(l.workCtx, l.runner.ref.Session); err != nil {
		return &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("find the folder to work in: %w", err)}
	}
	return nil
}

// acquireSlot gets the slot of the run: that of its provider session, the reserved one, or the
// next that is free.
func (l *activeRun) acquireSlot() error {
	if l.providerSession != nil && l.providerSession.slot != nil {
		if spare := l.slot; spare != nil {
			spare.Release()
			l.runner.wg.Go(func() { <-spare.released })
		}
		l.slot, l.providerSession.slot = l.providerSession.slot, nil
	}
	if l.slot == nil {
		s, err := l.runner.parent.cfg.Limiter.Acquire(l.workCtx, l.runner.claim(string(l.Role)))
		if err != nil {
			return err
		}
		l.slot = s
	}
	return context.Cause(l.workCtx)
}

// loadBriefing returns the agent's briefing. It retries while the store is unavailable.
func (l *activeRun) loadBriefing() (tools.Briefing, error) {
	for pause := minRetryPause; ; pause = min(2*pause, maxRetryPause) {
		b, err := l.runner.parent.cfg.Tools.Brief(l.workCtx, l.caller)
		if err == nil || !errors.Is(err, store.ErrUnavailable) {
			return b, err
		}
		select {
		case <-l.workCtx.Done():
			return b, context.Cause(l.workCtx)
		case <-time.After(pause):
		}
	}
}

// open opens a provider session.
func (l *activeRun) open(p providers.Provider) (err error) {
	cfg := l.runner.parent.cfg
	caps := p.Caps()
	system, withTools := l.System, l.System == ""
	switch {
	case withTools && caps.Prefix:
		system = l.briefing.System
	case withTools:
		b, err := l.loadBriefing()
		if err != nil {
			return fmt.Errorf("build the system prompt: %w", err)
		}
		system = b.Whole()
	}
	t := &providerSession{runner: l.runner, agent: l.Agent, provider: l.Provider, revision: l.revisionOf(p), profile: l.Profile, orders: ordersOf(l.Run), dir: l.dir, guest: l.Guest, process: caps.Process, run: l, over: make(chan struct{})}
	spec := providers.Spec{
		Agent: string(l.Role), System: system, Model: cfg.Models[l.Provider],
		From: l.From, Fork: l.Fork, Whole: l.Lasting && !l.Fork, OnEvent: t.handleEvent, Dir: l.dir,
	}
	switch {
	case withTools && caps.Prefix:
		spec.Tools, spec.Call = cfg.Tools.AllTools(l.caller), t.call
	case withTools:
		spec.Tools, spec.Call = cfg.Tools.Tools(l.caller), t.call
	}
	if l.NoTools {
		spec.Call = refuseCall
	}
	if cfg.Tracer != nil {
		spec.OnModelCall = t.traceModelCall
	}
	if withTools && caps.MCP && cfg.MCPTokens != nil {
		spec.MCP = func(execute func(context.Context, providers.ToolCall) providers.ToolResult) providers.Endpoint {
			e, revoke := cfg.MCPTokens.Issue(l.caller, execute)
			t.ownToken(revoke)
			return e
		}
		defer func() {
			if err != nil {
				t.revokeTokens()
			}
		}()
	}
	ctx, cancel := context.WithTimeout(l.workCtx, openTimeout)
	defer cancel()
	t.session, err = l.awaitOpen(ctx, func() (providers.Session, error) { return p.Open(ctx, spec) })
	if err != nil {
		return fmt.Errorf("open a session with provider %s: %w", l.Provider, err)
	}
	l.providerSession = t
	early := l.earlyApprovals
	l.earlyApprovals = nil
	for _, e := range early {
		l.askApproval(e)
	}
	return nil
}

// preparePrompt adds what the agent must know to the prompt, for a backend that sends the whole
// conversation with each request: there it is part of the conversation, so that the system prompt
// does not change. It hides the owner's memory from the turns of guests.
func (l *activeRun) preparePrompt(caps providers.Caps) (err error) {
	if l.Guest {
		l.From.Entries = tools.WithoutMemory(l.From.Entries)
	}
	if !caps.Prefix || l.System != "" {
		return nil
	}
	if l.briefing, err = l.loadBriefing(); err != nil {
		return err
	}
	if !l.Continue && !l.NoTools {
		l.Prompt = l.briefing.Preface(l.From.Entries) + l.Prompt
	}
	return nil
}

// refuseCall is the result of a call in a run without tools.
func refuseCall(context.Context, providers.ToolCall) providers.ToolResult {
	return providers.ToolResult{Text: "No tools now: write only what the last message asks for.", IsError: true}
}

// awaitOpen waits for a provider session to open, and handles events meanwhile. A session that
// opens after the wait has ended is closed.
func (l *activeRun) awaitOpen(ctx context.Context, open func() (providers.Session, error)) (providers.Session, error) {
	opened, abandoned := make(chan providers.Session), make(chan struct{})
	defer close(abandoned)
	failed := attempt(func() error {
		s, err := open()
		if err != nil {
			return err
		}
		select {
		case opened <- s:
			return nil
		case <-abandoned:
			return s.Close()
		}
	})
	ended, timeout := ctx.Done(), (<-chan time.Time)(nil)
	for {
		select {
		case s := <-opened:
			return s, nil
		case err := <-failed:
			return nil, err
		case e := <-l.eventSource():
			if l.handle(e) != nil {
				return nil, providers.ErrClosed
			}
		case <-l.output.due:
			l.flush()
		case <-ended:
			ended, timeout = nil, time.After(backendTimeout) // Open has ctx, too, and should return
		case <-timeout:
			return nil, context.Cause(ctx)
		}
	}
}

// finish releases everything that the run holds and reports its end.
func (l *activeRun) finish(end Ended) {
	defer l.runner.removeRun(l) // Dispose works until then
	l.flush()
	refused := l.markEnded()
	l.waitQuiet()
	if t := l.providerSession; t != nil {
		l.keepOrClose(t, end)
	}
	if s := l.slot; s != nil {
		s.Release()
		l.runner.wg.Go(func() { <-s.released })
		select {
		case <-s.released:
		case <-time.After(cleanupTimeout):
		}
	}
	for _, s := range refused {
		l.report(SteerRefused{RunRef: RunRef{l.ID}, Message: s.Message, Ending: true})
	}
	if l.trace != nil {
		l.trace.Ended(end, l.ctx.Err() != nil)
	}
	end.Run = l.ID
	if !l.beganAt.IsZero() {
		end.Took = time.Since(l.beganAt)
	}
	l.report(end)
}

// keepOrClose keeps the provider session for the agent's next turn, or closes it.
func (l *activeRun) keepOrClose(t *providerSession, end Ended) {
	if t.process {
		t.slot, l.slot = l.slot, nil
	}
	reusable := l.Lasting && !l.Fork && !l.broken && end.Outcome != providers.Failed
	if reusable && l.runner.keepIdle(l, t) {
		return
	}
	closed := make(chan struct{})
	l.runner.wg.Go(func() {
		defer close(closed)
		l.runner.closeSession(t)
	})
	select {
	case <-closed:
	case <-time.After(cleanupTimeout):
	}
}

// waitQuiet waits until all tools and backend calls of the run have returned, at most
// cleanupTimeout.
func (l *activeRun) waitQuiet() {
	l.stopWork(context.Canceled)
	select {
	case <-l.quiet:
	case <-time.After(cleanupTimeout):
		l.broken = true
		l.log.WarnContext(l.ctx, "run ended but a call in it has not returned, no longer waiting")
	}
}

// report sends a report to the session. If that fails, the session is lost and the run is
// abandoned.
func (l *activeRun) report(r Report) {
	if l.ctx.Err() != nil {
		return
	}
	if err := l.runner.ref.Sink.Report(l.ctx, r); err != nil {
		l.log.DebugContext(l.ctx, "session closed, stopping run", "error", err)
		l.abandon()
	}
}

// begin records and reports that the run begins. It returns the reason if the run was already stopped.
func (l *activeRun) begin() error {
	l.beganAt = time.Now()
	if l.trace != nil {
		l.trace.Began()
	}
	l.report(Began{RunRef{l.ID}})
	return context.Cause(l.workCtx)
}
