package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// F1: the owner is killed at a random event of a turn. Another hub takes the
// session over and the turn goes on, or ends once.
func TestF01Kill(t *testing.T) {
	t.Parallel()
	began := time.Now()
	const shards = 4
	rounds := plan.Rounds(shards, 200) / shards
	var spans sample
	sharded(t, shards, func(t *testing.T, shard uint64) {
		t.Helper()
		kills(t, &spans, shard, rounds)
	}, func() {
		p99 := spans.quantile(0.99)
		if plan.Full && p99 > 7*time.Second {
			t.Errorf("take-over p99 is %v, want at most 7 s", p99)
		}
		plan.Add(t, hubtest.Result{
			Fault: "F1", What: "kill -9 of the owner in a turn", Rounds: spans.count(), Violations: spans.violations, Seconds: time.Since(began).Seconds(),
			Figures: []hubtest.Figure{
				{Name: "take-over p50", Value: shown(spans.quantile(0.5))},
				{Name: "take-over p99", Value: shown(p99), Wanted: "≤ 7s"},
			},
		})
	})
}

// kills is one fleet whose owners die, one after the other.
func kills(t *testing.T, spans *sample, shard uint64, rounds int) {
	t.Helper()
	rng := plan.Rand(shard)
	redis := redistest.Standalone(t)
	f := hubtest.Start(t, hubtest.Options{Program: program, Hubs: 3, Store: redis.URL()})
	h := plan.NewHistory(t, fmt.Sprintf("f01-%d", shard))
	session := f.Create(t)
	tabs := []*hubtest.Tab{
		h.Open(t, hubtest.TabConfig{Name: "one", URL: f.Door.URL(), Session: session}),
		h.Open(t, hubtest.TabConfig{Name: "two", URL: f.Door.URL(), Session: session}),
	}
	for round := range rounds {
		spans.add(killOne(t, f, h, tabs, rng, round))
	}
	spans.blame(f.Finish(t, h, tabs, hubtest.Rules{}))
}

// killOne kills the owner in the middle of a stream and returns how long it took
// until the stream went on.
func killOne(t *testing.T, f *hubtest.Fleet, h *hubtest.History, tabs []*hubtest.Tab, rng *rand.Rand, round int) time.Duration {
	t.Helper()
	const n = 60
	id := wire.MessageID(fmt.Sprintf("m-%d", round))
	if err := tabs[round%2].Say(t.Context(), id, fmt.Sprintf("/nosteer\n/stream %d 60", n), words(n)); err != nil {
		t.Fatalf("say %s: %v", id, err)
	}
	if err := tabs[0].Begun(t.Context(), id, 1+rng.IntN(5)); err != nil {
		t.Fatal(err)
	}
	owner := f.By(ownerOf(t, f, tabs[0].Session))
	if owner == nil {
		t.Fatalf("nobody owns the session")
	}
	killed := h.Fault("kill %s", owner.ID())
	owner.Kill(t)
	if _, err := tabs[0].Ended(t.Context(), id); err != nil {
		t.Fatalf("%s has no end: %v", id, err)
	}
	owner.Start(t)
	for _, e := range h.Entries() {
		if e.T > killed && e.Kind == hubtest.KindEvent && e.Event.Type == "OWNER_CHANGED" {
			return e.T - killed
		}
	}
	t.Fatalf("nobody took over after %v", killed)
	return 0
}
