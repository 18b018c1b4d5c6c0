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
	// openFor bounds opening a conversation: backends that are programs take
	// seconds.
	openFor = time.Minute
	// tidyFor is how long the end of a run is held back so that its slot is free
	// when the session hears of it.
	tidyFor = time.Second
	// maxSteers bounds the messages that wait for a turn to take them.
	maxSteers = 64
	// maxEarly bounds the approvals that wait for a conversation to open.
	maxEarly = 16
	// maxAskings bounds the approvals that people are asked for in one turn.
	maxAskings = 1000

	lostSlot = "the agent lost its slot"
)

// activeRun is a run from its start to its end. One goroutine lives it; the methods
// that others call say so.
type activeRun struct {
	Run
	runner *SessionRunner
	caller tools.Caller
	log    *slog.Logger

	// ctx ends when nobody wants to hear of the run any more, work also when it
	// is to stop; its cause says how it ends then.
	ctx  context.Context
	mute context.CancelFunc
	work context.Context
	stop context.CancelCauseFunc

	events  chan providers.Event
	flushes chan chan struct{} // tool calls that want everything said before
	wake    chan struct{}      // there is something to steer
	over    chan struct{}      // closed when nothing is heard any more

	slot   *Slot
	talk   *providerSession
	began  time.Time
	speech speech
	trace  RunTrace // nil when nobody follows the run
	// broken says that the backend did not do what it was told.
	broken bool
	// early are approvals that were asked for before there was a conversation
	// to give the answer to.
	early []providers.Event

	mu     sync.Mutex // guards the following
	ended  bool
	busy   int           // tools and calls into the backend that run
	quiet  chan struct{} // closed when the run has ended and none of them runs
	steers []*steer
	asked  map[string]*asking // approvals that are waited for
	// askings counts how often each approval was asked for.
	askings map[string]int
}

// stopped is why a run was stopped.
type stopped struct{ end Ended }

func (s *stopped) Error() string { return "the run was stopped: " + s.end.Reason }

func newLife(c *SessionRunner, r Run) *activeRun {
	l := &activeRun{
		Run: r, runner: c, slot: r.Slot,
		log:    c.log.With("agent", r.Agent, "run", r.ID),
		events: make(chan providers.Event), flushes: make(chan chan struct{}), wake: make(chan struct{}, 1),
		over: make(chan struct{}), quiet: make(chan struct{}), asked: map[string]*asking{}, askings: map[string]int{},
		caller: tools.Caller{
			Session: c.ref.Session, User: c.ref.User, Monitor: r.Monitor, Agent: r.Role, Turn: r.Turn,
			Kind: r.Kind, Window: r.Window, Profile: r.Profile, Guest: r.Guest, Provider: r.Provider, Desktop: c.ref.Desktop,
			Job: r.Job, Todo: r.Todo,
		},
	}
	if t := c.pool.cfg.Tracer; t != nil {
		l.trace = t.Run(c.ref, &l.Run)
	}
	l.ctx, l.mute = context.WithCancel(c.ctx)
	l.work, l.stop = context.WithCancelCause(l.ctx)
	return l
}

// interrupt stops the run. Anybody may call it.
func (l *activeRun) interrupt(reason string) {
	l.stop(&stopped{Ended{Outcome: providers.Interrupted, Reason: reason}})
}

// live is the goroutine of the run.
func (l *activeRun) live() {
	defer l.mute()
	var end Ended
	err := guarded(func() (err error) {
		end, err = l.run()
		return err
	})
	if err != nil {
		end = l.verdict(err)
	}
	l.finish(end)
}

// verdict is how a run ends that could not go on.
func (l *activeRun) verdict(err error) Ended {
	l.broken = true
	if s, ok := errors.AsType[*stopped](context.Cause(l.work)); ok {
		return s.end
	}
	return l.failed(err)
}

// failed is how a run ends that failed.
func (l *activeRun) failed(err error) Ended {
	if p, ok := errors.AsType[*panicked](err); ok {
		l.log.ErrorContext(l.ctx, "a run broke", "panic", p.value, "stack", string(p.stack))
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

// run does everything up to the end of the turn.
func (l *activeRun) run() (Ended, error) {
	p, ok := l.runner.pool.cfg.Providers.Get(l.Provider)
	if !ok {
		return Ended{}, &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("there is no provider %q here", l.Provider)}
	}
	l.talk = l.runner.take(l)
	if err := l.takeSlot(); err != nil {
		return Ended{}, err
	}
	defer context.AfterFunc(l.slot.life, func() { l.interrupt(lostSlot) })()
	l.began = time.Now()
	if l.trace != nil {
		l.trace.Began()
	}
	l.report(Began{Of{l.ID}})
	if err := context.Cause(l.work); err != nil {
		return Ended{}, err
	}
	for {
		reused := l.talk != nil
		if !reused {
			if err := l.open(p); err != nil {
				return Ended{}, err
			}
		}
		if err := context.Cause(l.work); err != nil {
			return Ended{}, err
		}
		end, err := l.turn()
		if reused && errors.Is(err, providers.ErrClosed) && l.work.Err() == nil {
			l.log.DebugContext(l.ctx, "conversation had ended; it is opened again")
			l.runner.end(l.talk)
			l.talk = nil
			continue
		}
		return end, err
	}
}

// takeSlot gets the slot of the run: that of its conversation, the one that was
// reserved, or the next that is free.
func (l *activeRun) takeSlot() error {
	if l.talk != nil && l.talk.slot != nil {
		if spare := l.slot; spare != nil {
			spare.Release()
			l.runner.wg.Go(func() { <-spare.gone })
		}
		l.slot, l.talk.slot = l.talk.slot, nil
	}
	if l.slot == nil {
		s, err := l.runner.pool.cfg.Limiter.Acquire(l.work, l.runner.claim(string(l.Role)))
		if err != nil {
			return err
		}
		l.slot = s
	}
	return context.Cause(l.work)
}

// brief is what the agent is told about itself. Like a slot it waits for a store
// that is away.
func (l *activeRun) brief() (string, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		system, err := l.runner.pool.cfg.Tools.Brief(l.work, l.caller)
		if err == nil || !errors.Is(err, store.ErrUnavailable) {
			return system, err
		}
		select {
		case <-l.work.Done():
			return "", context.Cause(l.work)
		case <-time.After(pause):
		}
	}
}

// open opens a conversation.
func (l *activeRun) open(p providers.Provider) (err error) {
	cfg := l.runner.pool.cfg
	caps := p.Caps()
	system, hands := l.System, l.System == ""
	if hands {
		if system, err = l.brief(); err != nil {
			return fmt.Errorf("tell the agent who it is: %w", err)
		}
	}
	t := &providerSession{runner: l.runner, agent: l.Agent, provider: l.Provider, profile: l.Profile, guest: l.Guest, process: caps.Process, turn: l, over: make(chan struct{})}
	spec := providers.Spec{
		Agent: string(l.Role), System: system, Model: cfg.Models[l.Provider],
		From: l.From, Fork: l.Fork, Whole: l.Lasting && !l.Fork, Hear: t.handleEvent,
	}
	if hands {
		spec.Tools, spec.Call = cfg.Tools.Tools(l.caller), t.call
	}
	if cfg.Tracer != nil {
		spec.Asked = t.asked
	}
	if hands && caps.MCP && cfg.MCPTokens != nil {
		spec.MCP, t.revoke = cfg.MCPTokens.Issue(l.caller)
		defer func() {
			if err != nil {
				t.revoke()
			}
		}()
	}
	ctx, cancel := context.WithTimeout(l.work, openFor)
	defer cancel()
	t.session, err = l.await(ctx, func() (providers.Session, error) { return p.Open(ctx, spec) })
	if err != nil {
		return fmt.Errorf("open a conversation with %s: %w", l.Provider, err)
	}
	l.talk = t
	early := l.early
	l.early = nil
	for _, e := range early {
		l.ask(e)
	}
	return nil
}

// await waits for a conversation to open, and hears what is said meanwhile. One
// that opens when nobody waits any more is closed.
func (l *activeRun) await(ctx context.Context, open func() (providers.Session, error)) (providers.Session, error) {
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
		case <-l.speech.due:
			l.flush()
		case <-late:
			late, giveUp = nil, time.After(patience)
		case <-giveUp:
			return nil, context.Cause(ctx)
		}
	}
}

// finish gives back everything that the run holds and reports its end.
func (l *activeRun) finish(end Ended) {
	defer l.runner.leave(l) // until then it can be disposed of
	l.flush()
	spurned := l.end()
	l.settle()
	if t := l.talk; t != nil {
		l.part(t, end)
	}
	if s := l.slot; s != nil {
		s.Release()
		l.runner.wg.Go(func() { <-s.gone }) // Close waits for it
		select {
		case <-s.gone:
		case <-time.After(tidyFor):
		}
	}
	for _, s := range spurned {
		l.report(SteerRefused{Of: Of{l.ID}, Message: s.Message, Ending: true})
	}
	if l.trace != nil {
		l.trace.Ended(end, l.ctx.Err() != nil)
	}
	end.Run = l.ID
	if !l.began.IsZero() {
		end.Took = time.Since(l.began)
	}
	l.report(end)
}

// part keeps the conversation for the agent's next turn, or closes it.
func (l *activeRun) part(t *providerSession, end Ended) {
	if t.process {
		t.slot, l.slot = l.slot, nil
	}
	good := l.Lasting && !l.Fork && !l.broken && t.revoke == nil && end.Outcome != providers.Failed
	if good && l.runner.keep(l, t) {
		return
	}
	closed := make(chan struct{})
	l.runner.wg.Go(func() {
		defer close(closed)
		l.runner.end(t)
	})
	select {
	case <-closed:
	case <-time.After(tidyFor):
	}
}

// settle waits until nothing that the run began goes on any more, but not for
// long.
func (l *activeRun) settle() {
	l.stop(context.Canceled)
	select {
	case <-l.quiet:
	case <-time.After(tidyFor):
		l.broken = true
		l.log.WarnContext(l.ctx, "a run has ended and something in it has not; it is left alone")
	}
}

// report tells the session something. When that is not possible the run has
// nobody to work for.
func (l *activeRun) report(r Report) {
	if l.ctx.Err() != nil {
		return
	}
	if err := l.runner.ref.Sink.Report(l.ctx, r); err != nil {
		l.log.DebugContext(l.ctx, "nobody hears the run any more", "error", err)
		l.mute()
	}
}
