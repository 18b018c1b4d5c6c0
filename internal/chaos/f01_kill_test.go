package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// killResults are the measurements of clusters whose owners are killed.
type killResults struct {
	kills sample // takeovers, one for every session whose owner was killed
	turns sample // until a turn continues or ends
	swept sample // takeovers of sessions without tabs
	round sample // one for every kill
}

// F1: owners are killed at random moments of mixed work: during a stream, while a message is being
// sent or was just accepted, and while they take over from an owner that was killed before. Another
// hub takes the sessions over, with and without tabs, and every turn continues or ends once.
func TestF01Kill(t *testing.T) {
	t.Parallel()
	began := time.Now()
	shards := plan.Rounds(2, 8)
	short := shards / 4 // number of clusters with the short lease
	var long, quick killResults
	runShards(t, shards, func(t *testing.T, shard uint64) {
		t.Helper()
		switch {
		case !plan.Full:
			runKills(t, &long, shard, "2s", 1)
		case int(shard) < short:
			runKills(t, &quick, shard, "3s", 50)
		default:
			runKills(t, &long, shard, "6s", (200+shards-short-1)/(shards-short))
		}
	}, func() {
		// A lease may have been renewed just before the kill, and a session cannot be claimed
		// before it expires. A second more is for the rest: up to 150 ms of claim jitter, up to 750
		// ms until a hub without tabs of the session sweeps, and the time until a tab sees the new
		// owner.
		requireQuantile(t, "take-over p99", &long.kills, 0.99, 7*time.Second)
		requireQuantile(t, "take-over p99 with the short lease", &quick.kills, 0.99, 4*time.Second)
		requireQuantile(t, "a turn goes on after", &long.turns, 1, 10*time.Second)
		requireQuantile(t, "a turn goes on after with the short lease", &quick.turns, 1, 10*time.Second)
		requireSamples(t, "take-overs without tabs", &long.swept)
		requireSamples(t, "take-overs without tabs with the short lease", &quick.swept)
		plan.Add(t, hubtest.Result{
			Fault: "F1", What: "kill -9 of the owner at random moments", Rounds: long.round.count() + quick.round.count(),
			Violations: long.round.violations + quick.round.violations, Seconds: time.Since(began).Seconds(),
			Figures: slices.Concat(long.figures("lease 6s", "≤ 7s"), quick.figures("lease 3s", "≤ 4s")),
		})
	})
}

// figures returns the numbers of a sample.
func (k *killResults) figures(name, wanted string) []hubtest.Figure {
	if k.kills.count() == 0 {
		return nil
	}
	return []hubtest.Figure{
		{Name: name + ": take-overs", Value: strconv.Itoa(k.kills.count())},
		{Name: name + ": take-over p50", Value: roundDuration(k.kills.quantile(0.5))},
		{Name: name + ": take-over p99", Value: roundDuration(k.kills.quantile(0.99)), Wanted: wanted},
		{Name: name + ": turn goes on p99", Value: roundDuration(k.turns.quantile(0.99))},
		{Name: name + ": turn goes on, most", Value: roundDuration(k.turns.quantile(1)), Wanted: "≤ 10s"},
		{Name: name + ": taken without tabs, most", Value: roundDuration(k.swept.quantile(1))},
	}
}

// killsPerEpisode is the number of kills per set of sessions: few enough for the log to hold all
// events.
const killsPerEpisode = 12

// runKills runs one cluster whose owners are killed one after the other.
func runKills(t *testing.T, k *killResults, shard uint64, lease string, rounds int) {
	t.Helper()
	rng := plan.Rand(shard)
	redis := redistest.Standalone(t)
	f := hubtest.Start(t, hubtest.Options{Program: program, Hubs: 3, Store: redis.URL(), Args: append([]string{"--lease", lease}, workArgs...)})
	for part := 0; rounds > 0 && !t.Failed(); part++ {
		n := min(rounds, killsPerEpisode)
		rounds -= n
		h := plan.NewHistory(t, fmt.Sprintf("f01-%d-%d", shard, part))
		killRun{f: f, h: h, rng: rng, out: k}.runEpisode(t, n)
	}
}

// killRun is a set of sessions of a cluster.
type killRun struct {
	f   *hubtest.Cluster
	h   *hubtest.History
	rng *rand.Rand
	out *killResults
}

func (k killRun) runEpisode(t *testing.T, rounds int) {
	t.Helper()
	balancer := func(int) string { return k.f.Balancer.URL() }
	var all []*desktop
	for i := range 2 {
		all = append(all, newDesktop(t, k.f, k.h, string(rune('p'+i)), 2+i, balancer))
	}
	var tabs []*hubtest.Tab
	for _, d := range all {
		tabs = append(tabs, d.tabs...)
	}
	for n := 0; n < rounds; {
		if n%6 == 5 {
			tabs = append(tabs, k.killWithoutTabs(t, all, n))
			n++
			continue
		}
		n += k.killDuringWork(t, all)
	}
	k.out.round.addViolations(k.f.Finish(t, k.h, tabs, hubtest.Rules{}))
	for _, tab := range tabs {
		tab.Close()
	}
}

// killedOwner is a session whose owner was killed.
type killedOwner struct {
	d     *desktop
	when  time.Duration
	epoch uint64
	work  *workload
	asked bool
	was   wire.OpenPrompt
	over  bool // its stream had ended
	// until is when the next owner was killed, too; zero if it was not. What had not happened by
	// then is measured from that kill on.
	until time.Duration
}

// killRound is one round of kills: all affected sessions, and when each hub was killed. A session
// without an owner at a further kill is measured from the kill of its own owner.
type killRound struct {
	hits  []*killedOwner
	kills map[wire.ReplicaID]time.Duration
}

// killDuringWork kills the owner of a session during a workload, and sometimes the next owner right
// after it. It returns the number of kills.
func (k killRun) killDuringWork(t *testing.T, all []*desktop) int {
	t.Helper()
	workloads := make([]*workload, len(all))
	for i, d := range all {
		workloads[i] = d.startWorkload(t, k.rng)
	}
	which := k.rng.IntN(len(all))
	target, s := all[which], workloads[which]
	moment := k.rng.IntN(5)
	var err error
	switch moment {
	case 0: // messages are being sent
		waitFor(t.Context(), time.Duration(k.rng.IntN(20))*time.Millisecond)
	case 1: // one was just accepted
		err = target.tabs[0].WaitUntil(t.Context(), func() bool {
			_, ok := target.delayOf(0, 0, isAbout(s.stream))
			return ok
		})
	default:
		err = target.tabs[0].AwaitPieces(t.Context(), s.stream, 1+k.rng.IntN(20))
	}
	if err != nil {
		t.Fatal(err)
	}
	victim := k.liveOwner(t, target)
	b := &killRound{kills: map[wire.ReplicaID]time.Duration{}}
	k.killHub(t, b, victim, all, workloads)
	if k.rng.IntN(2) == 0 {
		victim.Start(t)
	}
	dead := []*hubtest.Hub{victim}
	if first := b.lastKill(target); moment == 4 && first != nil { // and the next one, as soon as it has claimed
		witness := target.tabs[len(target.tabs)-1]
		target.waitEpoch(t, witness, first.epoch)
		if next := k.f.HubByID(witness.Client.State().Owner); next != nil && next.Alive() {
			k.killHub(t, b, next, all, workloads)
			dead = append(dead, next)
		}
	}
	b.waitTakeovers(t)
	for _, v := range dead {
		if !v.Alive() {
			v.Start(t)
		}
	}
	for i, s := range workloads {
		var was wire.OpenPrompt
		asked := false
		if h := b.lastKill(all[i]); h != nil {
			was, asked = h.was, h.asked
		}
		s.finish(t, k.rng, was, asked)
	}
	k.measure(b)
	return len(dead)
}

// lastKill is the last kill of a session's owner, or nil.
func (b *killRound) lastKill(d *desktop) *killedOwner {
	for _, h := range slices.Backward(b.hits) {
		if h.d == d {
			return h
		}
	}
	return nil
}

// waitTakeovers waits until all affected sessions are taken over.
func (b *killRound) waitTakeovers(t *testing.T) {
	t.Helper()
	for _, h := range b.hits {
		h.d.waitEpoch(t, h.d.tabs[0], h.epoch)
	}
}

// liveOwner returns the owner of a session and fails the test if there is none alive.
func (k killRun) liveOwner(t *testing.T, d *desktop) *hubtest.Hub {
	t.Helper()
	owner := d.owner()
	if owner == nil || !owner.Alive() {
		t.Fatalf("%s is owned by %q, which is not running", d.id, d.tabs[0].Client.State().Owner)
	}
	return owner
}

// killHub kills a hub, records its sessions, as far as their tabs know, and returns the time.
func (k killRun) killHub(t *testing.T, b *killRound, victim *hubtest.Hub, all []*desktop, workloads []*workload) time.Duration {
	t.Helper()
	var hits []*killedOwner
	for i, d := range all {
		if d.owner() != victim {
			continue
		}
		h := &killedOwner{d: d, epoch: d.epoch()}
		if workloads != nil {
			h.work = workloads[i]
			h.was, h.asked = h.work.question(d.tabs[0])
			h.over = d.tabs[0].HasEnded(h.work.stream)
		}
		hits = append(hits, h)
	}
	when := k.h.AddFault("kill %s", victim.ID())
	b.kills[wire.ReplicaID(victim.ID())] = when
	victim.Kill(t)
	k.out.round.add(0)
	for _, h := range hits {
		if before := b.lastKill(h.d); before != nil {
			before.until = when
		}
		h.when = when
	}
	b.hits = append(b.hits, hits...)
	return when
}

// addUnseen finds sessions that were taken over by a hub that was killed before any tab saw it, and
// records them as separate kills.
func (b *killRound) addUnseen() {
	for _, h := range b.hits {
		by, epoch := h.d.nextOwner(h.epoch)
		when := b.kills[by]
		if h.until != 0 || when <= h.when {
			continue
		}
		h.until = when
		again := *h
		again.when, again.epoch, again.until = when, epoch, 0
		b.hits = append(b.hits, &again)
	}
}

// measure determines when the affected sessions were taken over and when their running turns
// continued.
func (k killRun) measure(b *killRound) {
	b.addUnseen()
	for _, h := range b.hits {
		if span, ok := h.d.delayOf(h.when, h.epoch, anyEntry); ok {
			if h.until != 0 { // it was taken over by then, whenever a tab saw it
				span = min(span, h.until-h.when)
			}
			k.out.kills.add(span)
		}
		if h.work == nil || h.over {
			continue
		}
		span, ok := h.d.delayOf(h.when, h.epoch, continuesTurn(h.work.stream))
		if ok && (h.until == 0 || h.when+span <= h.until) {
			k.out.turns.add(span)
		}
	}
}

// killWithoutTabs kills the owner of a session that has work and no tabs. It returns a tab that was
// opened afterwards.
func (k killRun) killWithoutTabs(t *testing.T, all []*desktop, n int) *hubtest.Tab {
	t.Helper()
	d := newDesktop(t, k.f, k.h, fmt.Sprintf("gone-%d", n), 1, func(int) string { return k.f.Balancer.URL() })
	id := wire.MessageID("alone")
	const length = 60
	if err := d.tabs[0].Send(t.Context(), id, fmt.Sprintf("/nosteer\n/stream %d 15", length), streamWords(length)); err != nil {
		t.Fatal(err)
	}
	if err := d.tabs[0].AwaitPieces(t.Context(), id, 3); err != nil {
		t.Fatal(err)
	}
	victim, epoch := k.liveOwner(t, d), d.epoch()
	d.tabs[0].Close()
	b := &killRound{kills: map[wire.ReplicaID]time.Duration{}}
	when := k.killHub(t, b, victim, all, nil)
	b.waitTakeovers(t)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var card struct {
			Top wire.Position `json:"top"`
		}
		err := k.f.Call(t, http.MethodGet, k.f.Balancer.URL()+"/api/sessions/"+string(d.id), "", &card)
		if err == nil && card.Top.Epoch > epoch {
			break
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("no hub claims %s, which has work and no tabs: %v", d.id, err)
		}
	}
	k.out.swept.add(k.h.Since() - when)
	k.measure(b)
	victim.Start(t)
	return k.h.OpenTab(t, hubtest.TabConfig{Name: fmt.Sprintf("back-%d", n), URL: k.f.Balancer.URL(), Session: d.id})
}
