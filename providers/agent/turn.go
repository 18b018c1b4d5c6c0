package agent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// turn is a turn of the hub. The agent may take several turns of its own for it: one for each
// queued message.
type turn struct {
	id     string
	ctx    context.Context // of tool calls
	cancel context.CancelFunc
	done   chan struct{} // closed when its end was delivered

	// Guarded by the session's mu.
	announced      bool // its start was reported
	agentWorks     bool // the agent has a turn
	ending         bool // it is being interrupted
	interruptSent  bool // the interrupt was sent to the agent
	waiting        map[string]providers.Message
	currentMessage string // the message that the agent's turn begins with
	preface        string // what was put before it, until the agent has taken it
	queued         []providers.Message
	text           strings.Builder   // published and not yet in entries
	open           map[string]string // tools of calls without a result, by call
	known          map[string]bool   // all calls
	results        []providers.Block // results that wait until no call is open
	questions      map[string]bool   // open questions
}

func newTurn(id string) *turn {
	t := &turn{
		id: id, done: make(chan struct{}), waiting: map[string]providers.Message{},
		open: map[string]string{}, known: map[string]bool{}, questions: map[string]bool{},
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// announceLocked reports the start of the turn, once; mu is held.
func (s *Session) announceLocked(t *turn) {
	if !t.announced {
		t.announced = true
		s.emit(providers.Event{Kind: providers.EventTurnStart, Message: t.id})
	}
}

func (s *Session) emit(e providers.Event) { s.out.push(&e, nil) }

// cutLocked returns what is put before the next message because a reply is cut off now; mu is held.
func (s *Session) cutLocked(t *turn) string {
	text := t.text.String()
	if !s.p.cfg.DropsCut || strings.TrimSpace(text) == "" {
		return ""
	}
	return cutReply(text)
}

// ownLocked returns the agent's own id of the conversation; empty while the agent lacks a part of it, which it gets with a
// message; mu is held.
func (s *Session) ownLocked() string {
	if s.preface != "" || s.turn != nil && s.turn.preface != "" {
		return ""
	}
	return s.backend.ID()
}

// flushLocked adds the published text to the conversation; mu is held.
func (s *Session) flushLocked(t *turn) {
	text := t.text.String()
	t.text.Reset()
	if strings.TrimSpace(text) != "" {
		s.entries.add(t.id, s.ownLocked(), providers.RoleAssistant, providers.Block{Kind: providers.BlockText, Text: text})
	}
}

// takeLocked adds a message that the agent has taken; mu is held.
func (s *Session) takeLocked(t *turn, id string) {
	m, ok := t.waiting[id]
	if !ok {
		return
	}
	delete(t.waiting, id)
	if id == t.currentMessage {
		t.preface = ""
	}
	s.announceLocked(t)
	s.flushLocked(t)
	if m.Mode != providers.Continue {
		s.entries.addMessage(t.id, s.ownLocked(), m)
	}
}

// withRunningTurn calls f if a turn runs, whose first message the agent has taken by then. It blocks while
// too much waits to be delivered.
func (s *Session) withRunningTurn(f func(t *turn)) {
	s.out.wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.turn; t != nil && s.state == open {
		s.announceLocked(t)
		s.takeLocked(t, t.id)
		f(t)
	}
}

// Taken reports that a message is part of the agent's conversation. Without it the first output
// shows the same for the message that began the turn.
func (s *Session) Taken(message string) {
	s.out.wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil && s.state == open {
		s.takeLocked(s.turn, message)
	}
}

// Anew reports, before the agent is ready, that it begins a new conversation though it was to resume
// one. Its first message contains a transcript then.
func (s *Session) Anew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.preface = transcript(s.from)
}

// Text reports a piece of text.
func (s *Session) Text(piece string) {
	if piece == "" {
		return
	}
	s.withRunningTurn(func(t *turn) {
		t.text.WriteString(piece)
		s.emit(providers.Event{Kind: providers.EventText, Message: t.id, Text: piece})
	})
}

// Thinking reports a piece of thinking.
func (s *Session) Thinking(piece string) {
	if piece == "" {
		return
	}
	s.withRunningTurn(func(t *turn) { s.emit(providers.Event{Kind: providers.EventThinking, Message: t.id, Text: piece}) })
}

// Usage reports the usage of model calls. It does not show that the agent has taken a message.
func (s *Session) Usage(u providers.Usage) {
	s.out.wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.turn; t != nil && s.state == open {
		s.announceLocked(t)
		s.emit(providers.Event{Kind: providers.EventUsage, Message: t.id, Usage: u})
	}
}

// Retrying reports that a model call failed and is retried.
func (s *Session) Retrying(e providers.Event) {
	e.Kind = providers.EventRetry
	s.withRunningTurn(func(t *turn) {
		e.Message = t.id
		s.emit(e)
	})
}

// Ask reports a question whether the agent may call one of its own tools.
func (s *Session) Ask(question string, c providers.ToolCall) {
	s.withRunningTurn(func(t *turn) {
		t.questions[question] = true
		s.emit(providers.Event{Kind: providers.EventApproval, Message: t.id, Approval: question, Tool: c})
	})
}

// Withdraw reports that a question needs no answer any more.
func (s *Session) Withdraw(question string) {
	s.withRunningTurn(func(t *turn) { s.withdrawLocked(t, question) })
}

func (s *Session) withdrawLocked(t *turn, question string) {
	if t.questions[question] {
		delete(t.questions, question)
		s.emit(providers.Event{Kind: providers.EventApprovalGone, Message: t.id, Approval: question})
	}
}

// Ended reports that the agent's turn has ended. With a queued message the agent begins the next
// one.
func (s *Session) Ended(outcome providers.Outcome, err error) {
	s.out.wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.turn
	if t == nil || s.state != open {
		return
	}
	s.announceLocked(t)
	t.agentWorks = false
	if outcome != providers.Completed || t.ending || len(t.queued) == 0 {
		s.finishLocked(t, outcome, err)
		return
	}
	s.takeLocked(t, t.id)
	s.flushLocked(t)
	m := t.queued[0]
	t.queued = t.queued[1:]
	s.wg.Go(func() { _ = s.sendToAgent(t.ctx, t, m) }) // an error has ended the session
}

// connected sets the backend. A program that has ended meanwhile is reported.
func (s *Session) connected(b Backend) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.backend, s.thread, s.ready = b, b.ID(), true
	if s.state == exited {
		s.out.push(&providers.Event{Kind: providers.EventExit}, nil)
	}
}

// Exited reports that the program has ended by itself. A turn that it has not accepted yet never was,
// and its message can be sent to another program.
func (s *Session) Exited(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != open {
		return
	}
	s.state = exited
	if !s.ready {
		return
	}
	if t := s.turn; t != nil && t.announced {
		s.finishLocked(t, providers.Failed, err)
	} else if t != nil {
		s.dropLocked(t)
	}
	s.out.push(&providers.Event{Kind: providers.EventExit}, nil)
}

// dropLocked removes a turn that was not announced; mu is held.
func (s *Session) dropLocked(t *turn) {
	s.turn = nil
	t.cancel()
	close(t.done)
}

// finishLocked ends the turn. The session is idle before the end is reported; mu is held.
func (s *Session) finishLocked(t *turn, outcome providers.Outcome, err error) {
	t.cancel() // first: a tool that begins after its result is known must see that the turn is over
	end := providers.Event{Kind: providers.EventTurnEnd, Message: t.id, Outcome: outcome}
	switch {
	case outcome == providers.Failed && t.ending:
		end.Outcome = providers.Interrupted
	case outcome == providers.Failed:
		end.Err = failure(providers.RedactError(err, s.p.cfg.Secrets...))
	}
	s.preface = t.preface + s.preface
	if outcome != providers.Completed {
		s.preface += s.cutLocked(t)
	}
	s.flushLocked(t)
	if m, ok := t.waiting[t.id]; ok && m.Mode != providers.Continue {
		// The agent did not take the message that began the turn. It gets it with the next one.
		s.preface += transcript([]providers.Entry{s.entries.addMessage(t.id, "", m)})
	}
	for _, id := range slices.Sorted(maps.Keys(t.open)) {
		s.resultLocked(t, id, providers.ToolResult{Text: "The turn ended before the result arrived.", IsError: true})
	}
	for _, q := range slices.Sorted(maps.Keys(t.questions)) {
		s.withdrawLocked(t, q)
	}
	s.turn = nil
	s.out.push(&end, t.done)
}

// failure returns an error as a failure.
func failure(err error) *providers.Failure {
	if f, ok := errors.AsType[*providers.Failure](err); ok {
		return f
	}
	if err == nil {
		err = errors.New("the agent gave no reason")
	}
	return &providers.Failure{Class: providers.Transport, Err: err}
}
