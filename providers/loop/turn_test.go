package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/loop"
)

func TestSteerKeepsReceivedOutput(t *testing.T) {
	t.Parallel()
	k := open(t, providers.Spec{Tools: tools("win")}, hangs("half an ",
		providers.Block{Kind: providers.BlockThinking, Text: "hm", Signature: "s"}, text("half an "), call("c1", "win"),
	))
	k.send("m", providers.Start, "go")
	k.seen("half an ")
	k.send("s", providers.Steer, "another way")
	if e := k.end("m"); e.Outcome != providers.Completed {
		t.Fatalf("the turn ended %s: %v, want %s", e.Outcome, e.Err, providers.Completed)
	}
	want := "u: text go\na: thinking hm text half an \nu: cut text another way\n"
	if got := outline(k.model.asked(t, 1).Entries); got != want {
		t.Errorf("the model was asked\n%swant\n%s", got, want)
	}
	want = "u: text go\na: thinking hm text half an \nu: cut\nu: text another way\na: text done\n"
	if got := outline(k.kept()); got != want {
		t.Errorf("stored conversation is\n%swant\n%s", got, want)
	}
	// The hub may crash between two reports: the text and the message that interrupted it must
	// be in the same one.
	if got := outline(k.all(providers.EventEntries)[1].Entries); !strings.HasPrefix(got, "a:") || !strings.Contains(got, "another way") {
		t.Errorf("the cut reply and the new message are not remembered at once: %s, want both in one event", got)
	}
}

func TestSteerBeforeOutput(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	silent := func(ctx context.Context, _ loop.Request, _ func(loop.Piece)) (loop.Reply, error) {
		close(began)
		<-ctx.Done()
		return loop.Reply{Blocks: []providers.Block{{Kind: providers.BlockThinking, Text: "hm"}}}, context.Cause(ctx)
	}
	k := open(t, providers.Spec{}, silent)
	k.send("m", providers.Start, "one")
	<-began
	k.send("s", providers.Steer, "two")
	k.end("m")
	if got, want := outline(k.model.asked(t, 1).Entries), "u: text one text two\n"; got != want {
		t.Errorf("the model was asked %q, want %q", got, want)
	}
}

func TestQueueAndInjectOrder(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	slow := func(_ context.Context, _ loop.Request, say func(loop.Piece)) (loop.Reply, error) {
		say(loop.Piece{Text: "first"})
		<-hold
		return loop.Reply{Blocks: []providers.Block{text("first")}}, nil
	}
	k := open(t, providers.Spec{}, slow, says("second"), says("third"))
	k.send("m", providers.Start, "go")
	k.seen("first")
	k.send("q1", providers.Queue, "queued one")
	k.send("q2", providers.Queue, "queued two")
	k.send("i", providers.Inject, "by the way")
	close(hold)
	k.end("m")
	want := "u: text go\na: text first\nu: text by the way text queued one\na: text second\nu: text queued two\n"
	if got := outline(k.model.asked(t, 2).Entries); got != want {
		t.Errorf("the model was asked\n%swant\n%s", got, want)
	}
	if n := k.model.count(); n != 3 {
		t.Errorf("it was asked %d times, want 3", n)
	}
}

func TestInjectIntoACutTurnIsKept(t *testing.T) {
	t.Parallel()
	k := open(t, providers.Spec{}, hangs("so far", text("so far")))
	k.send("m", providers.Start, "go")
	k.seen("so far")
	k.send("i", providers.Inject, "a note")
	k.send("q", providers.Queue, "never taken")
	if err := k.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := k.end("m"); e.Outcome != providers.Interrupted || e.Err != nil {
		t.Errorf("the turn ended %s: %v, want %s", e.Outcome, e.Err, providers.Interrupted)
	}
	if got, want := outline(k.kept()), "u: text go\na: text so far\nu: cut\nu: text a note\n"; got != want {
		t.Errorf("stored conversation is\n%swant\n%s", got, want)
	}
	for _, e := range k.all(providers.EventTaken) {
		if e.Message == "q" {
			t.Error("a message without an answer is reported as accepted, want it not to be")
		}
	}
}

func TestToolsRunAtOnceOrInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log []string
		release := make(chan struct{})
		note := func(s string) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, s)
		}
		spec := providers.Spec{Tools: tools("a", "p*"), Call: func(_ context.Context, c providers.ToolCall) providers.ToolResult {
			note("+" + c.ID)
			if c.Name == "p" {
				<-release
			}
			note("-" + c.ID)
			return providers.ToolResult{Text: c.ID}
		}}
		k := open(t, spec, wants(call("1", "a"), call("2", "a"), call("3", "p"), call("4", "p"), call("5", "a")))
		k.send("m", providers.Start, "go")
		synctest.Wait()
		mu.Lock()
		if got := fmt.Sprint(log); got != "[+1 -1 +2 -2 +3 +4]" && got != "[+1 -1 +2 -2 +4 +3]" {
			t.Errorf("so far the calls are %s, want 1 and 2 one after the other, 3 and 4 at once", got)
		}
		mu.Unlock()
		close(release)
		k.end("m")
		mu.Lock()
		defer mu.Unlock()
		if got := fmt.Sprint(log[8:]); got != "[+5 -5]" {
			t.Errorf("in the end the calls are %s, want [+5 -5]", got)
		}
		want := "u: text go\na: call 1 call 2 call 3 call 4 call 5\nu: result 1=1 result 2=2 result 3=3 result 4=4 result 5=5\n"
		if got := outline(k.model.asked(t, 1).Entries); got != want {
			t.Errorf("the model was asked\n%swant\n%s", got, want)
		}
	})
}

func TestCallsThatAreNotMade(t *testing.T) {
	t.Parallel()
	spec := providers.Spec{Tools: tools("win", "bang"), Call: func(_ context.Context, c providers.ToolCall) providers.ToolResult {
		if c.Name == "bang" {
			panic("boom")
		}
		return providers.ToolResult{Text: "ran " + string(c.Input)}
	}}
	broken, list := call("c2", "win"), call("c3", "win")
	broken.Input, list.Input = json.RawMessage(`{"title": "half`), json.RawMessage(`[1]`)
	k := open(t, spec, wants(call("c1", "nope"), broken, list, call("c4", "bang"), call("c1", "win"), call("", "win")))
	k.send("m", providers.Start, "go")
	k.end("m")
	kept := k.kept()
	calls, results := kept[1].Blocks, kept[2].Blocks
	for i, want := range []string{`no tool "nope"`, "not a JSON object", "not a JSON object", "The tool broke", "ran {}", "ran {}"} {
		if !strings.Contains(results[i].Text, want) || results[i].IsError != (i < 4) {
			t.Errorf("result %d is %+v, want %q", i, results[i], want)
		}
		if results[i].Call != calls[i].Call || calls[i].Call == "" {
			t.Errorf("result %d is of call %q, want %q", i, results[i].Call, calls[i].Call)
		}
	}
	if calls[4].Call == "c1" {
		t.Error("two calls have the id c1, want different ones")
	}
	if got := string(calls[1].Input); got != `{"invalid_json":"{\"title\": \"half"}` {
		t.Errorf("an invalid input is stored as %s, want it as the text of invalid_json", got)
	}
}

func TestInterruptAnswersEveryCall(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	spec := providers.Spec{Tools: tools("slow"), Call: func(ctx context.Context, _ providers.ToolCall) providers.ToolResult {
		close(began)
		<-ctx.Done()
		return providers.ToolResult{Text: "stopped", IsError: true}
	}}
	k := open(t, spec, wants(call("c1", "slow"), call("c2", "slow")))
	k.send("m", providers.Start, "go")
	<-began
	if err := k.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.send("n", providers.Start, "and now")
	k.end("n")
	want := "u: text go\na: call c1 call c2\nu: result c1=stopped result c2=The turn was stopped before this was called. text and now\n"
	if got := outline(k.model.asked(t, 1).Entries); got != want {
		t.Errorf("the model was asked\n%swant\n%s", got, want)
	}
}

func TestContinueOfCompleteTurnMakesNoRequest(t *testing.T) {
	t.Parallel()
	k := open(t, providers.Spec{From: providers.Thread{Entries: []providers.Entry{
		{Role: providers.RoleUser, Turn: "m", Blocks: []providers.Block{text("go")}},
		{Role: providers.RoleAssistant, Turn: "m", Blocks: []providers.Block{text("all done")}},
	}}})
	k.send("m", providers.Continue, "")
	if e := k.end("m"); e.Outcome != providers.Completed || k.model.count() != 0 {
		t.Errorf("the turn ended %s after %d calls, want %s after 0", e.Outcome, k.model.count(), providers.Completed)
	}
}

func TestRoundsAreBounded(t *testing.T) {
	t.Parallel()
	answers := make([]answer, loop.MaxRounds+1)
	for i := range answers {
		answers[i] = wants(call(fmt.Sprint("c", i), "win"))
	}
	k := open(t, providers.Spec{Tools: tools("win")}, answers...)
	k.send("m", providers.Start, "go")
	e := k.end("m")
	f, _ := errors.AsType[*providers.Failure](e.Err)
	if e.Outcome != providers.Failed || f == nil || f.Class != providers.Invalid || !strings.Contains(f.Error(), "50 times") {
		t.Errorf("the turn ended %s: %v, want %s with class %s after 50 times", e.Outcome, e.Err, providers.Failed, providers.Invalid)
	}
	if n := k.model.count(); n != loop.MaxRounds {
		t.Errorf("the model was asked %d times, want %d", n, loop.MaxRounds)
	}
}

func TestTruncatedRepliesContinue(t *testing.T) {
	t.Parallel()
	long := func(_ context.Context, _ loop.Request, say func(loop.Piece)) (loop.Reply, error) {
		say(loop.Piece{Text: "blah"})
		return loop.Reply{Blocks: []providers.Block{text("blah")}, Stop: loop.StopLength}, nil
	}
	k := open(t, providers.Spec{}, long, says("the end"), long, long, long, long)
	k.send("m", providers.Start, "go")
	if e := k.end("m"); e.Outcome != providers.Completed {
		t.Errorf("the turn ended %s: %v, want %s", e.Outcome, e.Err, providers.Completed)
	}
	if got := outline(k.model.asked(t, 1).Entries); !strings.HasSuffix(got, "make it again, in smaller parts.\n") {
		t.Errorf("the model was asked\n%swant the request to make it again at its end", got)
	}
	k.send("n", providers.Start, "go")
	if e := k.end("n"); e.Outcome != providers.Failed || k.model.count() != 6 {
		t.Errorf("the turn ended %s after %d calls: %v, want %s after 6", e.Outcome, k.model.count(), e.Err, providers.Failed)
	}
}

func TestTooManyWait(t *testing.T) {
	t.Parallel()
	k := open(t, providers.Spec{}, hangs("busy"))
	k.send("m", providers.Start, "go")
	k.seen("busy")
	for i := range loop.MaxWaiting {
		k.send(fmt.Sprint("q", i), providers.Queue, "wait")
	}
	if err := k.Send(t.Context(), providers.Message{ID: "q", Mode: providers.Queue, Text: "wait"}); err == nil {
		t.Errorf("message %d in the queue is accepted, want an error", loop.MaxWaiting+1)
	}
	if err := k.Send(t.Context(), providers.Message{ID: "e", Mode: providers.Queue, Text: " \n"}); err == nil {
		t.Error("an empty message is accepted, want an error")
	}
}
