//go:build linux

package rig

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisStats is a snapshot of the counters of a Redis server.
type RedisStats struct {
	At      time.Time
	CPU     float64 // seconds, of all threads
	In, Out float64 // bytes
	Calls   map[string]float64
	Usec    map[string]float64
}

// ReadRedisStats reads the counters of a Redis server.
func ReadRedisStats(ctx context.Context, c redis.UniversalClient) (RedisStats, error) {
	r := RedisStats{At: time.Now(), Calls: map[string]float64{}, Usec: map[string]float64{}}
	text, err := c.Info(ctx, "cpu", "stats", "commandstats").Result()
	if err != nil {
		return r, fmt.Errorf("read counters of Redis: %w", err)
	}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "used_cpu_sys", "used_cpu_user":
			r.CPU += number(value)
		case "total_net_input_bytes":
			r.In = number(value)
		case "total_net_output_bytes":
			r.Out = number(value)
		}
		if cmd, ok := strings.CutPrefix(name, "cmdstat_"); ok && cmd != "info" {
			for field := range strings.SplitSeq(value, ",") {
				switch key, n, _ := strings.Cut(field, "="); key {
				case "calls":
					r.Calls[cmd] = number(n)
				case "usec":
					r.Usec[cmd] = number(n)
				}
			}
		}
	}
	return r, nil
}

// number parses a number of INFO; an invalid one is 0.
func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

// Since returns the difference to an earlier Reading.
func (r RedisStats) Since(before RedisStats) RedisStats {
	d := RedisStats{
		At: r.At, CPU: r.CPU - before.CPU, In: r.In - before.In, Out: r.Out - before.Out,
		Calls: map[string]float64{}, Usec: map[string]float64{},
	}
	for cmd, n := range r.Calls {
		if n -= before.Calls[cmd]; n > 0 {
			d.Calls[cmd], d.Usec[cmd] = n, r.Usec[cmd]-before.Usec[cmd]
		}
	}
	return d
}

// Rate returns the difference to an earlier Reading per second.
func (r RedisStats) Rate(before RedisStats) RedisStats {
	d, took := r.Since(before), r.At.Sub(before.At).Seconds()
	d.CPU, d.In, d.Out = d.CPU/took, d.In/took, d.Out/took
	for cmd := range d.Calls {
		d.Calls[cmd] /= took
	}
	return d
}
