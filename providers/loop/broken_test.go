package loop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/loop"
)

// breaks publishes a text and fails, with these blocks so far.
func breaks(words string, f *providers.Failure, blocks ...providers.Block) answer {
	return func(_ context.Context, _ loop.Request, say func(loop.Piece)) (loop.Reply, error) {
		say(loop.Piece{Text: words})
		return loop.Reply{Blocks: append([]providers.Block{text(words)}, blocks...)}, f
	}
}

// lines returns an outline without the texts of the notes that ask the model to go on.
func lines(entries []providers.Entry) []string {
	all := strings.Split(strings.TrimSpace(outline(entries)), "\n")
	for i, l := range all {
		if strings.Contains(l, "broke off in the middle of your reply") {
			all[i] = "u: note"
		}
	}
	return all
}

func TestBrokenReplyIsContinued(t *testing.T) {
	t.Parallel()
	silent := &providers.Failure{Class: providers.Transport, Err: fmt.Errorf("read: %w", providers.ErrSilent)}
	for name, f := range map[string]*providers.Failure{
		"transport": failure(providers.Transport), "overloaded": failure(providers.Overloaded), "rate": failure(providers.Rate), "silence": silent,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := 0
			k := open(t, providers.Spec{Tools: tools("win"), Call: func(context.Context, providers.ToolCall) providers.ToolResult {
				ran++
				return providers.ToolResult{Text: "fine"}
			}}, breaks("one ", f, call("c1", "win")), wants(text("two"), call("c2", "win")))
			k.send("m", providers.Start, "go")
			if e := k.end("m"); e.Outcome != providers.Completed {
				t.Fatalf("the turn ended %s: %v, want %s", e.Outcome, e.Err, providers.Completed)
			}
			want := []string{"u: text go", "a: text one ", "u: note", "a: text two call c2", "u: result c2=fine", "a: text done"}
			if got := lines(k.kept()); !slices.Equal(got, want) {
				t.Errorf("stored conversation is %q, want %q", got, want)
			}
			if ran != 1 {
				t.Errorf("the tool ran %d times, want 1", ran)
			}
			if retries := k.all(providers.EventRetry); len(retries) != 1 || !strings.Contains(retries[0].Text, "broke off") {
				t.Errorf("the reported retries are %+v, want one that says that the reply broke off", retries)
			}
		})
	}
}

// The bound counts replies in a row that break off, so that a long turn on a bad connection ends.
func TestContinuationsAreBounded(t *testing.T) {
	t.Parallel()
	f := failure(providers.Transport)
	var flaky []answer
	for i := range 15 { // 30 rounds, and 15 breaks
		flaky = append(flaky, breaks(fmt.Sprintf("half %d ", i), f), wants(call(fmt.Sprint("c", i), "win")))
	}
	k := open(t, providers.Spec{Tools: tools("win")}, flaky...)
	k.send("m", providers.Start, "go")
	if e := k.end("m"); e.Outcome != providers.Completed || k.model.count() != 31 {
		t.Errorf("the turn ended %s after %d calls: %v, want %s after 31", e.Outcome, k.model.count(), e.Err, providers.Completed)
	}

	k = open(t, providers.Spec{}, breaks("a", f), breaks("b", f), breaks("c", f), breaks("d", f))
	k.send("m", providers.Start, "go")
	e := k.end("m")
	if got, _ := errors.AsType[*providers.Failure](e.Err); e.Outcome != providers.Failed || got == nil || got.Class != providers.Transport || k.model.count() != 4 {
		t.Errorf("the turn ended %s after %d calls: %v, want %s after 4", e.Outcome, k.model.count(), e.Err, providers.Failed)
	}
	want := []string{"u: text go", "a: text a", "u: note", "a: text b", "u: note", "a: text c", "u: note", "a: text d"}
	if got := lines(k.kept()); !slices.Equal(got, want) {
		t.Errorf("stored conversation is %q, want %q", got, want)
	}
}

func TestRefusedReplyIsNotContinued(t *testing.T) {
	t.Parallel()
	for _, class := range []providers.Class{providers.Refused, providers.Invalid, providers.Auth, providers.ContextLength} {
		k := open(t, providers.Spec{}, breaks("half", failure(class)))
		k.send("m", providers.Start, "go")
		if e := k.end("m"); e.Outcome != providers.Failed || k.model.count() != 1 {
			t.Errorf("after %s the turn ended %s after %d calls, want %s after 1", class, e.Outcome, k.model.count(), providers.Failed)
		}
	}
}
