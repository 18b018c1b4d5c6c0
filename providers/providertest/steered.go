package providertest

import (
	"context"
	"encoding/json"
	"maps"
	"sync"

	"github.com/everdesk/everdesk/providers"
)

// steeredChecks are for backends that support both steering and continuing.
func steeredChecks() []check {
	return []check{{"calls of steered messages are made once, however often the turn is cut off", continueSteered}}
}

// ledger counts the calls of a tool by their word, over all runs of a turn.
type ledger struct {
	mu    sync.Mutex
	calls map[string]int
}

// tool returns a tool that records its calls.
func (l *ledger) tool(name string) tool {
	t := answers(name, "noted")
	t.do = func(_ context.Context, c providers.ToolCall) providers.ToolResult {
		var in struct{ Word string }
		if err := json.Unmarshal(c.Input, &in); err != nil {
			return providers.ToolResult{Text: err.Error(), IsError: true}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.calls[in.Word]++
		return providers.ToolResult{Text: "noted"}
	}
	return t
}

// continueSteered cuts a steered turn off twice. The conversation begins with an abandoned turn
// and its steered message, whose call was never made. That call does not belong to the turn that
// continues, even if the conversation joins neighbouring entries.
func continueSteered(r *rig) {
	said := func(message, text string) providers.Entry {
		return providers.Entry{Role: providers.RoleUser, Turn: "m-0", Blocks: []providers.Block{
			{Kind: providers.BlockText, Text: text, Origin: message},
		}}
	}
	notes := &ledger{calls: map[string]int{}}
	kept := providers.Thread{Entries: []providers.Entry{
		said("m-0", r.bench.Prompt(Say("given up"))), said("s-0", r.bench.Prompt(Call(use("note", "given up")))),
	}}
	open := func(hold tool) *testSession {
		return r.openAt(r.another(), from(providers.Thread{Entries: providers.Corrected(kept.Entries, providers.CorrectOptions{Open: true})}),
			with(notes.tool("note"), hold))
	}
	hold := newStuck("never")
	a := open(hold.tool)
	a.begin("m-1", Call(use("note", "first")), Say("waiting"), Hang())
	a.saying("m-1", "waiting")
	a.ok(a.Send(a.ctx, a.steer("s-1", providers.Steer,
		Call(use("note", "second")), Call(use("hold", "third")), Call(use("note", "fourth")), Say("all done"))))
	a.await("the tool runs", hold.began)
	kept = a.ear.kept()
	a.ok(a.Close())

	hold = newStuck("never")
	b := open(hold.tool)
	b.goOn(nil)
	b.await("the tool runs again", hold.began)
	kept = b.ear.kept()
	b.ok(b.Close())

	c := open(notes.tool("hold"))
	c.goOn(nil)
	c.has("what it said", c.end("m-1", providers.Completed), "all done")
	want := map[string]int{"first": 1, "second": 1, "third": 1, "fourth": 1}
	notes.mu.Lock()
	defer notes.mu.Unlock()
	if !maps.Equal(notes.calls, want) {
		c.Errorf("the calls that were made are %v, want %v", notes.calls, want)
	}
}
