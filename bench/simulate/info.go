//go:build linux

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// reading is what a Redis has counted so far.
type reading struct {
	at      time.Time
	cpu     float64 // seconds, of the main thread and all others
	in, out float64 // bytes
	calls   map[string]float64
	usec    map[string]float64
}

// read asks a Redis what it has counted.
func read(ctx context.Context, c redis.UniversalClient) (reading, error) {
	r := reading{at: time.Now(), calls: map[string]float64{}, usec: map[string]float64{}}
	text, err := c.Info(ctx, "cpu", "stats", "commandstats").Result()
	if err != nil {
		return r, fmt.Errorf("ask Redis what it has counted: %w", err)
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "used_cpu_sys", "used_cpu_user":
			r.cpu += number(value)
		case "total_net_input_bytes":
			r.in = number(value)
		case "total_net_output_bytes":
			r.out = number(value)
		}
		if cmd, ok := strings.CutPrefix(name, "cmdstat_"); ok && cmd != "info" {
			for field := range strings.SplitSeq(value, ",") {
				switch key, n, _ := strings.Cut(field, "="); key {
				case "calls":
					r.calls[cmd] = number(n)
				case "usec":
					r.usec[cmd] = number(n)
				}
			}
		}
	}
	return r, nil
}

// number reads what Redis writes; what it does not is 0.
func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

// since is what was counted after an earlier reading.
func (r reading) since(before reading) reading {
	d := reading{
		at: r.at, cpu: r.cpu - before.cpu, in: r.in - before.in, out: r.out - before.out,
		calls: map[string]float64{}, usec: map[string]float64{},
	}
	for cmd, n := range r.calls {
		if n -= before.calls[cmd]; n > 0 {
			d.calls[cmd], d.usec[cmd] = n, r.usec[cmd]-before.usec[cmd]
		}
	}
	return d
}
