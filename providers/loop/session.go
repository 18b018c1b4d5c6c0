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

// Causes that cancel a model call or a turn.
var (
	errSteered     = errors.New("a message came in")
	errInterrupted = errors.New("the turn was interrupted")
)

// session is one conversation.
//
// While there is work, one goroutine executes run. Only this goroutine delivers events and
// accesses the fields below "owned by run".
type session struct {
	p        *Provider
	spec     providers.Spec
	tools    map[string]providers.Tool
	wg       sync.WaitGroup
	closedCh chan struct{}

	mu      sync.Mutex
	closed  bool
	empty   bool                // the conversation is empty
	running bool                // the goroutine of run exists
	queue   []work              // the work queue of run
	turn    *turn               // the turn that runs or is about to; nil if idle
	last    *turn               // the newest turn, even if it has ended
	inbox   []providers.Message // messages waiting for the turn

	// Owned by run.
	thread []providers.Entry
	size   int // size of thread in bytes
}

// work is a message that arrived while the session was idle, with the turn it begins, if any.
type work struct {
	message providers.Message
	turn    *turn
}

type turn struct {
	id         string
	ctx        context.Context // begins before the turn's goroutine
	cancel     context.CancelCauseFunc
	done       chan struct{}           // closed when its end was delivered
	cancelCall context.CancelCauseFunc // cancels the model call; nil between calls; guarded by mu

	// Owned by run.
	long   int // number of replies that became too long
	broken int // number of newest replies that broke off
}

func newSession(p *Provider, spec providers.Spec) *session {
	s := &session{p: p, spec: spec, tools: map[string]providers.Tool{}, closedCh: make(chan struct{})}
	for _, t := range spec.Tools {
		s.tools[t.Name] = t
	}
	s.thread = slices.Clone(spec.From.Entries)
	for _, e := range s.thread {
		s.size += size(e)
	}
	s.empty = len(s.thread) == 0
	s.spec.From = providers.Thread{}
	return s
}

// ID implements [providers.Session]. It is empty, because the hub stores the conversation.
func (s *session) ID() string { return "" }

// Answer implements [providers.Session]. There are no approvals.
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
		if m.Mode == providers.Continue && s.empty {
			return &providers.Failure{Class: providers.Invalid, Err: errors.New("there is no turn to continue")}
		}
		s.startTurn(m)
	case providers.Steer, providers.Queue:
		if s.turn == nil {
			return providers.ErrIdle
		}
		if err := s.addToInbox(m); err != nil {
			return err
		}
		if m.Mode == providers.Steer && s.turn.cancelCall != nil {
			s.turn.cancelCall(errSteered)
		}
	case providers.Inject:
		if s.turn != nil {
			return s.addToInbox(m)
		}
		s.enqueue(work{message: m})
	default:
		return &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("send a message: no mode %q", m.Mode)}
	}
	return nil
}

// startTurn starts a turn; mu is held.
func (s *session) startTurn(m providers.Message) {
	t := &turn{id: m.ID, done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	s.turn, s.last = t, t
	s.enqueue(work{m, t})
}

// enqueue adds work for run and starts its goroutine if necessary; mu is held.
func (s *session) enqueue(w work) {
	s.empty = false
	s.queue = append(s.queue, w)
	if !s.running {
		s.running = true
		s.wg.Go(s.run)
	}
}

// addToInbox puts a message in the inbox; mu is held.
func (s *session) addToInbox(m providers.Message) error {
	if len(s.inbox) >= MaxWaiting {
		return &providers.Failure{Class: providers.Invalid, Err: errors.New("too many messages wait for this turn")}
	}
	s.inbox = append(s.inbox, m)
	return nil
}

// run processes the work queue, then ends.
func (s *session) run() {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 || s.closed {
			s.running = false
			s.mu.Unlock()
			return
		}
		w := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		if w.turn == nil {
			s.addMessages(w.message.ID, w.message)
			continue
		}
		s.runTurn(w.turn, w.message)
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
	case <-s.closedCh:
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
		close(s.closedCh)
	}
	if s.last != nil {
		s.last.cancel(providers.ErrClosed)
	}
	s.mu.Unlock()
	s.wg.Wait()
	s.p.removeSession(s)
	return nil
}

// emit delivers an event to the hub.
func (s *session) emit(e providers.Event) {
	if s.spec.OnEvent != nil {
		s.spec.OnEvent(e)
	}
}

// addMessages adds messages to the conversation as part of a turn.
func (s *session) addMessages(turn string, messages ...providers.Message) {
	s.addMessagesAfter(turn, nil, messages)
}

func (s *session) addMessagesAfter(turn string, entries []providers.Entry, messages []providers.Message) {
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
	s.addEntriesWith(turn, took, entries)
	for _, m := range messages {
		s.emit(providers.Event{Kind: providers.EventTaken, Message: m.ID})
	}
}

// addEntries adds entries to the conversation and sends them to the hub.
func (s *session) addEntries(turn string, entries ...providers.Entry) {
	s.addEntriesWith(turn, nil, entries)
}

// addEntriesWith is addEntries for entries that contain the messages took.
func (s *session) addEntriesWith(turn string, took []string, entries []providers.Entry) {
	entries = slices.DeleteFunc(entries, func(e providers.Entry) bool { return len(e.Blocks) == 0 })
	if len(entries) == 0 {
		return
	}
	s.thread = append(s.thread, entries...)
	for _, e := range entries {
		s.size += size(e)
	}
	s.emit(providers.Event{Kind: providers.EventEntries, Message: turn, Entries: entries, EntryMessages: took})
}
