//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

const (
	// warmUp is the time before the first measurement, in which tabs connect.
	warmUp = 5 * time.Second
	// checkTimeout bounds each check with its retries, and each of its requests.
	checkTimeout = 15 * time.Second
	// retryEvery is the pause between two attempts of a check.
	retryEvery = 250 * time.Millisecond
	// stalledAfter is the run time after which silent agents must be reported as stalled. The
	// hub reports them after a minute.
	stalledAfter = 70 * time.Second
)

// check measures what a subscriber of the live stream costs, then checks the admin views.
func (cr *crowd) check(ctx context.Context, last, fresh time.Duration, stdout io.Writer) error {
	if err := pause(ctx, warmUp); err != nil {
		return err
	}
	part := (last - warmUp) / 2
	fmt.Fprintf(stdout, "no live stream for %v\n", part)
	alone, err := cr.measureDuring(ctx, func() error { return pause(ctx, part) })
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "  %s, %d tabs\na live stream of all rows for %v\n", alone, cr.tabCount(), part)
	var v *streamStats
	watched, err := cr.measureDuring(ctx, func() (err error) {
		v, err = cr.env.watchStream(ctx, 0, part)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "  %s, %d tabs\n", watched, cr.tabCount())
	c := &checker{crowd: cr, out: stdout, expectStalled: last >= stalledAfter, maxAge: fresh}
	c.printFigures(alone, watched, v)
	return errors.Join(c.checkAll(ctx), c.result())
}

// measureDuring returns the resources that hubs and Redis use while do runs.
func (cr *crowd) measureDuring(ctx context.Context, do func() error) (rates, error) {
	before, err := cr.env.measure(ctx)
	if err != nil {
		return rates{}, err
	}
	if err := do(); err != nil {
		return rates{}, err
	}
	after, err := cr.env.measure(ctx)
	return after.since(before), err
}

// printFigures prints the measurements and checks them.
func (c *checker) printFigures(alone, watched rates, v *streamStats) {
	p := func(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) }
	p("\n| what | figure |\n| --- | --- |")
	p("| hubs, sessions, tabs | %d, %d, %d |", len(c.env.hubs), len(c.sessions), c.tabCount())
	p("| until the first event, and the whole table | %d ms, %d ms |", v.firstEvent.Milliseconds(), v.wholeTable.Milliseconds())
	p("| age of a change of a session on arrival, p50, p99 (%d) | %d ms, %d ms |", len(v.ages), quantile(v.ages, 0.5).Milliseconds(), quantile(v.ages, 0.99).Milliseconds())
	p("| age of a replica's own report, p50, p99 | %d ms, %d ms |", quantile(v.sampleAges, 0.5).Milliseconds(), quantile(v.sampleAges, 0.99).Milliseconds())
	p("| live stream | %.1f KiB/s, %.1f overviews/s, %.1f rows/s |", float64(v.bytes)/1024/v.duration.Seconds(), float64(v.overviews)/v.duration.Seconds(), float64(v.changes)/v.duration.Seconds())
	p("| commands of Redis, without and with a live stream | %.0f/s, %.0f/s |", alone.commands, watched.commands)
	p("| bytes that Redis sends, without and with | %.0f KiB/s, %.0f KiB/s |", alone.out/1024, watched.out/1024)
	p("| CPU of Redis, without and with, of a core | %.1f%%, %.1f%% |", alone.redis*100, watched.redis*100)
	p("| CPU of all hubs, without and with, of a core | %.1f%%, %.1f%% |", alone.hubs*100, watched.hubs*100)
	p("| memory of all hubs | %d MiB |\n", watched.resident>>10)
	c.require(len(v.rows) >= len(c.sessions), "the live stream has %d sessions of %d", len(v.rows), len(c.sessions))
	c.require(v.overviews > 0, "the live stream has no overview")
	c.require(c.rate == 0 || c.tabs == 0 || len(v.ages) > 0, "the live stream has no change of a session")
	c.require(quantile(v.ages, 0.99) <= c.maxAge, "changes are up to %v old (p99) on arrival, want at most %v; the machine's load is %s on %d cores",
		quantile(v.ages, 0.99), c.maxAge, loadAverage(), runtime.NumCPU())
}

// loadAverage returns the load average of the last minute. A high load is a possible cause of delays.
func loadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg") // reported as unknown
	minute, _, _ := strings.Cut(string(text), " ")
	return cmp.Or(minute, "unknown")
}

// checker checks the admin views of all hubs.
type checker struct {
	*crowd
	out      io.Writer
	failures []string
	// expectStalled is set if the run is long enough for silent agents to be reported as stalled.
	expectStalled bool
	maxAge        time.Duration // maximum age (p99) of changes in the live stream
}

// require records a failure unless ok.
func (c *checker) require(ok bool, format string, args ...any) {
	if !ok {
		c.failures = append(c.failures, fmt.Sprintf(format, args...))
		fmt.Fprintf(c.out, "FAILED  "+format+"\n", args...)
	}
}

func (c *checker) result() error {
	if len(c.failures) > 0 {
		return fmt.Errorf("%d checks failed:\n  %s", len(c.failures), strings.Join(c.failures, "\n  "))
	}
	fmt.Fprintln(c.out, "all checks passed on every hub")
	return nil
}

// retry calls attempt until it succeeds, at most for checkTimeout. Then it records a failure with
// the last error. It returns an error only if ctx ends.
func (c *checker) retry(ctx context.Context, what string, attempt func(context.Context) (bool, error)) error {
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	for failure := error(nil); ; {
		ok, err := attempt(limited)
		if ok && err == nil {
			fmt.Fprintf(c.out, "ok  %-60s %5d ms\n", what, time.Since(begin).Milliseconds())
			return nil
		}
		if limited.Err() == nil || failure == nil {
			failure = err
		}
		if pause(limited, retryEvery) == nil {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.require(false, "%s: %v", what, errorOr(failure, "not within "+checkTimeout.String()))
		return nil
	}
}

func errorOr(err error, text string) string {
	if err != nil {
		return err.Error()
	}
	return text
}
