package agenttest

import (
	"context"
	"errors"
	"fmt"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/providertest"
)

// leakKind is a way to use a session.
type leakKind struct {
	name  string
	needs func(providers.Caps) bool // nil for nothing
	run   func(s *leakSession) error
}

// leakSession is a session of a provider whose leaks are counted.
type leakSession struct {
	providers.Session
	ctx    context.Context
	events *events
	p      providers.Provider
}

// leakKinds returns the kinds. The question is a directive for a call for which the program asks.
func leakKinds(question string) []leakKind {
	hang := Prompt(providertest.Say("some words"), providertest.Hang())
	return []leakKind{
		{"completed", nil, func(s *leakSession) error { return s.complete("m-1") }},
		{"interrupted", nil, func(s *leakSession) error {
			return errors.Join(s.speak(hang), s.Interrupt(s.ctx), s.ended("m-1", providers.Interrupted))
		}},
		{"closed", nil, func(s *leakSession) error { return s.speak(hang) }},
		{"steered", func(c providers.Caps) bool { return c.Steer }, func(s *leakSession) error {
			steer := providers.Message{ID: "m-2", Mode: providers.Steer, Text: Prompt(providertest.Say("other words"))}
			return errors.Join(s.speak(hang), s.Send(s.ctx, steer), s.ended("m-1", providers.Completed))
		}},
		{"resumed", func(c providers.Caps) bool { return c.Resume }, func(s *leakSession) error { return s.again(false) }},
		{"forked", func(c providers.Caps) bool { return c.Fork }, func(s *leakSession) error { return s.again(true) }},
		{"approved", nil, func(s *leakSession) error { return s.answer(question, true) }},
		{"denied", nil, func(s *leakSession) error { return s.answer(question, false) }},
	}
}

// use uses a session of a new provider, unless the provider does not claim that.
func (k leakKind) use(newProvider NewProvider, home string) (ran bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), hangTimeout)
	defer cancel()
	p, err := newProvider(home)
	if err != nil {
		return false, err
	}
	if k.needs != nil && !k.needs(p.Caps()) {
		return false, p.Close()
	}
	s, err := openLeaking(ctx, p, providers.Spec{})
	if err == nil {
		err = k.run(s)
	}
	return true, errors.Join(err, p.Close())
}

func openLeaking(ctx context.Context, p providers.Provider, spec providers.Spec) (*leakSession, error) {
	s := &leakSession{ctx: ctx, p: p, events: &events{more: make(chan struct{}), thread: providers.Thread{Provider: p.Name()}}}
	spec.OnEvent = s.events.add
	spec.Call = func(context.Context, providers.ToolCall) providers.ToolResult { return providers.ToolResult{} }
	var err error
	s.Session, err = p.Open(ctx, spec)
	return s, err
}

// start begins the turn m-1.
func (s *leakSession) start(id, text string) error {
	return s.Send(s.ctx, providers.Message{ID: id, Mode: providers.Start, Text: text})
}

// speak begins the turn m-1 and waits for text.
func (s *leakSession) speak(text string) error {
	err := s.start("m-1", text)
	if err == nil {
		_, err = s.events.until(s.ctx, "it speaks", kind(providers.EventText))
	}
	return err
}

// complete runs a turn.
func (s *leakSession) complete(id string) error {
	return errors.Join(s.start(id, Prompt(providertest.Say("some words"))), s.ended(id, providers.Completed))
}

// ended waits for the end of a turn.
func (s *leakSession) ended(id string, want providers.Outcome) error {
	end, err := s.events.until(s.ctx, "the turn ends", func(e providers.Event) bool { return e.Kind == providers.EventTurnEnd && e.Message == id })
	if err == nil && end.Outcome != want {
		err = fmt.Errorf("the turn is %s (%w), want %s", end.Outcome, end.Err, want)
	}
	return err
}

// again continues the conversation of a turn in another session, or a copy of it.
func (s *leakSession) again(fork bool) error {
	if err := errors.Join(s.complete("m-1"), s.Close()); err != nil {
		return err
	}
	next, err := openLeaking(s.ctx, s.p, providers.Spec{From: s.events.thread, Fork: fork})
	if err != nil {
		return err
	}
	return next.complete("m-2")
}

// answer runs a turn with a question and answers it.
func (s *leakSession) answer(question string, allow bool) error {
	if err := s.start("m-1", question); err != nil {
		return err
	}
	asked, err := s.events.until(s.ctx, "approval is asked for", kind(providers.EventApproval))
	if err == nil {
		err = s.Answer(s.ctx, asked.Approval, providers.Decision{Allow: allow, Reason: "not today"})
	}
	if err == nil {
		_, err = s.events.until(s.ctx, "the turn ends", kind(providers.EventTurnEnd))
	}
	return err
}
