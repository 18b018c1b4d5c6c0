package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/providers"
)

// Why a call of the model or a turn is cut.
var (
	errSteered     = errors.New("a message came in")
	errInterrupted = errors.New("the turn was interrupted")
)

// session is one conversation.
//
// While there is something to do, one goroutine runs it: that of run. It alone
// hears, and it alone touches the fields below "of run".
type session struct {
	p     *Provider
	spec  providers.Spec
	tools map[string]providers.Tool
	wg    sync.WaitGroup
	gone  chan struct{} // closed by Close

	mu      sync.Mutex
	closed  bool
	blank   bool                // nothing was said yet
	running bool                // run is there
	todo    []work              // what run does next
	turn    *turn               // the one that runs or is about to; nil is idle
	last    *turn               // the newest one, idle or not
	inbox   []providers.Message // for the turn

	// Of run.
	thread []providers.Entry
	size   int // of thread, in bytes
}

// work is a message that came while idle, with the turn it begins, if any.
type work struct {
	message providers.Message
	turn    *turn
}

// turn is one turn.
type turn struct {
	id     string
	ctx    context.Context // its life, which begins before its goroutine does
	cancel context.CancelCauseFunc
	done   chan struct{}           // closed when its end was heard
	cut    context.CancelCauseFunc // ends the call of the model; nil between calls; under mu

	// Of run.
	long int // replies that became too long
}

func newSession(p *Provider, spec providers.Spec) *session {
	s := &session{p: p, spec: spec, tools: map[string]providers.Tool{}, gone: make(chan struct{})}
	for _, t := range spec.Tools {
		s.tools[t.Name] = t
	}
	s.thread = slices.Clone(spec.From.Entries)
	for _, e := range s.thread {
		s.size += size(e)
	}
	s.blank = len(s.thread) == 0
	s.spec.From = providers.Thread{}
	return s
}

// ID implements [providers.Session]: the hub keeps the conversation.
func (s *session) ID() string { return "" }

// Answer implements [providers.Session]: nothing is ever asked.
func (s *session) Answer(context.Context, string, providers.Decision) error { return nil }

// Send implements [providers.Session].
func (s *session) Send(ctx context.Context, m providers.Message) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if m.Mode != providers.Continue && strings.TrimSpace(m.Text) == "" && len(m.Images) == 0 {
		return &providers.Failure{Class: providers.Invalid, Err: errors.New("the message is empty")}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return providers.ErrClosed
	}
	switch m.Mode {
	case providers.Start, providers.Continue:
		if s.turn != nil {
			return providers.ErrBusy
		}
		if m.Mode == providers.Continue && s.blank {
			return &providers.Failure{Class: providers.Invalid, Err: errors.New("there is no turn to go on with")}
		}
		s.begin(m)
	case providers.Steer, providers.Queue:
		if s.turn == nil {
			return providers.ErrIdle
		}
		if err := s.wait(m); err != nil {
			return err
		}
		if m.Mode == providers.Steer && s.turn.cut != nil {
			s.turn.cut(errSteered)
		}
	case providers.Inject:
		if s.turn != nil {
			return s.wait(m)
		}
		s.do(work{message: m})
	default:
		return &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("send a message: no mode %q", m.Mode)}
	}
	return nil
}

// begin begins a turn; mu is held.
func (s *session) begin(m providers.Message) {
	t := &turn{id: m.ID, done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	s.turn, s.last = t, t
	s.do(work{m, t})
}

// do has run do something; mu is held.
func (s *session) do(w work) {
	s.blank = false
	s.todo = append(s.todo, w)
	if !s.running {
		s.running = true
		s.wg.Go(s.run)
	}
}

// wait puts a message in the inbox; mu is held.
func (s *session) wait(m providers.Message) error {
	if len(s.inbox) >= MaxWaiting {
		return &providers.Failure{Class: providers.Invalid, Err: errors.New("too many messages wait for this turn")}
	}
	s.inbox = append(s.inbox, m)
	return nil
}

// run does what is to be done, then ends.
func (s *session) run() {
	for {
		s.mu.Lock()
		if len(s.todo) == 0 || s.closed {
			s.running = false
			s.mu.Unlock()
			return
		}
		w := s.todo[0]
		s.todo = s.todo[1:]
		s.mu.Unlock()
		if w.turn == nil {
			s.take(w.message.ID, w.message)
			continue
		}
		s.play(w.turn, w.message)
	}
}

// Interrupt implements [providers.Session].
func (s *session) Interrupt(ctx context.Context) error {
	s.mu.Lock()
	t := s.last
	if s.turn != nil {
		s.turn.cancel(errInterrupted)
	}
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	select {
	case <-t.done:
		return nil
	case <-s.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the turn to end: %w", context.Cause(ctx))
	}
}

// Close implements [providers.Session].
func (s *session) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.gone)
	}
	if s.last != nil {
		s.last.cancel(providers.ErrClosed)
	}
	s.mu.Unlock()
	s.wg.Wait()
	s.p.forget(s)
	return nil
}

// tell is heard by the hub.
func (s *session) tell(e providers.Event) {
	if s.spec.Hear != nil {
		s.spec.Hear(e)
	}
}

// take makes messages part of the conversation, as part of a turn. What came
// before them in the same step is given as entries, so that both are remembered
// at once.
func (s *session) take(turn string, messages ...providers.Message) {
	s.takeAfter(turn, nil, messages)
}

func (s *session) takeAfter(turn string, entries []providers.Entry, messages []providers.Message) {
	for _, m := range messages {
		e := providers.Entry{Role: providers.RoleUser, Turn: turn}
		if strings.TrimSpace(m.Text) != "" {
			e.Blocks = append(e.Blocks, providers.Block{Kind: providers.BlockText, Text: m.Text, Origin: m.Origin()})
		}
		for _, i := range m.Images {
			e.Blocks = append(e.Blocks, providers.Block{Kind: providers.BlockImage, Image: &i, Origin: m.Origin()})
		}
		entries = append(entries, e)
	}
	took := make([]string, len(messages))
	for i, m := range messages {
		took[i] = m.ID
	}
	s.rememberWith(turn, took, entries)
	for _, m := range messages {
		s.tell(providers.Event{Kind: providers.EventTaken, Message: m.ID})
	}
}

// remember adds entries to the conversation and tells the hub to keep them.
func (s *session) remember(turn string, entries ...providers.Entry) {
	s.rememberWith(turn, nil, entries)
}

// rememberWith is remember for entries that some messages are part of.
func (s *session) rememberWith(turn string, took []string, entries []providers.Entry) {
	entries = slices.DeleteFunc(entries, func(e providers.Entry) bool { return len(e.Blocks) == 0 })
	if len(entries) == 0 {
		return
	}
	s.thread = append(s.thread, entries...)
	for _, e := range entries {
		s.size += size(e)
	}
	s.tell(providers.Event{Kind: providers.EventRemember, Message: turn, Entries: entries, Took: took})
}
