//go:build linux

package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/client"
)

// tiny are the settings of a world that takes a moment.
func tiny() settings {
	return settings{
		replicas: 5, sessions: 400, masters: 1, idle: 0.8, streaming: 0.1, unwatched: 0.5, second: 0.3, rate: 20,
		turn: 30 * time.Second, lease: 6 * time.Second, rtt: time.Millisecond, surge: 1, boot: time.Second, seed: 7,
		warm: 5 * time.Second, last: 25 * time.Second,
	}
}

func named(t *testing.T, name string) outcome {
	t.Helper()
	table, err := readCosts(costsFile)
	if err != nil {
		t.Fatal(err)
	}
	all := scenarios()
	o, err := all[slices.IndexFunc(all, func(sc scenario) bool { return sc.name == name })].play(t.Context(), tiny(), table)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// calm is a world in which nothing happens.
func calm(t *testing.T, cfg settings, table [ops]cost) outcome {
	t.Helper()
	o, err := scenarios()[0].play(t.Context(), cfg, table)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := scenarios()[0].play(ctx, tiny(), [ops]cost{}); !errors.Is(err, context.Canceled) {
		t.Errorf("it went on: %v", err)
	}
}

func TestEventsHappenInOrder(t *testing.T) {
	t.Parallel()
	var c clock
	var got []int
	for i, at := range []time.Duration{5, 1, 3, 1, 4, 9} {
		c.at(at, func() { got = append(got, i) })
	}
	c.at(2, func() { c.after(-1, func() { got = append(got, 100) }) })
	c.run(5)
	want := []int{1, 3, 100, 2, 4, 0}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	if c.now != 5 {
		t.Errorf("it is %v, want 5", c.now)
	}
}

// A master serves one call after the other, and no replica has more than its
// connections under way.
func TestMasterIsAQueue(t *testing.T) {
	t.Parallel()
	cfg := tiny()
	cfg.sessions, cfg.idle, cfg.streaming, cfg.rtt = 1, 0, 0, 0
	w := newWorld(cfg, [ops]cost{})
	w.queue = nil
	var ends []time.Duration
	for range poolSize + 3 {
		w.ask(w.replicas[0], 0, time.Minute, func() time.Duration { return time.Millisecond }, func(bool) { ends = append(ends, w.now) })
	}
	if p := w.replicas[0].ports[0]; p.used != poolSize || len(p.waiting) != 3 {
		t.Errorf("%d calls under way and %d wait", p.used, len(p.waiting))
	}
	w.run(time.Second)
	for i, end := range ends {
		if want := time.Duration(i+1) * time.Millisecond; end != want {
			t.Errorf("call %d ended at %v, want %v", i, end, want)
		}
	}
	if len(ends) != poolSize+3 {
		t.Errorf("%d calls have ended", len(ends))
	}
}

func TestSteadyIsSteady(t *testing.T) {
	t.Parallel()
	o := named(t, "steady")
	if o.takeOver.n != 0 || o.stale != 0 || o.connectPeak != 0 {
		t.Errorf("something happened: %+v", o)
	}
	// 360 owners renew every 1.75 s on average, found by a look every 300 ms.
	if r := o.byOp[opRenew]; r < 360/2.1 || r > 360/1.75 {
		t.Errorf("%.0f renewals a second", r)
	}
	if r := o.byOp[opReceive]; r < 360/5.0 || r > 360/5.0*1.3 {
		t.Errorf("%.0f looks into inboxes a second", r)
	}
	if c := o.byOp[opBatched]; c < 800 || c > 850 {
		t.Errorf("%.0f commits a second, want 40 sessions with 20", c)
	}
}

// Whoever was watched or worked has an owner again when its lease has run out.
func TestKilledReplicasAreReplaced(t *testing.T) {
	t.Parallel()
	o := named(t, "kill-1")
	if o.takeOver.n < 40 || o.takeOver.n > 120 {
		t.Errorf("%d take-overs, want about a fifth of 360", o.takeOver.n)
	}
	if o.takeOver.p50 < 4*time.Second || o.takeOver.max > 7*time.Second {
		t.Errorf("take-overs took %+v", o.takeOver)
	}
	if o.returns.max > 2*firstBackoff {
		t.Errorf("tabs took %v", o.returns.max)
	}
}

func TestShortOutageMovesNothing(t *testing.T) {
	t.Parallel()
	if o := named(t, "failover-2.5s"); o.stale != 0 || o.takeOver.n != 0 {
		t.Errorf("%d owners stopped, %d sessions moved", o.stale, o.takeOver.n)
	}
}

func TestLongOutageStopsEverybodyOnce(t *testing.T) {
	t.Parallel()
	o := named(t, "failover-10s")
	if o.stale != 360 || o.takeOver.n != 360 {
		t.Errorf("%d owners stopped and %d sessions came back, want 360 each", o.stale, o.takeOver.n)
	}
}

func TestDeployMovesEverySessionAtLeastOnce(t *testing.T) {
	t.Parallel()
	o := named(t, "deploy")
	if o.takeOver.n < 360 || o.stale != 0 {
		t.Errorf("%d take-overs, %d owners stopped", o.takeOver.n, o.stale)
	}
	if o.takeOver.p99 > 3*time.Second {
		t.Errorf("sessions were without an owner for %+v", o.takeOver)
	}
}

// One master that is asked for more than it can do loses its owners again and
// again; three do not.
func TestOverloadCollapses(t *testing.T) {
	t.Parallel()
	table, err := readCosts(costsFile)
	if err != nil {
		t.Fatal(err)
	}
	for i := range table {
		table[i].CPU *= 150
	}
	cfg := tiny()
	few := calm(t, cfg, table)
	cfg.masters = 16
	many := calm(t, cfg, table)
	if few.stale == 0 || few.load < 0.9 || many.stale != 0 {
		t.Errorf("one master: %d owners stopped at a load of %.2f; sixteen: %d at %.2f", few.stale, few.load, many.stale, many.load)
	}
}

// The model's chance is its own, because that of the client cannot be repeated,
// but the bounds are the client's.
func TestBackoffIsTheClients(t *testing.T) {
	t.Parallel()
	w := newWorld(tiny(), [ops]cost{})
	for failed := 1; failed < 10; failed++ {
		var ours, theirs time.Duration
		for range 2000 {
			ours, theirs = max(ours, w.backoff(failed)), max(theirs, client.FullJitter(failed))
		}
		if ratio := float64(ours) / float64(theirs); ratio < 0.97 || ratio > 1.03 {
			t.Errorf("after %d failures the model waits up to %v, the client up to %v", failed, ours, theirs)
		}
	}
}

// What the model believes of the product is what its source says.
func TestConstantsAreTheProducts(t *testing.T) {
	t.Parallel()
	for file, lines := range map[string][]string{
		"store/redisstore/keys.go":      {"const partitions = 64"},
		"store/redisstore/url.go":       {"poolSize        = 32", "poolTimeout     = 2 * time.Second"},
		"store/redisstore/store.go":     {"c.RetryFor, 2*time.Second", "c.CheckEvery, 5*time.Second", "c.InboxEvery, 5*time.Second"},
		"store/redisstore/call.go":      {"lastPause  = 100 * time.Millisecond"},
		"store/redisstore/committer.go": {"maxFlights = 2", "flightWrites = 64"},
		"session/sweep.go": {
			"const renewers = 64", "const sweepLimit = 100", "third - rand.N(third/4)", "NewTicker(max(h.cfg.Lease/20",
			"max(h.cfg.Lease-time.Second, h.cfg.Lease*3/4)", "h.cfg.Sweep/2+rand.N(h.cfg.Sweep)",
		},
		"session/hub.go":           {"c.Lease, 6*time.Second", "c.Dormant, 10*time.Minute", "c.Sweep, 500*time.Millisecond"},
		"session/follow.go":        {"const claimJitter = 150 * time.Millisecond", "const followLinger = 5 * time.Second"},
		"session/live_session.go":  {"retryFirst = 20 * time.Millisecond", "retryLast  = time.Second", "const storeTimeout = 10 * time.Second"},
		"session/step.go":          {"const commitTimeout = 5 * time.Second"},
		"session/presence.go":      {"presenceEvery  = 500 * time.Millisecond", "presenceResend = 20 * time.Second"},
		"agentpool/limiter.go":     {"l.TTL, 10*time.Second", "l.limits.TTL / 3"},
		"gateway/connections.go":   {"leastSpread  = 100 * time.Millisecond", "clientSpread = 500 * time.Microsecond", "p.Recheck, time.Minute"},
		"gateway/server.go":        {"c.DrainAfter, 5*time.Second"},
		"membership/membership.go": {"c.Every, 2*time.Second"},
	} {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if !strings.Contains(string(text), line) {
				t.Errorf("%s does not say %q any more: change the model, too", file, line)
			}
		}
	}
}
