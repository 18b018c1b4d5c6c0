//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/everdesk/everdesk/bench/rig"
)

// What the program ends with.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// options are what the command line says.
type options struct {
	hubs, sessions, tabs int
	rate                 float64
	last                 time.Duration
	check                bool
	fresh                time.Duration
	hub                  string
}

// leastCheck is how long there must be to check something.
const leastCheck = 15 * time.Second

func (o options) wrong() error {
	switch {
	case o.hubs < 1 || o.hubs > 20:
		return errors.New("--hubs: want 1 to 20")
	case o.sessions < 20 || o.sessions > 100_000:
		return errors.New("--sessions: want 20 to 100000")
	case o.tabs < 0 || o.tabs > 5000:
		return errors.New("--tabs: want up to 5000")
	case o.rate < 0 || o.rate > 1000:
		return errors.New("--rate: want up to 1000")
	case o.fresh <= 0:
		return errors.New("--fresh: want a time")
	case o.check && o.last < leastCheck:
		return fmt.Errorf("--check: want --for %v or longer", leastCheck)
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("crowd", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.hubs, "hubs", 3, "how many hubs")
	flags.IntVar(&o.sessions, "sessions", 2000, "how many sessions")
	flags.IntVar(&o.tabs, "tabs", 300, "how many tabs are open at once; they come and go")
	flags.Float64Var(&o.rate, "rate", 10, "how many messages people send in a second, all together")
	flags.DurationVar(&o.last, "for", 0, "how long; until it is interrupted when 0")
	flags.BoolVar(&o.check, "check", false, "check what the monitor shows, and measure what it costs")
	flags.DurationVar(&o.fresh, "fresh", 2*time.Second, "how old what is shown may be, for --check (p99)")
	flags.StringVar(&o.hub, "hub", "", "the hub's program; it is built when none is given")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	}
	err := o.wrong()
	if flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(stderr, "crowd:", err)
		return exitUsage
	}
	if err := play(ctx, o, stdout); err != nil {
		fmt.Fprintln(stderr, "crowd:", err)
		return exitFailure
	}
	return exitOK
}

// play sets everything up and lets it live.
func play(ctx context.Context, o options, stdout io.Writer) error {
	dir, err := os.MkdirTemp("", "everdesk-crowd-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, stop, err := newStage(ctx, o, dir)
	defer stop()
	if err != nil {
		return unlessTold(ctx, err)
	}
	living, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	s.goesOn = !o.check
	s.guard(living, &wg, cancel)
	t, err := newTown(living, s, o, stdout)
	if err != nil {
		return unlessTold(ctx, causeOr(living, err))
	}
	fmt.Fprintf(stdout, "\n  open    %s/admin?token=%s\n\n", s.hubs[0].url, s.token)
	wg.Go(func() { t.live(living) })
	if o.check {
		err = t.check(living, o.last, o.fresh, stdout)
	} else {
		err = t.report(living, o.last, stdout)
	}
	return unlessTold(ctx, causeOr(living, err))
}

// causeOr is why ctx has ended, or else err.
func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// unlessTold makes the end by a signal no failure.
func unlessTold(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it was told to
	}
	return err
}

// report says every second how it goes on, until the time is over.
func (t *town) report(ctx context.Context, last time.Duration, stdout io.Writer) error {
	if last > 0 {
		limited, cancel := context.WithTimeout(ctx, last)
		defer cancel()
		ctx = limited
	}
	begin := time.Now()
	before, err := t.stage.measure(ctx)
	if err != nil {
		return err
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for hubs := len(t.stage.hubs); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if left := t.stage.alive(); len(left) < hubs {
			hubs = len(left)
			fmt.Fprintf(stdout, "A hub has ended; %d go on. The monitor is also at %s/admin?token=%s\n", hubs, left[0].url, t.stage.token)
		}
		now, err := t.stage.measure(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%4.0fs  %d sessions  %d tabs  %d messages, %d refused  %s\n",
			time.Since(begin).Seconds(), len(t.desks), t.open(), t.said.Load(), t.refused.Load(), now.since(before))
		before = now
	}
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// each does something n times, several at once, until the first error.
func each(ctx context.Context, n int, do func(i int) error) error {
	const atOnce = 8
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan int)
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			for i := range work {
				if err := do(i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		select {
		case work <- i:
		case <-ctx.Done():
		}
	}
	close(work)
	wg.Wait()
	return context.Cause(ctx)
}

// door is the REST door of a hub, for somebody.
func (s *stage) door(hub int, token string) rig.Door {
	return rig.Door{URL: s.hubs[hub].url, Token: token, Client: s.client}
}
