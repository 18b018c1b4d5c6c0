package providertest

import (
	"context"
	"sync"

	"github.com/everdesk/everdesk/providers"
)

func interruptChecks() []check {
	return []check{
		{"it returns after the end was heard", interruptHeard},
		{"with no turn it does nothing", interruptIdle},
		{"twice in a row", interruptTwice},
		{"several at once", interruptTogether},
		{"in the middle of a tool call", interruptTool},
		{"the conversation goes on", interruptGoesOn},
		{"right after the start", interruptEarly},
		{"at the end of a turn", interruptLate},
		{"with an ended context", interruptCancelled},
		{"it ends no later turn", interruptNext},
	}
}

func interruptHeard(r *rig) {
	t := r.open()
	t.begin("m-1", Say("so far"), Hang())
	t.saying("m-1", "so far")
	t.ok(t.Interrupt(t.ctx))
	all, _ := t.ear.eventsSoFar()
	if count(all, providers.EventTurnEnd, "m-1") != 1 {
		t.Fatalf("interrupt returned before the end of the turn was heard, want one end: %s", outline(all))
	}
	t.has("what it said", t.end("m-1", providers.Interrupted), "so far")
}

func interruptIdle(r *rig) {
	t := r.open()
	t.ok(t.Interrupt(t.ctx))
	t.turn("m-1", Say("done"))
	t.ok(t.Interrupt(t.ctx))
	t.ok(t.Interrupt(t.ctx))
	t.turn("m-2", Say("done"))
}

func interruptTwice(r *rig) {
	t := r.open()
	t.begin("m-1", Say("waiting"), Hang())
	t.saying("m-1", "waiting")
	t.ok(t.Interrupt(t.ctx))
	t.ok(t.Interrupt(t.ctx))
	t.end("m-1", providers.Interrupted)
}

func interruptTogether(r *rig) {
	t := r.open()
	t.begin("m-1", Hang())
	errs := make([]error, 5)
	var wg sync.WaitGroup
	for n := range errs {
		wg.Go(func() { errs[n] = t.Interrupt(t.ctx) })
	}
	wg.Wait()
	for _, err := range errs {
		t.ok(err)
	}
	t.end("m-1", providers.Interrupted)
}

func interruptTool(r *rig) {
	hold := newStuck("never said")
	t := r.open(with(hold.tool, answers("quick", "quick result")))
	t.begin("m-1", Call(use("hold", "a")), Say("after it"))
	t.await("the tool runs", hold.began)
	t.ok(t.Interrupt(t.ctx))
	t.await("the tool is stopped", hold.stopped)
	t.lacks("what it said", t.end("m-1", providers.Interrupted), "after it")
	t.has("what it said", t.turn("m-2", Call(use("quick", "b"))), "quick result")
}

func interruptGoesOn(r *rig) {
	t := r.open()
	t.turn("m-1", Say("pineapple"))
	t.begin("m-2", Say("half a word"), Hang())
	t.saying("m-2", "half a word")
	t.ok(t.Interrupt(t.ctx))
	t.has("what it can read", t.turn("m-3", Recall()), "pineapple")
}

func interruptEarly(r *rig) {
	t := r.open()
	for _, id := range []string{"m-1", "m-2", "m-3"} {
		t.begin(id, Hang())
		t.ok(t.Interrupt(t.ctx))
		t.end(id, providers.Interrupted)
	}
	t.turn("last", Say("still here"))
}

func interruptLate(r *rig) {
	t := r.open()
	for _, id := range []string{"m-1", "m-2", "m-3"} {
		t.begin(id, Say("quickly"))
		t.until("it speaks", func([]providers.Event) bool { return t.ear.textOf(id) != "" })
		t.ok(t.Interrupt(t.ctx))
		if e := t.ended(id); e.Outcome == providers.Failed {
			t.Errorf("turn %s failed with %v, want it completed or interrupted", id, e.Err)
		}
	}
}

func interruptCancelled(r *rig) {
	t := r.open()
	release := t.ear.slow()
	t.Cleanup(release)
	t.begin("m-1", Hang())
	t.until("something is heard", func(all []providers.Event) bool { return len(all) > 0 })
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	t.is(t.Interrupt(ctx), context.Canceled, "interrupt while the listener is busy")
	release()
	t.ok(t.Interrupt(t.ctx))
	t.end("m-1", providers.Interrupted)
}

func interruptNext(r *rig) {
	t := r.open()
	t.begin("m-1", Hang())
	t.ok(t.Interrupt(t.ctx))
	if got := t.turn("m-2", Say("whole")); got != "whole" {
		t.Errorf(`the next turn said %q, want "whole"`, got)
	}
}
