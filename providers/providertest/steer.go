package providertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/providers"
)

func steerChecks() []check {
	return []check{
		{"a running turn takes a message and answers it", steerTaken},
		{"in the middle of a tool call", steerTool},
		{"several", steerSeveral},
		{"what was taken is what is remembered", steerRemembered},
		{"at the end of a turn", steerLate},
		{"a queued message waits for the rest", steerQueue},
	}
}

// steer returns a message for the running turn.
func (r *rig) steer(id string, mode providers.Mode, steps ...Step) providers.Message {
	m := r.prompt(id, steps...)
	m.Mode = mode
	return m
}

func steerTaken(r *rig) {
	t := r.open()
	t.begin("m-1", Say("waiting"), Hang())
	t.saying("m-1", "waiting")
	t.ok(t.Send(t.ctx, t.steer("s-1", providers.Steer, Say("so it is"))))
	t.taken("s-1")
	t.has("what it said", t.end("m-1", providers.Completed), "so it is")
	all, _ := t.ear.eventsSoFar()
	if count(all, providers.EventTurnStart, "s-1") > 0 {
		t.Errorf("the message began a turn of its own, want it in the one that ran: %s", outline(all))
	}
}

func steerTool(r *rig) {
	hold := newStuck("held to the end")
	t := r.open(with(hold.tool))
	t.begin("m-1", Call(use("hold", "a")))
	t.await("the tool runs", hold.began)
	t.ok(t.Send(t.ctx, t.steer("s-1", providers.Steer, Say("also this"))))
	hold.release()
	t.taken("s-1")
	t.has("what it said", t.end("m-1", providers.Completed), "also this")
	select {
	case <-hold.stopped:
		t.Errorf("the steer stopped the tool, want it to go on")
	default:
	}
}

func steerSeveral(r *rig) {
	hold := newStuck("held")
	t := r.open(with(hold.tool))
	t.begin("m-1", Call(use("hold", "a")))
	t.await("the tool runs", hold.began)
	for n := range 5 {
		t.ok(t.Send(t.ctx, t.steer(fmt.Sprint("s-", n), providers.Steer, Say(fmt.Sprint("reply ", n)))))
	}
	hold.release()
	for n := range 5 {
		t.taken(fmt.Sprint("s-", n))
	}
	t.has("what it said", t.end("m-1", providers.Completed), "reply 4")
}

func steerRemembered(r *rig) {
	t := r.open()
	t.begin("m-1", Say("waiting"), Hang())
	t.saying("m-1", "waiting")
	m := t.steer("s-1", providers.Steer, Say("understood"))
	t.ok(t.Send(t.ctx, m))
	t.end("m-1", providers.Completed)
	kept := t.ear.kept().Entries
	if len(kept) == 0 {
		return
	}
	t.has("what the user said", textOf(kept, providers.RoleUser), m.Text)
	for _, e := range kept {
		if e.Turn != "m-1" {
			t.Errorf("an entry is of turn %q, want the one that ran", e.Turn)
		}
		for _, b := range e.Blocks {
			if b.Text == m.Text && b.Origin != "s-1" {
				t.Errorf("what s-1 says is of message %q, want s-1", b.Origin)
			}
		}
	}
}

// steerLate sends at the end of a turn, when the turn may or may not take the message. Either
// way the events must be consistent.
func steerLate(r *rig) {
	for n := range 10 {
		t := r.open()
		t.begin("m-1", Say("short"))
		var wg sync.WaitGroup
		errs := make([]error, 3)
		for i := range errs {
			m := t.steer(fmt.Sprintf("s-%d", i), providers.Steer, Say(fmt.Sprintf("late %d.%d", n, i)))
			wg.Go(func() { errs[i] = t.Send(t.ctx, m) })
		}
		wg.Wait()
		t.end("m-1", providers.Completed)
		all, _ := t.ear.eventsSoFar()
		said := textOf(t.ear.kept().Entries, providers.RoleUser)
		for i, err := range errs {
			if err != nil && !errors.Is(err, providers.ErrIdle) {
				t.Errorf("steer: %v, want none or %v", err, providers.ErrIdle)
			}
			taken := count(all, providers.EventTaken, fmt.Sprintf("s-%d", i)) > 0
			if taken && err != nil {
				t.Errorf("a message that was refused is taken, want it not to be")
			}
			text := fmt.Sprintf("late %d.%d", n, i)
			if said != "" && strings.Contains(said, text) != taken {
				t.Errorf("message %d: taken is %v, and remembered is %q, want both or none", i, taken, said)
			}
			for _, e := range all {
				has := strings.Contains(textOf(e.Entries, providers.RoleUser), text)
				if names := slices.Contains(e.EntryMessages, fmt.Sprintf("s-%d", i)); has != names {
					t.Errorf("message %d: its text is among entries: %v, and EntryMessages has it: %v, want the same", i, has, names)
				}
			}
		}
		t.turn("m-2", Say("still here"))
	}
}

func steerQueue(r *rig) {
	hold := newStuck("held")
	t := r.open(with(hold.tool))
	t.begin("m-1", Call(use("hold", "a")), Say("first things first."))
	t.await("the tool runs", hold.began)
	t.ok(t.Send(t.ctx, t.steer("q-1", providers.Queue, Say("second things second."))))
	hold.release()
	got := t.end("m-1", providers.Completed)
	t.has("what it said", got, "first things first.", "second things second.")
	if strings.Index(got, "second things") < strings.Index(got, "first things") {
		t.Errorf("the queued message came first, want it second: %q", got)
	}
	t.taken("q-1")
}

func injectChecks() []check {
	return []check{{"what is added without a turn is read in the next", injectIdle}}
}

func injectIdle(r *rig) {
	t := r.open()
	t.turn("m-1", Say("begun"))
	t.ok(t.Send(t.ctx, providers.Message{ID: "i-1", Mode: providers.Inject, Text: "the password is mango"}))
	t.has("what it can read", t.turn("m-2", Recall()), "mango")
	all, _ := t.ear.eventsSoFar()
	if count(all, providers.EventTurnStart, "i-1") > 0 {
		t.Errorf("adding began a turn, want none: %s", outline(all))
	}
	if r.caps.Resume {
		next := r.openAt(r.another(), from(t.ear.kept()))
		next.has("what it can read later", next.turn("m-3", Recall()), "mango")
	}
}
