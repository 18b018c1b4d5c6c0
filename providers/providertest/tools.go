package providertest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/providers"
)

func toolChecks() []check {
	return []check{
		{"a tool is called with its input, and its result is read", toolCalled},
		{"what was said before a call is remembered with it", toolRemembered},
		{"one after the other", toolSeries},
		{"several at once each get their own result", toolSeveral},
		{"those that may run at once do", toolParallel},
		{"those that may not run at once do not", toolAlone},
		{"an error is a result like others", toolError},
		{"a tool that does not exist", toolUnknown},
		{"a session without tools", toolNone},
		{"big inputs and results", toolBig},
		{"an empty result", toolEmpty},
		{"in several turns", toolTurns},
	}
}

func toolCalled(r *rig) {
	var got atomic.Value
	look := answers("look", "the sky is green")
	look.do = func(_ context.Context, c providers.ToolCall) providers.ToolResult {
		got.Store(c)
		return providers.ToolResult{Text: "the sky is green"}
	}
	t := r.open(with(look))
	t.has("what it said", t.turn("m-1", Call(use("look", "창밖 \"up\""))), "the sky is green")
	c, _ := got.Load().(providers.ToolCall)
	var in struct {
		Word string `json:"word"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil || in.Word != "창밖 \"up\"" || c.ID == "" || c.Name != "look" {
		t.Errorf("the call was %+v (%v), want look with the word and an id", c, err)
	}
}

func toolRemembered(r *rig) {
	t := r.open(with(answers("look", "green")))
	t.turn("m-1", Say("let me see"), Call(use("look", "up")))
	entries := t.ear.kept().Entries
	if len(entries) == 0 {
		return
	}
	var kinds []string
	for _, e := range entries {
		for _, b := range e.Blocks {
			switch b.Kind {
			case providers.BlockText, providers.BlockToolCall, providers.BlockToolResult:
				kinds = append(kinds, fmt.Sprint(e.Role, ":", b.Kind))
			}
		}
	}
	want := "user:text assistant:text assistant:tool_call user:tool_result assistant:text"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("remembered is %s, want %s", got, want)
	}
}

func toolSeries(r *rig) {
	t := r.open(with(answers("one", "first result"), answers("two", "second result")))
	got := t.turn("m-1", Call(use("one", "a")), Call(use("two", "b")), Call(use("one", "c")), Say("that was it"))
	t.has("what it said", got, "first result", "second result", "that was it")
}

func toolSeveral(r *rig) {
	echo := answers("echo", "")
	echo.do = func(_ context.Context, c providers.ToolCall) providers.ToolResult {
		return providers.ToolResult{Text: "got " + string(c.Input)}
	}
	t := r.open(with(echo))
	t.turn("m-1", Call(use("echo", "a"), use("echo", "b"), use("echo", "c")))
	calls := map[string]string{}
	for _, e := range t.ear.kept().Entries {
		for _, b := range e.Blocks {
			switch b.Kind {
			case providers.BlockToolCall:
				calls[b.Call] = string(b.Input)
			case providers.BlockToolResult:
				var want, got any
				_ = json.Unmarshal([]byte(calls[b.Call]), &want)
				_ = json.Unmarshal([]byte(strings.TrimPrefix(b.Text, "got ")), &got)
				if want == nil || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("the result of %s is %s, want its input", calls[b.Call], b.Text)
				}
			}
		}
	}
	if len(calls) != 3 {
		t.Errorf("%d calls are remembered, want 3", len(calls))
	}
}

func toolParallel(r *rig) {
	meet := answers("meet", "")
	meet.Parallel = true
	var here atomic.Int32
	all := make(chan struct{})
	meet.do = func(ctx context.Context, _ providers.ToolCall) providers.ToolResult {
		if here.Add(1) == 3 {
			close(all)
		}
		select {
		case <-all:
			return providers.ToolResult{Text: "met"}
		case <-ctx.Done():
			return providers.ToolResult{Text: "alone", IsError: true}
		}
	}
	t := r.open(with(meet))
	t.begin("m-1", Call(use("meet", "a"), use("meet", "b"), use("meet", "c")))
	t.await("three calls run at once", all)
	t.has("what it said", t.end("m-1", providers.Completed), "met")
}

func toolAlone(r *rig) {
	var running, most atomic.Int32
	alone := answers("alone", "done")
	alone.do = func(ctx context.Context, _ providers.ToolCall) providers.ToolResult {
		if n := running.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer running.Add(-1)
		select { // gives another call the chance to begin
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
		}
		return providers.ToolResult{Text: "done"}
	}
	t := r.open(with(alone))
	t.turn("m-1", Call(use("alone", "a"), use("alone", "b"), use("alone", "c")))
	if most.Load() != 1 {
		t.Errorf("%d calls ran at once, want 1", most.Load())
	}
}

func toolError(r *rig) {
	bad := answers("bad", "")
	bad.do = func(context.Context, providers.ToolCall) providers.ToolResult {
		return providers.ToolResult{Text: "the disk is full", IsError: true}
	}
	t := r.open(with(bad))
	t.has("what it said", t.turn("m-1", Call(use("bad", "a")), Say("and on")), "the disk is full", "and on")
	for _, e := range t.ear.kept().Entries {
		for _, b := range e.Blocks {
			if b.Kind == providers.BlockToolResult && !b.IsError {
				t.Errorf("the error is remembered as %+v, want it marked as an error", b)
			}
		}
	}
}

func toolUnknown(r *rig) {
	spare := answers("spare", "wrong one")
	t := r.open(with(spare))
	t.lacks("what it said", t.turn("m-1", Call(use("nonesuch", "a"))), "wrong one")
	t.has("what it said", t.turn("m-2", Call(use("spare", "a"))), "wrong one")
}

func toolNone(r *rig) {
	t := r.open()
	t.turn("m-1", Call(use("nonesuch", "a")))
	t.turn("m-2", Say("still here"))
}

func toolBig(r *rig) {
	big := strings.Repeat("많이 ", 50_000)
	var got atomic.Int64
	load := answers("load", "")
	load.do = func(_ context.Context, c providers.ToolCall) providers.ToolResult {
		var in map[string]string
		if err := json.Unmarshal(c.Input, &in); err == nil {
			got.Store(int64(len(in["word"])))
		}
		return providers.ToolResult{Text: big + "the end"}
	}
	t := r.open(with(load))
	t.has("what it said", t.turn("m-1", Call(use("load", big))), "the end")
	if got.Load() != int64(len(big)) {
		t.Errorf("of an input of %d bytes %d came, want all", len(big), got.Load())
	}
}

func toolEmpty(r *rig) {
	t := r.open(with(answers("quiet", "")))
	t.has("what it said", t.turn("m-1", Call(use("quiet", "a")), Say("on we go")), "on we go")
	t.turn("m-2", Say("still here"))
}

func toolTurns(r *rig) {
	t := r.open(with(answers("look", "green")))
	for n := range 4 {
		t.turn(fmt.Sprint("m-", n), Call(use("look", fmt.Sprint("time ", n))))
	}
}

func failureChecks() []check {
	return []check{
		{"each kind is told", failureKinds},
		{"after a call", failureAfterCall},
	}
}

func failureKinds(r *rig) {
	for _, class := range r.bench.Fails {
		t := r.open()
		t.begin("m-1", Fail(class))
		e := t.ended("m-1")
		f, ok := e.Err.(*providers.Failure) //nolint:errorlint // the contract says it is one, not that it wraps one
		if e.Outcome != providers.Failed || !ok || f.Class != class {
			t.Errorf("the turn is %s with %v, want failed with the class %s", e.Outcome, e.Err, class)
		}
		t.turn("m-2", Say("better now"))
	}
}

func failureAfterCall(r *rig) {
	t := r.open(with(answers("look", "green")))
	t.begin("m-1", Call(use("look", "up")), Fail(r.bench.Fails[0]))
	t.end("m-1", providers.Failed)
	t.has("what it said", t.turn("m-2", Call(use("look", "down"))), "green")
}
