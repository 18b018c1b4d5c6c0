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
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/everdesk/everdesk/bench/rig"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // a fault, or with --enforce a figure above its limit
	exitUsage   = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run parses the arguments, runs the scenarios and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var (
		o       options
		hub     string
		servers string
		enforce bool
	)
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.rounds, "rounds", 3, "number of rounds per server; medians are reported")
	flags.DurationVar(&o.duration, "duration", 5*time.Second, "time in which events are published, per round")
	flags.DurationVar(&o.hold, "hold", 40*time.Second, "time for which idle connections are held; longer than a heartbeat")
	flags.IntVar(&o.sessions, "sessions", 0, "sessions, instead of the scenario's own number")
	flags.IntVar(&o.tabs, "tabs", 0, "tabs per session, instead of the scenario's own number")
	flags.IntVar(&o.window, "window", 0, "undelivered events per session at full rate, instead of the scenario's own number")
	flags.StringVar(&servers, "servers", "", "only these, separated by commas: file, floor, redis, batch, replicas, centrifuge, centrifuge-memory, centrifuge-replicas")
	flags.StringVar(&hub, "hub", "", "path of the hub; built if empty")
	flags.BoolVar(&enforce, "enforce", false, "exit with 1 if a figure is above its limit")
	flags.Usage = func() { usage(stderr, flags) }
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	}
	switch names := flags.Args(); {
	case slices.Equal(names, []string{"floor"}):
		return exitCode(runFloor(ctx, stdout), stderr)
	case len(names) > 0 && names[0] == "centrifuge":
		return exitCode(runCentrifuge(ctx, stdout, names[1:]), stderr)
	}
	chosen, err := selectScenarios(flags.Args())
	if err != nil {
		fmt.Fprintln(stderr, "load:", err)
		return exitUsage
	}
	if servers != "" {
		o.servers = strings.Split(servers, ",")
	}
	p := &report{stdout: stdout, stderr: stderr}
	if err := p.collect(ctx, chosen, hub, o); err != nil {
		return exitCode(err, stderr)
	}
	p.table()
	if ok := p.checkLimits(); p.hasFailures() || enforce && !ok {
		return exitFailure
	}
	return exitOK
}

// selectScenarios returns the scenarios with the given names. The name all selects those without a
// peer, the name peers those with one.
func selectScenarios(names []string) ([]scenario, error) {
	name := func(sc scenario) string { return sc.name }
	switch {
	case slices.Equal(names, []string{"all"}):
		return scenarios(), nil
	case slices.Equal(names, []string{peers}):
		return peerScenarios(), nil
	}
	return rig.SelectScenarios(slices.Concat(scenarios(), peerScenarios()), name, names)
}

func exitCode(err error, stderr io.Writer) int {
	if err != nil {
		fmt.Fprintln(stderr, "load:", err)
		return exitFailure
	}
	return exitOK
}

func usage(w io.Writer, flags *flag.FlagSet) {
	fmt.Fprintln(w, "usage: load [flags] all | peers | floor | centrifuge [REDIS-URL] | SCENARIO…")
	for _, sc := range slices.Concat(scenarios(), peerScenarios()) {
		fmt.Fprintf(w, "  %-14s %s\n", sc.name, sc.help)
	}
	fmt.Fprintln(w, "flags:")
	flags.PrintDefaults()
}

// collect runs the scenarios one after the other.
func (p *report) collect(ctx context.Context, chosen []scenario, hub string, o options) error {
	if err := raiseLimit(chosen); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "everdesk-load-")
	if err != nil {
		return fmt.Errorf("create a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := newServerStarter(ctx, hub, dir)
	if err != nil {
		return err
	}
	for _, sc := range chosen {
		if err := sc.runRounds(ctx, st, o, p); err != nil {
			return err
		}
	}
	return nil
}

// raiseLimit raises the limit of open files to the hard limit; child processes inherit it.
func raiseLimit(chosen []scenario) error {
	const besides = 100
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	l.Cur = l.Max
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("raise the limit of open files: %w", err)
	}
	for _, sc := range chosen {
		if need := sc.sessions*(sc.tabs+1) + besides; uint64(need) > l.Max { //nolint:gosec // a count
			return fmt.Errorf("%s needs %d open files in one process, and the limit is %d: raise it with ulimit -n", sc.name, need, l.Max)
		}
	}
	return nil
}
