package agenttest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
)

// Asked is a call of a tool of the program itself, for which it asks.
type Asked struct {
	// Directive returns the call, given the working directory.
	Directive func(dir string) string
	// Tool is the tool that the question is about, and Text a part of its input.
	Tool, Text string
	// File is what the call creates in the working directory. With Refused a sandbox prevents that, also
	// after the call was approved.
	File    string
	Refused bool
	// DenialEnds says that the program ends its turn when the call is denied.
	DenialEnds bool
	// Once says that it asks once at most.
	Once bool
}

// Approval makes the program ask whether it may make a call, answers both ways, and looks for the effect.
func Approval(t *testing.T, newProvider NewProvider, a Asked) {
	t.Helper()
	for _, allow := range []bool{true, false} {
		dir := t.TempDir()
		asked, results := a.answer(t, newProvider, dir, allow)
		if asked.Name != a.Tool || !strings.Contains(string(asked.Input), a.Text) {
			t.Errorf("allowed %v: asked for %s %s, want %s with %q", allow, asked.Name, asked.Input, a.Tool, a.Text)
		}
		_, err := os.Stat(filepath.Join(dir, a.File))
		if made, want := err == nil, allow && !a.Refused; made != want {
			t.Errorf("allowed %v: %s exists: %v (%v), want %v; the results are %+v", allow, a.File, made, err, want, results)
		}
		for _, r := range results {
			if !allow && !r.IsError {
				t.Errorf("the result of a denied call is %q, want an error", r.Text)
			}
		}
	}
}

// answer runs a turn with the call in a folder, and answers all questions. It returns what was asked first,
// and the results of calls.
func (a Asked) answer(t *testing.T, newProvider NewProvider, dir string, allow bool) (asked providers.ToolCall, results []providers.Block) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangTimeout)
	defer cancel()
	p, err := newProvider(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	e := &events{more: make(chan struct{})}
	s, err := p.Open(ctx, providers.Spec{
		OnEvent: e.add, Dir: dir,
		Call: func(context.Context, providers.ToolCall) providers.ToolResult { return providers.ToolResult{} },
	})
	if err == nil {
		err = s.Send(ctx, providers.Message{ID: "m-1", Mode: providers.Start, Text: a.Directive(dir) + "\n/results"})
	}
	answered := map[string]bool{}
	var next providers.Event
	for err == nil && next.Kind != providers.EventTurnEnd {
		next, err = e.until(ctx, "approval is asked for, or the turn ends", func(e providers.Event) bool {
			return e.Kind == providers.EventApproval && !answered[e.Approval] || e.Kind == providers.EventTurnEnd
		})
		if err == nil && next.Kind == providers.EventApproval {
			if len(answered) == 0 {
				asked = next.Tool
			}
			answered[next.Approval] = true
			err = s.Answer(ctx, next.Approval, providers.Decision{Allow: allow, Reason: "not today"})
		}
	}
	want := providers.Completed
	if !allow && a.DenialEnds {
		want = providers.Interrupted
	}
	if err != nil || next.Outcome != want || len(answered) == 0 || a.Once && len(answered) > 1 {
		t.Errorf("allowed %v: the turn is %s (%v, %v) after %d questions, want it %s after one; the agent said %q", allow, next.Outcome, next.Err, err, len(answered), want, e.said())
	}
	for _, entry := range e.thread.Entries {
		for _, b := range entry.Blocks {
			if b.Kind == providers.BlockToolResult {
				results = append(results, b)
			}
		}
	}
	return asked, results
}

// ShellHasNoKey makes the program run a command that prints its environment, approves that, and looks
// for the key. The directive returns the call for a command.
func ShellHasNoKey(t *testing.T, newProvider NewProvider, directive func(command string) string) {
	t.Helper()
	if got := ShellOutput(t, newProvider, t.TempDir(), directive("env | sort; echo the end")); !strings.Contains(got, "PATH=") || !strings.Contains(got, "the end") || strings.Contains(got, Key) {
		t.Errorf("the environment is %q, want it without the key", got)
	}
}

// ShellOutput returns what an agent, whose program has a home, reads from a command that it runs, after approval if it asks.
func ShellOutput(t *testing.T, newProvider NewProvider, home, directive string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangTimeout)
	defer cancel()
	p, err := newProvider(home)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	e := &events{more: make(chan struct{})}
	s, err := p.Open(ctx, providers.Spec{
		OnEvent: e.add, Dir: t.TempDir(),
		Call: func(context.Context, providers.ToolCall) providers.ToolResult { return providers.ToolResult{} },
	})
	if err == nil {
		err = s.Send(ctx, providers.Message{ID: "m-1", Mode: providers.Start, Text: directive + "\n/results"})
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
	if err != nil || end.Outcome != providers.Completed {
		t.Errorf("the turn is %s (%v, %v), want it completed; the agent said %q", end.Outcome, end.Err, err, e.said())
	}
	var results strings.Builder
	for _, entry := range e.thread.Entries {
		for _, b := range entry.Blocks {
			if b.Kind == providers.BlockToolResult {
				results.WriteString(b.Text)
			}
		}
	}
	return results.String()
}
