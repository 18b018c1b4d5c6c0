package chaos_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
)

const (
	// memoryLimit bounds the additional memory of a slow tab.
	memoryLimit = 64 << 10
	// delayLimit bounds the factor by which slow tabs may delay other tabs.
	delayLimit = 1.1
)

// F9: tabs read a kilobyte a second while 5 MB are published, many times what the ring of a hub
// holds. They cost the hub little and delay no other tab, and when they read faster again they
// catch up and end with the same state as all.
func TestF09Slow(t *testing.T) {
	t.Parallel()
	began := time.Now()
	var out slowResults
	if !plan.Full {
		f := newSlowCluster(t)
		s := newBurstSession(t, f, "short", 3)
		close(s.throat.narrow)
		s.burst(t, 800, 1000, 800)
		out.finishBurst(t, s, true)
	} else {
		out.compareMemory(t)
		for range 5 {
			out.compareDelays(t)
		}
	}
	result := hubtest.Result{
		Fault: "F9", What: "tabs read 1 KB/s during a burst of 5 MB", Rounds: out.rounds, Violations: out.violations, Seconds: time.Since(began).Seconds(),
		Figures: []hubtest.Figure{{Name: "snapshots for the slow tab", Value: strconv.Itoa(out.snapshots)}},
	}
	if plan.Full {
		result.Figures = append(result.Figures, out.figures(t)...)
	}
	plan.Add(t, result)
}

// slowResults are the measurements of bursts with and without slow tabs.
type slowResults struct {
	rounds, violations, snapshots int
	each                          float64 // bytes that a slow tab costs more
	with, without                 []time.Duration
}

func newSlowCluster(t *testing.T, env ...string) *hubtest.Cluster {
	t.Helper()
	return hubtest.Start(t, hubtest.Options{
		// The unchecked tabs answer no pings.
		Program: program, Hubs: 2, Store: redistest.Standalone(t).URL(), Args: []string{"--heartbeat", "5m"}, Env: env,
	})
}

// The burst of the fault table, in fewer events than a log may have: trimmed events could not be
// checked. Tabs that fall behind the beginning of the log get a snapshot, see package broadcast.
const (
	burstEvents = 4000
	burstSize   = 1300
	burstRate   = 400
)

// finishBurst lets all tabs read at full speed and checks the history.
func (o *slowResults) finishBurst(t *testing.T, s *burstSession, slow bool) {
	t.Helper()
	if slow {
		s.checkBehind(t)
	} else {
		close(s.throat.narrow)
	}
	close(s.throat.wide)
	violations, snapshots := s.finish(t)
	o.rounds++
	o.violations += violations
	o.snapshots += snapshots
}

// compareMemory compares the memory of a hub with many slow tabs with that of one without. Socket
// buffers of the system are not part of it. The hubs collect garbage often, because else garbage
// would dominate, and have some seconds of little work for it, in which the slow tabs stay slow.
func (o *slowResults) compareMemory(t *testing.T) {
	t.Helper()
	const crowd = 100
	var used [2]int
	for i, slow := range []bool{false, true} {
		s := newBurstSession(t, newSlowCluster(t, "GOGC=10"), fmt.Sprintf("memory-%v", slow), crowd)
		if slow {
			close(s.throat.narrow)
		}
		s.burst(t, burstEvents, burstSize, burstRate)
		var all []int
		for range 12 {
			s.burst(t, 20, burstSize, 40)
			all = append(all, s.f.Hubs[0].ResidentBytes(t))
		}
		slices.Sort(all)
		used[i] = all[len(all)/2]
		o.finishBurst(t, s, slow)
	}
	o.each = float64(used[1]-used[0]) / crowd
	t.Logf("%d bytes with %d slow tabs, %d without: %.0f each", used[1], crowd, used[0], o.each)
}

// compareDelays measures the delay of the other tabs, with slow tabs and when the same tabs are not
// slow.
func (o *slowResults) compareDelays(t *testing.T) {
	t.Helper()
	f := newSlowCluster(t)
	for _, slow := range []bool{false, true} {
		s := newBurstSession(t, f, fmt.Sprintf("delay-%d", o.rounds), 5)
		if slow {
			close(s.throat.narrow)
		}
		s.burst(t, burstEvents, burstSize, burstRate)
		delays := s.delays()
		requireSamples(t, "other tabs receive all events", delays)
		p99 := delays.quantile(0.99)
		t.Logf("slow %v: p50 %v, p99 %v", slow, delays.quantile(0.5), p99)
		if slow {
			o.with = append(o.with, p99)
		} else {
			o.without = append(o.without, p99)
		}
		o.finishBurst(t, s, slow)
	}
}

func (o *slowResults) figures(t *testing.T) []hubtest.Figure {
	t.Helper()
	slices.Sort(o.with)
	slices.Sort(o.without)
	with, without := hubtest.Quantile(o.with, 0.5), hubtest.Quantile(o.without, 0.5)
	if with == 0 || without == 0 {
		t.Fatalf("other tabs wait %v with slow tabs and %v without; want more than 0", with, without)
	}
	change := float64(with) / float64(without)
	if o.each > memoryLimit {
		t.Errorf("a slow tab costs %.0f bytes, want at most %d", o.each, memoryLimit)
	}
	if change > delayLimit {
		t.Errorf("other tabs wait %v (p99) with slow tabs and %v without, want less than 10 %% more", with, without)
	}
	return []hubtest.Figure{
		{Name: "memory of a slow tab", Value: fmt.Sprintf("%.1f KiB", o.each/(1<<10)), Wanted: "≤ 64 KiB"},
		{Name: "p99 delay of others, slow tabs", Value: with.Round(time.Microsecond).String()},
		{Name: "none slow", Value: without.Round(time.Microsecond).String()},
		{Name: "change", Value: fmt.Sprintf("%+.1f %%", 100*(change-1)), Wanted: "< 10 %"},
	}
}
