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
	done    chan struct{}      // closed when execute returns

	slot            *Slot
	providerSession *providerSession
	dir             WorkDir // of a backend that is a process
	// closing is closed when the provider session is, if the run closes it; nil otherwise. It does not change after done.
	closing <-chan struct{}
	beganAt time.Time
	output  outputBuffer
	trace   RunTrace // nil without a tracer
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
	ar := &activeRun{
		Run: r, runner: c, slot: r.Slot,
		log:    c.log.With("agent", r.Agent, "run", r.ID),
		events: make(chan providers.Event), flushes: make(chan chan struct{}), wake: make(chan struct{}, 1),
		over: make(chan struct{}), done: make(chan struct{}), quiet: make(chan struct{}), approvals: map[string]*pendingApproval{}, approvalCounts: map[string]int{},
		caller: tools.Caller{
			Session: c.ref.Session, User: c.ref.User, Monitor: r.Monitor, Agent: r.Role, Turn: r.Turn,
			Kind: r.Kind, Window: r.Window, Profile: r.Profile, ViewOf: r.ViewOf, Mode: r.Mode, Instructions: r.Instructions, Guest: r.Guest, Provider: r.Provider, Desktop: c.ref.Desktop,
			Job: r.Job, Todo: r.Todo, Viewer: r.Viewer, ClientTools: r.ClientTools, ContextWindow: r.ContextWindow,
		},
	}
	if t := c.parent.cfg.Tracer; t != nil {
		ar.trace = t.Run(c.ref, &ar.Run)
	}
	ar.ctx, ar.abandon = context.WithCancel(c.ctx)
	ar.workCtx, ar.stopWork = context.WithCancelCause(ar.ctx)
	return ar
}

// interrupt stops the run. It is safe for concurrent use.
func (ar *activeRun) interrupt(reason string) {
	ar.stopWork(&stopped{Ended{Outcome: providers.Interrupted, Reason: reason}})
}

// execute runs the turn, in the goroutine of the run, and reports its end. A panic ends the run as
// failed.
func (ar *activeRun) execute() {
	defer close(ar.done)
	defer ar.abandon()
	var end Ended
	err := guarded(func() (err error) {
		if ar.Call != nil {
			end, err = ar.executeCall()
		} else {
			end, err = ar.runTurn()
		}
		return err
	})
	if err != nil {
		end = ar.endAfter(err)
	}
	ar.finish(end)
}

// endAfter returns the end of a run that cannot continue because of err.
func (ar *activeRun) endAfter(err error) Ended {
	ar.broken = true
	if s, ok := errors.AsType[*stopped](context.Cause(ar.workCtx)); ok {
		return s.end
	}
	return ar.failedEnd(err)
}

// failedEnd returns the end of a run that failed with err.
func (ar *activeRun) failedEnd(err error) Ended {
	if p, ok := errors.AsType[*panicked](err); ok {
		ar.log.ErrorContext(ar.ctx, "panic in a run", "panic", p.value, "stack", string(p.stack))
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
func (ar *activeRun) runTurn() (Ended, error) {
	p, ok := ar.runner.provider(ar.Provider)
	if !ok {
		return Ended{}, &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("there is no provider %q here", ar.Provider)}
	}
	if err := ar.findWorkDir(p); err != nil {
		return Ended{}, err
	}
	ar.providerSession = ar.runner.takeIdle(ar, ar.revisionOf(p))
	if err := ar.acquireSlot(); err != nil {
		return Ended{}, err
	}
	defer context.AfterFunc(ar.slot.lostCtx, func() { ar.interrupt(lostSlot) })()
	if err := ar.reportBegan(); err != nil {
		return Ended{}, err
	}
	if err := ar.preparePrompt(p.Caps()); err != nil {
		return Ended{}, fmt.Errorf("build the prompt: %w", err)
	}
	for {
		reused := ar.providerSession != nil
		if !reused {
			if err := ar.open(p); err != nil {
				return Ended{}, err
			}
		}
		if err := context.Cause(ar.workCtx); err != nil {
			return Ended{}, err
		}
		end, err := ar.executeTurn()
		if reused && errors.Is(err, providers.ErrClosed) && ar.workCtx.Err() == nil {
			ar.log.DebugContext(ar.ctx, "provider session had ended, opening a new one")
			ar.runner.closeSession(ar.providerSession)
			ar.providerSession = nil
			continue
		}
		return end, err
	}
}

// acquireSlot gets the slot of the run: that of its provider session, the reserved one, or the
// next that is free.
func (ar *activeRun) acquireSlot() error {
	if ar.providerSession != nil && ar.providerSession.slot != nil {
		if spare := ar.slot; spare != nil {
			spare.Release()
			ar.runner.wg.Go(func() { <-spare.released })
		}
		ar.slot, ar.providerSession.slot = ar.providerSession.slot, nil
	}
	if ar.slot == nil {
		s, err := ar.runner.parent.cfg.Limiter.Acquire(ar.workCtx, ar.runner.claim(string(ar.Role)))
		if err != nil {
			return err
		}
		ar.slot = s
	}
	return context.Cause(ar.workCtx)
}

// loadBriefing returns the agent's briefing. It retries while the store is unavailable.
func (ar *activeRun) loadBriefing() (tools.Briefing, error) {
	for pause := minRetryPause; ; pause = min(2*pause, maxRetryPause) {
		b, err := ar.runner.parent.cfg.Tools.Brief(ar.workCtx, ar.caller)
		if err == nil || !errors.Is(err, store.ErrUnavailable) {
			return b, err
		}
		select {
		case <-ar.workCtx.Done():
			return b, context.Cause(ar.workCtx)
		case <-time.After(pause):
		}
	}
}

// open opens a provider session.
func (ar *activeRun) open(p providers.Provider) (err error) {
	cfg := ar.runner.parent.cfg
	caps := p.Caps()
	system, withTools := ar.System, ar.System == ""
	switch {
	case withTools && caps.Prefix:
		system = ar.briefing.System
	case withTools:
		b, err := ar.loadBriefing()
		if err != nil {
			return fmt.Errorf("build the system prompt: %w", err)
		}
		system = b.Whole()
	}
	t := &providerSession{runner: ar.runner, agent: ar.Agent, provider: ar.Provider, revision: ar.revisionOf(p), profile: ar.Profile, orders: ordersOf(ar.Run), dir: ar.dir.Path, guest: ar.Guest, process: caps.Process, run: ar, over: make(chan struct{})}
	spec := providers.Spec{
		Agent: string(ar.Role), System: system, Model: cfg.Models[ar.Provider],
		From: ar.From, Fork: ar.Fork, Whole: ar.Lasting && !ar.Fork, OnEvent: t.handleEvent, Dir: ar.dir.Path,
	}
	switch {
	case withTools && caps.Prefix:
		spec.Tools, spec.Call = cfg.Tools.AllTools(ar.caller), t.handleToolCall
	case withTools:
		spec.Tools, spec.Call = cfg.Tools.Tools(ar.caller), t.handleToolCall
	}
	if ar.NoTools {
		spec.Call = refuseCall
	}
	if cfg.Tracer != nil {
		spec.OnModelCall = t.traceModelCall
	}
	if withTools && caps.MCP && cfg.MCPTokens != nil {
		spec.MCP = func(execute func(context.Context, providers.ToolCall) providers.ToolResult) providers.Endpoint {
			e, revoke := cfg.MCPTokens.Issue(ar.caller, execute)
			t.ownToken(revoke)
			return e
		}
		defer func() {
			if err != nil {
				t.revokeTokens()
			}
		}()
	}
	ctx, cancel := context.WithTimeout(ar.workCtx, openTimeout)
	defer cancel()
	t.session, err = ar.awaitOpen(ctx, func() (providers.Session, error) { return p.Open(ctx, spec) })
	if err != nil {
		return fmt.Errorf("open a session with provider %s: %w", ar.Provider, err)
	}
	ar.providerSession = t
	early := ar.earlyApprovals
	ar.earlyApprovals = nil
	for _, e := range early {
		ar.askApproval(e)
	}
	return nil
}

// preparePrompt adds what the agent must know to the prompt, for a backend that sends the whole
// conversation with each request: there it is part of the conversation, so that the system prompt
// does not change. It hides the owner's memory from the turns of guests.
func (ar *activeRun) preparePrompt(caps providers.Caps) (err error) {
	if ar.Guest {
		ar.From.Entries = tools.WithoutMemory(ar.From.Entries)
	}
	if !caps.Prefix || ar.System != "" {
		return nil
	}
	if ar.briefing, err = ar.loadBriefing(); err != nil {
		return err
	}
	if !ar.Continue && !ar.NoTools {
		ar.Prompt = ar.briefing.Preface(ar.From.Entries) + ar.Prompt
	}
	return nil
}

// refuseCall is the result of a call in a run without tools.
func refuseCall(context.Context, providers.ToolCall) providers.ToolResult {
	return providers.ToolResult{Text: "No tools now: write only what the last message asks for.", IsError: true}
}

// awaitOpen waits for a provider session to open, and handles events meanwhile. A session that
// opens after the wait has ended is closed.
func (ar *activeRun) awaitOpen(ctx context.Context, open func() (providers.Session, error)) (providers.Session, error) {
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
		case e := <-ar.eventSource():
			if ar.handleEvent(e) != nil {
				return nil, providers.ErrClosed
			}
		case <-ar.output.due:
			ar.flush()
		case <-ended:
			ended, timeout = nil, time.After(backendTimeout) // Open has ctx, too, and should return
		case <-timeout:
			return nil, context.Cause(ctx)
		}
	}
}

// finish releases everything that the run holds and reports its end.
func (ar *activeRun) finish(end Ended) {
	defer ar.runner.removeRun(ar) // Dispose finds the run until then
	ar.flush()
	refused := ar.markEnded()
	ar.waitQuiet()
	if t := ar.providerSession; t != nil {
		ar.keepOrClose(t, end)
	}
	ar.publishFiles()
	if s := ar.slot; s != nil {
		s.Release()
		ar.runner.wg.Go(func() { <-s.released })
		select {
		case <-s.released:
		case <-time.After(cleanupTimeout):
		}
	}
	for _, s := range refused {
		ar.report(SteerRefused{RunRef: RunRef{ar.ID}, Message: s.Message, Ending: true})
	}
	if ar.trace != nil {
		ar.trace.Ended(end, ar.ctx.Err() != nil)
	}
	end.Run = ar.ID
	if !ar.beganAt.IsZero() {
		end.Duration = time.Since(ar.beganAt)
	}
	ar.report(end)
}

// keepOrClose keeps the provider session for the agent's next turn, or closes it.
func (ar *activeRun) keepOrClose(t *providerSession, end Ended) {
	if t.process {
		t.slot, ar.slot = ar.slot, nil
	}
	reusable := ar.Lasting && !ar.Fork && !ar.broken && end.Outcome != providers.Failed
	if reusable && ar.runner.keepIdle(ar, t) {
		return
	}
	closed := make(chan struct{})
	ar.closing = closed
	ar.runner.wg.Go(func() {
		defer close(closed)
		ar.runner.closeSession(t)
	})
	select {
	case <-closed:
	case <-time.After(cleanupTimeout):
	}
}

// awaitStop waits until the run has ended, its tools and backend calls have returned, and the provider session is closed
// if the run closes it. It returns the error of ctx if that ends first.
func (ar *activeRun) awaitStop(ctx context.Context) error {
	if err := awaitClosed(ctx, ar.done); err != nil {
		return err
	}
	if err := awaitClosed(ctx, ar.quiet); err != nil || ar.closing == nil {
		return err
	}
	return awaitClosed(ctx, ar.closing)
}

// awaitClosed waits until c is closed, and returns the error of ctx if that ends first.
func awaitClosed(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a run to stop: %w", ctx.Err())
	}
}

// waitQuiet waits until all tools and backend calls of the run have returned, at most
// cleanupTimeout.
func (ar *activeRun) waitQuiet() {
	ar.stopWork(context.Canceled)
	select {
	case <-ar.quiet:
	case <-time.After(cleanupTimeout):
		ar.broken = true
		ar.log.WarnContext(ar.ctx, "run ended but a call in it has not returned, no longer waiting")
	}
}

// report sends a report to the session. If that fails, the session is lost and the run is
// abandoned.
func (ar *activeRun) report(r Report) {
	if ar.ctx.Err() != nil {
		return
	}
	if err := ar.runner.ref.Sink.Report(ar.ctx, r); err != nil {
		ar.log.DebugContext(ar.ctx, "session closed, stopping run", "error", err)
		ar.abandon()
	}
}

// reportBegan records and reports that the run begins. It returns the reason if the run was already stopped.
func (ar *activeRun) reportBegan() error {
	ar.beganAt = time.Now()
	if ar.trace != nil {
		ar.trace.Began()
	}
	ar.report(Began{RunRef{ar.ID}})
	return context.Cause(ar.workCtx)
}
