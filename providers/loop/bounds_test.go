package loop_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/loop"
)

// length returns the size of a request's entries.
func length(r loop.Request) (n int) {
	for _, e := range r.Entries {
		for _, b := range e.Blocks {
			n += len(b.Text) + len(b.Input)
		}
	}
	return n
}

// Names of tools and ids of calls are bounded, because every step about them contains them.
func TestNamesOfModelsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1<<20)
	k := open(t, providers.Spec{Tools: tools("win")}, wants(call(long, "win"), call("short", long)))
	k.send("m", providers.Start, "go")
	if e := k.end("m"); e.Outcome != providers.Completed {
		t.Fatalf("the turn ended %s: %v, want %s", e.Outcome, e.Err, providers.Completed)
	}
	for _, e := range k.kept() {
		for _, b := range e.Blocks {
			if len(b.Call) > 256 || len(b.Tool) > 128 || strings.ContainsRune(b.Tool, '�') {
				t.Errorf("a %s has an id of %d and a tool of %d bytes, want at most 256 and 128, of whole characters", b.Kind, len(b.Call), len(b.Tool))
			}
		}
	}
	results := k.kept()[2].Blocks
	if results[0].Text != "result of win" || results[0].Call != k.kept()[1].Blocks[0].Call || results[1].Call != "short" {
		t.Errorf("results are %.200q and %.200q, want those of win and of the call short", results[0].Text, results[1].Text)
	}
}

// A conversation that is much too long does not make its agent unusable: neither in the turn
// that finds out, nor when it is opened again with all stored entries.
func TestTooLongErrorIsNotPermanent(t *testing.T) {
	t.Parallel()
	picky := func(ctx context.Context, r loop.Request, say func(loop.Piece)) (loop.Reply, error) {
		if length(r) > 100 {
			return loop.Reply{}, failure(providers.ContextLength)
		}
		return says("done")(ctx, r, say)
	}
	var many []answer
	for range 50 {
		many = append(many, picky)
	}
	entries := history(40, strings.Repeat("x", 10))
	for i := range 3 {
		id := fmt.Sprint("m", i)
		k := open(t, providers.Spec{From: providers.Thread{Entries: entries}}, many...)
		k.send(id, providers.Start, "go")
		if e := k.end(id); e.Outcome != providers.Completed {
			t.Fatalf("turn %d ended %s: %v, want %s", i, e.Outcome, e.Err, providers.Completed)
		}
		if n := k.model.count(); n > 8 {
			t.Errorf("the model was asked %d times, want at most 8 times", n)
		}
		entries = append(entries, k.kept()...)
	}
}

// A turn that becomes too long continues with its newest part and the user's messages.
func TestLongTurnsAreShortened(t *testing.T) {
	t.Parallel()
	const rounds = 40
	most := 0
	var answers []answer
	for i := range rounds {
		answers = append(answers, func(_ context.Context, r loop.Request, _ func(loop.Piece)) (loop.Reply, error) {
			most = max(most, length(r))
			return loop.Reply{Blocks: []providers.Block{text(strings.Repeat("x", 1<<20)), call(fmt.Sprint("c", i), "win")}}, nil
		})
	}
	k := open(t, providers.Spec{Tools: tools("win")}, answers...)
	k.send("m", providers.Start, "what I want")
	if e := k.end("m"); e.Outcome != providers.Completed {
		t.Fatalf("the turn ended %s: %v, want %s", e.Outcome, e.Err, providers.Completed)
	}
	last := k.model.asked(t, rounds)
	if got := last.Entries[0].Blocks[0].Text; got != "what I want" {
		t.Errorf(`the last request begins with %.100q, want "what I want"`, got)
	}
	if got := last.Entries[len(last.Entries)-1].Blocks[0].Call; got != fmt.Sprint("c", rounds-1) {
		t.Errorf("the last request ends with the result of %q, want c%d", got, rounds-1)
	}
	if most > loop.MaxBytes {
		t.Errorf("the model was asked %d bytes, want at most %d", most, loop.MaxBytes)
	}
}

func TestMessagesThatAreTooLong(t *testing.T) {
	t.Parallel()
	k := open(t, providers.Spec{})
	k.send("m", providers.Start, strings.Repeat("x", loop.MaxBytes+1))
	f, _ := errors.AsType[*providers.Failure](k.end("m").Err)
	if f == nil || f.Class != providers.ContextLength || k.model.count() != 0 {
		t.Errorf("the turn ended with %v after %d calls, want class %s after 0", f, k.model.count(), providers.ContextLength)
	}
}

func TestRepliesAreBounded(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("x", 1<<20)
	forever := func(p loop.Piece) answer {
		return func(ctx context.Context, _ loop.Request, say func(loop.Piece)) (loop.Reply, error) {
			var all strings.Builder
			for range 100 {
				if ctx.Err() != nil {
					return loop.Reply{Blocks: []providers.Block{text(all.String())}}, context.Cause(ctx)
				}
				say(p)
				all.WriteString(p.Text)
			}
			return loop.Reply{Blocks: []providers.Block{text("all of it")}}, nil
		}
	}
	for name, a := range map[string]answer{
		"text":     forever(loop.Piece{Text: words}),
		"thinking": forever(loop.Piece{Thinking: words}),
		"input":    forever(loop.Piece{Hidden: words}),
		"at once":  wants(text(strings.Repeat(words, 5))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := open(t, providers.Spec{}, a)
			k.send("m", providers.Start, "go")
			f, _ := errors.AsType[*providers.Failure](k.end("m").Err)
			if f == nil || f.Class != providers.Invalid || k.model.count() != 1 {
				t.Errorf("the turn ended with %v after %d calls, want class %s after 1", f, k.model.count(), providers.Invalid)
			}
			told := 0
			for _, e := range append(k.all(providers.EventText), k.all(providers.EventThinking)...) {
				told += len(e.Text)
			}
			if told > loop.MaxReply {
				t.Errorf("%d bytes are reported, want at most %d", told, loop.MaxReply)
			}
		})
	}
}

func TestPanicEndsItsTurn(t *testing.T) {
	t.Parallel()
	k := open(t, providers.Spec{}, func(context.Context, loop.Request, func(loop.Piece)) (loop.Reply, error) {
		panic("on purpose")
	})
	k.send("m", providers.Start, "go")
	f, _ := errors.AsType[*providers.Failure](k.end("m").Err)
	if f == nil || f.Class != providers.Invalid {
		t.Errorf("the turn ended with %v, want class %s", f, providers.Invalid)
	}
	k.send("n", providers.Start, "again")
	if e := k.end("n"); e.Outcome != providers.Completed {
		t.Errorf("the next turn ended %s: %v, want %s", e.Outcome, e.Err, providers.Completed)
	}
}
