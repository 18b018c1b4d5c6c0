//go:build linux

package main

import (
	"cmp"
	"context"
	"time"
)

// scenario is something that happens to the world once it is warm.
type scenario struct {
	name, help string
	last       time.Duration // after the world is warm
	begin      func(w *world)
}

func scenarios() []scenario {
	const while = 30 * time.Second
	return []scenario{
		{"steady", "nothing happens", while, func(*world) {}},
		{"kill-1", "kill -9 of one replica", while, func(w *world) { w.killSome(1) }},
		{"kill-10", "kill -9 of ten at once", while, func(w *world) { w.killSome(10) }},
		{"failover-2.5s", "the first Redis master is away for 2.5 s", while, func(w *world) { w.outage(2500 * time.Millisecond) }},
		{"failover-10s", "the same for 10 s", 40 * time.Second, func(w *world) { w.outage(10 * time.Second) }},
		{"cut", "a load balancer drops all sockets at once", while, (*world).cut},
		{"deploy", "every replica is drained and replaced, --surge at a time", time.Minute, (*world).deploy},
	}
}

// play runs a scenario in a new world, unless ctx ends before.
func (sc scenario) play(ctx context.Context, cfg settings, table [ops]cost) (outcome, error) {
	cfg.last = cfg.warm + cmp.Or(cfg.last, sc.last)
	w := newWorld(cfg, table)
	if err := w.pass(ctx, cfg.warm); err != nil {
		return outcome{}, err
	}
	w.seen.returns, w.seen.takeOvers, w.seen.stale = nil, nil, 0
	sc.begin(w)
	if err := w.pass(ctx, cfg.last); err != nil {
		return outcome{}, err
	}
	return w.judge(sc.name), nil
}

// pass lets the world run until a time, and looks up now and then whether anybody
// still wants it to.
func (w *world) pass(ctx context.Context, until time.Duration) error {
	for w.now < until {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		w.run(min(until, w.now+time.Second))
	}
	return nil
}

func (w *world) killSome(n int) {
	for _, r := range w.replicas[:min(n, len(w.replicas)/2)] {
		w.kill(r)
	}
}

// outage takes the first master away and brings it back with all it knew.
func (w *world) outage(d time.Duration) {
	n := w.nodes[0]
	n.upAt, n.free = w.now+d, w.now+d
	n.epoch++
}

// cut ends all connections. Hubs and Redis stay as they are.
func (w *world) cut() {
	for _, s := range w.sessions {
		for _, t := range s.tabs {
			if t.lost < 0 {
				w.drop(t)
				w.after(w.backoff(1), func() { w.connect(t) })
			}
		}
	}
}

// deploy replaces all replicas, some at a time.
func (w *world) deploy() {
	next := 0
	var one func()
	one = func() {
		if next < len(w.replicas) {
			r := w.replicas[next]
			next++
			w.replace(r, one)
		}
	}
	for range min(w.cfg.surge, len(w.replicas)-1) {
		one()
	}
}
