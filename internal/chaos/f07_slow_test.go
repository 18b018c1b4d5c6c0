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

// F7: a bad network, between tabs and hubs and between hubs and Redis: packets are
// late and get lost, lines are slow, and what is said comes in small pieces. Nothing
// is lost or doubled, and answers come in time.
func TestF07Slow(t *testing.T) {
	t.Parallel()
	if plan.Full && !plan.Apart(t) {
		return
	}
	kinds := []*badNetwork{{
		fault: "F7a", what: "every connection in slices of 5 to 64 bytes, 10 KB/s to each tab", proxy: slicingProxy, timed: true,
	}}
	if plan.Full {
		kinds = append(kinds, lossyNetworks(t)...)
	}
	began := time.Now()
	runShards(t, len(kinds), func(t *testing.T, shard uint64) {
		t.Helper()
		kinds[shard].run(t, shard)
	}, func() {
		for _, k := range kinds {
			k.report(t, began)
		}
	})
}

// badNetwork is one kind of bad network.
type badNetwork struct {
	fault, what string
	// proxy makes a way to the address of a hub or of Redis and returns where it
	// begins.
	proxy func(t *testing.T, rng *rand.Rand, addr string, hub bool) string
	// timed says that answers must come in time.
	timed bool
	acks  sample
}

// lossyNetworks are networks as netem makes them on the interface of whoever dials: 200 ms
// late, and a packet in twenty is lost.
//
// When tabs, and hubs too, are that far away from what they need, a message of a tab
// that is not at the owner takes five such ways before it is acknowledged: to the
// hub, to the inbox, for the owner to look into it, to commit, and to tell. That is
// a second without any loss, and each loss costs half a second more. So the two
// together are not judged by the clock.
func lossyNetworks(t *testing.T) []*badNetwork {
	t.Helper()
	lines := hubtest.NewLines(t, plan.Rand(1000))
	over := func(hubs, redis bool) func(*testing.T, *rand.Rand, string, bool) string {
		return func(_ *testing.T, _ *rand.Rand, addr string, hub bool) string {
			l := lines.Line()
			if hub && hubs || !hub && redis {
				l.Set(hubtest.Way{Delay: 200 * time.Millisecond, Loss: 0.05}, hubtest.Way{})
			}
			return l.To(addr)
		}
	}
	return []*badNetwork{
		{fault: "F7b", what: "tabs to hubs: 200 ms late, 5 % of packets lost", proxy: over(true, false), timed: true},
		{fault: "F7c", what: "hubs to Redis: 200 ms late, 5 % of packets lost", proxy: over(false, true), timed: true},
		{fault: "F7d", what: "both at once", proxy: over(true, true)},
	}
}

// slicingProxy is a way through a proxy. Only tabs have narrow lines: what a hub writes and
// follows for all its sessions is more than 10 KB/s, so that it would wait for ever
// longer on a line like that, whatever it does.
func slicingProxy(t *testing.T, rng *rand.Rand, addr string, hub bool) string {
	t.Helper()
	p := hubtest.NewProxy(t, addr)
	w := hubtest.Weather{Slice: 5 + rng.IntN(60)}
	if hub {
		w.Rate = 10_000
	}
	p.Set(w)
	return p.Addr
}

func (k *badNetwork) report(t *testing.T, began time.Time) {
	t.Helper()
	requireSamples(t, k.fault+": messages are acknowledged", &k.acks)
	p99, wanted := k.acks.quantile(0.99), ""
	if k.timed {
		wanted = "≤ 2s"
		requireQuantile(t, k.fault+": messages are acknowledged p99", &k.acks, 0.99, 2*time.Second)
	}
	plan.Add(t, hubtest.Result{
		Fault: k.fault, What: k.what, Rounds: k.acks.count(), Violations: k.acks.violations, Seconds: time.Since(began).Seconds(),
		Figures: []hubtest.Figure{
			{Name: "message acknowledged p50", Value: roundDuration(k.acks.quantile(0.5))},
			{Name: "p99", Value: roundDuration(p99), Wanted: wanted},
			{Name: "slowest", Value: roundDuration(k.acks.quantile(1))},
		},
	})
}

// run is a fleet in bad weather, in which people speak.
func (k *badNetwork) run(t *testing.T, shard uint64) {
	t.Helper()
	rng := plan.Rand(shard)
	redis := redistest.Standalone(t, "--protected-mode", "no") // over lines, hubs are strangers
	f := hubtest.Start(t, hubtest.Options{
		Program: program, Hubs: 3, Args: []string{"--hosts", "*"},
		StoreOf: func(int) string { return "redis://" + k.proxy(t, rng, redis.Addr, false) },
	})
	h := plan.NewHistory(t, fmt.Sprintf("f07-%d", shard))
	tabs := make([]*hubtest.Tab, 3*plan.Rounds(2, 6))
	var wg sync.WaitGroup
	for i := 0; i < len(tabs); i += 3 {
		session := f.Create(t)
		for j, hub := range f.Hubs {
			url := "http://" + k.proxy(t, rng, hub.Addr, true)
			wg.Go(func() {
				tabs[i+j] = h.Open(t, hubtest.TabConfig{Name: fmt.Sprintf("%d-at-%s", i/3, hub.Name), URL: url, Session: session})
			})
		}
	}
	wg.Wait()
	rounds := plan.Rounds(2, 35)
	for s := 0; s < len(tabs); s += 3 {
		chance := plan.Rand(100*shard + uint64(s))
		wg.Go(func() {
			for round := range rounds {
				k.sendAndMeasure(t, tabs[s+chance.IntN(3)], wire.MessageID(fmt.Sprintf("m-%d", round)))
			}
		})
	}
	wg.Wait()
	k.acks.addViolations(f.Finish(t, h, tabs, hubtest.Rules{}))
}

// sendAndMeasure says something, measures when that is acknowledged, and waits for its end.
func (k *badNetwork) sendAndMeasure(t *testing.T, tab *hubtest.Tab, id wire.MessageID) {
	t.Helper()
	// Less than half of what the narrowest line carries: on a full one everything
	// waits, whatever hubs do.
	const n = 10
	began := time.Now()
	if err := tab.Say(t.Context(), id, fmt.Sprintf("/nosteer\n/stream %d 10", n), streamWords(n)); err != nil {
		t.Errorf("%s says %s: %v", tab.Name, id, err)
		return
	}
	k.acks.add(time.Since(began))
	if _, err := tab.Ended(t.Context(), id); err != nil {
		t.Errorf("%s does not see the end of %s: %v", tab.Name, id, err)
	}
}
