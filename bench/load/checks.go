//go:build linux

package main

import "fmt"

// check is a figure with its limit.
type check struct {
	what  string
	limit float64
	unit  string
	value func(*report) (float64, bool)
}

var (
	cpuFigure = func(r result) float64 { return r.CPU }
	p99Figure = func(r result) float64 { return r.P99 }
	memFigure = func(r result) float64 { return r.Memory }
	upFigure  = func(r result) float64 { return r.CatchUp / 1000 }
)

// checks returns the limits of the project.
func checks() []check {
	file := func(scenario string) key { return key{scenario, "hub", "file", plainProtocol} }
	redis := func(scenario string) key { return key{scenario, "hub", "redis", plainProtocol} }
	floor := func(scenario string) key { return key{scenario: scenario, server: "floor"} }
	return []check{
		{"fanout: CPU per delivery against the floor", 1.6, "×", ratio(file("fanout"), floor("fanout"))},
		{"fanout: CPU per delivery with Redis against the file store", 1.3, "×", ratio(redis("fanout"), file("fanout"))},
		{"many: CPU per delivery against the floor", 2.5, "×", ratio(file("many"), floor("many"))},
		{"many: CPU per delivery with Redis against the file store", 1.3, "×", ratio(redis("many"), file("many"))},
		{"paced: p99 from publishing to delivery", 10, "ms", figureOf(file("paced"), p99Figure)},
		{"idle: resident memory per connection", 15, "KiB", figureOf(file("idle"), memFigure)},
		{"storm: until all tabs have caught up", 3, "s", figureOf(file("storm"), upFigure)},
	}
}

func figureOf(k key, figure func(result) float64) func(*report) (float64, bool) {
	return func(p *report) (float64, bool) { return p.median(k, figure) }
}

func ratio(a, b key) func(*report) (float64, bool) {
	return func(p *report) (float64, bool) {
		x, ok := p.median(a, cpuFigure)
		y, also := p.median(b, cpuFigure)
		return x / y, ok && also && y > 0
	}
}

// checkLimits prints every measured figure with its limit and reports whether all limits hold.
func (p *report) checkLimits() bool {
	all := true
	fmt.Fprintln(p.stderr)
	for _, c := range checks() {
		v, ok := c.value(p)
		if !ok {
			continue
		}
		status := "ok  "
		if v > c.limit {
			status, all = "MISS", false
		}
		fmt.Fprintf(p.stderr, "%s  %-60s %7.2f %s (limit %g)\n", status, c.what, v, c.unit, c.limit)
	}
	return all
}
