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

// A small crowd on two hubs: everything is seen from both.
func TestSmallCrowd(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	// It ends by itself, and with what was seen so far, before the test does.
	ctx, cancel := context.WithTimeoutCause(t.Context(), 8*time.Minute, errors.New("the small crowd takes too long"))
	defer cancel()
	if err := smallCrowd(ctx, t, &out); err != nil {
		t.Errorf("%v\n%s", causeOr(ctx, err), &out)
	}
}

func smallCrowd(ctx context.Context, t *testing.T, out *bytes.Buffer) error {
	t.Helper()
	o := options{hubs: 2, sessions: 40, tabs: 8, rate: 5}
	s, stop, err := newStage(ctx, o, t.TempDir())
	defer stop()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	s.guard(ctx, &wg, cancel)
	all, err := newTown(ctx, s, o, out)
	if err != nil {
		return causeOr(ctx, err)
	}
	wg.Go(func() { all.live(ctx) })
	a := &auditor{town: all, out: out}
	err = a.until(ctx, "the live stream shows everything", func(ctx context.Context) (bool, error) {
		v, err := s.watch(ctx, 1, 3*time.Second)
		if err != nil {
			return false, err
		}
		if len(v.rows) != o.sessions || v.overviews == 0 || v.bytes == 0 || v.whole < v.first {
			return false, fmt.Errorf("%d rows, %d overviews in %d bytes, %v until the first, %v until all", len(v.rows), v.overviews, v.bytes, v.first, v.whole)
		}
		return true, nil
	})
	if err == nil {
		err = a.all(ctx)
	}
	if err = errors.Join(err, a.verdict()); err != nil {
		return causeOr(ctx, err)
	}
	used, err := all.during(ctx, func() error { return pause(ctx, 100*time.Millisecond) })
	if err == nil && (used.commands <= 0 || used.resident <= 0) {
		err = fmt.Errorf("used %+v", used)
	}
	return causeOr(ctx, err)
}

// A look that nobody answers is not waited for any longer than any other.
func TestLookIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		a := &auditor{town: &town{stage: &stage{}}, out: &out}
		begin := time.Now()
		err := a.until(t.Context(), "an answer", func(ctx context.Context) (bool, error) {
			<-ctx.Done()
			return false, errors.New("no answer")
		})
		if err != nil || time.Since(begin) != soon || len(a.missing) != 1 || a.missing[0] != "an answer: no answer" {
			t.Errorf("%v after %v, missing %q", err, time.Since(begin), a.missing)
		}
		why := errors.New("changed my mind")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		err = a.until(ctx, "more", func(context.Context) (bool, error) { return false, nil })
		if !errors.Is(err, why) || len(a.missing) != 1 {
			t.Errorf("%v, missing %q", err, a.missing)
		}
	})
}

// When a process ends by itself, everybody is told which one, with its last words.
func TestGuard(t *testing.T) {
	t.Parallel()
	p, _, err := rig.Start(t.Context(), "ready", "sh", "-c", "echo ready; read line; echo out of luck")
	if err == nil {
		<-p.Gone() // there is nothing to read
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
	(&stage{redis: lasting, hubs: []hub{{"hub-1", "", p}}}).guard(ctx, &wg, cancel)
	wg.Wait()
	if err := context.Cause(ctx); err == nil || !strings.HasPrefix(err.Error(), "hub-1 has ended by itself") || !strings.Contains(err.Error(), "out of luck") {
		t.Errorf("said %v", err)
	}
	// Who is only looked at goes on with the hub that is left.
	looked, end := context.WithCancelCause(t.Context())
	s := &stage{redis: lasting, hubs: []hub{{"hub-1", "", p}, {"hub-2", "", lasting}}, goesOn: true}
	s.guard(looked, &wg, end)
	if left := s.alive(); len(left) != 1 || left[0].name != "hub-2" || looked.Err() != nil {
		t.Errorf("%d are left, %v", len(left), context.Cause(looked))
	}
	end(nil)
	wg.Wait()
	if err := context.Cause(looked); !errors.Is(err, context.Canceled) {
		t.Errorf("gave up: %v", err)
	}
}

// What is missing is found.
func TestMissing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &auditor{town: &town{stage: &stage{}, desks: make([]desk, 3), here: nil}, out: &out}
	a.figures(rates{}, rates{}, &seen{took: time.Second, rows: map[wire.SessionID]wire.Millis{"a": 1}})
	err := a.verdict()
	if err == nil || !strings.Contains(err.Error(), "shows 1 sessions of 3") || !strings.Contains(err.Error(), "no overview") {
		t.Errorf("said %v\n%s", err, &out)
	}
}

// A change is as old as its newest event when it comes; what was there before has no
// age.
func TestAges(t *testing.T) {
	t.Parallel()
	v := &seen{rows: map[wire.SessionID]wire.Millis{}}
	stream := `: here you are

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
	if len(v.ages) != 1 || v.ages[0] < time.Hour || len(v.samples) != 1 || len(v.rows) != 1 || v.changes != 4 || v.overviews != 1 || v.bytes != int64(len(stream)) {
		t.Errorf("%+v", v)
	}
	if err := v.read(strings.NewReader("event: problem\ndata: {}\n\n"), time.Now()); err == nil {
		t.Error("a stream that the hub ends is taken for a good one")
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	all := []time.Duration{5, 1, 4, 2, 3}
	if quantile(all, 0.5) != 3 || quantile(all, 0.99) != 5 || quantile(nil, 0.5) != 0 {
		t.Errorf("%v %v", quantile(all, 0.5), quantile(all, 0.99))
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]struct {
		code int
		says string
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
		if code := run(t.Context(), strings.Fields(args), &stdout, &stderr); code != want.code || !strings.Contains(stderr.String(), want.says) {
			t.Errorf("%q: exit code %d, want %d; says %s", args, code, want.code, &stderr)
		}
	}
}

// Told to stop, it ends without a complaint.
func TestStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	if code := run(ctx, nil, &stdout, &stderr); code != exitOK || stderr.Len() > 0 {
		t.Errorf("exit code %d, %s", code, &stderr)
	}
}
