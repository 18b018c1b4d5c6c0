package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// MaxWaiting bounds the messages that wait for a turn to take them.
const MaxWaiting = 100

// state is the state of a session. While a turn is set, an open session is working or ending.
type state int

const (
	open   state = iota
	exited       // the program ended by itself
	closed
)

// Session is a conversation with an agent. It implements [providers.Session]; its other exported
// methods are for the backend.
type Session struct {
	p         *Provider
	spec      providers.Spec
	tools     map[string]providers.Tool
	backend   Backend
	thread    string // the agent's own id of the conversation
	out       *outbox
	temporary string        // working directory to remove
	sending   chan struct{} // has one element while a message is sent to the backend
	wg        sync.WaitGroup
	closed    chan struct{} // closed when Close has ended everything
	// toolLock is held by a tool call, shared by those that may run at once.
	toolLock sync.RWMutex

	mu      sync.Mutex // guards the following
	state   state
	ready   bool // the agent is connected; before that the end of its program is not reported
	turn    *turn
	last    *turn // the newest turn, even if it has ended
	entries entryRecorder
	from    []providers.Entry // the conversation to continue, until the first turn
	preface string            // what the agent has to know before the next message
}

func newSession(p *Provider, spec providers.Spec) *Session {
	s := &Session{
		p: p, spec: spec, tools: map[string]providers.Tool{}, sending: make(chan struct{}, 1), closed: make(chan struct{}),
		entries: entryRecorder{digest: newDigest(spec.From.Entries)}, from: spec.From.Entries,
	}
	for _, t := range spec.Tools {
		s.tools[t.Name] = t
	}
	s.spec.From = providers.Thread{}
	deliver := spec.OnEvent
	if deliver == nil {
		deliver = func(providers.Event) {}
	}
	s.out = newOutbox(deliver)
	s.entries.out = s.out
	return s
}

// ID implements [providers.Session].
func (s *Session) ID() string { return s.backend.ID() }

// Send implements [providers.Session].
func (s *Session) Send(ctx context.Context, m providers.Message) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if m.Mode != providers.Continue && strings.TrimSpace(m.Text) == "" && len(m.Images) == 0 {
		return invalid("the message is empty")
	}
	switch m.Mode {
	case providers.Start:
		return s.start(ctx, m)
	case providers.Continue:
		return s.resume(m)
	case providers.Steer:
		return s.steer(ctx, m)
	case providers.Queue:
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := s.acceptsLocked(); err != nil {
			return err
		}
		s.turn.queued = append(s.turn.queued, m)
		return nil
	case providers.Inject:
		return s.inject(m)
	default:
		return invalid(fmt.Sprintf("send a message: no mode %q", m.Mode))
	}
}

func invalid(text string) error {
	return &providers.Failure{Class: providers.Invalid, Err: errors.New(text)}
}

// beginLocked creates a turn; mu is held.
func (s *Session) beginLocked(id string) (*turn, error) {
	switch {
	case s.state != open:
		return nil, providers.ErrClosed
	case s.turn != nil:
		return nil, providers.ErrBusy
	}
	t := newTurn(id)
	s.turn, s.last, s.from = t, t, nil
	return t, nil
}

// acceptsLocked reports whether the running turn accepts a message; mu is held.
func (s *Session) acceptsLocked() error {
	switch {
	case s.state != open:
		return providers.ErrClosed
	case s.turn == nil:
		return providers.ErrIdle
	case s.turn.ending || !s.p.cfg.Caps.Steer:
		return providers.ErrNoSteer
	case len(s.turn.queued)+len(s.turn.waiting) >= MaxWaiting:
		return invalid("too many messages wait for this turn")
	}
	return nil
}

// start begins a turn.
func (s *Session) start(ctx context.Context, m providers.Message) error {
	s.mu.Lock()
	t, err := s.beginLocked(m.ID)
	if err != nil {
		s.mu.Unlock()
		return err
	}
	s.mu.Unlock()
	return s.sendToAgent(ctx, t, m)
}

// sendToAgent starts the agent's work on a message that begins a turn or is the next one of it. If the
// agent does not take it, the state of the agent is unknown, and the session ends.
func (s *Session) sendToAgent(ctx context.Context, t *turn, m providers.Message) error {
	s.mu.Lock()
	if s.turn != t { // closed meanwhile
		s.mu.Unlock()
		return providers.ErrClosed
	}
	t.waiting[m.ID] = m
	text := s.preface + m.Text
	t.currentMessage, t.preface, s.preface = m.ID, s.preface, ""
	s.mu.Unlock()
	if err := s.lockSending(ctx); err != nil {
		return s.abandon(t, err)
	}
	if !s.beginPart(t) {
		<-s.sending
		return nil
	}
	whole, stop := withGrace(ctx, startGrace)
	err := s.backend.Start(whole, Message{ID: m.ID, Text: text, Images: m.Images})
	stop()
	<-s.sending
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		if s.turn == t {
			s.announceLocked(t)
		}
		return nil
	}
	return s.abandonLocked(t, err)
}

// startGrace is how much longer than its caller an agent may take to accept a message. A caller that
// interrupts a turn right after its beginning would otherwise cut the message, and with it the session;
// with it the interrupt follows the whole message.
const startGrace = 2 * time.Second

// withGrace returns a context that ends some time after ctx.
func withGrace(ctx context.Context, grace time.Duration) (longer context.Context, stop func()) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unregister := context.AfterFunc(ctx, func() {
		select {
		case <-longer.Done():
		case <-time.After(grace):
			cancel(context.Cause(ctx))
		}
	})
	return longer, func() {
		unregister()
		cancel(nil)
	}
}

// beginPart marks the agent as working on the turn, before it has the message, so that an interrupt
// from now on waits until it has. A turn that was interrupted before ends instead.
func (s *Session) beginPart(t *turn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.turn != t:
		return false
	case t.ending:
		s.announceLocked(t)
		s.finishLocked(t, providers.Interrupted, nil)
		return false
	}
	t.agentWorks = true
	return true
}

func (s *Session) lockSending(ctx context.Context) error {
	select {
	case s.sending <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.closed:
		return providers.ErrClosed
	}
}

func (s *Session) abandon(t *turn, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.abandonLocked(t, err)
}

// abandonLocked ends a session whose agent did not take a message. A turn that was not announced
// never was; mu is held.
func (s *Session) abandonLocked(t *turn, err error) error {
	if s.state != open {
		return providers.ErrClosed
	}
	s.state = exited
	if s.turn == t {
		if t.announced {
			s.finishLocked(t, providers.Failed, err)
		} else {
			s.dropLocked(t)
		}
	}
	s.out.push(&providers.Event{Kind: providers.EventExit}, nil)
	if !t.announced {
		err = fmt.Errorf("%w: %w", providers.ErrClosed, err)
	}
	return fmt.Errorf("send the agent a message: %w", err)
}

// steer gives the running turn a message. If the agent has ended its part meanwhile, the message is
// the next one of the turn.
func (s *Session) steer(ctx context.Context, m providers.Message) error {
	s.mu.Lock()
	if err := s.acceptsLocked(); err != nil {
		s.mu.Unlock()
		return err
	}
	t := s.turn
	if !t.agentWorks {
		t.queued = append(t.queued, m)
		s.mu.Unlock()
		return nil
	}
	t.waiting[m.ID] = m
	msg := Message{ID: m.ID, Text: s.cutLocked(t) + m.Text, Images: m.Images, Calling: len(t.open) > 0, Asking: len(t.questions) > 0}
	s.mu.Unlock()
	err := s.lockSending(ctx)
	if err == nil {
		err = s.backend.Steer(ctx, msg)
		<-s.sending
	}
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(t.waiting, m.ID)
	if errors.Is(err, providers.ErrIdle) && s.turn == t && !t.ending && !t.agentWorks {
		t.queued = append(t.queued, m)
		return nil
	}
	return err
}

// inject adds a message to the conversation without a turn. The agent receives it with the next
// message, so its own conversation lacks it until then.
func (s *Session) inject(m providers.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != open {
		return providers.ErrClosed
	}
	s.preface += m.Text + "\n\n"
	id := m.ID
	if s.turn != nil {
		id = s.turn.id
		s.announceLocked(s.turn)
	}
	s.entries.addMessage(id, "", m)
	return nil
}

// Interrupt implements [providers.Session].
func (s *Session) Interrupt(ctx context.Context) error {
	s.mu.Lock()
	t, last := s.turn, s.last
	if t != nil {
		t.ending, t.queued = true, nil
	}
	s.mu.Unlock()
	if last == nil {
		return nil
	}
	if t != nil {
		if err := s.interruptAgent(ctx, t); err != nil {
			return fmt.Errorf("interrupt the agent: %w", err)
		}
	}
	select {
	case <-last.done:
		return nil
	case <-s.closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the turn to end: %w", context.Cause(ctx))
	}
}

// interruptAgent interrupts the agent, once, if it works on the turn, and the tool calls of the
// turn afterwards: otherwise the agent would continue with their results.
func (s *Session) interruptAgent(ctx context.Context, t *turn) error {
	if err := s.lockSending(ctx); err != nil {
		if errors.Is(err, providers.ErrClosed) {
			return nil
		}
		return err
	}
	defer func() { <-s.sending }()
	s.mu.Lock()
	needed := s.turn == t && t.agentWorks && !t.interruptSent
	s.mu.Unlock()
	if needed {
		if err := s.backend.Interrupt(ctx); err != nil {
			select {
			case <-t.done: // it ended by itself, or with the program
				return nil
			default:
				return err
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.interruptSent = t.interruptSent || needed
	t.cancel()
	return nil
}

// Answer implements [providers.Session].
func (s *Session) Answer(ctx context.Context, question string, d providers.Decision) error {
	s.mu.Lock()
	t := s.turn
	if s.state != open || t == nil || !t.questions[question] {
		s.mu.Unlock()
		return nil
	}
	delete(t.questions, question)
	s.mu.Unlock()
	return s.backend.Answer(ctx, question, d)
}

// Close implements [providers.Session].
func (s *Session) Close() error {
	s.mu.Lock()
	if s.state == closed {
		s.mu.Unlock()
		<-s.closed
		return nil
	}
	s.state = closed
	if t := s.turn; t != nil {
		t.ending = true
		s.announceLocked(t)
		s.finishLocked(t, providers.Interrupted, nil)
	}
	s.mu.Unlock()
	s.out.release()
	err := s.backend.Close()
	s.wg.Wait()
	s.out.close()
	if s.temporary != "" {
		err = errors.Join(err, os.RemoveAll(s.temporary))
	}
	s.p.remove(s)
	close(s.closed)
	return err
}
