package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/wire"
)

// F4: the Redis master fails and Sentinel promotes a replica, which has everything, or lacks the
// master's last 200 ms. Hubs notice what is missing and write it again: no message is lost, and all
// tabs continue.
func TestF04Failover(t *testing.T) {
	t.Parallel()
	const each = 2 // clusters with and without lag
	rounds := plan.Rounds(each, 50) / each
	kinds := []*failoverResults{
		{fault: "F4a", what: "Sentinel failover, replicas keep up"},
		{fault: "F4b", what: "Sentinel failover, replicas 200 ms late", lag: 200 * time.Millisecond},
	}
	shards := len(kinds) * each
	if !plan.Full {
		shards, rounds = len(kinds), 1
	}
	began := time.Now()
	runShards(t, shards, func(t *testing.T, shard uint64) {
		t.Helper()
		kinds[shard%2].run(t, shard, rounds)
	}, func() {
		for _, k := range kinds {
			k.report(t, began)
		}
	})
}

// failoverResults are the measurements of several clusters.
type failoverResults struct {
	fault, what string
	lag         time.Duration

	spans sample // from the promotion until all tabs get events again

	mu     sync.Mutex // guards the following
	rounds int
	lossy  int // rounds in which something was lost
	lost   int // events that tabs had seen
	healed int // sessions of a round that were rewritten
	acked  int // messages
	ended  int // those that ended
}

func (k *failoverResults) report(t *testing.T, began time.Time) {
	t.Helper()
	slowest := requireQuantile(t, k.fault+": all tabs go on after the promotion", &k.spans, 1, 5*time.Second)
	if plan.Full && k.lag > 0 && k.lossy == 0 {
		t.Errorf("%s: Redis lost no events, so the test proves nothing", k.fault)
	}
	plan.Add(t, hubtest.Result{
		Fault: k.fault, What: k.what, Rounds: k.rounds, Violations: k.spans.violations, Seconds: time.Since(began).Seconds(),
		Figures: []hubtest.Figure{
			{Name: "accepted messages lost", Value: fmt.Sprintf("%d of %d", k.acked-k.ended, k.acked), Wanted: "0"},
			{Name: "events lost by Redis", Value: fmt.Sprintf("%d in %d rounds", k.lost, k.lossy)},
			{Name: "sessions rewritten by their owner", Value: strconv.Itoa(k.healed)},
			{Name: "all tabs continue after promotion p50", Value: roundDuration(k.spans.quantile(0.5))},
			{Name: "slowest", Value: roundDuration(slowest), Wanted: "≤ 5s"},
		},
	})
}

// run runs one cluster whose masters fail one after the other.
func (k *failoverResults) run(t *testing.T, shard uint64, rounds int) {
	t.Helper()
	rng := plan.Rand(shard)
	rig := startEnsemble(t, fmt.Sprintf("f04-%d", shard), plan.Rounds(2, 4))
	for round := range rounds {
		k.spans.add(k.round(t, rig, rng, round))
	}
	// Also where replicas keep up: Redis answers before they have the write, and what is in flight
	// when the master fails is lost. How much that is depends on Redis.
	k.spans.addViolations(rig.f.Finish(t, rig.h, rig.tabs, hubtest.Rules{StoreMayLose: true}))
	k.count(rig.h.Entries(), rounds)
}

// round makes the master fail while every session works, and returns the time from the promotion
// until all tabs got an event again.
func (k *failoverResults) round(t *testing.T, rig *ensemble, rng *rand.Rand, round int) time.Duration {
	t.Helper()
	f, redis, h, tabs := rig.f, rig.redis, rig.h, rig.tabs
	const n = 240
	var ids []wire.MessageID
	var wg sync.WaitGroup
	for s := 0; s < len(tabs); s += 3 {
		id := wire.MessageID(fmt.Sprintf("m-%d-%d", round, s/3))
		ids = append(ids, id)
		tab := tabs[s+rng.IntN(3)]
		if err := tab.Send(t.Context(), id, fmt.Sprintf("/nosteer\n/stream %d 60", n), streamWords(n)); err != nil {
			t.Fatalf("send %s: %v", id, err)
		}
		// More messages are queued, accepted at that moment, or sent too late.
		late := time.Duration(rng.IntN(4000)) * time.Millisecond
		wg.Go(func() {
			waitFor(t.Context(), late)
			if err := tab.Send(t.Context(), id+"-more", "/say more", "more"); err != nil {
				t.Errorf("say %s-more: %v", id, err)
			}
		})
	}
	redis.Lag(k.lag)
	for i, id := range ids {
		if err := tabs[3*i].AwaitPieces(t.Context(), id, 1+rng.IntN(5)); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t.Context(), k.lag+time.Duration(rng.IntN(500))*time.Millisecond)
	master, replicas, behind := redis.Master(t)
	failed := h.AddFault("server %d of redis fails, its %d replicas are up to %d bytes behind", master, replicas, behind)
	next, promoted := redis.Fail(t, master)
	at := h.Since() - time.Since(promoted)
	h.AddFault("server %d of redis was promoted at %v", next, at)
	for i, id := range ids {
		waitEnded(t, f, tabs[3*i:3*i+3], id)
	}
	wg.Wait()
	redis.Lag(0)
	redis.Return(t, master)
	return slowest(t, h.Entries(), tabs, failed, at)
}

// slowest is the time from the promotion until the last tab got an event, of the new epoch if the
// session has one.
func slowest(t *testing.T, entries []hubtest.Entry, tabs []*hubtest.Tab, failed, promoted time.Duration) time.Duration {
	t.Helper()
	before, now := map[wire.SessionID]uint64{}, map[wire.SessionID]uint64{}
	shown := func(e hubtest.Entry) bool { return e.Kind == hubtest.KindEvent || e.Kind == hubtest.KindSnapshot }
	for _, e := range entries {
		if !shown(e) {
			continue
		}
		if e.T < failed {
			before[e.Session] = max(before[e.Session], e.Event.At.Epoch)
		}
		now[e.Session] = max(now[e.Session], e.Event.At.Epoch)
	}
	first := map[string]time.Duration{}
	for _, e := range entries {
		old := shown(e) && now[e.Session] > before[e.Session] && e.Event.At.Epoch <= before[e.Session]
		if e.T > promoted && shown(e) && !old && first[e.Source] == 0 {
			first[e.Source] = e.T
		}
	}
	var last time.Duration
	for _, tab := range tabs {
		if first[tab.Name] == 0 {
			t.Errorf("tab %s received no event after the failure at %v", tab.Name, failed)
		}
		last = max(last, first[tab.Name]-promoted)
	}
	return last
}

// count counts the events that Redis lost after tabs had seen them, and the outcomes of the
// messages.
func (k *failoverResults) count(entries []hubtest.Entry, rounds int) {
	type place struct {
		session wire.SessionID
		at      wire.Position
	}
	type message struct {
		session wire.SessionID
		id      wire.MessageID
	}
	log, ended := map[place]bool{}, map[message]bool{}
	healed := 0
	for _, e := range entries {
		if e.Event != nil && e.Event.IsEnd() {
			ended[message{e.Session, e.Event.Message}] = true
		}
		if e.Kind == hubtest.KindLog {
			log[place{e.Session, e.Event.At}] = true
			if e.Event.Type == "session_state" {
				healed++
			}
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rounds, k.healed = k.rounds+rounds, k.healed+healed
	counted := map[place]bool{}
	promotions, lossy := 0, map[int]bool{} // by the number of promotions before
	for _, e := range entries {
		switch e.Kind {
		case hubtest.KindFault:
			if strings.Contains(e.Note, "was promoted") {
				promotions++
			}
		case hubtest.KindAck:
			k.acked++
			if ended[message{e.Session, e.Message}] {
				k.ended++
			}
		case hubtest.KindEvent:
			p := place{e.Session, e.Event.At}
			if log[p] || counted[p] {
				continue
			}
			counted[p] = true
			k.lost++
			// A lost event was seen before the promotion, or just after the last one.
			lossy[min(promotions, rounds-1)] = true
		}
	}
	k.lossy += len(lossy)
}

// waitEnded waits until a message has ended. A tab that gets a snapshot instead of lost events does
// not see the end; then the log is checked. Finish checks that all tabs end with the same state.
func waitEnded(t *testing.T, f *hubtest.Cluster, tabs []*hubtest.Tab, id wire.MessageID) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if slices.ContainsFunc(tabs, func(tab *hubtest.Tab) bool { return tab.HasEnded(id) }) {
			return
		}
		log, err := f.ReadLog(t, f.Balancer.URL(), tabs[0].Session)
		if slices.ContainsFunc(log, func(e hubtest.Event) bool { return e.Message == id && e.IsEnd() }) {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("no tab sees the end of %s: %v", id, err)
		}
	}
}
