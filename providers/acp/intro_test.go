package acp_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent/agenttest"
)

// An agent gets the system prompt again with the message that cuts its first prompt off, if it answers that prompt with
// an error: it may have dropped it. One that ends the prompt properly gets the system prompt once.
func TestSystemPromptOfACutPrompt(t *testing.T) {
	t.Parallel()
	for abilities, want := range map[string]int{"load,clumsy": 2, "load": 1} {
		t.Run(abilities, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			p, err := newProvider(abilities)(home)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := p.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			text, ended := make(chan struct{}, 10), make(chan providers.Event, 1)
			s, err := p.Open(t.Context(), providers.Spec{Dir: t.TempDir(), System: "Be brief.", OnEvent: func(e providers.Event) {
				switch e.Kind {
				case providers.EventText:
					text <- struct{}{}
				case providers.EventTurnEnd:
					ended <- e
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Send(t.Context(), providers.Message{ID: "m-1", Mode: providers.Start, Text: "/say a\n/hang"}); err != nil {
				t.Fatal(err)
			}
			timeout := time.After(time.Minute)
			select {
			case <-text:
			case <-timeout:
				t.Fatal("the agent says nothing")
			}
			if err := s.Send(t.Context(), providers.Message{ID: "m-2", Mode: providers.Steer, Text: "/say b"}); err != nil {
				t.Fatal(err)
			}
			select {
			case e := <-ended:
				if e.Outcome != providers.Completed {
					t.Fatalf("the turn is %s (%v), want completed", e.Outcome, e.Err)
				}
			case <-timeout:
				t.Fatal("the turn does not end")
			}
			stored, err := filepath.Glob(filepath.Join(home, "conversation-*.json"))
			if err != nil || len(stored) != 1 {
				t.Fatalf("conversations: got %q, %v, want one", stored, err)
			}
			c, err := agenttest.Load(home, strings.TrimSuffix(filepath.Base(stored[0]), ".json"))
			if err != nil {
				t.Fatal(err)
			}
			got := 0
			for _, m := range c.Messages {
				if strings.Contains(m.Text, "Be brief.") {
					got++
				}
			}
			if got != want {
				t.Errorf("the agent got the system prompt %d times, want %d: %+v", got, want, c.Messages)
			}
		})
	}
}
