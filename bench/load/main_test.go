//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/bench/rig"
)

// TestMain runs the floor or the Centrifuge node if the program starts itself as one, as the command
// does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"floor", "centrifuge"}, os.Args[1]) {
		main()
	}
	goleak.VerifyTestMain(m)
}

// Every scenario passes in small size, against the floor, the hub and a real Redis.
func TestAllScenarios(t *testing.T) {
	t.Parallel()
	hub, err := rig.BuildHub(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	args := "--rounds 1 --duration 200ms --hold 100ms --sessions 3 --tabs 3 --hub " + hub + " all"
	if code := run(t.Context(), strings.Fields(args), &stdout, &stderr); code != exitOK {
		t.Fatalf("exit code %d, want %d\n%s\n%s", code, exitOK, &stdout, &stderr)
	}
	got := map[key]bool{}
	for line := range strings.Lines(stdout.String()) {
		var r result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("line %s: %v", line, err)
		}
		got[r.key()] = true
		if r.Sessions != 3 || r.Tabs != 9 {
			t.Errorf("got %d sessions and %d tabs, want 3 and 9: %s", r.Sessions, r.Tabs, line)
		}
		isText := strings.HasPrefix(r.Scenario, "agent")
		if want := r.Events * 3; !isText && r.Scenario != "storm" && r.Deliveries != want {
			t.Errorf("deliveries: got %d, want %d: %s", r.Deliveries, want, line)
		}
		if isText && r.Deliveries == 0 {
			t.Errorf("no tokens were delivered, want some: %s", line)
		}
		if r.Scenario == "storm" && r.Deliveries != 9*100 {
			t.Errorf("deliveries to reconnected tabs: got %d, want 900: %s", r.Deliveries, line)
		}
		if r.Scenario == "dormant-sessions" && (r.RedisKeys != 2 || r.RedisBytes <= 0 || r.RedisBytes > 5000) {
			t.Errorf("a dormant session has %v keys and %v bytes, want 2 and at most 5,000: %s", r.RedisKeys, r.RedisBytes, line)
		}
		if r.Scenario == "many" && (r.Rate <= 0 || r.P99 < r.P50 || r.P50 <= 0) {
			t.Errorf("figures are missing, want a rate and p50 up to p99: %s", line)
		}
		if r.Scenario == "append" && (r.Content == 0 || r.Written < appendBytes) {
			t.Errorf("got windows of %d bytes and %v bytes written per event, want more than 0 and %d: %s", r.Content, r.Written, appendBytes, line)
		}
		if r.Scenario != "append" && r.Envelope != 0 && (r.Envelope < bodySize+100 || r.Envelope > bodySize+180) {
			t.Errorf("envelopes have %d bytes, want 100 to 180 more than %d bytes of data", r.Envelope, bodySize)
		}
	}
	if want := 4 + 4 + 2 + 2 + 2 + 1 + 1 + 1 + 6 + 2 + 2; len(got) != want {
		t.Errorf("kinds of results: got %d, want %d:\n%s", len(got), want, &stdout)
	}
	// Limits of CPU time are missing: the run is too short for the resolution of the CPU clock.
	if !strings.Contains(stderr.String(), "paced: p99 from publishing to delivery") {
		t.Errorf("the limit of p99 is not reported, want it in\n%s", &stderr)
	}
}

// Every scenario with a peer passes in small size.
func TestPeers(t *testing.T) {
	t.Parallel()
	hub, err := rig.BuildHub(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	args := "--rounds 1 --duration 200ms --hold 100ms --sessions 3 --tabs 3 --hub " + hub + " peers"
	if code := run(t.Context(), strings.Fields(args), &stdout, &stderr); code != exitOK {
		t.Fatalf("exit code %d, want %d\n%s\n%s", code, exitOK, &stdout, &stderr)
	}
	var lines int
	for line := range strings.Lines(stdout.String()) {
		var r result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("line %s: %v", line, err)
		}
		lines++
		if r.Scenario == "peers-storm" && r.Deliveries != 9*100 {
			t.Errorf("deliveries to reconnected tabs: got %d, want 900: %s", r.Deliveries, line)
		}
		if r.Scenario != "peers-idle" && (r.Deliveries == 0 || r.P50 <= 0 || r.P99 < r.P50) {
			t.Errorf("figures are missing, want deliveries and p50 up to p99: %s", line)
		}
	}
	if want := 2 + 2 + 2 + 4 + 2 + 2; lines != want {
		t.Errorf("got %d results, want %d:\n%s", lines, want, &stdout)
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]struct {
		code int
		want string
	}{
		"--help":      {exitOK, "usage: load"},
		"":            {exitUsage, "no scenario given"},
		"nonsense":    {exitUsage, `no scenario "nonsense"`},
		"--nope all":  {exitUsage, "-nope"},
		"floor extra": {exitUsage, `no scenario "floor"`},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), &stdout, &stderr); code != want.code {
			t.Errorf("load %s: exit code %d, want %d", args, code, want.code)
		}
		if !strings.Contains(stderr.String(), want.want) {
			t.Errorf("load %s: output %q, want %q", args, &stderr, want.want)
		}
	}
}
