package loop_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/loop"
)

func TestTransientErrorsAreRetried(t *testing.T) {
	t.Parallel()
	later := func(d time.Duration) *providers.Failure {
		f := failure(providers.Rate)
		f.RetryAfter = d
		return f
	}
	tests := map[string]struct {
		answers []answer
		outcome providers.Outcome
		asked   int
		waits   []time.Duration // at least three quarters of it, at most all
	}{
		"once":            {[]answer{fails(failure(providers.Overloaded))}, providers.Completed, 2, []time.Duration{500 * time.Millisecond}},
		"twice":           {[]answer{fails(failure(providers.Rate)), fails(failure(providers.Transport))}, providers.Completed, 3, []time.Duration{500 * time.Millisecond, time.Second}},
		"three times":     {[]answer{fails(failure(providers.Rate)), fails(failure(providers.Rate)), fails(failure(providers.Rate))}, providers.Failed, 3, []time.Duration{500 * time.Millisecond, time.Second}},
		"as the API says": {[]answer{fails(later(20 * time.Second))}, providers.Completed, 2, []time.Duration{20 * time.Second}},
		"too late":        {[]answer{fails(later(time.Hour))}, providers.Failed, 1, nil},
		"the wrong key":   {[]answer{fails(failure(providers.Auth))}, providers.Failed, 1, nil},
		"silence": {[]answer{fails(&providers.Failure{
			Class: providers.Transport, Err: fmt.Errorf("read the stream: %w", providers.ErrSilent),
		})}, providers.Failed, 1, nil},
		"only thinking, then a break": {[]answer{func(_ context.Context, _ loop.Request, say func(loop.Piece)) (loop.Reply, error) {
			say(loop.Piece{Thinking: "hm"})
			return loop.Reply{}, failure(providers.Transport)
		}}, providers.Completed, 2, []time.Duration{0}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				k := open(t, providers.Spec{}, tt.answers...)
				k.send("m", providers.Start, "go")
				e := k.end("m")
				if e.Outcome != tt.outcome || k.model.count() != tt.asked {
					t.Errorf("the turn ended %s after %d calls: %v, want %s after %d", e.Outcome, k.model.count(), e.Err, tt.outcome, tt.asked)
				}
				retries := k.all(providers.EventRetry)
				if len(retries) != len(tt.waits) {
					t.Fatalf("%d retries are reported, want %d", len(retries), len(tt.waits))
				}
				var sum time.Duration
				for i, most := range tt.waits {
					if w := retries[i].Wait; w > most || w < most*3/4 {
						t.Errorf("retry %d is after %v, want about %v", i, w, most)
					}
					sum += retries[i].Wait
				}
				if took := time.Since(start); took != sum {
					t.Errorf("the turn took %v, and the reported waits are %v, want the same", took, sum)
				}
			})
		})
	}
}

func TestSteerEndsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		f := failure(providers.Rate)
		f.RetryAfter = 30 * time.Second
		k := open(t, providers.Spec{}, fails(f))
		k.send("m", providers.Start, "go")
		synctest.Wait()
		k.send("s", providers.Steer, "now")
		k.end("m")
		if got := outline(k.model.asked(t, 1).Entries); got != "u: text go text now\n" || time.Since(start) != 0 {
			t.Errorf("after %v the model was asked %q, want both messages at once", time.Since(start), got)
		}
	})
}

// history returns a conversation of so many turns.
func history(turns int, words string) (out []providers.Entry) {
	for i := range turns {
		id := fmt.Sprint("t", i)
		out = append(
			out,
			providers.Entry{Role: providers.RoleUser, Turn: id, Blocks: []providers.Block{text("q" + id)}},
			providers.Entry{Role: providers.RoleAssistant, Turn: id, Blocks: []providers.Block{text("a" + id + words)}},
		)
	}
	return out
}

func TestTooLongConversationsAreShortened(t *testing.T) {
	t.Parallel()
	tooLong := failure(providers.ContextLength)
	k := open(t, providers.Spec{From: providers.Thread{Entries: history(5, "")}}, fails(tooLong))
	k.send("m", providers.Start, "go")
	if e := k.end("m"); e.Outcome != providers.Completed {
		t.Fatalf("the turn ended %s: %v, want %s", e.Outcome, e.Err, providers.Completed)
	}
	if shrunk := k.all(providers.EventTruncated); len(shrunk) != 1 || shrunk[0].Truncation.Left != 6 ||
		shrunk[0].Truncation.After >= shrunk[0].Truncation.Before || shrunk[0].Message != "m" {
		t.Errorf("truncation is reported as %+v, want 6 left out of m, once, with a smaller size", shrunk)
	}
	want := "u: text qt3\na: text at3\nu: text qt4\na: text at4\nu: text go\n"
	if got := outline(k.model.asked(t, 1).Entries); got != want {
		t.Errorf("the model was asked\n%swant\n%s", got, want)
	}

	k = open(t, providers.Spec{From: providers.Thread{Entries: history(5, "")}}, fails(tooLong), fails(tooLong), fails(tooLong), fails(tooLong))
	k.send("m", providers.Start, "go")
	f, _ := errors.AsType[*providers.Failure](k.end("m").Err)
	if f == nil || f.Class != providers.ContextLength || k.model.count() != 4 {
		t.Errorf("the turn failed with %v after %d calls, want class %s after 4", f, k.model.count(), providers.ContextLength)
	}

	k = open(t, providers.Spec{}, fails(tooLong))
	k.send("m", providers.Start, "go")
	if e := k.end("m"); e.Outcome != providers.Failed || k.model.count() != 1 {
		t.Errorf("with nothing to leave out it ended %s after %d calls, want %s after 1", e.Outcome, k.model.count(), providers.Failed)
	}
}

// With Spec.Whole nothing is left out, because the hub shortens the conversation itself.
func TestWholeConversationsAreNotShortened(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		words   string
		answers []answer
		asked   int
	}{
		"too many tokens": {"", []answer{fails(failure(providers.ContextLength))}, 1},
		"too many bytes":  {strings.Repeat("x", loop.MaxBytes/8), nil, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := open(t, providers.Spec{From: providers.Thread{Entries: history(10, tt.words)}, Whole: true}, tt.answers...)
			k.send("m", providers.Start, "go")
			f, _ := errors.AsType[*providers.Failure](k.end("m").Err)
			if f == nil || f.Class != providers.ContextLength || k.model.count() != tt.asked || len(k.all(providers.EventTruncated)) != 0 {
				t.Errorf("it failed with %v after %d calls and %d shrinks, want class %s after %d and 0", f, k.model.count(), len(k.all(providers.EventTruncated)), providers.ContextLength, tt.asked)
			}
			if got := outline(k.kept()); got != "u: text go\n" {
				t.Errorf("it remembers %q, want \"u: text go\n\"", got)
			}
		})
	}
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	k := open(t, providers.Spec{From: providers.Thread{Entries: history(20, strings.Repeat("x", loop.MaxBytes/16))}})
	k.send("m", providers.Start, "go")
	k.end("m")
	bytes := 0
	for _, e := range k.model.asked(t, 0).Entries {
		for _, b := range e.Blocks {
			bytes += len(b.Text)
		}
	}
	if bytes > loop.MaxBytes || bytes < loop.MaxBytes/4 {
		t.Errorf("the model was asked %d bytes, want %d to %d", bytes, loop.MaxBytes/4, loop.MaxBytes)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	k := open(t, providers.Spec{}, hangs("busy", text("busy")))
	k.send("m", providers.Start, "go")
	k.seen("busy")
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k.mu.Lock()
	n := len(k.heard)
	last := k.heard[n-1]
	k.mu.Unlock()
	if last.Kind != providers.EventTurnEnd || last.Outcome != providers.Interrupted {
		t.Errorf("the last event is %+v, want the end of the turn as %s", last, providers.Interrupted)
	}
	if err := k.Send(t.Context(), providers.Message{ID: "n", Mode: providers.Start, Text: "x"}); err == nil {
		t.Error("a closed session accepts a message, want an error")
	}
	if err := k.Interrupt(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWindows(t *testing.T) {
	t.Parallel()
	windows := loop.Windows{"m-4": 100, "m-4.1": 300, "m": 10}
	for model, want := range map[string]int{
		"m-4": 100, "m-4-mini": 100, "m-4.1": 300, "m-4.1-2026-01-01": 300, "m-5": 10, "mm": 0, "": 0,
	} {
		if got := windows.Of(model); got != want {
			t.Errorf("%q reads %d tokens, want %d", model, got, want)
		}
	}
}

// Spec.OnModelCall is called for every model call, including failed ones.
func TestEveryCallIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []providers.ModelCall
		slow := func(_ context.Context, _ loop.Request, say func(loop.Piece)) (loop.Reply, error) {
			time.Sleep(time.Second)
			say(loop.Piece{Text: "hello"})
			time.Sleep(2 * time.Second)
			return loop.Reply{Model: "m-1", Blocks: []providers.Block{text("hello")}, Usage: providers.Usage{Input: 7, Output: 2}}, nil
		}
		k := open(t, providers.Spec{OnModelCall: func(a providers.ModelCall) { asked = append(asked, a) }}, fails(failure(providers.Rate)), slow)
		k.send("m", providers.Start, "go")
		k.end("m")
		if len(asked) != 2 {
			t.Fatalf("%d calls were reported, want 2", len(asked))
		}
		if failed := asked[0]; failed.Err == nil || !failed.First.IsZero() {
			t.Errorf("the first call is reported as %+v, want its failure", failed)
		}
		second := asked[1]
		if second.Err != nil || second.Model != "m-1" || second.Usage != (providers.Usage{Input: 7, Output: 2}) {
			t.Errorf("the second call is reported as %+v, want m-1 with 7 and 2 tokens and no error", second)
		}
		if first, all := second.First.Sub(second.Began), second.Ended.Sub(second.Began); first != time.Second || all != 3*time.Second {
			t.Errorf("the second call took %v, and %v to its first piece, want 3s and 1s", all, first)
		}
	})
}
