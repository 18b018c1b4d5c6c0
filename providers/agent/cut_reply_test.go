package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
)

// openRecorder opens a session of a recorder that drops replies which were cut off, and records the ids of threads.
func openRecorder(t *testing.T) (s providers.Session, r *recorder, threads *[]string) {
	t.Helper()
	r, threads = &recorder{}, new([]string)
	p := agent.New(agent.Config{
		Name: "test", Caps: providers.Caps{Steer: true, Resume: true}, DropsCut: true, Temp: t.TempDir(),
		Connect: func(_ context.Context, o agent.Opening) (agent.Backend, error) {
			r.session = o.Session
			return r, nil
		},
	})
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := p.Open(t.Context(), providers.Spec{OnEvent: func(e providers.Event) {
		if e.Kind == providers.EventEntries {
			*threads = append(*threads, e.Thread)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s, r, threads
}

func send(t *testing.T, s providers.Session, id string, mode providers.Mode, text string) {
	t.Helper()
	if err := s.Send(t.Context(), providers.Message{ID: id, Mode: mode, Text: text}); err != nil {
		t.Fatal(err)
	}
}

// An agent that drops a reply which was cut off gets it with the next message. Until then its conversation is not that of
// the hub.
func TestReplyThatWasInterruptedIsSent(t *testing.T) {
	t.Parallel()
	s, r, threads := openRecorder(t)
	send(t, s, "m-1", providers.Start, "count")
	r.session.Text("one, two <b>")
	if err := s.Interrupt(t.Context()); err != nil { // which delivers all before it
		t.Fatal(err)
	}
	if want := []bool{true, false}; !slices.Equal(known(*threads), want) {
		t.Errorf("after the interrupt threads are known: got %v, want %v", known(*threads), want)
	}
	send(t, s, "m-2", providers.Start, "go on")
	if got := r.texts[1]; !strings.Contains(got, "one, two &lt;b&gt;") || !strings.HasSuffix(got, "go on") {
		t.Errorf("the next message is %q, want it to begin with the reply that was cut off", got)
	}
	r.session.Taken("m-2")
	r.session.Ended(providers.Completed, nil)
	send(t, s, "m-3", providers.Start, "thanks")
	if r.texts[2] != "thanks" {
		t.Errorf("the third message is %q, want nothing before it", r.texts[2])
	}
	if err := s.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []bool{true, false, true}; !slices.Equal(known(*threads)[:3], want) {
		t.Errorf("threads are known: got %v, want %v", known(*threads), want)
	}
}

// known reports of each thread whether it has an id.
func known(threads []string) (out []bool) {
	for _, id := range threads {
		out = append(out, id != "")
	}
	return out
}

// A steered message that cuts a reply off begins with that.
func TestReplyThatWasSteeredIsSent(t *testing.T) {
	t.Parallel()
	s, r, _ := openRecorder(t)
	send(t, s, "m-1", providers.Start, "count")
	r.session.Text("one, two")
	send(t, s, "s-1", providers.Steer, "in French")
	if got := r.texts[len(r.texts)-1]; !strings.Contains(got, "one, two") || !strings.HasSuffix(got, "in French") {
		t.Errorf("the steered message is %q, want it to begin with the reply that it cuts off", got)
	}
	r.session.Ended(providers.Completed, nil)
}

// While an injected text waits for the next message, no later entry makes the conversation the agent's own.
func TestThreadWithoutAnInjectedText(t *testing.T) {
	t.Parallel()
	s, r, threads := openRecorder(t)
	send(t, s, "m-1", providers.Start, "count")
	r.session.Taken("m-1")
	send(t, s, "i-1", providers.Inject, "it is late")
	r.session.Text("one")
	if err := s.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []bool{true, false, false}; !slices.Equal(known(*threads), want) {
		t.Errorf("threads are known: got %v, want %v", known(*threads), want)
	}
}
