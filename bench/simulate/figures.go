//go:build linux

package main

import (
	"slices"
	"time"
)

// connectBucket is how finely connects are counted.
const connectBucket = 100 * time.Millisecond

// figures are what is counted while the model runs.
type figures struct {
	ops          [ops][]float64 // by second
	transactions float64
	claims       []float64 // by second
	connects     []float64 // by connectBucket
	takeOvers    []time.Duration
	returns      []time.Duration // of tabs
	stale        int             // owners that stopped themselves
}

// calls is how many calls of clients an operation is.
func (o op) calls() float64 {
	switch o {
	case opSweep:
		return partitions
	case opLoad, opSlotTurn, opQuota, opInfo:
		return 2
	case opFleet:
		return 3
	default:
		return 1
	}
}

// rates are calls per second, in every second from the first on.
func (f *figures) rates(first int) []float64 {
	var all []float64
	for o := range ops {
		for second, n := range f.ops[o] {
			if second >= first {
				all = add(all, second-first, n*o.calls())
			}
		}
	}
	return all
}

// perSecond is the mean rate of an operation from a second on.
func (f *figures) perSecond(o op, first, last int) float64 {
	return mean(part(f.ops[o], first, last))
}

// part is some of many counters; those that were never reached are 0.
func part[T float64 | time.Duration](of []T, first, last int) []T {
	out := make([]T, last-first)
	for i := range out {
		if first+i < len(of) {
			out[i] = of[first+i]
		}
	}
	return out
}

func mean[T float64 | time.Duration](of []T) float64 {
	sum := 0.0
	for _, v := range of {
		sum += float64(v)
	}
	return sum / float64(max(len(of), 1))
}

// spread is what is said of many times.
type spread struct {
	n                  int
	p50, p90, p99, max time.Duration
}

func spreadOf(all []time.Duration) spread {
	if len(all) == 0 {
		return spread{}
	}
	s := slices.Sorted(slices.Values(all))
	at := func(p float64) time.Duration { return s[int(p*float64(len(s)-1))] }
	return spread{len(s), at(0.5), at(0.9), at(0.99), s[len(s)-1]}
}

// outcome is what one run of a scenario says.
type outcome struct {
	scenario          string
	masters           int
	rate, ratePeak    float64 // calls per second
	load, loadPeak    float64 // of the busiest master, as a part of its time
	claimPeak         float64 // per second
	connect           float64 // per second, while tabs came back
	connectPeak       float64
	takeOver, returns spread
	stale             int
	byOp              [ops]float64 // operations per second
	transactions      float64      // per second
	holders           float64      // of slots
}

// judge makes an outcome of a world that has run.
func (w *world) judge(scenario string) outcome {
	first, last := int(w.cfg.warm/time.Second), int(w.cfg.last/time.Second)
	o := outcome{
		scenario: scenario, masters: len(w.nodes), stale: w.seen.stale,
		takeOver: spreadOf(w.seen.takeOvers), returns: spreadOf(w.seen.returns),
		transactions: w.seen.transactions / w.cfg.last.Seconds(), holders: float64(len(w.working)),
	}
	rates := part(w.seen.rates(0), first, last)
	o.rate, o.ratePeak = mean(rates), slices.Max(rates)
	for _, n := range w.nodes {
		busy := part(n.busy, first, last)
		if load := mean(busy) / float64(time.Second); load > o.load {
			o.load = load
		}
		o.loadPeak = max(o.loadPeak, slices.Max(busy).Seconds())
	}
	o.claimPeak = slices.Max(part(w.seen.claims, first, last))
	perSecond := float64(time.Second / connectBucket)
	from := first * int(perSecond)
	connects := part(w.seen.connects, from, last*int(perSecond))
	o.connectPeak = slices.Max(connects) * perSecond
	// The mean is over the time in which more came than usual.
	usual := mean(part(w.seen.connects, 0, from))
	busy := slices.DeleteFunc(slices.Clone(connects), func(n float64) bool { return n <= 3*usual+2 })
	o.connect = mean(busy) * perSecond
	for p := range ops {
		o.byOp[p] = w.seen.perSecond(p, first, last)
	}
	return o
}
