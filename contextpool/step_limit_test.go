package contextpool_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Limits of a batch of the store.
const (
	batchBytes = 8 << 20
	batchItems = 4096
)

// wantSteps checks that no step exceeded a batch of the store.
func (r *rig) wantSteps() {
	r.t.Helper()
	if r.biggest > batchBytes || r.most > batchItems {
		r.t.Fatalf("there was a step of %d bytes and one of %d items, want at most %d and %d", r.biggest, r.most, batchBytes, batchItems)
	}
}

// Messages queued for the budget of their monitor begin in as many steps as necessary.
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
			r.pool.Messages.HandleWindowMessage(contextpool.Message{
				ID: wire.MessageID(fmt.Sprintf("x%d", i)), Monitor: second, Window: wire.WindowID(ids[i]),
				Text: strings.Repeat("plain  text  ", 45000) + "plain <text> ",
			})
		})
	}
	r.crash()
	wantEqual(t, len(r.runner.started), 0)
	r.now = r.pool.Due().Add(1)
	r.step(func() { r.pool.Tick() })
	wantEqual(t, len(r.runner.started), 12)
	for i, run := range r.runner.started {
		wantEqual(t, run.Turn, wire.MessageID(fmt.Sprintf("x%d", i)))
		if !strings.HasSuffix(run.Prompt, "plain <text> ") {
			t.Fatalf("the prompt of %s ends with %q, want the whole text", run.Turn, run.Prompt[len(run.Prompt)-50:])
		}
	}
	r.wantSteps()
	r.crash()
	wantEqual(t, len(r.runner.started), 12)
	r.wantSteps()
}

// Messages that were offered and not accepted are queued again, however long they are.
func TestLongOffersAreTakenBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	run := r.direct("m0")
	for i := 1; i <= 10; i++ {
		r.step(func() {
			r.pool.Messages.HandleUserMessage(contextpool.Message{
				ID: wire.MessageID(fmt.Sprintf("m%d", i)), Monitor: first, Text: strings.Repeat("x", 900_000),
			})
		})
	}
	wantEqual(t, len(r.runner.steered), 10)
	r.ended(run)
	r.wantStory("m1", "direct by main-monitor-0-m1")
	r.wantStory("m10", "queued at 9")
	r.wantSteps()
}

// The texts of turns that end together may exceed a step.
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

// A message whose turn can never begin is rejected.
func TestRejectOversized(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runner.steers = false
	run := r.direct("m1")
	r.user("m2")
	r.user("m3")
	r.handleReport(agentpool.Ended{RunRef: agentpool.RunRef{Run: run.ID}, Outcome: providers.Interrupted})
	wantEqual(t, r.pool.View.LastBegun(), "")
	r.step(func() {
		r.pool.Messages.RejectOversized("m3")
		r.pool.Messages.RejectOversized("")
	})
	r.wantStory("m2", "queued at 1; direct by main-monitor-0-m2")
	r.wantStory("m3", fmt.Sprintf("queued at 2; rejected with %d: what comes of the message is too large to be kept", wire.CodeMessageTooLarge))
	wantEqual(t, len(r.kept.tables["queue"])+len(r.kept.tables["queue.said"]), 0)
}

// Turns with many actions and much text can be ended in one step.
func TestResetOfMuch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 40 {
		id := fmt.Sprintf("w%d", i)
		r.open(first, id)
		r.toWindow("m"+id, id)
		run := r.run("window-" + id)
		r.began(run)
		r.said(run, strings.Repeat("y", 220_000))
		r.remember(run, said(string(run.Turn), strings.Repeat("x", 200_000)), toolCall(string(run.Turn), "z", "c"))
		for k := range 100 {
			if _, err := r.act(run, fmt.Sprintf("%s-%d", id, k), wire.WindowSetTitle{WindowID: run.Window, Title: id}); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.crash()
	r.biggest, r.most = 0, 0
	r.step(func() { r.pool.Reset() })
	r.wantSteps()
	for name, table := range r.kept.tables {
		if strings.HasPrefix(name, "turns") && len(table) > 0 {
			t.Errorf("table %s is not empty after a reset, want it empty", name)
		}
	}
}

// The tapes of monitors are separate, and bounded by their encoded size.
func TestTapesOfMonitors(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, policies.BudgetLimits{}, second)
	for i := range 60 { // without a bound these are 6 MB
		m := contextpool.Message{ID: wire.MessageID(fmt.Sprintf("m%d", i)), Monitor: first, Text: strings.Repeat("\x01", 16<<10)}
		if i == 55 {
			m.Monitor = second
		}
		r.step(func() { r.pool.Messages.HandleUserMessage(m) })
		for _, run := range r.runner.runs {
			r.began(run)
			r.ended(run)
		}
		if i%10 != 9 {
			continue
		}
		if _, size := weigh(r.pool.AllOps()); size > 3<<20 {
			t.Fatalf("%d bytes are kept, want at most 3 MiB", size)
		}
	}
	r.biggest = 0
	r.step(func() { r.pool.RemoveMonitor(second) })
	if r.biggest > 10_000 || r.kept.lists["tape:monitor-1"] != nil || len(r.kept.lists["tape:monitor-0"]) < 10 {
		t.Errorf("removing a monitor with one message takes %d bytes and leaves tapes of %d and %d, want at most 10000, none and at least 10", r.biggest, len(r.kept.lists["tape:monitor-1"]), len(r.kept.lists["tape:monitor-0"]))
	}
}

func weigh(ops []store.Op) (items, size int) {
	for _, op := range ops {
		items += 1 + len(op.Values)
		for _, v := range op.Values {
			size += len(v)
		}
	}
	return items, size
}
