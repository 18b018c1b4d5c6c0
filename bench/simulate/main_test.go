//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/bench/rig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small are the flags of a world that takes a moment.
const small = "--replicas 6 --sessions 600 --masters 1,3 --streaming 0.05 --surge 2 --warm 5s --last 20s "

// play runs the program and returns what it prints.
func play(t *testing.T, args string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), strings.Fields(args), &stdout, &stderr); code != exitOK {
		t.Fatalf("%s: exit code %d\n%s", args, code, &stderr)
	}
	return stdout.String()
}

func TestSameSeedSameFigures(t *testing.T) {
	t.Parallel()
	first, again, other := play(t, small+"all"), play(t, small+"all"), play(t, small+"--seed 2 all")
	if first != again {
		t.Errorf("the same seed gave other figures:\n%s\n%s", first, again)
	}
	_, figures, _ := strings.Cut(first, "\n")
	if _, others, _ := strings.Cut(other, "\n"); figures == others {
		t.Error("another seed gave the same figures: nothing is left to chance")
	}
	for _, sc := range scenarios() {
		if n := strings.Count(first, "| "+sc.name+" | "); n != 4 {
			t.Errorf("%s has %d rows, want one per table and number of masters:\n%s", sc.name, n, first)
		}
	}
}

// A Redis that is twice as slow must be twice as busy, or the table of costs is
// not what the model is built on.
func TestFiguresComeFromTheFile(t *testing.T) {
	t.Parallel()
	table, err := readCosts(costsFile)
	if err != nil {
		t.Fatal(err)
	}
	twice := table
	for i := range twice {
		twice[i].CPU *= 2
	}
	cfg := tiny()
	once, double := calm(t, cfg, table), calm(t, cfg, twice)
	if ratio := double.load / once.load; ratio < 1.9 || ratio > 2.1 {
		t.Errorf("twice the costs: %.2f times the load", ratio)
	}
	file := t.TempDir() + "/costs.json"
	if err := os.WriteFile(file, bytes.ReplaceAll(costsFile, []byte(`"cpu_us": `), []byte(`"cpu_us": 9`)), 0o600); err != nil {
		t.Fatal(err)
	}
	if play(t, small+"steady") == play(t, small+"--costs "+file+" steady") {
		t.Error("another file of costs makes no difference")
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	broken := t.TempDir() + "/costs.json"
	if err := os.WriteFile(broken, []byte(`{"costs":[{"op":"claim","cpu_us":1}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"":                               {exitUsage, "which scenario"},
		"earthquake":                     {exitUsage, `no scenario "earthquake"`},
		"--masters 0 steady":             {exitUsage, "--masters"},
		"--masters 1,x steady":           {exitUsage, "--masters"},
		"--idle 0.9 --streaming 0.2 cut": {exitUsage, "--idle"},
		"--replicas 1 steady":            {exitUsage, "--replicas"},
		"--lease 1s steady":              {exitUsage, "--lease"},
		"--warm 1ms steady":              {exitUsage, "--warm"},
		"--costs /nowhere steady":        {exitFailure, "no such file"},
		"--costs " + broken + " steady":  {exitFailure, "no figure for"},
		"--dance":                        {exitUsage, "not defined"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), &stdout, &stderr); code != want.code || !strings.Contains(stderr.String(), want.says) {
			t.Errorf("%q: exit code %d, want %d; says %s", args, code, want.code, &stderr)
		}
	}
}

// Every operation can be measured on a real Redis, if not precisely in so short a
// time, and what comes of it is a table that the model takes.
func TestMeasure(t *testing.T) {
	t.Parallel()
	server, url, err := rig.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	found, err := measure(t.Context(), url, effort{sessions: 2 * probeStores, rounds: 4, times: 1, watch: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(costs{Costs: found})
	if err != nil {
		t.Fatal(err)
	}
	table, err := readCosts(file)
	if err != nil {
		t.Fatal(err)
	}
	for o, command := range map[op]string{opRenew: "evalsha", opCommit: "exec", opPublish: "spublish", opCheck: "hget"} {
		if n := table[o].Commands[command]; n < 0.4 || n > 1.6 {
			t.Errorf("%q calls %s %.2f times, want once", o, command, n)
		}
	}
	if n := table[opSweep].Commands["zrange"]; n != partitions {
		t.Errorf("a sweep looks at %v partitions", n)
	}
}

// Real hubs are compared with the model. Whether they agree is for a quiet
// machine and a longer time.
func TestValidate(t *testing.T) {
	t.Parallel()
	table, err := readCosts(costsFile)
	if err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	err = validate(t.Context(), table, 1, rehearsal{sessions: 40, settle: time.Second, last: 2 * time.Second}, &stdout)
	if err != nil && !strings.Contains(err.Error(), ", model ") {
		t.Fatal(err)
	}
	for _, name := range []string{"all commands", "evalsha", "exec", "bytes in"} {
		if !strings.Contains(stdout.String(), "\n| "+name) {
			t.Errorf("no row for %s:\n%s", name, &stdout)
		}
	}
}
