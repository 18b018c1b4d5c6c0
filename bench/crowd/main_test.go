//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/bench/rig"
	"github.com/everdesk/everdesk/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A small crowd on two hubs passes all checks.
func TestSmallCrowd(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	// The run ends before the test's own timeout, so that its output is printed.
	ctx, cancel := context.WithTimeoutCause(t.Context(), 8*time.Minute, errors.New("the small crowd did not finish in time"))
	defer cancel()
	if err := runSmallCrowd(ctx, t, &out); err != nil {
		t.Errorf("%v\n%s", causeOr(ctx, err), &out)
	}
	// What takes long is announced before it begins.
	if want := "starting Redis and 2 hubs\ncreating 40 sessions\n2 hubs, 40 sessions of "; !strings.HasPrefix(out.String(), want) {
		t.Errorf("output: got %q, want %q at its begin", &out, want)
	}
}

func runSmallCrowd(ctx context.Context, t *testing.T, out *bytes.Buffer) error {
	t.Helper()
	o := options{hubs: 2, sessions: 40, tabs: 8, rate: 5}
	s, stop, err := startEnvironment(ctx, o, t.TempDir(), out)
	defer stop()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	s.watchProcesses(ctx, &wg, cancel)
	all, err := newCrowd(ctx, s, o, out)
	if err != nil {
		return causeOr(ctx, err)
	}
	wg.Go(func() { all.run(ctx) })
	c := &checker{crowd: all, out: out}
	err = c.retry(ctx, "the live stream has all sessions", func(ctx context.Context) (bool, error) {
		v, err := s.watchStream(ctx, 1, 3*time.Second)
		if err != nil {
			return false, err
		}
		if len(v.rows) != o.sessions || v.overviews == 0 || v.bytes == 0 || v.wholeTable < v.firstEvent {
			return false, fmt.Errorf("%d rows, %d overviews in %d bytes, %v until the first, %v until all", len(v.rows), v.overviews, v.bytes, v.firstEvent, v.wholeTable)
		}
		return true, nil
	})
	if err == nil {
		err = c.checkAll(ctx)
	}
	if err = errors.Join(err, c.result()); err != nil {
		return causeOr(ctx, err)
	}
	used, err := all.measureDuring(ctx, func() error { return pause(ctx, 100*time.Millisecond) })
	if err == nil && (used.commands <= 0 || used.resident <= 0) {
		err = fmt.Errorf("usage is %+v, want commands and memory above 0", used)
	}
	return causeOr(ctx, err)
}

// An attempt without an answer ends at the timeout of the check.
func TestRetryTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c := &checker{crowd: &crowd{env: &environment{}}, out: &out}
		begin := time.Now()
		err := c.retry(t.Context(), "an answer", func(ctx context.Context) (bool, error) {
			<-ctx.Done()
			return false, errors.New("no answer")
		})
		if err != nil || time.Since(begin) != checkTimeout || len(c.failures) != 1 || c.failures[0] != "an answer: no answer" {
			t.Errorf("got error %v after %v and failures %q, want one failure after the timeout", err, time.Since(begin), c.failures)
		}
		why := errors.New("canceled by the test")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		err = c.retry(ctx, "more", func(context.Context) (bool, error) { return false, nil })
		if !errors.Is(err, why) || len(c.failures) != 1 {
			t.Errorf("got error %v and failures %q, want no new failure", err, c.failures)
		}
	})
}

// When a process exits on its own, the run ends with its name and the end of its output.
func TestWatchProcesses(t *testing.T) {
	t.Parallel()
	p, _, err := rig.Start(t.Context(), "ready", "sh", "-c", "echo ready; read line; echo out of luck")
	if err == nil {
		<-p.Exited() // standard input is empty
	} else {
		t.Fatal(err)
	}
	lasting, _, err := rig.Start(t.Context(), "ready", "sh", "-c", "echo ready; exec sleep 1000")
	if err != nil {
		t.Fatal(err)
	}
	defer lasting.Stop()
	ctx, cancel := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	(&environment{redis: lasting, hubs: []hub{{"hub-1", "", p}}}).watchProcesses(ctx, &wg, cancel)
	wg.Wait()
	if err := context.Cause(ctx); err == nil || !strings.HasPrefix(err.Error(), "hub-1 exited on its own") || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("got cause %v, want the name and the output of the process", err)
	}
	// With surviveHubExit the run continues with the remaining hub.
	surviving, end := context.WithCancelCause(t.Context())
	s := &environment{redis: lasting, hubs: []hub{{"hub-1", "", p}, {"hub-2", "", lasting}}, surviveHubExit: true}
	s.watchProcesses(surviving, &wg, end)
	if left := s.usableHubs(); len(left) != 1 || left[0].name != "hub-2" || surviving.Err() != nil {
		t.Errorf("%d hubs are usable, cause %v; want hub-2 and no cause", len(left), context.Cause(surviving))
	}
	end(nil)
	wg.Wait()
	if err := context.Cause(surviving); !errors.Is(err, context.Canceled) {
		t.Errorf("got cause %v, want no exit of a process", err)
	}
}

// printFigures records missing sessions and overviews as failures.
func TestPrintFiguresFindsMissing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &checker{crowd: &crowd{env: &environment{}, sessions: make([]simSession, 3), openTabs: nil}, out: &out}
	c.printFigures(rates{}, rates{}, &streamStats{duration: time.Second, rows: map[wire.SessionID]wire.Millis{"a": 1}})
	err := c.result()
	if err == nil || !strings.Contains(err.Error(), "has 1 sessions of 3") || !strings.Contains(err.Error(), "no overview") {
		t.Errorf("got error %v, want missing sessions and overview\n%s", err, &out)
	}
}

// Changes after the whole table are measured by the time of their newest event; rows of the table
// itself are not.
func TestStreamStats(t *testing.T) {
	t.Parallel()
	v := &streamStats{rows: map[wire.SessionID]wire.Millis{}}
	stream := `: stream

event: rows
data: {"full":true,"more":true,"rows":[{"sessionId":"a","updatedAt":1}]}

event: rows
data: {"full":true,"rows":[{"sessionId":"b","updatedAt":2}]}

event: rows
data: {"rows":[{"sessionId":"a","updatedAt":5},{"sessionId":"b","updatedAt":2}]}

event: rows
data: {"gone":["b"]}

event: overview
data: {"replicas":[{"id":"one","sampledAt":7},{"id":"two"}]}

`
	if err := v.read(strings.NewReader(stream), time.Now()); err != nil {
		t.Fatal(err)
	}
	if len(v.ages) != 1 || v.ages[0] < time.Hour || len(v.sampleAges) != 1 || len(v.rows) != 1 || v.changes != 4 || v.overviews != 1 || v.bytes != int64(len(stream)) {
		t.Errorf("got %+v, want 1 age, 1 sample, 1 row, 4 changes, 1 overview and %d bytes", v, len(stream))
	}
	if err := v.read(strings.NewReader("event: problem\ndata: {}\n\n"), time.Now()); err == nil {
		t.Error("a stream with a problem: got no error, want one")
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	all := []time.Duration{5, 1, 4, 2, 3}
	if quantile(all, 0.5) != 3 || quantile(all, 0.99) != 5 || quantile(nil, 0.5) != 0 {
		t.Errorf("quantiles are %v and %v, want 3 and 5", quantile(all, 0.5), quantile(all, 0.99))
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]struct {
		code int
		want string
	}{
		"--help":             {exitOK, "-sessions"},
		"--hubs 0":           {exitUsage, "--hubs"},
		"--sessions 3":       {exitUsage, "--sessions"},
		"--tabs -1":          {exitUsage, "--tabs"},
		"--rate -1":          {exitUsage, "--rate"},
		"--check":            {exitUsage, "--for"},
		"--check --for 1s":   {exitUsage, "--for"},
		"--fresh 0s":         {exitUsage, "--fresh"},
		"now":                {exitUsage, `unexpected argument "now"`},
		"--hub /nowhere/hub": {exitFailure, "no such file"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), &stdout, &stderr); code != want.code || !strings.Contains(stderr.String(), want.want) {
			t.Errorf("%q: exit code %d, want %d; output %s", args, code, want.code, &stderr)
		}
	}
}

// A signal ends the run without an error.
func TestStopsOnSignal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	if code := run(ctx, nil, &stdout, &stderr); code != exitOK || stderr.Len() > 0 {
		t.Errorf("exit code %d, output %q; want 0 and none", code, &stderr)
	}
}
