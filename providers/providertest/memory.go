package providertest

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"sync/atomic"

	"github.com/everdesk/everdesk/providers"
)

func resumeChecks() []check {
	return []check{
		{"a fresh provider knows what was said", resumeKnows},
		{"after a call", resumeCall},
		{"after an interrupted call", resumeInterrupted},
		{"after a failure", resumeFailed},
		{"with a new message though a call was never answered", resumeDangling},
		{"what others left behind", resumeForeign},
		{"again and again", resumeOften},
	}
}

func resumeKnows(r *rig) {
	a := r.open()
	a.turn("m-1", Say("the first answer"))
	a.turn("m-2", Say("the second answer"))
	a.ok(a.Close())
	b := r.openAt(r.another(), from(a.ear.kept()))
	b.has("what it can read", b.turn("m-3", Recall()), "the first answer", "the second answer")
}

func resumeCall(r *rig) {
	look := answers("look", "it is turquoise")
	a := r.open(with(look))
	a.turn("m-1", Say("let me see"), Call(use("look", "up")))
	b := r.openAt(r.another(), from(a.ear.kept()), with(look))
	b.has("what it can read", b.turn("m-2", Recall()), "let me see", "it is turquoise")
	b.has("what it said", b.turn("m-3", Call(use("look", "down"))), "it is turquoise")
}

func resumeInterrupted(r *rig) {
	hold := newStuck("never")
	a := r.open(with(hold.tool))
	a.turn("m-0", Say("apricot"))
	a.begin("m-1", Call(use("hold", "up")))
	a.await("the tool runs", hold.began)
	a.ok(a.Interrupt(a.ctx))
	b := r.openAt(r.another(), from(a.ear.kept()), with(answers("hold", "now it works")))
	b.has("what it said", b.turn("m-2", Call(use("hold", "up"))), "now it works")
	b.has("what it can read", b.turn("m-3", Recall()), "apricot")
}

func resumeFailed(r *rig) {
	if len(r.bench.Fails) == 0 {
		return
	}
	a := r.open()
	a.turn("m-0", Say("apricot"))
	a.begin("m-1", Fail(r.bench.Fails[0]))
	a.end("m-1", providers.Failed)
	b := r.openAt(r.another(), from(a.ear.kept()))
	b.has("what it can read", b.turn("m-2", Recall()), "apricot")
}

func resumeDangling(r *rig) {
	hold := newStuck("never")
	a := r.open(with(hold.tool))
	a.begin("m-1", Say("kiwi"), Call(use("hold", "up")))
	a.await("the tool runs", hold.began)
	cut := a.ear.kept()
	b := r.openAt(r.another(), fork(cut), with(answers("hold", "fine")))
	b.has("what it can read", b.turn("m-2", Recall()), "kiwi")
	b.has("what it said", b.turn("m-3", Call(use("hold", "up"))), "fine")
	hold.release()
	a.end("m-1", providers.Completed)
}

// resumeForeign continues a conversation of another backend, which contains blocks that only
// that one understands.
func resumeForeign(r *rig) {
	t := r.open(from(providers.Thread{Provider: "another", Entries: []providers.Entry{
		{Role: providers.RoleUser, Turn: "o-1", Blocks: []providers.Block{{Kind: providers.BlockText, Text: "I like quince"}}},
		{Role: providers.RoleAssistant, Turn: "o-1", Blocks: []providers.Block{
			{Kind: providers.BlockThinking, Text: "hm", Signature: "c2ln", From: "another"},
			{Kind: providers.BlockOpaque, Opaque: []byte(`{"secret":1}`), From: "another"},
			{Kind: providers.BlockText, Text: "I prefer medlar"},
			{Kind: providers.BlockToolCall, Call: "x:1/weird id", Tool: "gone", Input: []byte(`{}`)},
		}},
		{Role: providers.RoleUser, Turn: "o-1", Blocks: []providers.Block{{Kind: providers.BlockToolResult, Call: "x:1/weird id", Text: "rowan"}}},
		{Role: providers.RoleAssistant, Turn: "o-1", Blocks: []providers.Block{{Kind: providers.BlockText, Text: "done"}}},
	}}))
	t.has("what it can read", t.turn("m-1", Recall()), "quince", "medlar")
}

func resumeOften(r *rig) {
	t := r.open()
	for n := range 5 {
		t.turn(fmt.Sprint("m-", n), Say(fmt.Sprint("answer ", n)))
		t.ok(t.Close())
		t = r.openAt(r.another(), from(t.ear.kept()))
	}
	t.has("what it can read", t.turn("last", Recall()), "answer 0", "answer 4")
}

func forkChecks() []check {
	return []check{
		{"a fork knows what was said, and the original goes on alone", forkAlone},
		{"two forks differ", forkTwo},
		{"in the middle of a turn", forkMidTurn},
	}
}

func forkAlone(r *rig) {
	a := r.open()
	a.turn("m-1", Say("the trunk"))
	b := r.open(fork(a.ear.kept()))
	b.turn("f-1", Say("the branch"))
	b.has("what the fork can read", b.turn("f-2", Recall()), "the trunk", "the branch")
	got := a.turn("m-2", Recall())
	a.has("what the original can read", got, "the trunk")
	a.lacks("what the original can read", got, "the branch")
}

func forkTwo(r *rig) {
	a := r.open()
	a.turn("m-1", Say("the trunk"))
	b, c := r.open(fork(a.ear.kept())), r.open(fork(a.ear.kept()))
	b.begin("b-1", Say("the left"))
	c.begin("c-1", Say("the right"))
	b.end("b-1", providers.Completed)
	c.end("c-1", providers.Completed)
	left, right := b.turn("b-2", Recall()), c.turn("c-2", Recall())
	b.has("what the left can read", left, "the trunk", "the left")
	b.lacks("what the left can read", left, "the right")
	c.has("what the right can read", right, "the trunk", "the right")
	c.lacks("what the right can read", right, "the left")
}

func forkMidTurn(r *rig) {
	a := r.open()
	a.turn("m-1", Say("the trunk"))
	a.begin("m-2", Say("still growing"), Hang())
	a.saying("m-2", "still growing")
	b := r.open(fork(a.ear.kept()))
	b.has("what the fork can read", b.turn("f-1", Recall()), "the trunk")
	a.ok(a.Interrupt(a.ctx))
	a.end("m-2", providers.Interrupted)
}

func continueChecks() []check {
	return []check{
		{"a call that was made is not made again", continueDone},
		{"a call that was not made is made", continueUndone},
		{"of several calls only those that are missing are made", continueSome},
		{"a turn that had only begun", continueBegun},
		{"a turn that had its results", continueResults},
		{"a turn that was all but over ends", continueOver},
		{"further turns follow", continueFurther},
	}
}

// cut runs the turn m-1 up to a tool call and returns the conversation at that point, as a crash
// would leave it.
func (r *rig) cut(steps ...Step) providers.Thread {
	r.Helper()
	hold := newStuck("never")
	t := r.open(with(hold.tool))
	t.begin("m-1", append([]Step{Say("before."), Call(use("hold", "a"))}, steps...)...)
	t.await("the tool runs", hold.began)
	kept := t.ear.kept()
	t.ok(t.Close())
	return kept
}

// openCalls returns the ids of calls without a result.
func openCalls(t providers.Thread) (ids []string) {
	done := map[string]bool{}
	for _, e := range t.Entries {
		for _, b := range e.Blocks {
			if b.Kind == providers.BlockToolResult {
				done[b.Call] = true
			}
		}
	}
	for _, e := range t.Entries {
		for _, b := range e.Blocks {
			if b.Kind == providers.BlockToolCall && !done[b.Call] {
				ids = append(ids, b.Call)
			}
		}
	}
	return ids
}

// openCall returns the only call without a result.
func (r *rig) openCall(t providers.Thread) string {
	r.Helper()
	ids := openCalls(t)
	if len(ids) != 1 {
		r.Fatalf("%d calls are open, want one", len(ids))
	}
	return ids[0]
}

// counting returns a tool that counts its calls.
func counting(name, text string) (tool, *atomic.Int32) {
	n := new(atomic.Int32)
	t := answers(name, text)
	t.do = func(context.Context, providers.ToolCall) providers.ToolResult {
		n.Add(1)
		return providers.ToolResult{Text: text}
	}
	return t, n
}

// goOn continues the turn m-1.
func (t *testSession) goOn(done map[string]providers.ToolResult) {
	t.Helper()
	t.ok(t.Send(t.ctx, providers.Message{ID: "m-1", Mode: providers.Continue, Done: done}))
}

func continueDone(r *rig) {
	kept := r.cut(Say("after it."))
	id := r.openCall(kept)
	hold, calls := counting("hold", "made again")
	t := r.openAt(r.another(), from(kept), with(hold))
	t.goOn(map[string]providers.ToolResult{id: {Text: "the kept result"}})
	got := t.end("m-1", providers.Completed)
	t.has("what it said", got, "the kept result", "after it.")
	t.lacks("what it said", got, "made again")
	if calls.Load() != 0 {
		t.Errorf("the tool was called %d times more, want 0", calls.Load())
	}
	if left := openCalls(t.ear.kept()); len(left) > 0 {
		t.Errorf("calls %v have no stored result, want one for each", left)
	}
}

func continueUndone(r *rig) {
	kept := r.cut(Say("after it."))
	hold, calls := counting("hold", "made now")
	t := r.openAt(r.another(), from(kept), with(hold))
	t.goOn(nil)
	t.has("what it said", t.end("m-1", providers.Completed), "made now", "after it.")
	if calls.Load() != 1 {
		t.Errorf("the tool was called %d times, want once", calls.Load())
	}
}

func continueSome(r *rig) {
	hold := newStuck("never")
	hold.Parallel = true
	quick := answers("quick", "first time")
	quick.Parallel = true
	a := r.open(with(hold.tool, quick))
	a.begin("m-1", Call(use("quick", "a"), use("hold", "b")))
	a.await("the tool runs", hold.began)
	kept := a.ear.kept()
	a.ok(a.Close())
	done := map[string]providers.ToolResult{}
	for _, e := range kept.Entries {
		for _, b := range e.Blocks {
			if b.Kind == providers.BlockToolCall && b.Tool == "quick" {
				done[b.Call] = providers.ToolResult{Text: "first time"}
			}
		}
	}
	quick2, quicks := counting("quick", "second time")
	hold2, holds := counting("hold", "held at last")
	t := r.openAt(r.another(), from(kept), with(quick2, hold2))
	t.goOn(done)
	t.has("what it said", t.end("m-1", providers.Completed), "first time", "held at last")
	if quicks.Load() != 0 || holds.Load() != 1 {
		t.Errorf("the tools were called %d and %d times more, want 0 and 1", quicks.Load(), holds.Load())
	}
}

func continueBegun(r *rig) {
	t := r.open(from(providers.Thread{Entries: []providers.Entry{{
		Role: providers.RoleUser, Turn: "m-1",
		Blocks: []providers.Block{{Kind: providers.BlockText, Text: r.bench.Prompt(Say("here it is"))}},
	}}}))
	t.goOn(nil)
	t.has("what it said", t.end("m-1", providers.Completed), "here it is")
}

func continueResults(r *rig) {
	kept := r.cut(Say("after it."))
	kept.Entries = append(kept.Entries, providers.Entry{
		Role: providers.RoleUser, Turn: "m-1",
		Blocks: []providers.Block{{Kind: providers.BlockToolResult, Call: r.openCall(kept), Text: "the kept result"}},
	})
	hold, calls := counting("hold", "made again")
	t := r.openAt(r.another(), from(kept), with(hold))
	t.goOn(nil)
	t.has("what it said", t.end("m-1", providers.Completed), "after it.")
	if calls.Load() != 0 {
		t.Errorf("the tool was called %d times more, want 0", calls.Load())
	}
}

func continueOver(r *rig) {
	a := r.open()
	a.turn("m-1", Say("all is said"))
	t := r.openAt(r.another(), from(a.ear.kept()))
	t.goOn(nil)
	t.lacks("what it said again", t.end("m-1", providers.Completed), "all is said")
	t.turn("m-2", Say("and on"))
}

func continueFurther(r *rig) {
	kept := r.cut(Say("after it."))
	t := r.openAt(r.another(), from(kept), with(answers("hold", "made now")))
	t.goOn(nil)
	t.end("m-1", providers.Completed)
	t.has("what it can read", t.turn("m-2", Recall()), "before.", "made now", "after it.")
	next := r.openAt(r.another(), from(t.ear.kept()))
	next.has("what it can read later", next.turn("m-3", Recall()), "before.", "made now", "after it.")
}

func imageChecks() []check {
	return []check{{"a picture is taken and remembered", imageTaken}}
}

func imageTaken(r *rig) {
	t := r.open()
	m := t.prompt("m-1", Say("nice"))
	var picture bytes.Buffer // some agents decode it
	t.ok(png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))))
	m.Images = []providers.Image{{MediaType: "image/png", Data: picture.Bytes()}}
	t.ok(t.Send(t.ctx, m))
	t.end("m-1", providers.Completed)
	kept := t.ear.kept()
	pictures := 0
	for _, e := range kept.Entries {
		for _, b := range e.Blocks {
			if b.Kind == providers.BlockImage && string(b.Image.Data) == string(m.Images[0].Data) {
				pictures++
			}
		}
	}
	if len(kept.Entries) > 0 && pictures != 1 {
		t.Errorf("%d pictures are remembered, want 1", pictures)
	}
	if r.caps.Resume {
		r.openAt(r.another(), from(kept)).turn("m-2", Say("still here"))
	}
}
