package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
)

// prepared is a program that still runs when a session takes it.
type prepared struct{}

func (prepared) Alive() bool  { return true }
func (prepared) Close() error { return nil }

// A prepared program that ends while a session connects to it is replaced by a new one. Its end is not that of
// the session.
func TestPreparedProgramEndsWhileConnecting(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	var first *agent.Session
	p := agent.New(agent.Config{
		Name: "test", Temp: t.TempDir(),
		Prepare: func(context.Context) (agent.Prepared, error) { return prepared{}, nil },
		Connect: func(_ context.Context, o agent.Opening) (agent.Backend, error) {
			if o.Prepared != nil {
				first = o.Session
				first.Anew()
				first.Exited(errors.New("killed"))
				return nil, errors.New("the program has ended")
			}
			r.session = o.Session
			return r, nil
		},
	})
	defer p.Close()
	if err := p.Warm(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	var exits atomic.Int32
	s, err := p.Open(t.Context(), providers.Spec{
		OnEvent: func(e providers.Event) {
			if e.Kind == providers.EventExit {
				exits.Add(1)
			}
		},
		From: providers.Thread{Entries: []providers.Entry{{
			Role: providers.RoleUser, Turn: "m-0", Blocks: []providers.Block{{Kind: providers.BlockText, Text: "the beginning"}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.session == first {
		t.Error("the second program has the session of the first, want one of its own")
	}
	if err := s.Send(t.Context(), providers.Message{ID: "m-1", Mode: providers.Start, Text: "first"}); err != nil {
		t.Fatalf("the first message: %v, want it taken", err)
	}
	if len(r.texts) != 1 || strings.Count(r.texts[0], "the beginning") != 1 {
		t.Errorf("the agent got %q, want one message with the transcript once", r.texts)
	}
	if err := s.Close(); err != nil { // delivers all events
		t.Error(err)
	}
	if n := exits.Load(); n != 0 {
		t.Errorf("%d exits were reported, want none", n)
	}
	if n := p.Started(); n != 2 {
		t.Errorf("%d programs were started, want the prepared one and a new one", n)
	}
}
