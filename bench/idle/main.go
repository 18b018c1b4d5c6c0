//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/bench/rig"
	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/wire"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// options are the values of the flags.
type options struct {
	hubs, sessions, followed int
	settle, measure          time.Duration
	maxCalls                 float64
	program                  string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run parses the arguments, measures and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("idle", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.hubs, "hubs", 3, "number of hubs")
	flags.IntVar(&o.sessions, "sessions", 1000, "number of sessions with a tab")
	flags.IntVar(&o.followed, "followed", 0, "number of sessions that have a second tab at another hub")
	flags.DurationVar(&o.settle, "settle", 15*time.Second, "time before the measurement")
	flags.DurationVar(&o.measure, "for", 30*time.Second, "time of the measurement")
	flags.Float64Var(&o.maxCalls, "max-calls", 0, "exit with 1 if Redis executes more calls per second; 0 for no limit")
	flags.StringVar(&o.program, "hub", "", "path of the hub; built if empty")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	}
	if o.hubs < 1 || o.sessions < 1 || o.followed < 0 || o.followed > o.sessions || o.followed > 0 && o.hubs < 2 {
		fmt.Fprintln(stderr, "idle: want at least one hub and one session, and not more followed sessions than sessions")
		return exitUsage
	}
	calls, err := measure(ctx, o, stdout)
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "idle:", err)
		return exitFailure
	case o.maxCalls > 0 && calls > o.maxCalls:
		fmt.Fprintf(stderr, "idle: %.0f calls per second, want at most %.0f\n", calls, o.maxCalls)
		return exitFailure
	}
	return exitOK
}

// measure runs hubs with idle sessions, prints what they cost and returns the calls of Redis per
// second.
func measure(ctx context.Context, o options, out io.Writer) (float64, error) {
	dir, err := os.MkdirTemp("", "idle-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if o.program == "" {
		if o.program, err = rig.BuildHub(ctx, dir); err != nil {
			return 0, err
		}
	}
	server, store, err := rig.StartRedis(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer server.Stop()
	parsed, err := redis.ParseURL(store)
	if err != nil {
		return 0, err
	}
	stats := redis.NewClient(parsed)
	defer func() { _ = stats.Close() }()
	hubs, stop, err := startHubs(ctx, o, dir, store)
	defer stop()
	if err != nil {
		return 0, err
	}
	tabs, closeTabs := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer closeTabs()
	if err := openTabs(tabs, &wg, o, hubs); err != nil {
		return 0, err
	}
	if err := pause(ctx, o.settle); err != nil {
		return 0, err
	}
	before, err := rig.ReadRedisStats(ctx, stats)
	if err != nil {
		return 0, err
	}
	cpu := make([]time.Duration, len(hubs))
	for i, h := range hubs {
		if cpu[i], err = rig.CPU(h.process.PID()); err != nil {
			return 0, err
		}
	}
	if err := pause(ctx, o.measure); err != nil {
		return 0, err
	}
	after, err := rig.ReadRedisStats(ctx, stats)
	if err != nil {
		return 0, err
	}
	rates := after.Rate(before)
	calls := printCalls(out, o, rates)
	for i, h := range hubs {
		now, err := rig.CPU(h.process.PID())
		resident, err2 := rig.Resident(h.process.PID())
		if err := errors.Join(err, err2); err != nil {
			return 0, err
		}
		share := (now - cpu[i]).Seconds() / after.At.Sub(before.At).Seconds()
		fmt.Fprintf(out, "hub-%d: %.1f %% of a core, %d MiB\n", i+1, 100*share, resident>>10)
	}
	return calls, nil
}

// printCalls prints the calls of Redis and returns their sum.
func printCalls(out io.Writer, o options, rates rig.RedisStats) float64 {
	total := 0.0
	for _, n := range rates.Calls {
		total += n
	}
	fmt.Fprintf(out, "%d idle sessions, %d of them followed, %d hubs: Redis executes %.0f calls per second, %.1f %% of a core\n",
		o.sessions, o.followed, o.hubs, total, 100*rates.CPU)
	names := slices.SortedFunc(maps.Keys(rates.Calls), func(a, b string) int { return cmp.Compare(rates.Calls[b], rates.Calls[a]) })
	for _, name := range names {
		fmt.Fprintf(out, "  %-16s %8.1f\n", name, rates.Calls[name])
	}
	return total
}

// hub is a running hub.
type hub struct {
	process *rig.Process
	api     rig.APIClient
}

// startHubs starts the hubs and returns them with the function that stops them.
func startHubs(ctx context.Context, o options, dir, store string) (hubs []hub, stop func(), err error) {
	stop = func() {
		for _, h := range hubs {
			h.process.Stop()
		}
	}
	for i := range o.hubs {
		p, printed, err := rig.StartHub(ctx, o.program, "--replica-id", "hub-"+strconv.Itoa(i+1), "--addr", "127.0.0.1:0", "--apps-addr", "off",
			"--store", store, "--files-dir", filepath.Join(dir, "files"), "--provider", "demo", "--rate-limits", "off",
			"--shutdown-grace", "1s", "--log-level", "error")
		if err != nil {
			return hubs, stop, err
		}
		hubs = append(hubs, hub{process: p})
		u, err := url.Parse(strings.TrimSpace(printed))
		if err != nil {
			return hubs, stop, fmt.Errorf("read the address of a hub: %w", err)
		}
		hubs[i].api = rig.APIClient{URL: "http://" + u.Host, Token: u.Query().Get("token"), Client: http.DefaultClient}
	}
	return hubs, stop, nil
}

// openers bounds the tabs that are opened at the same time.
const openers = 16

// openTabs creates the sessions and opens their tabs, which stay open until ctx ends. Each session
// is owned by the hub of its first tab.
func openTabs(ctx context.Context, wg *sync.WaitGroup, o options, hubs []hub) error {
	slots, errs := make(chan struct{}, openers), make(chan error, o.sessions)
	for i := range o.sessions {
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			first := hubs[i%len(hubs)]
			id, err := first.api.CreateSession(ctx, "")
			if err == nil {
				err = openTab(ctx, wg, first, id)
			}
			if err == nil && i < o.followed {
				err = openTab(ctx, wg, hubs[(i+1)%len(hubs)], id)
			}
			errs <- err
		}()
	}
	for range o.sessions {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// openTab opens a tab and returns when it has the state of the session.
func openTab(ctx context.Context, wg *sync.WaitGroup, h hub, id wire.SessionID) error {
	c, err := client.New(client.Config{URL: h.api.URL, Session: id, Token: h.api.Token})
	if err != nil {
		return err
	}
	wg.Go(func() { _ = c.Run(ctx) })
	select {
	case <-c.Ready():
		return nil
	case <-time.After(time.Minute):
		return fmt.Errorf("tab of session %s is not ready after a minute", id)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pause waits for d, or returns the error of ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
