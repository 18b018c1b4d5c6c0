package chaos_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// freezeResults are the measurements of clusters whose owners are frozen.
type freezeResults struct {
	rounds sample
	// stops is the time from SIGCONT until the hub has noticed that it is not the owner. A hub that
	// was frozen for less than a lease still is.
	stops sample
	// drops is the time from SIGCONT until its requests to the model have ended.
	drops sample
}

// F2: the owner is frozen for a while, in which another hub may take over, and then continues.
// Nothing that it does then is in the log, and it stops its agents.
func TestF02Freeze(t *testing.T) {
	t.Parallel()
	began := time.Now()
	shards := plan.Rounds(2, 8)
	var all freezeResults
	runShards(t, shards, func(t *testing.T, shard uint64) {
		t.Helper()
		z := freezeRun{rng: plan.Rand(shard), out: &all, lease: "6s", rounds: 200 / shards}
		if !plan.Full {
			z.lease, z.rounds = "2s", 1
		}
		// A model over HTTP shows when agents stop, for which two clusters are enough: it repeats
		// everything when it is called again. The text of the demo provider must be continuous, so
		// most clusters use that.
		if shard%4 == 0 {
			z.model = newFakeModel(t)
		}
		z.run(t, shard)
	}, func() {
		stopped := requireQuantile(t, "a hub that goes on stops itself", &all.stops, 1, time.Second)
		dropped := requireQuantile(t, "requests of a resumed hub ended", &all.drops, 1, 5*time.Second)
		plan.Add(t, hubtest.Result{
			Fault: "F2", What: "SIGSTOP of the owner for 2 to 30 s, then SIGCONT", Rounds: all.rounds.count(),
			Violations: all.rounds.violations, Seconds: time.Since(began).Seconds(),
			Figures: []hubtest.Figure{
				{Name: "frozen p50", Value: roundDuration(all.rounds.quantile(0.5))},
				{Name: "taken over meanwhile", Value: strconv.Itoa(all.stops.count())},
				{Name: "stops itself after CONT, p50", Value: roundDuration(all.stops.quantile(0.5))},
				{Name: "stops itself after CONT, most", Value: roundDuration(stopped), Wanted: "≤ 1s"},
				{Name: "its requests to the model ended, most", Value: roundDuration(dropped), Wanted: "≤ 5s"},
			},
		})
	})
}

// freezeRun is one cluster.
type freezeRun struct {
	rng    *rand.Rand
	out    *freezeResults
	lease  string
	rounds int
	model  *fakeModel // nil with the demo provider

	f *hubtest.Cluster
	h *hubtest.History
}

func (z *freezeRun) run(t *testing.T, shard uint64) {
	t.Helper()
	redis := redistest.Standalone(t)
	args := append([]string{"--lease", z.lease}, workArgs...)
	if z.model != nil {
		args = append(args, "--provider", "openai", "--openai-url", z.model.url+"/v1", "--openai-key", "any", "--openai-dialect", "chat", "--titles", "off")
	}
	z.f = hubtest.Start(t, hubtest.Options{Program: program, Hubs: 3, Store: redis.URL(), Args: args})
	for part := 0; z.rounds > 0 && !t.Failed(); part++ {
		n := min(z.rounds, killsPerEpisode)
		z.rounds -= n
		z.h = plan.NewHistory(t, fmt.Sprintf("f02-%d-%d", shard, part))
		// A tab at every hub, also at the one that will be frozen.
		d := newDesktop(t, z.f, z.h, "tab", len(z.f.Hubs), func(i int) string { return z.f.Hubs[i].URL })
		for range n {
			if z.model != nil {
				z.freezeDuringModelCall(t, d)
			} else {
				z.freezeDuringWork(t, d)
			}
		}
		z.out.rounds.addViolations(z.f.Finish(t, z.h, d.tabs, hubtest.Rules{}))
		for _, tab := range d.tabs {
			tab.Close()
		}
	}
}

// randomSpan is the duration of a freeze: short and long ones are equally likely.
func (z *freezeRun) randomSpan() time.Duration {
	if !plan.Full {
		return 3*time.Second + time.Duration(z.rng.IntN(1000))*time.Millisecond
	}
	return time.Duration(2 * math.Pow(15, z.rng.Float64()) * float64(time.Second))
}

// freezeDuringWork freezes the owner during a workload.
func (z *freezeRun) freezeDuringWork(t *testing.T, d *desktop) {
	t.Helper()
	s := d.startWorkload(t, z.rng)
	if err := d.tabs[0].AwaitPieces(t.Context(), s.stream, 1+z.rng.IntN(20)); err != nil {
		t.Fatal(err)
	}
	victim, witness := z.pickVictim(t, d)
	was, asked := s.question(witness)
	epoch := witness.Client.Position().Epoch
	over := z.freeze(t, victim)
	if witness.Client.Position().Epoch > epoch {
		z.waitStopped(t, d, victim, over)
	}
	s.finish(t, z.rng, was, asked)
}

// pickVictim returns the owner, and a tab at another hub.
func (z *freezeRun) pickVictim(t *testing.T, d *desktop) (victim *hubtest.Hub, witness *hubtest.Tab) {
	t.Helper()
	victim = d.owner()
	if victim == nil {
		t.Fatalf("%s is owned by %q, which is not running", d.id, d.tabs[0].Client.State().Owner)
	}
	return victim, d.tabs[(slices.Index(z.f.Hubs, victim)+1+z.rng.IntN(len(d.tabs)-1))%len(d.tabs)]
}

// freeze stops a hub for a while and returns when it continued.
func (z *freezeRun) freeze(t *testing.T, victim *hubtest.Hub) time.Time {
	t.Helper()
	d := z.randomSpan()
	z.h.AddFault("stop %s for %v", victim.ID(), d)
	victim.Stop(t)
	waitFor(t.Context(), d)
	z.h.AddFault("continue %s", victim.ID())
	over := time.Now()
	victim.Continue(t)
	z.out.rounds.add(d)
	return over
}

// waitStopped waits until a hub that continues has noticed, and all its work for the session has
// ended. over is when it continued.
func (z *freezeRun) waitStopped(t *testing.T, d *desktop, victim *hubtest.Hub, over time.Time) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^time=(\S+) .*msg="lease lost" .*session=` + regexp.QuoteMeta(string(d.id)))
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if found := line.FindAllStringSubmatch(victim.Log(), -1); len(found) > 0 {
			at, err := time.Parse(time.RFC3339Nano, found[len(found)-1][1])
			if err != nil {
				t.Fatal(err)
			}
			// Times in logs are truncated to milliseconds.
			if at = at.Add(time.Millisecond); at.After(over) {
				z.out.stops.add(at.Sub(over))
				return
			}
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("resumed hub %s does not notice that %s was taken over\n%s", victim.Name, d.id, victim.Log())
		}
		if time.Since(over) > time.Minute {
			t.Fatalf("hub %s has not noticed within a minute that %s was taken over\n%s", victim.Name, d.id, victim.Log())
		}
	}
}

// freezeDuringModelCall freezes the owner while a model answers without an end.
func (z *freezeRun) freezeDuringModelCall(t *testing.T, d *desktop) {
	t.Helper()
	d.messages++
	id := wire.MessageID(fmt.Sprintf("think-%d", d.messages))
	if err := d.tabs[0].Send(t.Context(), id, "/stream 30 20\n/hang", ""); err != nil {
		t.Fatal(err)
	}
	if err := d.tabs[0].AwaitPieces(t.Context(), id, 1+z.rng.IntN(5)); err != nil {
		t.Fatal(err)
	}
	victim, witness := z.pickVictim(t, d)
	epoch := witness.Client.Position().Epoch
	before := z.model.openCalls()
	over := z.freeze(t, victim)
	if witness.Client.Position().Epoch > epoch {
		z.waitStopped(t, d, victim, over)
		if !waitRequestsEnded(t, before) {
			t.Fatalf("resumed hub %s keeps its requests to the model\n%s", victim.Name, victim.Log())
		}
		z.out.drops.add(time.Since(over))
	}
	// The answer does not end by itself. The message may be lost with a connection.
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for !witness.HasEnded(id) {
		if err := witness.Client.Post(t.Context(), wire.Interrupt{Scope: wire.ScopeSession}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("%s has no end", id)
		}
	}
}

// waitRequestsEnded waits until all requests have ended.
func waitRequestsEnded(t *testing.T, calls []*modelCall) bool {
	t.Helper()
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	for _, c := range calls {
		select {
		case <-c.over:
		case <-late.C:
			return false
		case <-t.Context().Done():
			return false
		}
	}
	return true
}
