package demo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
)

// Recalled text is stored and recalled again.
func TestRecallDoesNotGrow(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	e := d.turn("m", strings.Repeat("/recall\n/toast x\n", 25))
	f, _ := errors.AsType[*providers.Failure](e.Err)
	if n := len(d.said("m")); n > 1<<20 {
		t.Errorf("one turn emitted %d bytes and ended %s: %v, want at most 1 MiB", n, e.Outcome, f)
	}
	for i := range 30 {
		if n := len(d.says(fmt.Sprint("r", i), "/recall")); n > 64<<10 {
			t.Errorf("%d bytes are recalled, want at most 64 KiB", n)
		}
	}
}

func TestTurnOutputIsBounded(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"say", "think"} {
		d := newDemoSession(t, nil)
		e := d.turn("m", strings.Repeat("/"+what+" "+strings.Repeat("x", 100<<10)+"\n", 20))
		f, _ := errors.AsType[*providers.Failure](e.Err)
		if f == nil || f.Class != providers.Invalid {
			t.Errorf("%s: the turn ended %s: %v, want class %s", what, e.Outcome, e.Err, providers.Invalid)
		}
		if got := d.says("n", "/say still here"); got != "still here" {
			t.Errorf(`the next turn emitted %q, want "still here"`, got)
		}
	}
}

// The reported usage shows how much of the conversation is still in memory.
func TestMemoryIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	d := newDemoSession(t, nil)
	for i := range 24 {
		d.says(fmt.Sprint("m", i), "/say ok\n"+strings.Repeat("x", 1<<20))
	}
	most := 0
	for _, e := range d.events {
		most = max(most, 4*e.Usage.Input)
	}
	if most > 10<<20 {
		t.Errorf("the conversation has %d bytes, want at most 10 MiB", most)
	}
}

func TestPanicEndsItsTurn(t *testing.T) {
	t.Parallel()
	ended := make(chan providers.Event, 1)
	s, err := demo.New(demo.Config{}).Open(t.Context(), providers.Spec{
		Tools: []providers.Tool{{Name: "task_run", Parallel: true}},
		Call:  func(context.Context, providers.ToolCall) providers.ToolResult { panic("on purpose") },
		OnEvent: func(e providers.Event) {
			switch {
			case e.Kind == providers.EventTurnEnd:
				ended <- e
			case e.Text == "now":
				panic("on purpose")
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for text, want := range map[string]providers.Outcome{"/task a b\n/task c d": providers.Completed, "/say now": providers.Failed} {
		if err := s.Send(t.Context(), providers.Message{ID: "m", Mode: providers.Start, Text: text}); err != nil {
			t.Fatal(err)
		}
		e := <-ended
		if f, _ := errors.AsType[*providers.Failure](e.Err); e.Outcome != want || want == providers.Failed && f.Class != providers.Invalid {
			t.Errorf("%q ended %s: %v, want %s, and class %s for a failure", text, e.Outcome, e.Err, want, providers.Invalid)
		}
	}
}
