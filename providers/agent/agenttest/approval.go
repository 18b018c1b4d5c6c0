package agenttest

import (
	"context"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
)

// Approval makes the program ask whether it may call one of its own tools, and answers both ways. The
// directive returns the call, given the working directory; the question is about the named tool and
// contains the text.
func Approval(t *testing.T, newProvider NewProvider, directive func(dir string) string, tool, text string) {
	t.Helper()
	for _, allow := range []bool{true, false} {
		ctx, cancel := context.WithTimeout(t.Context(), hangTimeout)
		defer cancel()
		p, err := newProvider(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		e := &events{more: make(chan struct{})}
		s, err := p.Open(ctx, providers.Spec{
			OnEvent: e.add, Dir: dir,
			Call: func(context.Context, providers.ToolCall) providers.ToolResult { return providers.ToolResult{} },
		})
		if err == nil {
			err = s.Send(ctx, providers.Message{ID: "m-1", Mode: providers.Start, Text: directive(dir) + "\n/results"})
		}
		var asked, end providers.Event
		if err == nil {
			asked, err = e.until(ctx, "approval is asked for", kind(providers.EventApproval))
		}
		if err == nil {
			err = s.Answer(ctx, asked.Approval, providers.Decision{Allow: allow, Reason: "not today"})
		}
		if err == nil {
			end, err = e.until(ctx, "the turn ends", kind(providers.EventTurnEnd))
		}
		if err != nil || end.Outcome != providers.Completed || asked.Tool.Name != tool || !strings.Contains(string(asked.Tool.Input), text) {
			t.Errorf("allowed %v: asked for %s %s, the turn is %s (%v, %v); want %s with %q and a turn that completes",
				allow, asked.Tool.Name, asked.Tool.Input, end.Outcome, end.Err, err, tool, text)
		}
		for _, entry := range e.thread.Entries {
			for _, b := range entry.Blocks {
				if b.Kind == providers.BlockToolResult && !allow && !b.IsError {
					t.Errorf("the result of a denied call is %q, want an error", b.Text)
				}
			}
		}
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// ShellHasNoKey makes the program run a command that prints its environment, approves that, and looks
// for the key. The directive returns the call for a command.
func ShellHasNoKey(t *testing.T, newProvider NewProvider, directive func(command string) string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangTimeout)
	defer cancel()
	p, err := newProvider(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := &events{more: make(chan struct{})}
	s, err := p.Open(ctx, providers.Spec{
		OnEvent: e.add, Dir: t.TempDir(),
		Call: func(context.Context, providers.ToolCall) providers.ToolResult { return providers.ToolResult{} },
	})
	if err == nil {
		err = s.Send(ctx, providers.Message{ID: "m-1", Mode: providers.Start, Text: directive("env | sort; echo the end") + "\n/results"})
	}
	var next, end providers.Event
	if err == nil {
		next, err = e.until(ctx, "approval is asked for, or the turn ends", func(e providers.Event) bool {
			return e.Kind == providers.EventApproval || e.Kind == providers.EventTurnEnd
		})
	}
	if err == nil && next.Kind == providers.EventApproval {
		err = s.Answer(ctx, next.Approval, providers.Decision{Allow: true})
	}
	if err == nil {
		end, err = e.until(ctx, "the turn ends", kind(providers.EventTurnEnd))
	}
	var results strings.Builder
	for _, entry := range e.thread.Entries {
		for _, b := range entry.Blocks {
			if b.Kind == providers.BlockToolResult {
				results.WriteString(b.Text)
			}
		}
	}
	if got := results.String(); err != nil || end.Outcome != providers.Completed || !strings.Contains(got, "PATH=") || !strings.Contains(got, "the end") || strings.Contains(got, Key) {
		t.Errorf("the turn is %s (%v, %v), and the environment %q; want it without the key; the agent said %q", end.Outcome, end.Err, err, got, e.said())
	}
	if err := p.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
