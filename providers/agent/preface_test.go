package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
)

// recorder is a backend that records messages and reports nothing by itself.
type recorder struct {
	session *agent.Session
	texts   []string
	// taking, unless nil, is called while the agent takes a message.
	taking func(context.Context) error
}

func (r *recorder) ID() string { return "own" }

func (r *recorder) Start(ctx context.Context, m agent.Message) error {
	r.texts = append(r.texts, m.Text)
	if r.taking != nil {
		return r.taking(ctx)
	}
	return nil
}

func (r *recorder) Steer(_ context.Context, m agent.Message) error {
	r.texts = append(r.texts, m.Text)
	return nil
}

// Interrupt ends the turn before the agent has taken the message.
func (r *recorder) Interrupt(context.Context) error {
	r.session.Ended(providers.Interrupted, nil)
	return nil
}

func (r *recorder) Answer(context.Context, string, providers.Decision) error { return nil }
func (r *recorder) Close() error                                             { return nil }

// A message that the agent did not take, and the transcript before it, are part of the next one.
func TestWhatWasNotTakenIsSentAgain(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	p := agent.New(agent.Config{Name: "test", Temp: t.TempDir(), Connect: func(_ context.Context, o agent.Opening) (agent.Backend, error) {
		r.session = o.Session
		return r, nil
	}})
	defer p.Close()
	s, err := p.Open(t.Context(), providers.Spec{From: providers.Thread{Entries: []providers.Entry{{
		Role: providers.RoleUser, Turn: "m-0", Blocks: []providers.Block{{Kind: providers.BlockText, Text: "the beginning"}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	send := func(id, text string) {
		t.Helper()
		if err := s.Send(t.Context(), providers.Message{ID: id, Mode: providers.Start, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	send("m-1", "first")
	if err := s.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	send("m-2", "second")
	r.session.Taken("m-2")
	r.session.Ended(providers.Completed, nil)
	send("m-3", "third")
	for n, want := range []string{"the beginning|first", "the beginning|first|second", "third"} {
		at := 0
		for part := range strings.SplitSeq(want, "|") {
			i := strings.Index(r.texts[n][at:], part)
			if i < 0 {
				t.Fatalf("message %d is %q, want %q in this order", n, r.texts[n], want)
			}
			at += i
		}
	}
	if r.texts[2] != "third" {
		t.Errorf("the third message is %q, want nothing before it", r.texts[2])
	}
}

// A turn that is interrupted while the agent takes its message leaves the session open: the agent gets the
// whole message, and then the interrupt.
func TestInterruptWhileTheAgentTakesAMessage(t *testing.T) {
	t.Parallel()
	caller, interrupt := context.WithCancel(t.Context())
	r := &recorder{taking: func(ctx context.Context) error {
		interrupt()
		return ctx.Err()
	}}
	p := agent.New(agent.Config{Name: "test", Temp: t.TempDir(), Connect: func(_ context.Context, o agent.Opening) (agent.Backend, error) {
		r.session = o.Session
		return r, nil
	}})
	defer p.Close()
	s, err := p.Open(t.Context(), providers.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(caller, providers.Message{ID: "m-1", Mode: providers.Start, Text: "first"}); err != nil {
		t.Fatalf("the message of an interrupted turn: %v, want it taken", err)
	}
	if err := s.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.taking = nil
	if err := s.Send(t.Context(), providers.Message{ID: "m-2", Mode: providers.Start, Text: "second"}); err != nil {
		t.Errorf("the next message: %v, want it taken by the same session", err)
	}
}

// An agent that does not take the message of an interrupted turn has a moment to do so; then its session ends.
func TestAgentThatTakesNoMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		caller, interrupt := context.WithCancel(t.Context())
		r := &recorder{taking: func(ctx context.Context) error {
			interrupt()
			<-ctx.Done()
			return context.Cause(ctx)
		}}
		p := agent.New(agent.Config{Name: "test", Temp: t.TempDir(), Connect: func(_ context.Context, o agent.Opening) (agent.Backend, error) {
			r.session = o.Session
			return r, nil
		}})
		defer p.Close()
		s, err := p.Open(t.Context(), providers.Spec{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(caller, providers.Message{ID: "m-1", Mode: providers.Start, Text: "first"}); !errors.Is(err, context.Canceled) {
			t.Errorf("a message that is never taken: %v, want the reason of its interrupt", err)
		}
		if err := s.Send(t.Context(), providers.Message{ID: "m-2", Mode: providers.Start, Text: "second"}); !errors.Is(err, providers.ErrClosed) {
			t.Errorf("the next message: %v, want that the session is closed", err)
		}
	})
}
