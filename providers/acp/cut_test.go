package acp_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent/agenttest"
)

// asked is a session whose agent has a prompt that it never answers, and its home.
type asked struct {
	providers.Session
	home  string
	taken chan string
	ended chan providers.Event
}

// askForgetful begins a turn of an agent that drops prompts that were cut off before it has answered.
func askForgetful(t *testing.T) *asked {
	t.Helper()
	a := &asked{home: t.TempDir(), taken: make(chan string, 10), ended: make(chan providers.Event, 1)}
	p, err := newProvider("load,forgetful")(a.home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	a.Session, err = p.Open(t.Context(), providers.Spec{Dir: t.TempDir(), System: "Be brief.", OnEvent: func(e providers.Event) {
		switch e.Kind {
		case providers.EventTaken:
			a.taken <- e.Message
		case providers.EventTurnEnd:
			a.ended <- e
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	a.send(t, "m-1", providers.Start, "I like apricots\n/hang")
	return a
}

func (a *asked) send(t *testing.T, id string, mode providers.Mode, text string) {
	t.Helper()
	if err := a.Send(t.Context(), providers.Message{ID: id, Mode: mode, Text: text}); err != nil {
		t.Fatalf("send %s: %v", id, err)
	}
}

// until waits for the end of the turn.
func (a *asked) until(t *testing.T, want providers.Outcome) {
	t.Helper()
	select {
	case e := <-a.ended:
		if e.Outcome != want {
			t.Fatalf("the turn is %s (%v), want %s", e.Outcome, e.Err, want)
		}
	case <-time.After(time.Minute):
		t.Fatal("the turn does not end")
	}
}

// check checks what the agent has of the conversation, and which messages were reported as taken.
func (a *asked) check(t *testing.T, taken ...string) {
	t.Helper()
	stored, err := filepath.Glob(filepath.Join(a.home, "conversation-*.json"))
	if err != nil || len(stored) != 1 {
		t.Fatalf("conversations: got %q, %v, want one", stored, err)
	}
	c, err := agenttest.Load(a.home, strings.TrimSuffix(filepath.Base(stored[0]), ".json"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, m := range c.Messages {
		all.WriteString(m.Text + "\n")
	}
	for _, want := range []string{"Be brief.", "apricots", "/say b"} {
		if strings.Count(all.String(), want) != 1 {
			t.Errorf("the agent has %q, want %q in it once", all.String(), want)
		}
	}
	for _, want := range taken {
		if got := <-a.taken; got != want {
			t.Errorf("%s was taken, want %s", got, want)
		}
	}
}

// A message that was cut off by a steered one before the agent has answered is sent again with that: the agent may have
// dropped it.
func TestPromptThatWasCutOffIsSentAgain(t *testing.T) {
	t.Parallel()
	a := askForgetful(t)
	a.send(t, "s-1", providers.Steer, "/say b")
	a.until(t, providers.Completed)
	a.check(t, "m-1", "s-1")
}

// A message that was interrupted before the agent has answered is part of the next prompt.
func TestPromptThatWasInterruptedIsSentAgain(t *testing.T) {
	t.Parallel()
	a := askForgetful(t)
	if err := a.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.until(t, providers.Interrupted)
	a.send(t, "m-2", providers.Start, "/say b")
	a.until(t, providers.Completed)
	a.check(t, "m-1", "m-2")
}
