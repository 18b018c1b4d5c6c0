//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/everdesk/everdesk/bench/rig"
	"github.com/everdesk/everdesk/providers/acp/acptest"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/wire"
)

// standInHome is the variable that turns this program into the scripted agent. Its value is the folder of
// conversations.
const standInHome = "BENCH_STAND_IN"

// Exit codes.
const (
	exitFailure = 1
	exitUsage   = 2
)

// timeout bounds the turns of all sessions together.
const timeout = 10 * time.Minute

// options are the values of the flags.
type options struct {
	sessions int
	agent    string
	program  string
}

func main() {
	if home := os.Getenv(standInHome); home != "" {
		acptest.Run(home, "load")
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run parses the arguments, measures and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("agents", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.sessions, "sessions", 50, "number of sessions, each with a process")
	flags.StringVar(&o.agent, "agent", "scripted", "scripted, codex or claude")
	flags.StringVar(&o.program, "hub", "", "path of the hub; built if empty")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return exitUsage
	}
	if err := measure(ctx, o, stdout); err != nil {
		fmt.Fprintln(stderr, "agents:", err)
		return exitFailure
	}
	return 0
}

// measure runs a turn in each session and prints the memory.
func measure(ctx context.Context, o options, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	dir, err := os.MkdirTemp("/var/tmp", "bench-agents-") // the sandbox of Codex cannot run what is below /dev
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if o.program == "" {
		if o.program, err = rig.BuildHub(ctx, dir); err != nil {
			return err
		}
	}
	model := fakemodel.New()
	defer model.Close()
	modelURL, err := model.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	settings, err := o.settings(dir, modelURL)
	if err != nil {
		return err
	}
	hub, address, err := rig.StartHub(ctx, o.program, settings...)
	if err != nil {
		return err
	}
	defer hub.Stop()
	base, err := url.Parse(address)
	if err != nil {
		return err
	}
	api := rig.APIClient{URL: base.Scheme + "://" + base.Host, Client: &http.Client{Transport: &http.Transport{}}}
	before, err := rig.Resident(hub.PID())
	if err != nil {
		return err
	}
	began := time.Now()
	if err := runTurns(ctx, api, o.sessions); err != nil {
		return fmt.Errorf("%w\n%s", err, hub.Output())
	}
	took := time.Since(began)
	after, err := rig.Resident(hub.PID())
	if err != nil {
		return err
	}
	processes, memory, largest := below(hub.PID())
	n := float64(o.sessions)
	_, err = fmt.Fprintf(out, "%d sessions with a process each (%s): %d processes, %.1f MB each (%.0f MB together, the largest %.1f MB); the hub grows by %.0f KiB per session to %.0f MB; first turns of all in %.1f s\n",
		o.sessions, o.agent, processes, mb(memory)/n, mb(memory), mb(largest), float64(after-before)/n, mb(after), took.Seconds())
	return err
}

func mb(kib int64) float64 { return float64(kib) / 1024 }

// settings returns the settings of the hub.
func (o options) settings(dir, modelURL string) ([]string, error) {
	s := []string{
		"--addr", "127.0.0.1:0", "--auth", "none", "--rate-limits", "off", "--store", "file:" + filepath.Join(dir, "data"),
		"--agents-folder", filepath.Join(dir, "agents"), "--max-agents", strconv.Itoa(2 * o.sessions), "--warm-providers", "0", "--log-level", "error",
	}
	const key = "sk-bench"
	switch o.agent {
	case "scripted":
		self, err := os.Executable()
		home := filepath.Join(dir, "conversations")
		return append(s, "--provider", "scripted", "--agents", "acp", "--acp-commands", "scripted="+standInHome+"="+home+" "+self), errors.Join(err, os.MkdirAll(home, 0o700))
	case "codex":
		return append(s, "--provider", "codex", "--agents", "codex", "--openai-key", key, "--openai-url", modelURL+"/v1", "--openai-model", "gpt-6.1-sol"), nil
	case "claude":
		return append(s, "--provider", "claude", "--agents", "claude", "--anthropic-key", key, "--anthropic-url", modelURL, "--anthropic-model", "claude-sonnet-4-5"), nil
	default:
		return nil, fmt.Errorf("--agent %s: want scripted, codex or claude", o.agent)
	}
}

// runTurns creates sessions and runs a turn in each, all at once.
func runTurns(ctx context.Context, api rig.APIClient, n int) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = runTurn(ctx, api, i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// runTurn creates a session, sends a message and waits for the answer.
func runTurn(ctx context.Context, api rig.APIClient, i int) error {
	id, err := api.CreateSession(ctx, "session "+strconv.Itoa(i))
	if err != nil {
		return err
	}
	path := "/api/sessions/" + string(id)
	message := map[string]any{"messageId": "m-1", "content": "Say it.\n/say \"all is do\\x6ee\"", "monitorId": wire.MonitorID("monitor-0")}
	if err := api.Do(ctx, http.MethodPost, path+"/messages", message, nil); err != nil {
		return err
	}
	for every := time.NewTicker(200 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("session %d: no answer: %w", i, ctx.Err())
		case <-every.C:
		}
		var rows map[string]any
		if err := api.Do(ctx, http.MethodGet, path+"/rows", nil, &rows); err != nil {
			return err
		}
		if strings.Contains(fmt.Sprint(rows), "all is done") {
			return nil
		}
	}
}

// below returns the number of processes below one, and their proportional memory in KiB.
func below(pid int) (n int, sum, largest int64) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, at := range lists {
		list, err := os.ReadFile(at) //nolint:gosec // a file of /proc
		if err != nil {
			continue // the thread has ended
		}
		for _, word := range strings.Fields(string(list)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				continue
			}
			own := proportional(child)
			more, rest, most := below(child)
			n, sum, largest = n+1+more, sum+own+rest, max(largest, own, most)
		}
	}
	return n, sum, largest
}

// proportional returns the proportional set size of a process in KiB, 0 if it has ended.
func proportional(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)) //nolint:gosec // a file of /proc
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("\nPss:"))
	value, _, _ := bytes.Cut(rest, []byte("kB"))
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64) // 0 if there is none
	return n
}
