package demo

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/everdesk/everdesk/providers"
)

// Bounds of the conversation in memory. The hub stores the whole conversation.
const (
	maxEntries = 1000
	maxBytes   = 8 << 20
)

type session struct {
	provider *Provider
	spec     providers.Spec
	tools    map[string]providers.Tool
	old      bool // the conversation continues

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	turn   *turn         // nil if idle
	last   chan struct{} // closed when all events so far are delivered
	closed bool
	// asked holds the approvals that a turn waits for, by call id.
	asked map[string]chan providers.Decision

	// entries is the conversation. Only functions passed to [session.begin] change it, with mu
	// held, because newTurn reads it, too.
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

// ID is empty, because the hub stores the conversation.
func (s *session) ID() string { return "" }

// Send implements [providers.Session].
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
			return &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("continue %s: there is no turn to continue", m.ID)}
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
		s.runInOrder(func() { s.inject(m) })
		return nil
	default:
		return &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("send %s: there is no mode %q", m.ID, m.Mode)}
	}
}

// start begins a turn. s.mu is held.
func (s *session) start(m providers.Message) error {
	if s.turn != nil {
		return providers.ErrBusy
	}
	t := newTurn(s, m)
	s.turn = t
	s.runInOrder(t.run)
	return nil
}

// runInOrder runs f on a new goroutine after all earlier functions have returned, so that one
// goroutine at a time delivers events and changes entries. s.mu is held.
func (s *session) runInOrder(f func()) {
	before, done := s.last, make(chan struct{})
	s.last = done
	s.wg.Go(func() {
		defer close(done)
		<-before
		f()
	})
}

// inject adds a message without a turn.
func (s *session) inject(m providers.Message) {
	e := providers.Entry{Role: providers.RoleUser, Turn: m.ID, Blocks: blocksOf(m)}
	s.appendEntries(e)
	s.spec.OnEvent(providers.Event{Kind: providers.EventTaken, Message: m.ID})
	s.spec.OnEvent(providers.Event{Kind: providers.EventEntries, Message: m.ID, Entries: []providers.Entry{e}, EntryMessages: []string{m.ID}})
}

// appendEntries appends entries and drops the oldest ones beyond the bounds. To avoid copying every time,
// it tolerates 10 % more entries.
func (s *session) appendEntries(e ...providers.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, e...)
	over := 0
	if n := len(s.entries) - maxEntries; n > maxEntries/10 {
		over = n
	}
	bytes := 0
	for i := len(s.entries) - 1; i >= over; i-- {
		// New entries always stay: their calls need results.
		if bytes += size(s.entries[i]); bytes > maxBytes && i < len(s.entries)-len(e) {
			over = i + 1
		}
	}
	if over > 0 {
		s.entries = slices.Clone(s.entries[over:])
	}
}

// size returns the approximate memory of an entry in bytes.
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

// Interrupt implements [providers.Session].
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

// Close implements [providers.Session].
func (s *session) Close() error {
	s.end()
	s.provider.removeSession(s)
	return nil
}

func (s *session) end() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.wg.Wait()
}

// blocksOf returns the blocks of a message.
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
