package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
)

// recorder is a backend that records messages and reports nothing by itself.
type recorder struct {
	session *agent.Session
	texts   []string
}

func (r *recorder) ID() string { return "own" }

func (r *recorder) Start(_ context.Context, m agent.Message) error {
	r.texts = append(r.texts, m.Text)
	return nil
}

func (r *recorder) Steer(context.Context, agent.Message) error { return nil }

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
