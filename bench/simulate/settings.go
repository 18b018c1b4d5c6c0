//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// register makes flags of the settings.
func (c *settings) register(flags *flag.FlagSet) {
	flags.IntVar(&c.replicas, "replicas", 100, "hubs")
	flags.IntVar(&c.sessions, "sessions", 100_000, "sessions that exist")
	flags.Float64Var(&c.idle, "idle", 0.70, "part of the sessions that have tabs and do nothing")
	flags.Float64Var(&c.streaming, "streaming", 0.01, "part of the sessions in which an agent is writing; the rest is dormant")
	flags.Float64Var(&c.unwatched, "unwatched", 0.2, "part of the streaming sessions that no tab shows")
	flags.Float64Var(&c.second, "second-tab", 0.3, "part of the sessions with tabs that have two")
	flags.Float64Var(&c.rate, "commits", 20, "commits per second of a streaming session")
	flags.DurationVar(&c.turn, "turn", 30*time.Second, "how long an agent's turn is")
	flags.DurationVar(&c.stay, "stay", 30*time.Minute, "how long a tab stays connected on average; 0 means for ever")
	flags.DurationVar(&c.lease, "lease", 6*time.Second, "the lease of an owner")
	flags.DurationVar(&c.rtt, "rtt", 500*time.Microsecond, "between a hub and Redis and back")
	flags.IntVar(&c.surge, "surge", 10, "replicas that a deploy replaces at the same time")
	flags.DurationVar(&c.boot, "boot", 3*time.Second, "from the end of a process until the next takes tabs")
	flags.BoolVar(&c.sparing, "sparing", false, "what if commits were published only when another replica follows")
	flags.BoolVar(&c.urgent, "urgent", false, "what if renewals had connections of their own")
	flags.Uint64Var(&c.seed, "seed", 1, "the same seed gives the same figures")
	flags.DurationVar(&c.warm, "warm", 10*time.Second, "how long the world runs before anything happens or is counted")
	flags.DurationVar(&c.last, "last", 0, "how long it runs then, instead of the scenario's own time")
}

// check looks at the settings and reads the numbers of masters.
func (c *settings) check(masters string) (counts []int, err error) {
	for text := range strings.SplitSeq(masters, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > partitions {
			return nil, fmt.Errorf("--masters: want numbers from 1 to %d, separated by commas, got %q", partitions, text)
		}
		counts = append(counts, n)
	}
	part := func(v float64) bool { return v >= 0 && v <= 1 }
	switch {
	case c.replicas < 2 || c.sessions < 1:
		err = errors.New("want two --replicas and one of --sessions at least")
	case !part(c.idle) || !part(c.streaming) || !part(c.unwatched) || !part(c.second) || c.idle+c.streaming > 1:
		err = errors.New("--idle, --streaming, --unwatched and --second-tab are parts from 0 to 1, the first two of the same whole")
	case c.rate <= 0 || c.turn <= 0 || c.lease < 2*time.Second || c.rtt < 0 || c.surge < 1 || c.boot < 0 || c.stay < 0:
		err = errors.New("--commits, --turn and --surge are more than 0, --lease 2s at least, and no time is negative")
	case c.warm < time.Second || c.last != 0 && c.last < time.Second:
		err = errors.New("--warm and --last are a second at least")
	}
	return counts, err
}

// String implements fmt.Stringer.
func (c settings) String() string {
	n := float64(c.sessions)
	return fmt.Sprintf("%d replicas, %d sessions: %.0f idle with tabs, %.0f streaming (%.0f%% of them without tabs), %.0f dormant; "+
		"second tab %.0f%%, %.3g commits/s, turns of %v, tabs stay %v, lease %v, seed %d",
		c.replicas, c.sessions, c.idle*n, c.streaming*n, c.unwatched*100, n-(c.idle+c.streaming)*n,
		c.second*100, c.rate, c.turn, c.stay, c.lease, c.seed)
}
