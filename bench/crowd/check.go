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
	// settle is how long the crowd has to come in before anything is measured.
	settle = 5 * time.Second
	// soon is how long what was done may take to be seen, and a look to be
	// answered.
	soon = 15 * time.Second
	// lookEvery is how often it is looked again.
	lookEvery = 250 * time.Millisecond
	// stallsAfter is when a silent agent is surely called stalled, which it is
	// after a minute.
	stallsAfter = 70 * time.Second
)

// check measures what watching costs, then checks that everything is seen.
func (t *town) check(ctx context.Context, last, fresh time.Duration, stdout io.Writer) error {
	if err := pause(ctx, settle); err != nil {
		return err
	}
	part := (last - settle) / 2
	fmt.Fprintf(stdout, "nobody watches for %v\n", part)
	alone, err := t.during(ctx, func() error { return pause(ctx, part) })
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "  %s, %d tabs\nsomebody watches all rows for %v\n", alone, t.open(), part)
	var v *seen
	watched, err := t.during(ctx, func() (err error) {
		v, err = t.stage.watch(ctx, 0, part)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "  %s, %d tabs\n", watched, t.open())
	a := &auditor{town: t, out: stdout, stalls: last >= stallsAfter, fresh: fresh}
	a.figures(alone, watched, v)
	return errors.Join(a.all(ctx), a.verdict())
}

// during is what is used while something is done.
func (t *town) during(ctx context.Context, do func() error) (rates, error) {
	before, err := t.stage.measure(ctx)
	if err != nil {
		return rates{}, err
	}
	if err := do(); err != nil {
		return rates{}, err
	}
	after, err := t.stage.measure(ctx)
	return after.since(before), err
}

// figures prints what was measured.
func (a *auditor) figures(alone, watched rates, v *seen) {
	p := func(format string, args ...any) { fmt.Fprintf(a.out, format+"\n", args...) }
	p("\n| what | figure |\n| --- | --- |")
	p("| hubs, sessions, tabs | %d, %d, %d |", len(a.stage.hubs), len(a.desks), a.open())
	p("| until the first event, and the whole table | %d ms, %d ms |", v.first.Milliseconds(), v.whole.Milliseconds())
	p("| age of a change of a session when it is shown, p50, p99 (%d) | %d ms, %d ms |", len(v.ages), quantile(v.ages, 0.5).Milliseconds(), quantile(v.ages, 0.99).Milliseconds())
	p("| age of what a replica says of itself, p50, p99 | %d ms, %d ms |", quantile(v.samples, 0.5).Milliseconds(), quantile(v.samples, 0.99).Milliseconds())
	p("| live stream | %.1f KiB/s, %.1f overviews/s, %.1f rows/s |", float64(v.bytes)/1024/v.took.Seconds(), float64(v.overviews)/v.took.Seconds(), float64(v.changes)/v.took.Seconds())
	p("| commands of Redis, nobody watches, somebody does | %.0f/s, %.0f/s |", alone.commands, watched.commands)
	p("| bytes that Redis sends, the same | %.0f KiB/s, %.0f KiB/s |", alone.out/1024, watched.out/1024)
	p("| CPU of Redis, the same, of a core | %.1f%%, %.1f%% |", alone.redis*100, watched.redis*100)
	p("| CPU of all hubs, the same, of a core | %.1f%%, %.1f%% |", alone.hubs*100, watched.hubs*100)
	p("| memory of all hubs | %d MiB |\n", watched.resident>>10)
	a.expect(len(v.rows) >= len(a.desks), "the live stream shows %d sessions of %d", len(v.rows), len(a.desks))
	a.expect(v.overviews > 0, "the live stream shows no overview")
	a.expect(a.rate == 0 || a.tabs == 0 || len(v.ages) > 0, "the live stream shows no change of any session")
	a.expect(quantile(v.ages, 0.99) <= a.fresh, "changes are up to %v old when they are shown, want %v; the machine's load is %s on %d cores",
		quantile(v.ages, 0.99), a.fresh, load(), runtime.NumCPU())
}

// load is how many processes of the machine want to run, over the last minute, for it may
// be why something is late.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg") // who has none is not told
	minute, _, _ := strings.Cut(string(text), " ")
	return cmp.Or(minute, "unknown")
}

// auditor looks whether all is there.
type auditor struct {
	*town
	out     io.Writer
	missing []string
	// stalls says that silent agents have been silent for long enough to be
	// called stalled.
	stalls bool
	fresh  time.Duration // how old what is shown may be
}

// expect notes what is not as it should be.
func (a *auditor) expect(ok bool, format string, args ...any) {
	if !ok {
		a.missing = append(a.missing, fmt.Sprintf(format, args...))
		fmt.Fprintf(a.out, "MISSING  "+format+"\n", args...)
	}
}

func (a *auditor) verdict() error {
	if len(a.missing) > 0 {
		return fmt.Errorf("%d things are missing:\n  %s", len(a.missing), strings.Join(a.missing, "\n  "))
	}
	fmt.Fprintln(a.out, "everything is seen from every hub")
	return nil
}

// until looks again and again until it is so, and notes when it never is. The last
// error counts. A look that is not answered is not waited for.
func (a *auditor) until(ctx context.Context, what string, look func(context.Context) (bool, error)) error {
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	for failure := error(nil); ; {
		ok, err := look(limited)
		if ok && err == nil {
			fmt.Fprintf(a.out, "ok  %-60s %5d ms\n", what, time.Since(begin).Milliseconds())
			return nil
		}
		if limited.Err() == nil || failure == nil {
			failure = err
		}
		if pause(limited, lookEvery) == nil {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		a.expect(false, "%s: %v", what, errorOr(failure, "not within "+soon.String()))
		return nil
	}
}

func errorOr(err error, text string) string {
	if err != nil {
		return err.Error()
	}
	return text
}
