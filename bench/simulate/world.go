//go:build linux

package main

import (
	"math/rand/v2"
	"time"
)

// What the product does, and where it says so. A test compares.
const (
	partitions    = 64                     // store/redisstore/keys.go
	poolSize      = 32                     // store/redisstore/url.go
	poolTimeout   = 2 * time.Second        // store/redisstore/url.go
	retryFor      = 2 * time.Second        // store/redisstore/store.go
	checkEvery    = 5 * time.Second        // store/redisstore/store.go
	inboxEvery    = 5 * time.Second        // store/redisstore/store.go
	lastPause     = 100 * time.Millisecond // store/redisstore/call.go
	maxFlights    = 2                      // store/redisstore/committer.go
	flightWrites  = 64                     // store/redisstore/committer.go
	renewers      = 64                     // session/sweep.go
	sweepLimit    = 100                    // session/sweep.go
	sweepEvery    = 500 * time.Millisecond // session/hub.go
	dormantAfter  = 10 * time.Minute       // session/hub.go
	claimJitter   = 150 * time.Millisecond // session/follow.go
	retryFirst    = 20 * time.Millisecond  // session/live_session.go
	retryLast     = time.Second            // session/live_session.go
	storeTimeout  = 10 * time.Second       // session/live_session.go
	commitTimeout = 5 * time.Second        // session/step.go
	presenceEvery = 500 * time.Millisecond // session/presence.go
	presenceAgain = 20 * time.Second       // session/presence.go
	followLinger  = 5 * time.Second        // session/follow.go
	fleetEvery    = 2 * time.Second        // membership/membership.go
	slotTTL       = 10 * time.Second       // agentpool/limiter.go
	leastSpread   = 100 * time.Millisecond // gateway/connections.go
	clientSpread  = 500 * time.Microsecond // gateway/connections.go
	drainAfter    = 5 * time.Second        // gateway/server.go
	drainTime     = 17 * time.Second       // cmd/hub/app.go, of a grace of 20 s
	recheckEvery  = time.Minute            // gateway/connections.go
	firstBackoff  = 500 * time.Millisecond // client/link.go
	maxBackoff    = 30 * time.Second       // client/link.go
)

// connectTime is what a hub computes for a tab that comes back: 2,000 of them
// took 0.39 s, see "storm" in bench/README.md.
const connectTime = 195 * time.Microsecond

// settings say how large the world is and what its people do.
type settings struct {
	replicas, sessions, masters int
	idle, streaming             float64 // parts of the sessions; the others are dormant
	unwatched                   float64 // part of the streaming ones that no tab shows
	second                      float64 // part of the shown ones that have a second tab
	rate                        float64 // commits per second of a streaming session
	turn                        time.Duration
	stay                        time.Duration // how long a tab is connected; 0 means for ever
	lease                       time.Duration
	rtt                         time.Duration
	surge                       int // replicas that are replaced at the same time
	boot                        time.Duration
	seed                        uint64
	warm, last                  time.Duration
	urgent                      bool // renewals have connections of their own
	sparing                     bool // commits are published only if another replica follows
	agentless                   bool // programs stream, and not agents, who need slots
}

// world is the model. It has one goroutine.
type world struct {
	clock
	cfg      settings
	cost     [ops]cost
	random   *rand.Rand
	nodes    []*node
	replicas []*replica
	sessions []*session
	working  []*session // in the order sweepers see them
	seen     figures
}

// replica is a hub.
type replica struct {
	life     int // counts its processes
	up       bool
	draining bool
	tabs     int
	free     time.Duration // when it has admitted everybody who knocked
	keepers  map[*session]*keeper
	order    []*keeper // the same, in an order that does not depend on chance
	ports    []port
	lanes    []lane
	renewing int
	renewals []*keeper // that wait for one of the renewers
}

// session is what Redis knows of one.
type session struct {
	partition int
	streaming bool
	owner     *replica
	life      int // of the owner's process
	epoch     int
	until     time.Duration
	tabs      []*tab
	keepers   []*keeper
	// lost is since when nobody works for those who watch, or less than 0.
	lost time.Duration
}

// tab is somebody's window into a session.
type tab struct {
	s      *session
	r      *replica
	failed int
	lost   time.Duration
}

// newWorld is a world that has been as it is for a long time.
func newWorld(cfg settings, table [ops]cost) *world {
	w := &world{cfg: cfg, cost: table, random: rand.New(rand.NewPCG(cfg.seed, 1))} //nolint:gosec // a model must repeat itself
	for i := range cfg.masters {
		w.nodes = append(w.nodes, &node{index: i})
	}
	for range cfg.replicas {
		w.replicas = append(w.replicas, w.boot(&replica{}))
	}
	idle, streaming := int(cfg.idle*float64(cfg.sessions)), int(cfg.streaming*float64(cfg.sessions))
	for i := range cfg.sessions {
		s := &session{partition: w.random.IntN(partitions), streaming: i < streaming, lost: -1}
		w.sessions = append(w.sessions, s)
		if i < idle+streaming {
			w.settle(s)
		}
	}
	for p := range partitions {
		for _, s := range w.sessions[:streaming] {
			if s.partition == p {
				w.working = append(w.working, s)
			}
		}
	}
	for _, r := range w.replicas {
		w.routine(r)
	}
	return w
}

// settle gives a session its tabs and its owner.
func (w *world) settle(s *session) {
	tabs := 1
	switch {
	case s.streaming && w.random.Float64() < w.cfg.unwatched:
		tabs = 0
	case w.random.Float64() < w.cfg.second:
		tabs = 2
	}
	for range tabs {
		t := &tab{s: s, r: w.leastBusy(), lost: -1}
		t.r.tabs++
		s.tabs = append(s.tabs, t)
		w.keeperOf(t.r, s).tabs++
		w.restless(t)
	}
	owner := w.replicas[w.random.IntN(len(w.replicas))]
	if tabs > 0 && !w.moved() {
		owner = s.tabs[0].r
	}
	k := w.keeperOf(owner, s)
	s.owner, s.life, s.epoch = owner, owner.life, 1
	age := w.jitter(w.cfg.lease / 3)
	s.until = w.cfg.lease - age
	k.own(w, -age)
	if k.tabs == 0 && !s.streaming {
		k.dormantAt = w.jitter(dormantAfter)
	}
	for _, o := range s.keepers {
		if o != k {
			o.follow(w, s.until)
		}
	}
}

// moved reports whether a tab has come from elsewhere in the last while, so that
// its session is still owned there.
func (w *world) moved() bool {
	return w.cfg.stay > 0 && w.random.Float64()*float64(w.cfg.stay+dormantAfter) < float64(dormantAfter)
}

// boot is a process that begins.
func (w *world) boot(r *replica) *replica {
	r.life++
	r.up, r.draining, r.tabs, r.renewing, r.renewals = true, false, 0, 0, nil
	r.keepers, r.order = map[*session]*keeper{}, nil
	r.ports, r.lanes = make([]port, len(w.nodes)), make([]lane, len(w.nodes))
	r.free = w.now
	return r
}

// jitter is a random part of a time.
func (w *world) jitter(most time.Duration) time.Duration {
	return time.Duration(w.random.Int64N(int64(max(most, 1))))
}

// every calls fn again and again while a process lives.
func (w *world) every(r *replica, first time.Duration, next func() time.Duration, fn func()) {
	life := r.life
	var again func()
	again = func() {
		if r.life == life {
			fn()
			w.after(next(), again)
		}
	}
	w.after(first, again)
}
