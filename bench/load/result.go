//go:build linux

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// result is the result of one run of a scenario. Its JSON is a line of the report.
type result struct {
	Scenario string `json:"scenario"`
	Server   string `json:"server"`
	Store    string `json:"store,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	Round    int    `json:"round"`
	Sessions int    `json:"sessions"`
	Tabs     int    `json:"tabs"`
	// Content is the size of each window before appending to it, in bytes.
	Content int `json:"content_bytes,omitempty"`

	Seconds    float64 `json:"seconds"`
	Events     uint64  `json:"events,omitempty"`
	Deliveries uint64  `json:"deliveries,omitempty"`
	Rate       float64 `json:"deliveries_per_s,omitempty"`
	// Envelope is the mean size of a delivered envelope, in bytes.
	Envelope int `json:"envelope_bytes,omitempty"`
	// CPU, Redis and Generator are seconds of user and system time per
	// million deliveries, of the server, its Redis and this program.
	CPU       float64 `json:"cpu_s_per_million,omitempty"`
	Redis     float64 `json:"redis_cpu_s_per_million,omitempty"`
	Generator float64 `json:"generator_cpu_s_per_million,omitempty"`
	// Written is the mean number of bytes that the server wrote per event, to its store and to tabs.
	Written float64 `json:"written_bytes_per_event,omitempty"`
	// P50 and P99 are the delays from publishing, or its due time, to delivery. In a storm they count
	// from the reconnect of all tabs to the newest event of each tab.
	P50 float64 `json:"p50_ms,omitempty"`
	P99 float64 `json:"p99_ms,omitempty"`
	// Memory is resident KiB per connection; Pings is the number of heartbeats answered
	// meanwhile.
	Memory float64 `json:"rss_kib_per_connection,omitempty"`
	// Cores is the part of a core that the server uses while connections are idle.
	Cores    float64 `json:"cores,omitempty"`
	Connects float64 `json:"connects_per_s,omitempty"`
	Pings    uint64  `json:"pings,omitempty"`
	// RedisCalls is the number of commands per second that Redis executes, those in scripts included,
	// while sessions are idle. RedisKeys and RedisBytes are what a session takes there.
	RedisCalls float64 `json:"redis_calls_per_s,omitempty"`
	RedisKeys  float64 `json:"redis_keys_per_session,omitempty"`
	RedisBytes float64 `json:"redis_bytes_per_session,omitempty"`
	// CatchUp is the time until all tabs had reconnected and received the events they
	// missed.
	CatchUp float64 `json:"catch_up_ms,omitempty"`

	Faults faults `json:"faults"`
	// Failed is the reason why the run could not be finished.
	Failed string `json:"failed,omitempty"`
}

// isInvalid reports whether the run failed or had faults.
func (r result) isInvalid() bool { return r.Failed != "" || r.Faults.any() }

// setCPU sets the CPU figures of a phase.
func (r *result) setCPU(from, to measured) {
	million := float64(r.Deliveries) / 1e6
	r.Seconds = to.at.Sub(from.at).Seconds()
	r.Rate = float64(r.Deliveries) / r.Seconds
	r.CPU = (to.cpu - from.cpu).Seconds() / million
	r.Redis = (to.redis - from.redis).Seconds() / million
	r.Generator = (to.self - from.self).Seconds() / million
	if r.Events > 0 {
		r.Written = float64(to.written-from.written) / float64(r.Events)
	}
}

// key identifies the results that are compared.
type key struct {
	scenario, server, store, protocol string
	content                           int
}

func (r result) key() key { return key{r.Scenario, r.Server, r.Store, r.Protocol, r.Content} }

// label names the scenario and, if it appends, the size of the windows.
func (k key) label() string {
	if k.content == 0 {
		return k.scenario
	}
	return fmt.Sprintf("%s to %d KiB", k.scenario, k.content>>10)
}

// report collects and prints results.
type report struct {
	stdout  io.Writer // JSON lines
	stderr  io.Writer // for the terminal
	results []result
}

// add prints a result at once, because a run may be interrupted.
func (p *report) add(r result) {
	p.results = append(p.results, r)
	line, err := json.Marshal(r)
	if err != nil {
		line = fmt.Appendf(nil, "{%q:%q}", "failed", err)
	}
	fmt.Fprintf(p.stdout, "%s\n", line)
	if r.isInvalid() {
		fmt.Fprintf(p.stderr, "%s, %s %s, round %d: INVALID: %v %s\n", r.Scenario, r.Server, r.Store, r.Round, r.Faults, r.Failed)
	}
}

// hasFailures reports whether any run was invalid.
func (p *report) hasFailures() bool { return slices.ContainsFunc(p.results, result.isInvalid) }

// median returns the median of a figure over the valid rounds of one key.
func (p *report) median(k key, figure func(result) float64) (float64, bool) {
	var all []float64
	for _, r := range p.results {
		if r.key() == k && !r.isInvalid() {
			all = append(all, figure(r))
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2, true
}

// table prints the medians of all results.
func (p *report) table() {
	w := tabwriter.NewWriter(p.stderr, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\nmedians of\tserver\tstore\tprotocol\tdeliveries/s\tCPU s/M\tRedis s/M\tgenerator s/M\tB written/event\tp50 ms\tp99 ms\tKiB/conn\tcores\tcatch-up ms\tRedis calls/s\tkeys\tbytes\t")
	var done []key
	for _, r := range p.results {
		k := r.key()
		if slices.Contains(done, k) {
			continue
		}
		done = append(done, k)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t", k.label(), k.server, cmp.Or(k.store, "-"), cmp.Or(k.protocol, "-"))
		for _, c := range []struct {
			format string
			figure func(result) float64
		}{
			{"%.0f", func(r result) float64 { return r.Rate }},
			{"%.2f", func(r result) float64 { return r.CPU }},
			{"%.2f", func(r result) float64 { return r.Redis }},
			{"%.2f", func(r result) float64 { return r.Generator }},
			{"%.0f", writtenFigure},
			{"%.2f", func(r result) float64 { return r.P50 }},
			{"%.2f", func(r result) float64 { return r.P99 }},
			{"%.1f", func(r result) float64 { return r.Memory }},
			{"%.3f", func(r result) float64 { return r.Cores }},
			{"%.0f", func(r result) float64 { return r.CatchUp }},
			{"%.0f", func(r result) float64 { return r.RedisCalls }},
			{"%.1f", func(r result) float64 { return r.RedisKeys }},
			{"%.0f", func(r result) float64 { return r.RedisBytes }},
		} {
			if v, ok := p.median(k, c.figure); ok && v != 0 {
				fmt.Fprintf(w, c.format, v)
			} else {
				fmt.Fprint(w, "-")
			}
			fmt.Fprint(w, "\t")
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // an error of the terminal cannot be reported
}
