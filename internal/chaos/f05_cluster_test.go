package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// F5: a master of a Redis Cluster is killed. Only sessions in its slots wait until its replica is
// promoted; all others continue undisturbed.
func TestF05Cluster(t *testing.T) {
	t.Parallel()
	began := time.Now()
	shards := plan.Rounds(1, 2)
	rounds := plan.Rounds(1, 24) / shards
	var n clusterResults
	runShards(t, shards, func(t *testing.T, shard uint64) {
		t.Helper()
		n.run(t, shard, rounds)
	}, func() { n.report(t, began, shards*rounds) })
}

// clusterResults are the measurements: how long sessions of the killed node waited since the kill,
// and the longest silence of each other session.
type clusterResults struct{ waits, silences sample }

func (n *clusterResults) report(t *testing.T, began time.Time, rounds int) {
	t.Helper()
	wait := requireQuantile(t, "a session of a killed node waits", &n.waits, 1, 6*time.Second)
	// All sessions stream 60 words a second. A pause on a busy machine is shorter than this; the
	// node timeout is longer.
	silence := requireQuantile(t, "a session of another node is silent", &n.silences, 1, time.Second)
	plan.Add(t, hubtest.Result{
		Fault: "F5", What: "kill -9 of a master of a Cluster of 3+3", Rounds: rounds, Violations: n.waits.violations,
		Seconds: time.Since(began).Seconds(),
		Figures: []hubtest.Figure{
			{Name: "its sessions continue after p50", Value: roundDuration(n.waits.quantile(0.5))},
			{Name: "slowest", Value: roundDuration(wait), Wanted: "≤ 6s"},
			{Name: "longest silence of other sessions", Value: roundDuration(silence), Wanted: "≤ 1s"},
		},
	})
}

// run runs one Cluster whose masters are killed one after the other.
func (n *clusterResults) run(t *testing.T, shard uint64, rounds int) {
	t.Helper()
	rng := plan.Rand(shard)
	// Without the last setting a Cluster refuses all commands while any slot has no master.
	redis := redistest.Cluster(t, 1, "--cluster-node-timeout", "1500", "--cluster-require-full-coverage", "no")
	f := hubtest.Start(t, hubtest.Options{Program: program, Hubs: 3, Store: redis.URL()})
	h := plan.NewHistory(t, fmt.Sprintf("f05-%d", shard))
	perMaster := plan.Rounds(1, 2)
	tabs := make([][]*hubtest.Tab, len(redis.Masters)) // by the number of their master
	var all []*hubtest.Tab
	for made := 0; len(all) < 2*perMaster*len(redis.Masters); made++ {
		session := f.CreateSession(t)
		at := masterOf(t, redis, session)
		if len(tabs[at]) == 2*perMaster {
			continue // the master has enough sessions
		}
		for i := range 2 {
			hub := f.Hubs[(made+i)%len(f.Hubs)]
			tab := h.OpenTab(t, hubtest.TabConfig{Name: fmt.Sprintf("%s-at-%s", session, hub.Name), URL: hub.URL, Session: session})
			tabs[at], all = append(tabs[at], tab), append(all, tab)
		}
	}
	for round := range rounds {
		n.round(t, redis, h, tabs, rng, round)
	}
	// Every master is killed at some time, and each answers before its replica has everything:
	// every session may lose events.
	n.waits.addViolations(f.Finish(t, h, all, hubtest.Rules{StoreMayLose: true}))
}

// masterOf is the number of the master of a session's slot.
func masterOf(t *testing.T, redis *redistest.Sharded, session wire.SessionID) int {
	t.Helper()
	slot, err := redis.Masters[0].Client(t).ClusterKeySlot(t.Context(), string(session)).Result()
	if err != nil {
		t.Fatal(err)
	}
	const partitions = 64
	master := redis.MasterOf(t, fmt.Sprintf("{p%d}", slot%partitions))
	for i, s := range redis.Masters {
		if s == master {
			return i
		}
	}
	t.Fatalf("no master has the slot of %s", session)
	return 0
}

// round kills a master while every session streams.
func (n *clusterResults) round(
	t *testing.T, redis *redistest.Sharded, h *hubtest.History, tabs [][]*hubtest.Tab, rng *rand.Rand, round int,
) {
	t.Helper()
	length := plan.Rounds(240, 540)
	id := wire.MessageID(fmt.Sprintf("m-%d", round))
	var wg sync.WaitGroup
	for _, ofMaster := range tabs {
		for i := 0; i < len(ofMaster); i += 2 {
			wg.Go(func() {
				err := ofMaster[i].Send(t.Context(), id, fmt.Sprintf("/nosteer\n/stream %d 60", length), streamWords(length))
				if err == nil {
					err = ofMaster[i+1].AwaitPieces(t.Context(), id, 2)
				}
				if err != nil {
					t.Errorf("%s in %s: %v", id, ofMaster[i].Session, err)
				}
			})
		}
	}
	wg.Wait()
	waitFor(t.Context(), time.Duration(rng.IntN(500))*time.Millisecond)
	victim := rng.IntN(len(redis.Masters))
	killed := h.AddFault("kill master %d of redis", victim)
	redis.Fail(t, victim)
	h.AddFault("replica of %d is master", victim)
	for _, ofMaster := range tabs {
		for _, tab := range ofMaster {
			if _, err := tab.AwaitEnd(t.Context(), id); err != nil {
				t.Fatalf("tab %s does not see the end of %s: %v", tab.Name, id, err)
			}
		}
	}
	for at, ofMaster := range tabs {
		for _, tab := range ofMaster {
			from, to := longestSilence(h.Entries(), tab.Name, killed)
			if at == victim {
				n.waits.add(to - killed)
			} else {
				n.silences.add(to - from)
			}
		}
	}
	redis.Return(t, victim)
}

// longestSilence is the longest time in which a tab got no event, from just before the fault on.
func longestSilence(entries []hubtest.Entry, tab string, fault time.Duration) (from, to time.Duration) {
	var last time.Duration
	for _, e := range entries {
		if e.Source != tab || e.Kind != hubtest.KindEvent && e.Kind != hubtest.KindSnapshot {
			continue
		}
		if last > fault-500*time.Millisecond && e.T-last > to-from {
			from, to = last, e.T
		}
		last = e.T
	}
	return from, to
}
