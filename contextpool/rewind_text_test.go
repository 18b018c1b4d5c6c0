package contextpool_test

import (
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// A turn that is run once more after a part of its answer continues the answer in another message.
// Each part has a row of its own, so a rewind removes or keeps a row together with its message.
func TestRewindOfAnAnswerInTwoParts(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]func(*rig, agentpool.Run){
		"after a truncation": func(r *rig, run agentpool.Run) { r.failed(run, providers.ContextLength) },
		"by a new owner": func(r *rig, _ agentpool.Run) {
			r.crash()
			r.step(func() {
				r.AddRow(wire.UIRow{Type: wire.RowSay, Say: wire.SayText, Text: "another agent", MonitorID: first})
			})
		},
	} {
		for _, c := range []struct{ to, known string }{
			{"part one", "> text of m1"},
			{"part two", "> text of m1; part one"},
			{"text of m2", "> text of m1; part one, part two"},
		} {
			t.Run(name+" to "+c.to, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.runner.steers = false
				r.runTurn("a")
				r.runTurn("b")
				run := r.direct("m1")
				r.remember(run, asked("m1"))
				if c.to == "text of m2" {
					r.user("m2") // waits
				}
				r.said(run, "part one")
				r.remember(run, said("m1", "part one"))
				restart(r, run)
				run = r.run("main-monitor-0-m1")
				r.began(run)
				r.answer(run, "part two")
				if c.to == "text of m2" {
					two := r.run("main-monitor-0-m2")
					r.began(two)
					r.remember(two, asked("m2"))
				}
				r.back(c.to)
				got := known(history.View(r.thread(mainThread)))
				if !strings.HasSuffix(got, "; "+c.known) {
					t.Errorf("the model sees %q, want %q at the end", got, c.known)
				}
				for _, part := range []string{"part one", "part two"} {
					if people := strings.Contains(r.seen(first), part); people != strings.Contains(c.known, part) {
						t.Errorf("people see %q: %v, want %v as in %q", part, people, !people, c.known)
					}
				}
			})
		}
	}
}

// A rewind that ends a turn right after its answer was added to the thread keeps the answer in
// both histories.
func TestRewindBeforeTheEndOfAnAnsweredTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.steers = false
	run := r.direct("m1")
	r.remember(run, asked("m1"))
	r.said(run, "answer to m1")
	r.remember(run, said("m1", "answer to m1"))
	r.user("m2") // waits
	r.back("text of m2")
	r.wantKnown(mainThread, "> text of m1; answer to m1")
	r.wantSeen("> text of m1; answer to m1; interrupted")
}
