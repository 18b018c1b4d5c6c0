package agentpool_test

import (
	"context"
	"errors"
	"sync"

	"github.com/everdesk/everdesk/providers"
)

// fakeProvider is a provider controlled by a test.
type fakeProvider struct {
	caps providers.Caps
	// onOpen is called by Open, and closing by Close.
	onOpen  func(ctx context.Context, s providers.Spec) error
	onClose func() error
	// runTurn executes a turn; its results are the end of the turn.
	runTurn func(p *turn) (providers.Outcome, error)
	// onSend is called by Send before anything else, stopping by Interrupt.
	onSend      func(ctx context.Context, m providers.Message) error
	onInterrupt func(ctx context.Context) error

	mu      sync.Mutex // guards the following
	specs   []providers.Spec
	open    int
	sent    []providers.Message
	playing int
	most    int
	latest  *fakeSession
}

// fakeSession is a session of a fake provider.
type fakeSession struct {
	p    *fakeProvider
	spec providers.Spec
	life context.Context
	cut  context.CancelFunc
	wg   sync.WaitGroup

	mu     sync.Mutex // guards the following
	turn   *turn
	closed bool
}

// turn is a turn executed by a fake provider.
type turn struct {
	s       *fakeSession
	ctx     context.Context // ends with an interrupt
	end     context.CancelFunc
	done    chan struct{}
	message providers.Message
	steers  chan providers.Message
}

func (p *fakeProvider) Name() string         { return "fake" }
func (p *fakeProvider) Caps() providers.Caps { return p.caps }
func (p *fakeProvider) Close() error         { return nil }

func (p *fakeProvider) Open(ctx context.Context, spec providers.Spec) (providers.Session, error) {
	if p.onOpen != nil {
		if err := p.onOpen(ctx, spec); err != nil {
			return nil, err
		}
	}
	s := &fakeSession{p: p, spec: spec}
	s.life, s.cut = context.WithCancel(context.WithoutCancel(ctx))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.specs = append(p.specs, spec)
	p.open++
	p.latest = s
	return s, nil
}

// received returns what the fake provider has received so far.
func (p *fakeProvider) received() (specs []providers.Spec, sent []providers.Message, open int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.specs, p.sent, p.open
}

func (s *fakeSession) ID() string { return "" }

func (s *fakeSession) Send(ctx context.Context, m providers.Message) error {
	if s.p.onSend != nil {
		if err := s.p.onSend(ctx, m); err != nil {
			return err
		}
	}
	s.p.mu.Lock()
	s.p.sent = append(s.p.sent, m)
	s.p.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return providers.ErrClosed
	case m.Mode == providers.Steer && s.turn == nil:
		return providers.ErrIdle
	case m.Mode == providers.Steer:
		s.turn.steers <- m
		return nil
	case s.turn != nil:
		return providers.ErrBusy
	}
	t := &turn{s: s, done: make(chan struct{}), message: m, steers: make(chan providers.Message, 100)}
	t.ctx, t.end = context.WithCancel(s.life)
	s.turn = t
	s.wg.Go(t.run)
	return nil
}

func (t *turn) run() {
	defer close(t.done)
	p := t.s.p
	p.mu.Lock()
	p.playing++
	p.most = max(p.most, p.playing)
	p.mu.Unlock()
	t.emit(providers.Event{Kind: providers.EventTurnStart})
	t.emitTaken(t.message)
	outcome, err := providers.Completed, error(nil)
	if p.runTurn != nil {
		outcome, err = p.runTurn(t)
	}
	p.mu.Lock()
	p.playing--
	p.mu.Unlock()
	t.end()
	t.s.mu.Lock()
	t.s.turn = nil
	t.s.mu.Unlock()
	if outcome != "" {
		t.emit(providers.Event{Kind: providers.EventTurnEnd, Outcome: outcome, Err: err})
	}
}

func (s *fakeSession) Interrupt(ctx context.Context) error {
	if s.p.onInterrupt != nil {
		if err := s.p.onInterrupt(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	t := s.turn
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	t.end()
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *fakeSession) Answer(_ context.Context, approval string, d providers.Decision) error {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	text := "no"
	if d.Allow {
		text = "yes"
	}
	s.p.sent = append(s.p.sent, providers.Message{ID: approval, Text: text})
	return nil
}

func (s *fakeSession) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cut()
	s.wg.Wait()
	s.p.mu.Lock()
	s.p.open--
	s.p.mu.Unlock()
	if s.p.onClose != nil {
		return s.p.onClose()
	}
	return nil
}

// exit ends the session like a process that dies.
func (s *fakeSession) exit() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.spec.OnEvent(providers.Event{Kind: providers.EventExit})
}

func (t *turn) emit(e providers.Event) {
	if e.Message == "" {
		e.Message = t.message.ID
	}
	t.s.spec.OnEvent(e)
}

func (t *turn) emitText(text string) { t.emit(providers.Event{Kind: providers.EventText, Text: text}) }

func (t *turn) emitThinking(text string) {
	t.emit(providers.Event{Kind: providers.EventThinking, Text: text})
}

func (t *turn) emitTaken(m providers.Message) {
	t.emit(providers.Event{Kind: providers.EventTaken, Message: m.ID})
}

func (t *turn) call(tool string) providers.ToolResult {
	return t.s.spec.Call(t.ctx, providers.ToolCall{ID: "call-" + tool, Name: tool})
}

// hang runs until it is interrupted.
func hang(t *turn) (providers.Outcome, error) {
	<-t.ctx.Done()
	return providers.Interrupted, nil
}

var errFake = errors.New("the fake provider fails")
