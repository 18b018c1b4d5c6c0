package demo

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/everdesk/everdesk/providers"
)

// How much of a conversation is kept here. What is older is still with the hub;
// here it only served to be recalled.
const (
	maxEntries = 1000
	maxBytes   = 8 << 20
)

// session is one conversation.
type session struct {
	provider *Provider
	spec     providers.Spec
	tools    map[string]providers.Tool
	old      bool // it goes on with something

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	turn   *turn         // nil while none runs
	last   chan struct{} // closed when all that was begun has been heard
	closed bool
	// asked are the approvals that a turn waits for.
	asked map[string]chan providers.Decision

	// entries belong to whoever's turn it is to be heard, see [session.begin].
	entries []providers.Entry
}

func newSession(p *Provider, spec providers.Spec) *session {
	s := &session{
		provider: p, spec: spec, tools: map[string]providers.Tool{}, asked: map[string]chan providers.Decision{},
		entries: slices.Clone(spec.From.Entries), last: make(chan struct{}),
	}
	for _, t := range spec.Tools {
		if spec.Call != nil {
			s.tools[t.Name] = t
		}
	}
	s.old, s.spec.From = len(s.entries) > 0, providers.Thread{}
	close(s.last)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// ID is empty: the hub remembers for the demo.
func (s *session) ID() string { return "" }

// Send takes a message.
func (s *session) Send(ctx context.Context, m providers.Message) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("send %s: %w", m.ID, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return providers.ErrClosed
	}
	switch m.Mode {
	case providers.Start:
		return s.start(m)
	case providers.Continue:
		if s.turn == nil && !s.old {
			return &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("continue %s: there is no turn to go on with", m.ID)}
		}
		return s.start(m)
	case providers.Steer, providers.Queue:
		if s.turn == nil {
			return providers.ErrIdle
		}
		return s.turn.post(m)
	case providers.Inject:
		if s.turn != nil {
			return s.turn.post(m)
		}
		s.begin(func() { s.inject(m) })
		return nil
	default:
		return &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("send %s: there is no mode %q", m.ID, m.Mode)}
	}
}

// start begins a turn.
func (s *session) start(m providers.Message) error {
	if s.turn != nil {
		return providers.ErrBusy
	}
	t := newTurn(s, m)
	s.turn = t
	s.begin(t.run)
	return nil
}

// begin runs f when everything that was begun before has been heard, so that one
// goroutine at a time tells something and changes the entries.
func (s *session) begin(f func()) {
	before, done := s.last, make(chan struct{})
	s.last = done
	s.wg.Go(func() {
		defer close(done)
		<-before
		f()
	})
}

// inject adds something without a turn.
func (s *session) inject(m providers.Message) {
	e := providers.Entry{Role: providers.RoleUser, Turn: m.ID, Blocks: blocksOf(m)}
	s.keep(e)
	s.spec.Hear(providers.Event{Kind: providers.EventTaken, Message: m.ID})
	s.spec.Hear(providers.Event{Kind: providers.EventRemember, Message: m.ID, Entries: []providers.Entry{e}, Took: []string{m.ID}})
}

// keep adds to the conversation.
func (s *session) keep(e ...providers.Entry) {
	s.entries = append(s.entries, e...)
	over := 0
	if n := len(s.entries) - maxEntries; n > maxEntries/10 {
		over = n
	}
	bytes := 0
	for i := len(s.entries) - 1; i >= over; i-- {
		// What was added now stays in any case: its calls need results.
		if bytes += size(s.entries[i]); bytes > maxBytes && i < len(s.entries)-len(e) {
			over = i + 1
		}
	}
	if over > 0 {
		s.entries = slices.Clone(s.entries[over:])
	}
}

// size is about how much memory an entry takes.
func size(e providers.Entry) (n int) {
	for _, b := range e.Blocks {
		n += 128 + len(b.Text) + len(b.Input) + len(b.Opaque) + len(b.Signature)
		if b.Image != nil {
			n += len(b.Image.Data)
		}
		for _, i := range b.Images {
			n += len(i.Data)
		}
	}
	return n
}

// Interrupt ends the turn.
func (s *session) Interrupt(ctx context.Context) error {
	s.mu.Lock()
	last := s.last
	if s.turn != nil {
		s.turn.cancel()
	}
	s.mu.Unlock()
	select {
	case <-last:
		return nil
	default:
	}
	select {
	case <-last:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of the turn: %w", context.Cause(ctx))
	}
}

// Close ends the conversation.
func (s *session) Close() error {
	s.end()
	s.provider.forget(s)
	return nil
}

func (s *session) end() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.wg.Wait()
}

// blocksOf is what a message is remembered as.
func blocksOf(m providers.Message) []providers.Block {
	var blocks []providers.Block
	for _, i := range m.Images {
		blocks = append(blocks, providers.Block{Kind: providers.BlockImage, Image: new(i), Origin: m.Origin()})
	}
	if m.Text != "" || len(blocks) == 0 {
		blocks = append(blocks, providers.Block{Kind: providers.BlockText, Text: m.Text, Origin: m.Origin()})
	}
	return blocks
}
