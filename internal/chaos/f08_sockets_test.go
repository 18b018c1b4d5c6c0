package chaos_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

const (
	// backLimit bounds the time until 99 of 100 tabs are connected again.
	backLimit = 35 * time.Second
	// peakLimit bounds the ratio of the highest to the mean rate of connections.
	peakLimit = 2.0
	// cpuLimit bounds the mean CPU use of Redis meanwhile, in cores: it works in short bursts as
	// tabs are admitted, and in some moments it is busy however little it has to do.
	cpuLimit = 0.8
)

// F8: the load balancer cuts every connection at once. The tabs reconnect spread over time, by
// themselves and at their positions, and neither the hubs nor Redis are overloaded.
func TestF08Sockets(t *testing.T) {
	t.Parallel()
	began := time.Now()
	server := redistest.Standalone(t)
	f := hubtest.Start(t, hubtest.Options{Program: program, Hubs: 3, Store: server.URL()})
	c := &cutRun{f: f, h: plan.NewHistory(t, "f08"), redis: server.Client(t), url: f.Balancer.URL()}
	c.cut = func(*testing.T) { f.Balancer.ResetConnections() }
	if plan.Full {
		n := newBalancer(t, f)
		c.url, c.cut = n.url, n.cut
	}
	c.openTabs(t)
	rounds := plan.Rounds(1, 3)
	for range rounds {
		c.round(t)
	}
	violations := f.Finish(t, c.h, c.tabs, hubtest.Rules{})
	plan.Add(t, hubtest.Result{
		Fault: "F8", What: "the load balancer cuts all connections", Rounds: rounds, Violations: violations, Seconds: time.Since(began).Seconds(),
		Figures: c.figures(),
	})
}

// cutRun is a cluster whose connections are cut, and a crowd.
type cutRun struct {
	f     *hubtest.Cluster
	h     *hubtest.History
	redis *redis.Client
	url   string
	cut   func(t *testing.T)

	tabs     []*hubtest.Tab // those whose every event is checked
	crowds   []func(since int64) (crowdStatus, error)
	all      int // tabs in crowds
	messages int

	back        sample // when 99 of 100 tabs were connected again
	dials, ups  rates  // the worst
	busy        float64
	fresh, made int
}

// rates are connections per second until 99 of 100 tabs were connected again. Checked are the
// admitted connections, which cost hubs and Redis work; tabs dial within half a second and then
// wait, which is reported, too.
type rates struct{ mean, peak float64 }

func (r rates) ratio() float64 { return r.peak / r.mean }

func (c *cutRun) figures() []hubtest.Figure {
	return []hubtest.Figure{
		{Name: "tabs", Value: strconv.Itoa(c.all)},
		{Name: "99 % resumed after, most", Value: roundDuration(c.back.quantile(1)), Wanted: "≤ 35s"},
		{Name: "received a snapshot instead", Value: strconv.Itoa(c.fresh)},
		{Name: "dials per reconnected tab", Value: fmt.Sprintf("%.2f", float64(c.made)/float64(c.all*c.back.count()))},
		{Name: "dials a second, mean and peak", Value: fmt.Sprintf("%.0f, %.0f (%.2f)", c.dials.mean, c.dials.peak, c.dials.ratio())},
		{Name: "connections a second, mean and peak", Value: fmt.Sprintf("%.0f, %.0f (%.2f)", c.ups.mean, c.ups.peak, c.ups.ratio()), Wanted: "≤ 2"},
		{Name: "Redis, part of a core", Value: fmt.Sprintf("%.0f %%", 100*c.busy), Wanted: "< 80 %"},
	}
}

// openTabs creates the sessions and opens the tabs.
func (c *cutRun) openTabs(t *testing.T) {
	t.Helper()
	for i := range plan.Rounds(2, 10) {
		c.tabs = append(c.tabs, c.openCheckedTabs(t, i)...)
	}
	const each = 4 // tabs of a session
	processes := plan.Rounds(1, 4)
	groups := make([]crowdConfig, processes)
	var wg sync.WaitGroup
	for i := range groups {
		groups[i].URL = c.url
		wg.Go(func() {
			for range plan.Rounds(200, 10_000) / each / processes {
				session := c.f.CreateSession(t)
				groups[i].Sessions = append(groups[i].Sessions, slices.Repeat([]wire.SessionID{session}, each)...)
			}
		})
	}
	wg.Wait()
	looks := make([]func(int64) (crowdStatus, error), len(groups))
	for i, g := range groups {
		c.all += len(g.Sessions)
		wg.Go(func() {
			var err error
			if looks[i], err = c.openCrowdTabs(t, g); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	c.crowds = looks
}

// openCheckedTabs opens the tabs of a session whose every event is checked.
func (c *cutRun) openCheckedTabs(t *testing.T, n int) []*hubtest.Tab {
	t.Helper()
	session := c.f.CreateSession(t)
	tabs := make([]*hubtest.Tab, 2)
	for i := range tabs {
		tabs[i] = c.h.OpenTab(t, hubtest.TabConfig{Name: fmt.Sprintf("%d-%d", n, i), URL: c.url, Session: session, Backoff: client.FullJitter})
	}
	return tabs
}

// openCrowdTabs opens the tabs of a crowd: with many tabs in a process of its own, because the
// number of files per process is limited.
func (c *cutRun) openCrowdTabs(t *testing.T, g crowdConfig) (func(since int64) (crowdStatus, error), error) {
	t.Helper()
	if plan.Full {
		o, err := startCrowdProcess(t, g)
		if err != nil {
			return nil, err
		}
		return o.status, nil
	}
	all, err := openCrowd(t.Context(), g)
	if err != nil {
		return nil, err
	}
	return func(since int64) (crowdStatus, error) { return all.status(since), nil }, nil
}

// crowdStatus merges the status of all crowds.
func (c *cutRun) crowdStatus(t *testing.T, since time.Time) crowdStatus {
	t.Helper()
	var all crowdStatus
	for _, look := range c.crowds {
		s, err := look(since.UnixNano())
		if err != nil {
			t.Fatalf("read the status of a crowd: %v", err)
		}
		if len(s.Ended) > 0 {
			t.Fatalf("tabs of the crowd: got %d that have ended, want none: %s", len(s.Ended), s.Ended[0])
		}
		all.Up += s.Up
		all.Dials = append(all.Dials, s.Dials...)
		all.Back = append(all.Back, s.Back...)
		all.Fresh = append(all.Fresh, s.Fresh...)
	}
	return all
}

// round cuts all connections during answers.
func (c *cutRun) round(t *testing.T) {
	t.Helper()
	c.messages++
	id := wire.MessageID(fmt.Sprintf("m-%d", c.messages))
	const n = 60
	for i := 0; i < len(c.tabs); i += 2 {
		if err := c.tabs[i].Send(t.Context(), id, fmt.Sprintf("/nosteer\n/stream %d 20", n), streamWords(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.tabs[0].AwaitPieces(t.Context(), id, 1); err != nil {
		t.Fatal(err)
	}
	load := []usage{c.usage(t)}
	since := time.Now()
	c.h.AddFault("cut all connections")
	c.cut(t)
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(2 * time.Minute)
	var s crowdStatus
	for s.Up < c.all || len(s.Back)+len(s.Fresh) < c.all {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%d of %d tabs have not reconnected after 2 minutes", c.all-s.Up, c.all)
		case <-t.Context().Done():
			t.Fatal("the test ended before all tabs reconnected")
		}
		load = append(load, c.usage(t))
		s = c.crowdStatus(t, since)
	}
	c.checkReconnects(t, since, s, load)
	for i := 0; i < len(c.tabs); i += 2 {
		if _, err := c.tabs[i].AwaitEnd(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
}

// checkReconnects checks how the tabs reconnected.
func (c *cutRun) checkReconnects(t *testing.T, since time.Time, s crowdStatus, load []usage) {
	t.Helper()
	dials, back := delaysAfter(since, s.Dials), delaysAfter(since, s.Back)
	if len(back) == 0 {
		t.Fatal("no tab reconnected, so the test proves nothing")
	}
	took := hubtest.Quantile(back, min(1, 0.99*float64(c.all)/float64(max(1, len(back)))))
	if len(s.Fresh)*100 > c.all {
		t.Errorf("%d of %d tabs received a snapshot, want none", len(s.Fresh), c.all)
	}
	made, ups, busy := rateOf(dials, took), rateOf(back, took), cpuShare(load, since.Add(took))
	t.Logf("%d tabs: half of them back after %v, 99 %% after %v; %d dials, %.0f a second, peak %.0f; connections %.0f a second, peak %.0f; Redis %.0f %%",
		c.all, hubtest.Quantile(back, 0.5), took, len(dials), made.mean, made.peak, ups.mean, ups.peak, 100*busy)
	c.back.add(took)
	c.fresh += len(s.Fresh)
	c.made += len(dials)
	c.busy = max(c.busy, busy)
	if made.ratio() > c.dials.ratio() || c.dials.mean == 0 {
		c.dials = made
	}
	if ups.ratio() > c.ups.ratio() || c.ups.mean == 0 {
		c.ups = ups
	}
	if !plan.Full {
		return
	}
	if took > backLimit {
		t.Errorf("99 %% of the tabs had reconnected after %v, want at most %v", took, backLimit)
	}
	if r := ups.ratio(); r > peakLimit {
		t.Errorf("the peak of connections is %.2f times the mean, want at most %v", r, peakLimit)
	}
	if busy >= cpuLimit {
		t.Errorf("Redis used %.0f %% of a core, want less than %.0f %%", 100*busy, 100*cpuLimit)
	}
}

// delaysAfter returns the sorted delays of moments after a time.
func delaysAfter(since time.Time, moments []int64) []time.Duration {
	all := make([]time.Duration, len(moments))
	for i, at := range moments {
		all[i] = time.Duration(at - since.UnixNano())
	}
	slices.Sort(all)
	return all
}

// rateOf returns the mean rate per second until a time, and the highest in any second, or in any
// tenth of that time if that is shorter.
func rateOf(sorted []time.Duration, until time.Duration) rates {
	n, _ := slices.BinarySearch(sorted, until+1)
	window := min(time.Second, max(until/10, time.Millisecond))
	r := rates{mean: float64(n) / until.Seconds()}
	first := 0
	for i := range n {
		for sorted[i]-sorted[first] > window {
			first++
		}
		r.peak = max(r.peak, float64(i-first+1)/window.Seconds())
	}
	return r
}

// usage is the CPU time of Redis at a moment.
type usage struct {
	at   time.Time
	used time.Duration
}

func (c *cutRun) usage(t *testing.T) usage {
	t.Helper()
	info, err := c.redis.Info(t.Context(), "cpu").Result()
	if err != nil {
		t.Fatalf("read INFO of Redis: %v", err)
	}
	u := usage{at: time.Now()}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "used_cpu_user" && name != "used_cpu_sys" {
			continue
		}
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("INFO of Redis has the line %q, want a number", line)
		}
		u.used += time.Duration(seconds * float64(time.Second))
	}
	return u
}

// cpuShare is the mean CPU use of Redis until a time, in cores.
func cpuShare(load []usage, until time.Time) float64 {
	last := slices.IndexFunc(load, func(u usage) bool { return !u.at.Before(until) })
	if last < 1 {
		last = len(load) - 1
	}
	return (load[last].used - load[0].used).Seconds() / load[last].at.Sub(load[0].at).Seconds()
}
