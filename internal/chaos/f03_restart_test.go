package chaos_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// outageResults are the measurements of clusters whose store is killed.
type outageResults struct {
	rounds   sample // how long Redis did not listen
	notified sample // from the kill until a tab is notified
	back     sample // from the open port until the next event of a session
	acks     sample // and until a message that was sent meanwhile is accepted
	closes   sample // one for every closed connection
}

// F3: Redis is killed under load and restarted from its append-only file. The hubs wait for it,
// nothing that was acknowledged is lost, and no tab loses its connection; all tabs are notified.
func TestF03Restart(t *testing.T) {
	t.Parallel()
	began := time.Now()
	shards := plan.Rounds(2, 6)
	var all outageResults
	runShards(t, shards, func(t *testing.T, shard uint64) {
		t.Helper()
		o := outageRun{rng: plan.Rand(shard), out: &all, sync: "always"}
		if shard%2 == 1 {
			o.sync = "everysec"
		}
		o.run(t, shard, plan.Rounds(1, 10))
	}, func() {
		back := requireQuantile(t, "a session goes on after the port opened", &all.back, 1, 3*time.Second)
		acks := requireQuantile(t, "a message is accepted after the port opened", &all.acks, 1, 3*time.Second)
		requireSamples(t, "tabs are notified", &all.notified)
		notified := all.notified.quantile(1)
		plan.Add(t, hubtest.Result{
			Fault: "F3", What: "kill -9 of Redis with an append only file, and its restart", Rounds: all.rounds.count(),
			Violations: all.rounds.violations, Seconds: time.Since(began).Seconds(),
			Figures: []hubtest.Figure{
				{Name: "Redis down, most", Value: roundDuration(all.rounds.quantile(1))},
				{Name: "sessions continue after the port opened, most", Value: roundDuration(back), Wanted: "≤ 3s"},
				{Name: "a message is accepted after the port opened, most", Value: roundDuration(acks), Wanted: "≤ 3s"},
				{Name: "tabs notified after the kill, most", Value: roundDuration(notified)},
				{Name: "lost connections", Value: strconv.Itoa(all.closes.count()), Wanted: "0"},
			},
		})
	})
}

// outageRun is one cluster and its store.
type outageRun struct {
	rng  *rand.Rand
	out  *outageResults
	sync string

	redis *redistest.Server
	f     *hubtest.Cluster
	h     *hubtest.History
}

func (o *outageRun) run(t *testing.T, shard uint64, rounds int) {
	t.Helper()
	o.redis = redistest.Standalone(t, "--appendonly", "yes", "--appendfsync", o.sync)
	o.f = hubtest.Start(t, hubtest.Options{Program: program, Hubs: 3, Store: o.redis.URL(), Args: workArgs})
	o.h = plan.NewHistory(t, fmt.Sprintf("f03-%d", shard))
	balancer := func(int) string { return o.f.Balancer.URL() }
	all := []*desktop{newDesktop(t, o.f, o.h, "p", 3, balancer), newDesktop(t, o.f, o.h, "q", 2, balancer)}
	var tabs []*hubtest.Tab
	for _, d := range all {
		tabs = append(tabs, d.tabs...)
	}
	for round := range rounds {
		o.round(t, all, tabs, round)
	}
	// With everysec Redis answers before it has written when an fsync takes long; the owners notice
	// the loss and write again.
	o.out.rounds.addViolations(o.f.Finish(t, o.h, tabs, hubtest.Rules{StoreMayLose: o.sync == "everysec"}))
	for _, e := range o.h.Entries() {
		if e.Kind == hubtest.KindLink && strings.HasPrefix(e.Note, "reconnecting") {
			o.out.closes.add(e.T)
			t.Errorf("tab %s lost its connection at %v: %s", e.Source, e.T, e.Note)
		}
	}
	for _, tab := range tabs {
		if err := tab.WaitUntil(t.Context(), func() bool { _, back := o.storeStatus(tab, 0); return back }); err != nil {
			t.Errorf("tab %s does not know that the store is back: %v", tab.Name, err)
		}
	}
}

// randomSpan is how long Redis is down: up to longer than a lease.
func (o *outageRun) randomSpan() time.Duration {
	longest := float64(plan.Rounds(1, 8))
	return time.Duration(0.1 * math.Pow(longest/0.1, o.rng.Float64()) * float64(time.Second))
}

func (o *outageRun) round(t *testing.T, all []*desktop, tabs []*hubtest.Tab, round int) {
	t.Helper()
	workloads := make([]*workload, len(all))
	for i, d := range all {
		workloads[i] = d.startWorkload(t, o.rng)
	}
	if err := all[0].tabs[0].AwaitPieces(t.Context(), workloads[0].stream, 1+o.rng.IntN(20)); err != nil {
		t.Fatal(err)
	}
	was, asked := make([]wire.OpenPrompt, len(all)), make([]bool, len(all))
	for i, s := range workloads {
		was[i], asked[i] = s.question(all[i].tabs[0])
	}
	killed := o.h.AddFault("kill redis")
	o.redis.Kill(t)
	waitFor(t.Context(), o.randomSpan())
	if round%2 == 0 { // until all tabs are notified
		for _, tab := range tabs {
			if err := tab.WaitUntil(t.Context(), func() bool { return o.isNotified(tab, killed) }); err != nil {
				t.Fatalf("tab %s is not notified that the store is unavailable: %v", tab.Name, err)
			}
			if away, _ := o.storeStatus(tab, killed); away > 0 {
				o.out.notified.add(away - killed)
			}
		}
	}
	// A message is sent while Redis is down.
	sent := make(chan time.Duration, 1)
	id := wire.MessageID(fmt.Sprintf("meanwhile-%d", round))
	go func() {
		if err := tabs[0].Send(t.Context(), id, "/nosteer\n/say hello", "hello"); err != nil {
			t.Errorf("send %s: %v", id, err)
		}
		sent <- o.h.Since()
	}()
	o.h.AddFault("restart redis")
	opened := make(chan time.Duration, 1)
	go func() { opened <- o.waitListening(t.Context()) }()
	o.redis.Restart(t)
	port := <-opened
	o.out.rounds.add(port - killed)
	o.out.acks.add(max(0, <-sent-port))
	for i, d := range all {
		if err := d.tabs[0].WaitUntil(t.Context(), func() bool { _, ok := d.delayOf(port, 0, isEvent); return ok }); err != nil {
			t.Fatalf("%s does not continue: %v", d.id, err)
		}
		back, _ := d.delayOf(port, 0, isEvent)
		o.out.back.add(back)
		workloads[i].finish(t, o.rng, was[i], asked[i])
	}
	if _, err := tabs[0].AwaitEnd(t.Context(), id); err != nil {
		t.Fatalf("%s has no end: %v", id, err)
	}
}

// isEvent matches everything that is in the log.
func isEvent(e hubtest.Entry) bool { return e.Kind == hubtest.KindEvent }

// waitListening waits until Redis listens.
func (o *outageRun) waitListening(ctx context.Context) time.Duration {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var d net.Dialer
	for {
		conn, err := d.DialContext(ctx, "tcp", o.redis.Addr)
		if err == nil {
			_ = conn.Close()
			return o.h.Since()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return o.h.Since()
		}
	}
}

// isNotified reports whether a tab knows that the store is unavailable: since the given time, or
// still from the last time, because only changes are sent.
func (o *outageRun) isNotified(tab *hubtest.Tab, from time.Duration) bool {
	away, _ := o.storeStatus(tab, from)
	_, back := o.storeStatus(tab, 0)
	return away > 0 || !back
}

// storeStatus returns when a tab was first notified since then that the store is unavailable, and
// whether the last notification reported that it is available.
func (o *outageRun) storeStatus(tab *hubtest.Tab, from time.Duration) (away time.Duration, back bool) {
	back = true
	for _, e := range o.h.Entries() {
		if e.Kind != hubtest.KindNotice || e.Source != tab.Name || e.Event.Type != "store_status" || e.T < from {
			continue
		}
		if back = e.Note != "away"; !back && away == 0 {
			away = e.T
		}
	}
	return away, back
}
