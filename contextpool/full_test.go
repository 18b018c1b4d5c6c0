package contextpool_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// What a store takes at once.
const (
	batchBytes = 8 << 20
	batchItems = 4096
)

// wantSteps checks that no step was more than a store takes.
func (r *rig) wantSteps() {
	r.t.Helper()
	if r.biggest > batchBytes || r.most > batchItems {
		r.t.Fatalf("there was a step of %d bytes and one of %d items", r.biggest, r.most)
	}
}

// What waited for the budget of its monitor begins in as many steps as it takes.
func TestWhatWaitsBeginsInSeveralSteps(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, policies.BudgetLimits{OutputPerMin: 10}, second)
	run := r.direct("m1", second)
	var ids []string
	for i := range 12 {
		ids = append(ids, fmt.Sprintf("w%d", i))
	}
	r.open(second, ids...)
	r.said(run, "0123456789 and more")
	for i := range 12 {
		r.step(func() {
			r.pool.Window(contextpool.Message{
				ID: wire.MessageID(fmt.Sprintf("x%d", i)), Monitor: second, Window: wire.WindowID(ids[i]),
				Text: strings.Repeat("plain <text> ", 45000),
			})
		})
	}
	r.crash()
	wantEqual(t, len(r.crew.started), 0)
	r.now = r.pool.Due().Add(1)
	r.step(func() { r.pool.Tick() })
	wantEqual(t, len(r.crew.started), 12)
	for i, run := range r.crew.started {
		wantEqual(t, run.Turn, wire.MessageID(fmt.Sprintf("x%d", i)))
		if !strings.HasSuffix(run.Prompt, "plain <text> ") {
			t.Fatalf("the prompt of %s ends with %q", run.Turn, run.Prompt[len(run.Prompt)-50:])
		}
	}
	r.wantSteps()
	r.crash()
	wantEqual(t, len(r.crew.started), 12)
	r.wantSteps()
}

// What a turn was offered and did not take waits again, however long it is.
func TestLongOffersAreTakenBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m0")
	for i := 1; i <= 10; i++ {
		r.step(func() {
			r.pool.User(contextpool.Message{
				ID: wire.MessageID(fmt.Sprintf("m%d", i)), Monitor: first, Text: strings.Repeat("x", 900_000),
			})
		})
	}
	wantEqual(t, len(r.crew.steered), 10)
	r.ended(run)
	r.wantStory("m1", "direct by main-monitor-0-m1")
	r.wantStory("m10", "queued at 9")
	r.wantSteps()
}

// What was said in turns that end together is too much for a step.
func TestManyTurnsAreCutOff(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 20 {
		id := fmt.Sprintf("w%d", i)
		r.open(first, id)
		r.toWindow("m"+id, id)
		run := r.run("window-" + id)
		r.began(run)
		for range 4 {
			r.said(run, strings.Repeat("<", 250_000))
		}
		r.begin(run, "c", "http:post")
	}
	r.biggest = 0
	r.crash()
	for i := range 20 {
		r.wantStory(fmt.Sprintf("mw%d", i), fmt.Sprintf("direct by window-w%d; interrupted: tool http:post may or may not have run", i))
	}
	r.wantSteps()
}

// A message that can never begin is rejected.
func TestDiscard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.crew.steers = false
	run := r.direct("m1")
	r.user("m2")
	r.user("m3")
	r.hear(agentpool.Ended{Of: agentpool.Of{Run: run.ID}, Outcome: providers.Interrupted})
	wantEqual(t, r.pool.Newest(), "")
	r.step(func() {
		r.pool.Discard("m3")
		r.pool.Discard("")
	})
	r.wantStory("m2", "queued at 1; direct by main-monitor-0-m2")
	r.wantStory("m3", fmt.Sprintf("queued at 2; rejected with %d: what comes of the message is too large to be kept", wire.CodeMessageTooLarge))
	wantEqual(t, len(r.kept.tables["queue"])+len(r.kept.tables["queue.said"]), 0)
}
