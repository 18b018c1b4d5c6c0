package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/providers"
)

func turnChecks() []check {
	return []check{
		{"a turn from its start to its end", turnWhole},
		{"what is said is remembered", turnRemembered},
		{"text comes in whole characters", turnCharacters},
		{"big texts come whole", turnBig},
		{"one turn after the other", turnSeries},
		{"a send while the end is heard begins the next turn", turnAtOnce},
		{"a slow listener misses nothing", turnSlowListener},
		{"a slow listener keeps no other session waiting", turnSlowNeighbour},
		{"sessions do not disturb each other", turnNeighbours},
		{"a turn outlives the context of its send", turnContext},
		{"what was taken is told", turnUsage},
		{"ten turns, one process", turnProcess},
	}
}

func turnWhole(r *rig) {
	t := r.open()
	if got := t.turn("m-1", Say("hello there")); got != "hello there" {
		t.Errorf(`it said %q, want "hello there"`, got)
	}
	all, _ := t.ear.eventsSoFar()
	for _, k := range []providers.EventKind{providers.EventTurnStart, providers.EventTaken, providers.EventTurnEnd} {
		if n := count(all, k, "m-1"); n != 1 {
			t.Errorf("%s is heard %d times, want once", k, n)
		}
	}
	taken := slices.IndexFunc(all, func(e providers.Event) bool { return e.Kind == providers.EventTaken })
	text := slices.IndexFunc(all, func(e providers.Event) bool { return e.Kind == providers.EventText })
	if all[0].Kind != providers.EventTurnStart || taken > text || all[len(all)-1].Kind != providers.EventTurnEnd {
		t.Errorf("the order is %s, want the start first, taken before the text, and the end last", outline(all))
	}
}

func turnRemembered(r *rig) {
	t := r.open()
	m := t.prompt("m-1", Say("the answer"))
	t.ok(t.Send(t.ctx, m))
	t.end("m-1", providers.Completed)
	kept := t.ear.kept()
	if r.caps.Resume && len(kept.Entries) == 0 && kept.ID == "" {
		t.Fatalf("nothing is remembered, want entries or an id")
	}
	if len(kept.Entries) == 0 {
		return
	}
	for _, e := range kept.Entries {
		if e.Turn != "m-1" {
			t.Errorf("an entry is of turn %q, want m-1", e.Turn)
		}
	}
	t.has("what the user said", textOf(kept.Entries, providers.RoleUser), m.Text)
	if got := textOf(kept.Entries, providers.RoleAssistant); got != "the answer" {
		t.Errorf(`what the model said is remembered as %q, want "the answer"`, got)
	}
}

// textOf returns the concatenated text of one role.
func textOf(entries []providers.Entry, role providers.Role) string {
	var b strings.Builder
	for _, e := range entries {
		for _, bl := range e.Blocks {
			if e.Role == role && bl.Kind == providers.BlockText {
				b.WriteString(bl.Text)
			}
		}
	}
	return b.String()
}

func turnCharacters(r *rig) {
	t := r.open()
	const text = "창문을 열었어요 🙂👩‍👩‍👧 naïve <b>&amp;</b> \"quoted\" \\back\\ end"
	if got := t.turn("m-1", Say(text)); got != text {
		t.Errorf("it said %q, want %q", got, text)
	}
}

func turnBig(r *rig) {
	t := r.open()
	text := strings.TrimSpace(strings.Repeat("많은 words ", 20_000))
	if got := t.turn("m-1", Say(text)); got != text {
		t.Errorf("of %d bytes %d came, want all", len(text), len(got))
	}
	if got := t.turn("m-2", Say("short again")); got != "short again" {
		t.Errorf(`then it said %q, want "short again"`, got)
	}
}

func turnSeries(r *rig) {
	t := r.open()
	for n := range 20 {
		id, text := fmt.Sprint("m-", n), fmt.Sprint("answer ", n)
		if got := t.turn(id, Say(text)); got != text {
			t.Fatalf("turn %d said %q, want %q", n, got, text)
		}
	}
}

func turnAtOnce(r *rig) {
	t := r.open()
	for n := range 5 {
		sent := make(chan error, 1)
		next := t.prompt(fmt.Sprint("next-", n), Say("on"))
		t.ear.atEnd(func() { sent <- t.Send(t.ctx, next) })
		t.begin(fmt.Sprint("first-", n), Say("go"))
		select {
		case err := <-sent:
			t.ok(err)
		case <-t.ctx.Done():
			t.Fatalf("a send does not return while the end of a turn is heard, want it to")
		}
		t.end(next.ID, providers.Completed)
	}
}

func turnSlowListener(r *rig) {
	t := r.open()
	release := t.ear.slow()
	t.Cleanup(release)
	text := strings.TrimSpace(strings.Repeat("slowly ", 500))
	t.begin("m-1", Say(text))
	t.until("something is heard", func(all []providers.Event) bool { return len(all) > 0 })
	if all, _ := t.ear.eventsSoFar(); len(all) != 1 {
		t.Errorf("the listener is told more while it is busy, want one event: %s", outline(all))
	}
	release()
	if got := t.end("m-1", providers.Completed); got != text {
		t.Errorf("of %d bytes %d came, want all", len(text), len(got))
	}
}

func turnSlowNeighbour(r *rig) {
	slow, quick := r.open(), r.open()
	release := slow.ear.slow()
	r.Cleanup(release)
	slow.begin("slow", Say(strings.Repeat("word ", 2000)))
	quick.turn("quick", Say("done"))
	release()
	slow.end("slow", providers.Completed)
}

func turnNeighbours(r *rig) {
	var sessions []*testSession
	for n := range 8 {
		t := r.open()
		t.begin("m", Say(fmt.Sprint("mine is ", n)))
		sessions = append(sessions, t)
	}
	for n, t := range sessions {
		if got, want := t.end("m", providers.Completed), fmt.Sprint("mine is ", n); got != want {
			t.Errorf("session %d said %q, want %q", n, got, want)
		}
	}
}

func turnContext(r *rig) {
	hold := newStuck("it was held")
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	short := *r
	short.ctx = ctx
	t := short.open(with(hold.tool))
	t.rig = r
	t.ok(t.Send(ctx, t.prompt("m-1", Call(use("hold", "a")))))
	t.await("the tool runs", hold.began)
	cancel()
	hold.release()
	t.has("what it said", t.end("m-1", providers.Completed), "it was held")
}

func turnUsage(r *rig) {
	if !r.bench.Usage {
		return
	}
	t := r.open()
	t.turn("m-1", Say("some words to count"))
	all, _ := t.ear.eventsSoFar()
	var sum providers.Usage
	for _, e := range all {
		if e.Kind == providers.EventUsage {
			sum = sum.Add(e.Usage)
		}
	}
	if sum.Output <= 0 || sum.Input+sum.CacheRead+sum.CacheWrite <= 0 {
		t.Errorf("the usage is %+v, want some input and output", sum)
	}
}

func turnProcess(r *rig) {
	if r.bench.Started == nil {
		return
	}
	t := r.open(with(answers("look", "green")))
	for n := range 10 {
		t.turn(fmt.Sprint("m-", n), Call(use("look", fmt.Sprint("time ", n))))
	}
	if got := r.bench.Started(r.provider); got != 1 {
		t.Errorf("ten turns started %d processes, want 1", got)
	}
}

func refusalChecks() []check {
	return []check{
		{"a start while a turn runs is ErrBusy", refuseBusy},
		{"a steer while none runs is ErrIdle", refuseIdle},
		{"an unknown mode", refuseMode},
		{"going on with nothing", refuseContinue},
		{"a send whose context has ended changes nothing", refuseCancelled},
		{"opening with an ended context", refuseOpen},
		{"of many starts at once one wins", refuseRace},
		{"an answer without a question is no error", refuseAnswer},
	}
}

func refuseBusy(r *rig) {
	t := r.open()
	t.begin("m-1", Say("here"), Hang())
	t.is(t.Send(t.ctx, t.prompt("m-2", Say("papaya"))), providers.ErrBusy, "start")
	t.saying("m-1", "here")
	t.is(t.Send(t.ctx, t.prompt("m-2", Say("papaya"))), providers.ErrBusy, "start")
	t.is(t.Send(t.ctx, providers.Message{ID: "m-2", Mode: providers.Continue}), providers.ErrBusy, "continue")
	t.ok(t.Interrupt(t.ctx))
	t.end("m-1", providers.Interrupted)
	t.lacks("what it can read", t.turn("m-3", Recall()), "papaya")
}

func refuseIdle(r *rig) {
	t := r.open()
	for n := range 2 {
		for _, mode := range []providers.Mode{providers.Steer, providers.Queue} {
			err := t.Send(t.ctx, providers.Message{ID: "s", Text: "too early or too late", Mode: mode})
			if err == nil || r.caps.Steer && !errors.Is(err, providers.ErrIdle) {
				t.Errorf("%s with no turn: got error %v, want ErrIdle", mode, err)
			}
		}
		t.turn(fmt.Sprint("m-", n), Say("a turn"))
	}
	t.lacks("what it can read", t.turn("last", Recall()), "too early or too late")
}

func refuseMode(r *rig) {
	t := r.open()
	for _, mode := range []providers.Mode{"", "jump"} {
		if err := t.Send(t.ctx, providers.Message{ID: "m-1", Text: "x", Mode: mode}); err == nil {
			t.Errorf("mode %q is accepted, want an error", mode)
		}
	}
	t.turn("m-2", Say("still here"))
}

func refuseContinue(r *rig) {
	t := r.open()
	if err := t.Send(t.ctx, providers.Message{ID: "m-1", Mode: providers.Continue}); err == nil {
		t.Errorf("a conversation without a beginning is continued, want an error")
	}
	t.turn("m-2", Say("still here"))
}

func refuseCancelled(r *rig) {
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	t := r.open()
	t.is(t.Send(ctx, t.prompt("m-1", Say("never"))), context.Canceled, "send")
	t.turn("m-2", Say("still here"))
	if all, _ := t.ear.eventsSoFar(); count(all, providers.EventTurnStart, "m-1") > 0 {
		t.Errorf("the refused message began a turn, want none: %s", outline(all))
	}
}

func refuseOpen(r *rig) {
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	if s, err := r.provider.Open(ctx, r.spec()); err == nil {
		r.Errorf("a session opens with an ended context, want an error")
		r.ok(s.Close())
	}
	r.open().turn("m-1", Say("still here"))
}

func refuseRace(r *rig) {
	t := r.open()
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for n := range errs {
		wg.Go(func() { errs[n] = t.Send(t.ctx, t.prompt(fmt.Sprint("m-", n), Hang())) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			t.is(err, providers.ErrBusy, "start")
		}
	}
	if won != 1 {
		t.Errorf("%d of %d starts won, want 1", won, len(errs))
	}
	t.ok(t.Interrupt(t.ctx))
}

func refuseAnswer(r *rig) {
	t := r.open()
	t.ok(t.Answer(t.ctx, "never asked", providers.Decision{Allow: true}))
	t.turn("m-1", Say("still here"))
}
