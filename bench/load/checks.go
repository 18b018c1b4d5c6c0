//go:build linux

package main

import (
	"fmt"
	"slices"
)

// check is a figure with its limit.
type check struct {
	what  string
	limit float64
	unit  string
	value func(*report) (float64, bool)
	// atLeast makes the limit a lower one.
	atLeast bool
}

var (
	rateFigure = func(r result) float64 { return r.Rate }
	cpuFigure  = func(r result) float64 { return r.CPU }
	// allCPUFigure includes the store.
	allCPUFigure  = func(r result) float64 { return r.CPU + r.Redis }
	writtenFigure = func(r result) float64 { return r.Written }
	p50Figure     = func(r result) float64 { return r.P50 }
	p99Figure     = func(r result) float64 { return r.P99 }
	memFigure     = func(r result) float64 { return r.Memory }
	coresFigure   = func(r result) float64 { return r.Cores }
	upFigure      = func(r result) float64 { return r.CatchUp / 1000 }
)

// checks returns the limits of the project.
func checks() []check {
	file := func(scenario string) key {
		return key{scenario: scenario, server: "hub", store: "file", protocol: plainProtocol}
	}
	redis := func(scenario string) key {
		return key{scenario: scenario, server: "hub", store: "redis", protocol: plainProtocol}
	}
	floor := func(scenario string) key { return key{scenario: scenario, server: "floor"} }
	return append(appendChecks(), []check{
		{"fanout: CPU per delivery against the floor", 1.6, "×", ratio(file("fanout"), floor("fanout"), cpuFigure), false},
		{"fanout: CPU per delivery with Redis against the file store", 1.3, "×", ratio(redis("fanout"), file("fanout"), cpuFigure), false},
		{"many: CPU per delivery against the floor", 2.5, "×", ratio(file("many"), floor("many"), cpuFigure), false},
		{"many: CPU per delivery with Redis against the file store", 1.3, "×", ratio(redis("many"), file("many"), cpuFigure), false},
		{"paced: p99 from publishing to delivery", 10, "ms", figureOf(file("paced"), p99Figure), false},
		{"idle: resident memory per connection", 15, "KiB", figureOf(file("idle"), memFigure), false},
		{"storm: until all tabs have caught up", 3, "s", figureOf(file("storm"), upFigure), false},
	}...)
}

// peerChecks returns the limits of the hub beside the Centrifuge library.
func peerChecks() []check {
	hub := func(scenario, server, store string) key {
		return key{scenario: scenario, server: server, store: store, protocol: plainProtocol}
	}
	peer := func(scenario, server, store string) key { return key{scenario: scenario, server: server, store: store} }
	against := func(scenario, replicas string, figure func(result) float64) func(*report) (float64, bool) {
		return ratio(hub(scenario, "hub"+replicas, "redis"), peer(scenario, "centrifuge"+replicas, "redis"), figure)
	}
	return []check{
		{"peers-fanout: deliveries/s against Centrifuge", 5.2, "×", against("peers-fanout", "", rateFigure), true},
		{"peers-fanout: CPU per delivery against Centrifuge", 0.15, "×", against("peers-fanout", "", cpuFigure), false},
		{"peers-many: deliveries/s against Centrifuge", 5, "×", against("peers-many", "", rateFigure), true},
		{"peers-many: CPU per delivery against Centrifuge", 0.17, "×", against("peers-many", "", cpuFigure), false},
		{"peers-replicas: deliveries/s against Centrifuge", 4, "×", against("peers-replicas", "s", rateFigure), true},
		{"peers-replicas: CPU per delivery against Centrifuge", 0.25, "×", against("peers-replicas", "s", cpuFigure), false},
		{"peers-replicas: p99 from publishing to delivery", 150, "ms", figureOf(hub("peers-replicas", "hubs", "redis"), p99Figure), false},
		{"peers-storm: p99 of catching up, file store", 250, "ms", figureOf(hub("peers-storm", "hub", "file"), p99Figure), false},
		{"peers-storm: p99 of catching up, Redis", 400, "ms", figureOf(hub("peers-storm", "hub", "redis"), p99Figure), false},
		{"peers-storm: p99 of catching up against Centrifuge, Redis", 0.4, "×", against("peers-storm", "", p99Figure), false},
		{"peers-idle: resident memory per connection", 13, "KiB", figureOf(hub("peers-idle", "hub", "redis"), memFigure), false},
		{"peers-idle: part of a core", 0.02, "cores", figureOf(hub("peers-idle", "hub", "redis"), coresFigure), false},
		{"peers-agent: p50 from the model to a tab", 3, "ms", figureOf(hub("peers-agent", "hub", "redis"), p50Figure), false},
	}
}

func figureOf(k key, figure func(result) float64) func(*report) (float64, bool) {
	return func(p *report) (float64, bool) { return p.median(k, figure) }
}

func ratio(a, b key, figure func(result) float64) func(*report) (float64, bool) {
	return func(p *report) (float64, bool) {
		x, ok := p.median(a, figure)
		y, also := p.median(b, figure)
		return x / y, ok && also && y > 0
	}
}

// checkLimits prints every measured figure with its limit and reports whether all limits hold.
func (p *report) checkLimits() bool {
	all := true
	fmt.Fprintln(p.stderr)
	for _, c := range slices.Concat(checks(), peerChecks()) {
		v, ok := c.value(p)
		if !ok {
			continue
		}
		status, bound := "ok  ", "at most"
		if c.atLeast {
			bound = "at least"
		}
		if v != c.limit && v < c.limit == c.atLeast {
			status, all = "MISS", false
		}
		fmt.Fprintf(p.stderr, "%s  %-60s %8.3f %s (%s %g)\n", status, c.what, v, c.unit, bound, c.limit)
	}
	return all
}
