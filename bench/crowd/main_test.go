//go:build linux

package main

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A small crowd on two hubs: everything is seen from both.
func TestSmallCrowd(t *testing.T) {
	t.Parallel()
	o := options{hubs: 2, sessions: 40, tabs: 8, rate: 5}
	s, stop, err := newStage(t.Context(), o, t.TempDir())
	defer stop()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	all, err := newTown(t.Context(), s, o, &out)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() { all.live(ctx) })
	v, err := s.watch(t.Context(), 1, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.rows) != o.sessions || v.overviews == 0 || v.bytes == 0 || v.whole < v.first {
		t.Errorf("%d rows, %d overviews in %d bytes, %v until the first, %v until all", len(v.rows), v.overviews, v.bytes, v.first, v.whole)
	}
	a := &auditor{town: all, out: &out}
	if err := a.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.verdict(); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	used, err := all.during(t.Context(), func() error { return pause(t.Context(), 100*time.Millisecond) })
	if err != nil || used.commands <= 0 || used.resident <= 0 {
		t.Errorf("used %+v, %v", used, err)
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
