//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var cfg settings
	var masters, costsPath string
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	cfg.register(flags)
	flags.StringVar(&masters, "masters", "1,3,6", "how many Redis masters there are, each in a run of its own")
	flags.StringVar(&costsPath, "costs", "", "another file of measured costs than the one that is built in")
	flags.Usage = func() { usage(stderr, flags) }
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	}
	names := flags.Args()
	if slices.Equal(names, []string{"measure"}) {
		return ended(measureTo(ctx, stdout), stderr)
	}
	table, err := costsFrom(costsPath)
	if err != nil {
		return ended(err, stderr)
	}
	if slices.Equal(names, []string{"validate"}) {
		return ended(validate(ctx, table, cfg.seed, rehearsal{sessions: 300, settle: 10 * time.Second, last: 30 * time.Second}, stdout), stderr)
	}
	chosen, err := rig.Choose(scenarios(), func(sc scenario) string { return sc.name }, names)
	counts, wrong := cfg.check(masters)
	if err = errors.Join(err, wrong); err != nil {
		fmt.Fprintln(stderr, "simulate:", err)
		return exitUsage
	}
	return ended(playAll(ctx, chosen, counts, cfg, table, stdout), stderr)
}

// playAll runs scenarios and prints what came of them.
func playAll(ctx context.Context, chosen []scenario, masters []int, cfg settings, table [ops]cost, stdout io.Writer) error {
	fmt.Fprintln(stdout, cfg)
	var all []outcome
	for _, sc := range chosen {
		for _, n := range masters {
			cfg.masters = n
			o, err := sc.play(ctx, cfg, table)
			if err != nil {
				return err
			}
			all = append(all, o)
		}
	}
	printAll(stdout, all, table)
	return nil
}

func ended(err error, stderr io.Writer) int {
	if err != nil {
		fmt.Fprintln(stderr, "simulate:", err)
		return exitFailure
	}
	return exitOK
}

func usage(w io.Writer, flags *flag.FlagSet) {
	fmt.Fprintln(w, "usage: simulate [flags] all | measure | validate | SCENARIO…")
	for _, sc := range scenarios() {
		fmt.Fprintf(w, "  %-14s %s\n", sc.name, sc.help)
	}
	fmt.Fprintln(w, "  measure        print what operations cost a real Redis, in the form of costs.json")
	fmt.Fprintln(w, "  validate       compare the model with three real hubs and 300 sessions")
	fmt.Fprintln(w, "flags:")
	flags.PrintDefaults()
}

// costsFrom reads costs from a file, or those that are built in.
func costsFrom(path string) ([ops]cost, error) {
	if path == "" {
		return readCosts(costsFile)
	}
	file, err := os.ReadFile(path) //nolint:gosec // the file the caller names
	if err != nil {
		return [ops]cost{}, fmt.Errorf("read the measured costs: %w", err)
	}
	return readCosts(file)
}

// measureTo measures costs on a Redis of its own and writes them as costs.json.
func measureTo(ctx context.Context, w io.Writer) error {
	dir, err := os.MkdirTemp("", "everdesk-simulate-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, url, err := rig.StartRedis(ctx, dir)
	if err != nil {
		return err
	}
	defer server.Stop()
	found, err := measure(ctx, url, properly())
	if err != nil {
		return err
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(costs{
		Measured: fmt.Sprintf("go run ./bench/simulate measure, %s, %d processors, %s",
			time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.Version()),
		Costs: found,
	})
}
