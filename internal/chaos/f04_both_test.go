package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// F4, worst case: the Redis master and the owner of a session fail at the moment in which a tab
// gets the acknowledgement of its message. No process is left that could write again what the
// replicas lack, so they must have it.
func TestF04Both(t *testing.T) {
	t.Parallel()
	const shards = 2
	began := time.Now()
	shardsNow, rounds := plan.Rounds(1, shards), plan.Rounds(1, 24)/plan.Rounds(1, shards)
	var spans sample
	runShards(t, shardsNow, func(t *testing.T, shard uint64) {
		t.Helper()
		redis := redistest.SentinelOver(t, 2)
		// Well within the time that hubs wait for a second node; on an overloaded machine, whose
		// times are not checked, it might not be.
		redis.Lag(time.Duration(plan.Rounds(0, 20)) * time.Millisecond)
		f := hubtest.Start(t, hubtest.Options{Program: program, Hubs: 3, Store: redis.URL()})
		h := plan.NewHistory(t, fmt.Sprintf("f04both-%d", shard))
		session := f.CreateSession(t)
		var tabs []*hubtest.Tab
		for _, name := range []string{"one", "two"} {
			tabs = append(tabs, h.OpenTab(t, hubtest.TabConfig{Name: name, URL: f.Balancer.URL(), Session: session}))
		}
		rng := plan.Rand(10 + shard)
		for round := range rounds {
			spans.add(bothFail(t, redis, f, h, tabs, rng, round))
		}
		spans.addViolations(f.Finish(t, h, tabs, hubtest.Rules{StoreMayLose: true}))
	}, func() {
		requireSamples(t, "messages end", &spans)
		plan.Add(t, hubtest.Result{
			Fault: "F4c", What: "master of Redis and owner fail together when a message is accepted, replicas 20 ms late",
			Rounds: spans.count(), Violations: spans.violations, Seconds: time.Since(began).Seconds(),
			Figures: []hubtest.Figure{
				{Name: "accepted messages lost", Value: fmt.Sprintf("0 of %d", spans.count()), Wanted: "0"},
				{Name: "message ended after p50", Value: roundDuration(spans.quantile(0.5))},
				{Name: "slowest", Value: roundDuration(spans.quantile(1))},
			},
		})
	})
}

// bothFail sends a message, kills both when it is accepted, and waits for its end, without which
// the test fails. It returns the duration.
func bothFail(
	t *testing.T, redis *redistest.Ensemble, f *hubtest.Cluster, h *hubtest.History, tabs []*hubtest.Tab, rng *rand.Rand, round int,
) time.Duration {
	t.Helper()
	id := wire.MessageID(fmt.Sprintf("m-%d", round))
	master, _, _ := redis.Master(t)
	owner := f.HubByID(ownerOf(t, f, tabs[0].Session))
	if owner == nil {
		t.Fatal("the session has no owner")
	}
	const n = 20
	if err := tabs[rng.IntN(len(tabs))].Send(t.Context(), id, fmt.Sprintf("/nosteer\n/stream %d 20", n), streamWords(n)); err != nil {
		t.Fatalf("send %s: %v", id, err)
	}
	failed := h.AddFault("%s and server %d of redis fail", owner.ID(), master)
	redis.Proxies[master].Down()
	owner.Kill(t)
	redis.Fail(t, master)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, tab := range tabs {
		if _, err := tab.AwaitEnd(ctx, id); err != nil {
			t.Fatalf("%s was accepted and tab %s does not see its end: %v", id, tab.Name, err)
		}
	}
	took := h.Since() - failed
	owner.Start(t)
	redis.Return(t, master)
	return took
}
