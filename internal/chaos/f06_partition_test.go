package chaos_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// F6: the owner cannot reach Redis, but its tabs can reach it. It stops its agents before another
// hub can start them, another hub continues, and the owner's later writes are refused. Also when
// only the answers of Redis are lost.
func TestF06Partition(t *testing.T) {
	t.Parallel()
	if plan.Full && !plan.RunInNamespace(t) {
		return
	}
	began := time.Now()
	const shards = 4
	rounds := plan.Rounds(shards, 48) / shards
	p := &partitionResults{way: linkMaker(t)}
	runShards(t, shards, func(t *testing.T, shard uint64) {
		t.Helper()
		p.run(t, shard, rounds)
	}, func() { p.report(t, began) })
}

// link is the connection of one hub to Redis.
type link struct {
	addr string
	cut  func(up, down bool)
}

// linkMaker returns a function that makes links: through a network device with all rounds, else
// through a proxy.
func linkMaker(t *testing.T) func(t *testing.T, addr string) link {
	t.Helper()
	if !plan.Full {
		return func(t *testing.T, addr string) link {
			t.Helper()
			p := hubtest.NewProxy(t, addr)
			return link{p.Addr, func(up, down bool) { p.SetFaults(hubtest.ProxyFaults{HoldRequests: up, HoldReplies: down}) }}
		}
	}
	network := hubtest.NewNetwork(t, plan.Rand(1000))
	return func(_ *testing.T, addr string) link {
		l := network.AddRoute()
		return link{l.AddrOf(addr), func(up, down bool) { l.SetFaults(hubtest.RouteFaults{DropAll: up}, hubtest.RouteFaults{DropAll: down}) }}
	}
}

// partitionResults are the measurements of several clusters.
type partitionResults struct {
	way            func(t *testing.T, addr string) link
	stops, takings sample // until the owner's agents stop, and until another hub continues
	mu             sync.Mutex
	hiccups        int // cuts that were shorter than the lease
	late           int // cuts that came after the end of the turn, because the machine was busy
}

func (p *partitionResults) report(t *testing.T, began time.Time) {
	t.Helper()
	// The hub stops a second before its lease ends.
	const limit = 6*time.Second - time.Second + 500*time.Millisecond
	stopped := requireQuantile(t, "an isolated owner stops its agents", &p.stops, 1, limit)
	requireSamples(t, "another hub goes on", &p.takings)
	plan.Add(t, hubtest.Result{
		Fault: "F6", What: "the owner is cut off from Redis, or only the answers are lost", Rounds: p.takings.count() + p.hiccups + p.late,
		Violations: p.takings.violations, Seconds: time.Since(began).Seconds(),
		Figures: []hubtest.Figure{
			{Name: "isolated owner's agents stopped, slowest", Value: roundDuration(stopped), Wanted: "≤ 5.5s"},
			{Name: "agents watched", Value: strconv.Itoa(p.stops.count())},
			{Name: "new owner p50", Value: roundDuration(p.takings.quantile(0.5))},
			{Name: "new owner, slowest", Value: roundDuration(p.takings.quantile(1))},
			{Name: "cuts without a new owner", Value: strconv.Itoa(p.hiccups)},
			{Name: "cuts after the end of the turn", Value: strconv.Itoa(p.late)},
		},
	})
}

// run runs one cluster. Half of the clusters call a model over HTTP, which shows when an agent stops;
// in the other half the text of the demo provider shows that no agent runs twice.
func (p *partitionResults) run(t *testing.T, shard uint64, rounds int) {
	t.Helper()
	rng := plan.Rand(shard)
	redis := redistest.Standalone(t, "--protected-mode", "no") // over the network, hubs are not local clients
	links := make([]link, 3)
	for i := range links {
		links[i] = p.way(t, redis.Addr)
	}
	o := hubtest.Options{
		Program: program, Hubs: len(links), StoreOf: func(hub int) string { return "redis://" + links[hub].addr },
	}
	var m *fakeModel
	if shard%2 == 0 {
		m = newFakeModel(t)
		o.Args = []string{"--provider", "anthropic", "--anthropic-key", "key", "--anthropic-url", m.url, "--titles", "off"}
	}
	f := hubtest.Start(t, o)
	h := plan.NewHistory(t, fmt.Sprintf("f06-%d", shard))
	session := f.CreateSession(t)
	var tabs []*hubtest.Tab
	for _, hub := range f.Hubs {
		tabs = append(tabs, h.OpenTab(t, hubtest.TabConfig{Name: "at-" + hub.Name, URL: hub.URL, Session: session}))
	}
	for round := range rounds {
		r := partitionRound{partitionResults: p, f: f, h: h, tabs: tabs, links: links, model: m, id: wire.MessageID(fmt.Sprintf("m-%d", round))}
		r.run(t, rng, (round+int(shard/2))%cutKinds)
	}
	p.takings.addViolations(f.Finish(t, h, tabs, hubtest.Rules{}))
}

// Kinds of rounds.
const (
	cutBoth    = iota
	cutAnswers // only Redis' answers are lost, commands arrive
	cutShort   // the same, shorter than the lease
	cutKinds
)

// partitionRound is one round.
type partitionRound struct {
	*partitionResults
	f     *hubtest.Cluster
	h     *hubtest.History
	tabs  []*hubtest.Tab
	links []link
	model *fakeModel // nil with the demo provider
	id    wire.MessageID
}

func (p *partitionRound) run(t *testing.T, rng *rand.Rand, kind int) {
	t.Helper()
	const n = 60
	expect := streamWords(n)
	if p.model != nil {
		expect = "" // a model that is called again repeats the whole text
	}
	// Without a stop the agent would wait for its model forever.
	asked := p.model.hang(kind != cutShort)
	if err := p.tabs[rng.IntN(len(p.tabs))].Send(t.Context(), p.id, fmt.Sprintf("/nosteer\n/stream %d 30", n), expect); err != nil {
		t.Fatalf("send %s: %v", p.id, err)
	}
	if asked != nil {
		select {
		case <-asked:
		case <-t.Context().Done():
			t.Fatal("the model receives no request")
		}
	} else if err := p.tabs[0].AwaitPieces(t.Context(), p.id, 1+rng.IntN(8)); err != nil {
		t.Fatal(err)
	}
	owner := p.owner(t)
	running := p.model.openCalls()
	switch kind {
	case cutBoth:
		cut := p.h.AddFault("cut %s off from redis", p.f.Hubs[owner].ID())
		p.links[owner].cut(true, true)
		p.waitElsewhere(t, owner, cut, running)
	case cutAnswers:
		cut := p.h.AddFault("redis does not answer %s", p.f.Hubs[owner].ID())
		p.links[owner].cut(false, true)
		p.waitElsewhere(t, owner, cut, running)
	case cutShort:
		p.h.AddFault("redis does not answer %s for a moment", p.f.Hubs[owner].ID())
		p.links[owner].cut(false, true)
		waitFor(t.Context(), time.Duration(200+rng.IntN(1800))*time.Millisecond)
		p.mu.Lock()
		p.hiccups++
		p.mu.Unlock()
	}
	p.h.AddFault("heal")
	p.links[owner].cut(false, false)
	for _, tab := range p.tabs {
		if _, err := tab.AwaitEnd(t.Context(), p.id); err != nil {
			t.Fatalf("tab %s does not see the end of %s: %v", tab.Name, p.id, err)
		}
	}
}

// owner is the number of the hub that owns the session.
func (p *partitionRound) owner(t *testing.T) int {
	t.Helper()
	id := string(ownerOf(t, p.f, p.tabs[0].Session))
	for i, h := range p.f.Hubs {
		if h.ID() == id {
			return i
		}
	}
	t.Fatalf("the session is owned by %q, want a hub of the cluster", id)
	return 0
}

// waitElsewhere waits until another hub has ended the turn, and checks the hub that is cut off.
func (p *partitionRound) waitElsewhere(t *testing.T, owner int, cut time.Duration, running []*modelCall) {
	t.Helper()
	began := time.Now()
	for _, call := range running {
		select {
		case <-call.over:
			p.stops.add(call.ended.Sub(began))
		case <-t.Context().Done():
			t.Fatal("the agents of an isolated owner do not stop")
		}
	}
	other := p.tabs[(owner+1)%len(p.tabs)]
	if _, err := other.AwaitEnd(t.Context(), p.id); err != nil {
		t.Fatalf("no other hub ends %s: %v", p.id, err)
	}
	taken, notified := time.Duration(0), false
	var first, last uint64 // epochs of the first and the last event about the message
	for _, e := range p.h.Entries() {
		if e.Source == other.Name && e.Kind == hubtest.KindEvent && e.Event.Message == p.id {
			first, last = cmp.Or(first, e.Event.At.Epoch), e.Event.At.Epoch
		}
		switch {
		case e.Source == p.tabs[owner].Name && e.Kind == hubtest.KindNotice && e.Event.Type == "store_status":
			// A tab that was notified before, without a later all-clear, is not notified again.
			notified = e.Note == "away" || notified && e.T > cut
		case e.T > cut && e.Source == other.Name && e.Kind == hubtest.KindEvent && e.Event.Type == "OWNER_CHANGED" && taken == 0:
			taken = e.T - cut
		}
	}
	if taken == 0 && first == last {
		p.mu.Lock()
		p.late++
		p.mu.Unlock()
		return
	}
	if taken == 0 {
		t.Errorf("%s ended without a new owner", p.id)
	}
	if !notified {
		t.Errorf("the tabs of the isolated %s were not notified", p.f.Hubs[owner].ID())
	}
	p.takings.add(taken)
}
