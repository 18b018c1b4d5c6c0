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

// F7: a bad network between tabs and hubs and between hubs and Redis: packets are delayed and lost,
// links are slow, and data arrives in small pieces. Nothing is lost or duplicated, and answers
// arrive in time.
func TestF07Slow(t *testing.T) {
	t.Parallel()
	if plan.Full && !plan.RunInNamespace(t) {
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
	// proxy makes a connection to the address of a hub or of Redis and returns the address to dial.
	proxy func(t *testing.T, rng *rand.Rand, addr string, hub bool) string
	// timed is set if answers must arrive in time.
	timed bool
	acks  sample
}

// lossyNetworks are networks that netem makes on the interface of the dialling side: 200 ms delay,
// and one packet in twenty is lost.
//
// If both tabs and hubs are that far away, a message of a tab that is not at the owner takes five
// such trips before it is acknowledged: to the hub, to the inbox, for the owner to read it, to
// commit, and back. That is a second without any loss, and each loss costs half a second more. So
// the combination is not timed.
func lossyNetworks(t *testing.T) []*badNetwork {
	t.Helper()
	network := hubtest.NewNetwork(t, plan.Rand(1000))
	over := func(hubs, redis bool) func(*testing.T, *rand.Rand, string, bool) string {
		return func(_ *testing.T, _ *rand.Rand, addr string, hub bool) string {
			l := network.AddRoute()
			if hub && hubs || !hub && redis {
				l.SetFaults(hubtest.RouteFaults{Delay: 200 * time.Millisecond, Loss: 0.05}, hubtest.RouteFaults{})
			}
			return l.AddrOf(addr)
		}
	}
	return []*badNetwork{
		{fault: "F7b", what: "tabs to hubs: 200 ms late, 5 % of packets lost", proxy: over(true, false), timed: true},
		{fault: "F7c", what: "hubs to Redis: 200 ms late, 5 % of packets lost", proxy: over(false, true), timed: true},
		{fault: "F7d", what: "both at once", proxy: over(true, true)},
	}
}

// slicingProxy is a connection through a proxy. Only tabs have narrow links: a hub reads and writes
// more than 10 KB/s for all its sessions, so on such a link its backlog would grow without bound.
func slicingProxy(t *testing.T, rng *rand.Rand, addr string, hub bool) string {
	t.Helper()
	p := hubtest.NewProxy(t, addr)
	w := hubtest.ProxyFaults{MaxPiece: 5 + rng.IntN(60)}
	if hub {
		w.Rate = 10_000
	}
	p.SetFaults(w)
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

// run runs a cluster on a bad network, in which messages are sent.
func (k *badNetwork) run(t *testing.T, shard uint64) {
	t.Helper()
	rng := plan.Rand(shard)
	redis := redistest.Standalone(t, "--protected-mode", "no") // over the network, hubs are not local clients
	f := hubtest.Start(t, hubtest.Options{
		Program: program, Hubs: 3, Args: []string{"--hosts", "*"},
		StoreOf: func(int) string { return "redis://" + k.proxy(t, rng, redis.Addr, false) },
	})
	h := plan.NewHistory(t, fmt.Sprintf("f07-%d", shard))
	tabs := make([]*hubtest.Tab, 3*plan.Rounds(2, 6))
	var wg sync.WaitGroup
	for i := 0; i < len(tabs); i += 3 {
		session := f.CreateSession(t)
		for j, hub := range f.Hubs {
			url := "http://" + k.proxy(t, rng, hub.Addr, true)
			wg.Go(func() {
				tabs[i+j] = h.OpenTab(t, hubtest.TabConfig{Name: fmt.Sprintf("%d-at-%s", i/3, hub.Name), URL: url, Session: session})
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

// sendAndMeasure sends a message, measures the time to its acknowledgement, and waits for its end.
func (k *badNetwork) sendAndMeasure(t *testing.T, tab *hubtest.Tab, id wire.MessageID) {
	t.Helper()
	// Less than half of the narrowest link's capacity: on a full link everything waits, whatever
	// hubs do.
	const n = 10
	began := time.Now()
	if err := tab.Send(t.Context(), id, fmt.Sprintf("/nosteer\n/stream %d 10", n), streamWords(n)); err != nil {
		t.Errorf("%s sends %s: %v", tab.Name, id, err)
		return
	}
	k.acks.add(time.Since(began))
	if _, err := tab.AwaitEnd(t.Context(), id); err != nil {
		t.Errorf("%s does not see the end of %s: %v", tab.Name, id, err)
	}
}
