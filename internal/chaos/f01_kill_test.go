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

// killed is what is known of fleets whose owners are killed.
type killed struct {
	kills sample // take-overs, one for every session that a kill hit
	turns sample // until a turn goes on or ends
	swept sample // take-overs of sessions without tabs
	round sample // one for every kill
}

// F1: owners are killed at random moments of mixed work: in a stream, when a
// message is on its way or was just accepted, and while they take over from the
// one that was killed before. Another hub takes the sessions over, with and
// without tabs, and every turn goes on, or ends once.
func TestF01Kill(t *testing.T) {
	t.Parallel()
	began := time.Now()
	shards := plan.Rounds(2, 8)
	short := shards / 4 // how many of them have the short lease
	var long, quick killed
	sharded(t, shards, func(t *testing.T, shard uint64) {
		t.Helper()
		switch {
		case !plan.Full:
			kills(t, &long, shard, "2s", 1)
		case int(shard) < short:
			kills(t, &quick, shard, "3s", 50)
		default:
			kills(t, &long, shard, "6s", (200+shards-short-1)/(shards-short))
		}
	}, func() {
		within := func(what string, s *sample, q float64, limit time.Duration) {
			if got := s.quantile(q); plan.Full && got > limit {
				t.Errorf("%s is %v, want at most %v", what, got, limit)
			}
		}
		within("take-over p99", &long.kills, 0.99, 7*time.Second)
		within("take-over p99 with the short lease", &quick.kills, 0.99, 4*time.Second)
		within("a turn goes on after", &long.turns, 1, 10*time.Second)
		within("a turn goes on after with the short lease", &quick.turns, 1, 10*time.Second)
		plan.Add(t, hubtest.Result{
			Fault: "F1", What: "kill -9 of the owner at random moments", Rounds: long.round.count() + quick.round.count(),
			Violations: long.round.violations + quick.round.violations, Seconds: time.Since(began).Seconds(),
			Figures: slices.Concat(long.figures("lease 6s", "≤ 7s"), quick.figures("lease 3s", "≤ 4s")),
		})
	})
}

// figures are the numbers of a sample.
func (k *killed) figures(name, wanted string) []hubtest.Figure {
	if k.kills.count() == 0 {
		return nil
	}
	return []hubtest.Figure{
		{Name: name + ": take-overs", Value: strconv.Itoa(k.kills.count())},
		{Name: name + ": take-over p50", Value: shown(k.kills.quantile(0.5))},
		{Name: name + ": take-over p99", Value: shown(k.kills.quantile(0.99)), Wanted: wanted},
		{Name: name + ": turn goes on p99", Value: shown(k.turns.quantile(0.99))},
		{Name: name + ": turn goes on, most", Value: shown(k.turns.quantile(1)), Wanted: "≤ 10s"},
		{Name: name + ": taken without tabs, most", Value: shown(k.swept.quantile(1))},
	}
}

// episode is how many kills a set of sessions goes through: few enough for the log
// to hold all of it.
const episode = 12

// kills is one fleet whose owners die, one after the other.
func kills(t *testing.T, k *killed, shard uint64, lease string, rounds int) {
	t.Helper()
	rng := plan.Rand(shard)
	redis := redistest.Standalone(t)
	f := hubtest.Start(t, hubtest.Options{Program: program, Hubs: 3, Store: redis.URL(), Args: append([]string{"--lease", lease}, workArgs...)})
	for part := 0; rounds > 0 && !t.Failed(); part++ {
		n := min(rounds, episode)
		rounds -= n
		h := plan.NewHistory(t, fmt.Sprintf("f01-%d-%d", shard, part))
		killing{f: f, h: h, rng: rng, out: k}.episode(t, n)
	}
}

// killing is some sessions of a fleet.
type killing struct {
	f   *hubtest.Fleet
	h   *hubtest.History
	rng *rand.Rand
	out *killed
}

func (k killing) episode(t *testing.T, rounds int) {
	t.Helper()
	door := func(int) string { return k.f.Door.URL() }
	var all []*desktop
	for i := range 2 {
		all = append(all, newDesktop(t, k.f, k.h, string(rune('p'+i)), 2+i, door))
	}
	var tabs []*hubtest.Tab
	for _, d := range all {
		tabs = append(tabs, d.tabs...)
	}
	for n := 0; n < rounds; {
		if n%6 == 5 {
			tabs = append(tabs, k.alone(t, all, n))
			n++
			continue
		}
		n += k.kill(t, all)
	}
	k.out.round.blame(k.f.Finish(t, k.h, tabs, hubtest.Rules{}))
	for _, tab := range tabs {
		tab.Close()
	}
}

// hit is a session whose owner is killed.
type hit struct {
	d     *desktop
	epoch uint64
	scene *scene
	asked bool
	was   wire.OpenPrompt
	over  bool // its stream had ended
}

// kill kills the owner of a session in the middle of a scene, and sometimes the
// next owner right after it. It returns how many were killed.
func (k killing) kill(t *testing.T, all []*desktop) int {
	t.Helper()
	scenes := make([]*scene, len(all))
	for i, d := range all {
		scenes[i] = d.play(t, k.rng)
	}
	which := k.rng.IntN(len(all))
	target, s := all[which], scenes[which]
	moment := k.rng.IntN(5)
	var err error
	switch moment {
	case 0: // messages are on their way
		dwell(t, time.Duration(k.rng.IntN(20))*time.Millisecond)
	case 1: // one was just accepted
		err = target.tabs[0].Until(t.Context(), func() bool {
			_, ok := target.since(0, 0, isAbout(s.stream))
			return ok
		})
	default:
		err = target.tabs[0].Begun(t.Context(), s.stream, 1+k.rng.IntN(20))
	}
	if err != nil {
		t.Fatal(err)
	}
	victim := k.must(t, target)
	hits, when := k.strike(t, victim, all, scenes)
	again := k.rng.IntN(2) == 0
	if again {
		victim.Start(t)
	}
	dead := []*hubtest.Hub{victim}
	if moment == 4 { // and the next one, as soon as it has claimed
		witness := target.tabs[len(target.tabs)-1]
		target.taken(t, witness, hitOf(hits, target).epoch)
		if next := k.f.By(witness.Client.State().Owner); next != nil && next.Alive() {
			k.measure(t, hits, when, false)
			hits, when = k.strike(t, next, all, scenes)
			dead = append(dead, next)
		}
	}
	k.measure(t, hits, when, true)
	for _, v := range dead {
		if !v.Alive() {
			v.Start(t)
		}
	}
	for i, s := range scenes {
		var was wire.OpenPrompt
		asked := false
		if h := hitOf(hits, all[i]); h != nil {
			was, asked = h.was, h.asked
		}
		s.finish(t, k.rng, was, asked)
	}
	k.heard(hits, when)
	return len(dead)
}

func hitOf(hits []*hit, d *desktop) *hit {
	for _, h := range hits {
		if h.d == d {
			return h
		}
	}
	return nil
}

// must is the owner of a session, which has one that is alive.
func (k killing) must(t *testing.T, d *desktop) *hubtest.Hub {
	t.Helper()
	owner := d.owner()
	if owner == nil || !owner.Alive() {
		t.Fatalf("%s is owned by %q, which is not there", d.id, d.tabs[0].Client.State().Owner)
	}
	return owner
}

// strike kills a hub and says which sessions it had, and when.
func (k killing) strike(t *testing.T, victim *hubtest.Hub, all []*desktop, scenes []*scene) ([]*hit, time.Duration) {
	t.Helper()
	var hits []*hit
	for i, d := range all {
		if d.owner() != victim {
			continue
		}
		h := &hit{d: d, epoch: d.epoch()}
		if scenes != nil {
			h.scene = scenes[i]
			h.was, h.asked = h.scene.question(d.tabs[0])
			h.over = d.tabs[0].HasEnded(h.scene.stream)
		}
		hits = append(hits, h)
	}
	when := k.h.Fault("kill %s", victim.ID())
	victim.Kill(t)
	k.out.round.add(0)
	return hits, when
}

// measure waits until the sessions that were hit are taken over. Those that were
// not yet when the next hub is killed are measured from that on.
func (k killing) measure(t *testing.T, hits []*hit, when time.Duration, all bool) {
	t.Helper()
	for _, h := range hits {
		if all {
			h.d.taken(t, h.d.tabs[0], h.epoch)
		}
		if span, ok := h.d.since(when, h.epoch, anything); ok {
			k.out.kills.add(span)
		}
	}
}

// heard measures when the turns that were under way went on.
func (k killing) heard(hits []*hit, when time.Duration) {
	for _, h := range hits {
		if h.scene == nil || h.over {
			continue
		}
		if span, ok := h.d.since(when, h.epoch, goesOn(h.scene.stream)); ok {
			k.out.turns.add(span)
		}
	}
}

// alone kills the owner of a session that has work and no tabs. It returns a tab
// that was opened when all was over.
func (k killing) alone(t *testing.T, all []*desktop, n int) *hubtest.Tab {
	t.Helper()
	d := newDesktop(t, k.f, k.h, fmt.Sprintf("gone-%d", n), 1, func(int) string { return k.f.Door.URL() })
	id := wire.MessageID("alone")
	const length = 60
	if err := d.tabs[0].Say(t.Context(), id, fmt.Sprintf("/nosteer\n/stream %d 15", length), words(length)); err != nil {
		t.Fatal(err)
	}
	if err := d.tabs[0].Begun(t.Context(), id, 3); err != nil {
		t.Fatal(err)
	}
	victim, epoch := k.must(t, d), d.epoch()
	d.tabs[0].Close()
	hits, when := k.strike(t, victim, all, nil)
	k.measure(t, hits, when, true)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var card struct {
			Top wire.Position `json:"top"`
		}
		err := k.f.Call(t, http.MethodGet, k.f.Door.URL()+"/api/sessions/"+string(d.id), "", &card)
		if err == nil && card.Top.Epoch > epoch {
			break
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatalf("nobody takes %s, which has work and no tabs: %v", d.id, err)
		}
	}
	k.out.swept.add(k.h.Since() - when)
	victim.Start(t)
	return k.h.Open(t, hubtest.TabConfig{Name: fmt.Sprintf("back-%d", n), URL: k.f.Door.URL(), Session: d.id})
}
