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

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// options are the values of the flags.
type options struct {
	hubs, sessions, tabs int
	rate                 float64
	duration             time.Duration
	check                bool
	maxAge               time.Duration
	hub                  string
}

// minCheck is the shortest run with --check.
const minCheck = 15 * time.Second

func (o options) validate() error {
	switch {
	case o.hubs < 1 || o.hubs > 20:
		return errors.New("--hubs: want 1 to 20")
	case o.sessions < 20 || o.sessions > 100_000:
		return errors.New("--sessions: want 20 to 100000")
	case o.tabs < 0 || o.tabs > 5000:
		return errors.New("--tabs: want up to 5000")
	case o.rate < 0 || o.rate > 1000:
		return errors.New("--rate: want up to 1000")
	case o.maxAge <= 0:
		return errors.New("--fresh: want a positive duration")
	case o.check && o.duration < minCheck:
		return fmt.Errorf("--check: want --for %v or longer", minCheck)
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run parses the arguments, runs the crowd and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("crowd", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.hubs, "hubs", 3, "number of hubs")
	flags.IntVar(&o.sessions, "sessions", 2000, "number of sessions")
	flags.IntVar(&o.tabs, "tabs", 300, "number of tabs that are open at a time; each is closed and replaced after some seconds")
	flags.Float64Var(&o.rate, "rate", 10, "messages per second of all tabs together")
	flags.DurationVar(&o.duration, "for", 0, "duration of the run; 0 runs until an interrupt")
	flags.BoolVar(&o.check, "check", false, "check the admin views, and measure what they cost")
	flags.DurationVar(&o.maxAge, "fresh", 2*time.Second, "maximum age of changes in the live stream, for --check (p99)")
	flags.StringVar(&o.hub, "hub", "", "path of the hub; built if empty")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	}
	err := o.validate()
	if flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(stderr, "crowd:", err)
		return exitUsage
	}
	if err := runCrowd(ctx, o, stdout); err != nil {
		fmt.Fprintln(stderr, "crowd:", err)
		return exitFailure
	}
	return exitOK
}

// runCrowd starts the environment and the crowd, and checks or reports until the run ends.
func runCrowd(ctx context.Context, o options, stdout io.Writer) error {
	dir, err := os.MkdirTemp("", "everdesk-crowd-")
	if err != nil {
		return fmt.Errorf("create a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	e, stop, err := startEnvironment(ctx, o, dir, stdout)
	defer stop()
	if err != nil {
		return ignoreIfStopped(ctx, err)
	}
	running, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	e.surviveHubExit = !o.check
	e.watchProcesses(running, &wg, cancel)
	cr, err := newCrowd(running, e, o, stdout)
	if err != nil {
		return ignoreIfStopped(ctx, causeOr(running, err))
	}
	fmt.Fprintf(stdout, "\n  open    %s/admin?token=%s\n\n", e.hubs[0].url, e.token)
	wg.Go(func() { cr.run(running) })
	if o.check {
		err = cr.check(running, o.duration, o.maxAge, stdout)
	} else {
		err = cr.report(running, o.duration, stdout)
	}
	return ignoreIfStopped(ctx, causeOr(running, err))
}

// causeOr returns the cause if ctx has ended, else err.
func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// ignoreIfStopped returns nil if ctx has ended, because a signal is a regular end, else err.
func ignoreIfStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // stopped by a signal
	}
	return err
}

// report prints the numbers of tabs and messages and the resource usage every second, until the run
// ends.
func (cr *crowd) report(ctx context.Context, last time.Duration, stdout io.Writer) error {
	if last > 0 {
		limited, cancel := context.WithTimeout(ctx, last)
		defer cancel()
		ctx = limited
	}
	begin := time.Now()
	before, err := cr.env.measure(ctx)
	if err != nil {
		return err
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for hubs := len(cr.env.hubs); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if left := cr.env.usableHubs(); len(left) < hubs {
			hubs = len(left)
			fmt.Fprintf(stdout, "A hub has exited; %d are running. The admin page is also at %s/admin?token=%s\n", hubs, left[0].url, cr.env.token)
		}
		now, err := cr.env.measure(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%4.0fs  %d sessions  %d tabs  %d messages, %d refused  %s\n",
			time.Since(begin).Seconds(), len(cr.sessions), cr.tabCount(), cr.accepted.Load(), cr.refused.Load(), now.since(before))
		before = now
	}
}

// pause waits for d. It returns the cause if ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// forEach calls do for 0 to n-1, eight at a time, until the first error, which it returns.
func forEach(ctx context.Context, n int, do func(i int) error) error {
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

// api returns a client of a hub's REST API with a token.
func (e *environment) api(hub int, token string) rig.APIClient {
	return rig.APIClient{URL: e.hubs[hub].url, Token: token, Client: e.client}
}
