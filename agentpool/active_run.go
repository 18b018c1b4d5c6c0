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
	beganAt         time.Time
	output          outputBuffer
	trace           RunTrace // nil without a tracer
	// broken says that the backend failed or did not obey, so that its provider session is not
	// reused.
	broken bool
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
			Kind: r.Kind, Window: r.Window, Profile: r.Profile, Guest: r.Guest, Provider: r.Provider, Desktop: c.ref.Desktop,
			Job: r.Job, Todo: r.Todo,
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

// execute runs in the goroutine of the run.
func (l *activeRun) execute() {
	defer l.abandon()
	var end Ended
	err := guarded(func() (err error) {
		end, err = l.runTurn()
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

// runTurn does everything up to the end of the turn.
func (l *activeRun) runTurn() (Ended, error) {
	p, ok := l.runner.parent.cfg.Providers.Get(l.Provider)
	if !ok {
		return Ended{}, &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("there is no provider %q here", l.Provider)}
	}
	l.providerSession = l.runner.takeIdle(l)
	if err := l.acquireSlot(); err != nil {
		return Ended{}, err
	}
	defer context.AfterFunc(l.slot.lostCtx, func() { l.interrupt(lostSlot) })()
	l.beganAt = time.Now()
	if l.trace != nil {
		l.trace.Began()
	}
	l.report(Began{RunRef{l.ID}})
	if err := context.Cause(l.workCtx); err != nil {
		return Ended{}, err
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

// brief returns the system prompt. It retries while the store is unavailable.
func (l *activeRun) brief() (string, error) {
	for pause := minRetryPause; ; pause = min(2*pause, maxRetryPause) {
		system, err := l.runner.parent.cfg.Tools.Brief(l.workCtx, l.caller)
		if err == nil || !errors.Is(err, store.ErrUnavailable) {
			return system, err
		}
		select {
		case <-l.workCtx.Done():
			return "", context.Cause(l.workCtx)
		case <-time.After(pause):
		}
	}
}

// open opens a provider session.
func (l *activeRun) open(p providers.Provider) (err error) {
	cfg := l.runner.parent.cfg
	caps := p.Caps()
	system, withTools := l.System, l.System == ""
	if withTools {
		if system, err = l.brief(); err != nil {
			return fmt.Errorf("build the system prompt: %w", err)
		}
	}
	t := &providerSession{runner: l.runner, agent: l.Agent, provider: l.Provider, profile: l.Profile, guest: l.Guest, process: caps.Process, run: l, over: make(chan struct{})}
	spec := providers.Spec{
		Agent: string(l.Role), System: system, Model: cfg.Models[l.Provider],
		From: l.From, Fork: l.Fork, Whole: l.Lasting && !l.Fork, OnEvent: t.handleEvent,
	}
	if caps.Process && cfg.Dir != nil {
		spec.Dir = cfg.Dir(l.runner.ref.Session)
	}
	if withTools {
		spec.Tools, spec.Call = cfg.Tools.Tools(l.caller), t.call
	}
	if cfg.Tracer != nil {
		spec.OnModelCall = t.traceModelCall
	}
	if withTools && caps.MCP && cfg.MCPTokens != nil {
		spec.MCP, t.revoke = cfg.MCPTokens.Issue(l.caller)
		defer func() {
			if err != nil {
				t.revoke()
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
	late, giveUp := ctx.Done(), (<-chan time.Time)(nil)
	for {
		select {
		case s := <-opened:
			return s, nil
		case err := <-failed:
			return nil, err
		case e := <-l.events:
			if l.handle(e) != nil {
				return nil, providers.ErrClosed
			}
		case <-l.output.due:
			l.flush()
		case <-late:
			late, giveUp = nil, time.After(backendTimeout)
		case <-giveUp:
			return nil, context.Cause(ctx)
		}
	}
}

// finish releases everything that the run holds and reports its end.
func (l *activeRun) finish(end Ended) {
	defer l.runner.removeRun(l) // Dispose works until then
	l.flush()
	spurned := l.markEnded()
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
	for _, s := range spurned {
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
	good := l.Lasting && !l.Fork && !l.broken && t.revoke == nil && end.Outcome != providers.Failed
	if good && l.runner.keepIdle(l, t) {
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
