package chaos_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// F11: the clock of one hub is an hour fast, or slow. Leases, takeovers, turns and open questions
// are as with a correct clock.
//
// A Go program asks the kernel for the time without a library in between, so the clock is moved in
// the hub itself: it is built with a package time whose Now is an hour off. That compiles
// everything again, about two minutes of CPU time, and is done for the full run only; the short run
// checks with a small program that clocks can be moved that way.
func TestF11Skew(t *testing.T) {
	t.Parallel()
	overlay := skewedTimeOverlay(t)
	if !plan.Full {
		checkOverlay(t, overlay)
		return
	}
	began := time.Now()
	skewed, err := hubtest.Build(t.Context(), t.TempDir(), "skewed", "-overlay", overlay)
	if err != nil {
		t.Fatal(err)
	}
	kinds := []*skewRun{{skew: time.Hour}, {skew: -time.Hour}, {}}
	runShards(t, len(kinds), func(t *testing.T, shard uint64) {
		t.Helper()
		kinds[shard].run(t, skewed, shard)
	}, func() {
		result := hubtest.Result{Fault: "F11", What: "the clock of one of three hubs is an hour off", Seconds: time.Since(began).Seconds()}
		for _, k := range kinds {
			k.report(t, &result)
		}
		plan.Add(t, result)
	})
}

// skewEnv has the seconds by which a clock is off.
const skewEnv = "EVERDESK_TEST_SKEW"

// skewedTimeOverlay writes an overlay for go build, with the package time of the Go in use except
// for its wall clock; the monotonic clock is unchanged.
func skewedTimeOverlay(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("find GOROOT: %v", err)
	}
	file := filepath.Join(strings.TrimSpace(string(out)), "src", "time", "time.go")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	for _, change := range [][2]string{
		{"sec, nsec, mono := runtimeNow()\n", "sec, nsec, mono := runtimeNow()\n\tsec += skew\n"},
		{"import (\n", "import (\n\t\"syscall\"\n"},
	} {
		if strings.Count(text, change[0]) != 1 {
			t.Fatalf("%s does not have %q once: the patch that shifts the clock must be adapted", file, change[0])
		}
		text = strings.Replace(text, change[0], change[1], 1)
	}
	text += "\nvar skew = func() int64 {\n\ttext, _ := syscall.Getenv(\"" + skewEnv + "\")\n\tn, _ := atoi(text)\n\treturn int64(n)\n}()\n"
	folder := t.TempDir()
	moved, overlay := filepath.Join(folder, "time.go"), filepath.Join(folder, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {file: moved}})
	if err != nil {
		t.Fatal(err)
	}
	for path, b := range map[string][]byte{moved: []byte(text), overlay: list} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}

// checkOverlay checks that a program that is built so has a wrong wall clock and a correct
// monotonic clock.
func checkOverlay(t *testing.T, overlay string) {
	t.Helper()
	folder := t.TempDir()
	source, path := filepath.Join(folder, "main.go"), filepath.Join(folder, "clock")
	const text = `package main

import "time"

func main() {
	from := time.Now()
	print(from.Unix(), " ", time.Since(from) >= 0 && time.Since(from) < time.Minute)
}
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", path, source).CombinedOutput(); err != nil {
		t.Fatalf("build the clock program: %v\n%s", err, out)
	}
	for _, skew := range []time.Duration{time.Hour, -time.Hour, 0} {
		cmd := exec.CommandContext(t.Context(), path)
		cmd.Env = []string{fmt.Sprintf("%s=%d", skewEnv, int(skew.Seconds()))}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("run the clock program: %v\n%s", err, out)
		}
		seconds, measures, _ := strings.Cut(string(out), " ")
		n, err := strconv.ParseInt(seconds, 10, 64)
		if off := time.Since(time.Unix(n, 0)) + skew; err != nil || off.Abs() > 10*time.Minute || measures != "true" {
			t.Errorf("clock with a skew of %v: got %q, want the time minus the skew and a monotonic clock", skew, out)
		}
	}
}

// skewRun is a cluster of which one hub has a wrong clock.
type skewRun struct {
	skew  time.Duration
	out   killResults
	kept  int // sessions that kept their owner while idle
	shown int
}

// idleTime is how long the sessions are idle.
const idleTime = 30 * time.Second

func (k *skewRun) run(t *testing.T, skewed string, shard uint64) {
	t.Helper()
	f := hubtest.Start(t, hubtest.Options{
		Programs: []string{program, skewed, program}, Hubs: 3, Store: redistest.Standalone(t).URL(), Args: workArgs,
		Env: []string{fmt.Sprintf("%s=%d", skewEnv, int(k.skew.Seconds()))},
	})
	k.checkIdleSessions(t, f, shard)
	h := plan.NewHistory(t, fmt.Sprintf("f11-%d", shard))
	killRun{f: f, h: h, rng: plan.Rand(shard), out: &k.out}.runEpisode(t, killsPerEpisode)
}

// checkIdleSessions opens sessions at every hub, each with a tab at every hub, and waits: no hub
// may take a session from another.
func (k *skewRun) checkIdleSessions(t *testing.T, f *hubtest.Cluster, shard uint64) {
	t.Helper()
	h := plan.NewHistory(t, fmt.Sprintf("f11-quiet-%d", shard))
	const rate = 10
	n := int(idleTime.Seconds()) * rate
	var all []*desktop
	var tabs []*hubtest.Tab
	for i := range 2 * len(f.Hubs) {
		d := newDesktop(t, f, h, fmt.Sprintf("quiet-%d", i), len(f.Hubs), func(tab int) string { return f.Hubs[(i+tab)%len(f.Hubs)].URL })
		all, tabs = append(all, d), append(tabs, d.tabs...)
		if i < len(f.Hubs) { // the other sessions stay idle
			if err := d.tabs[1].Send(t.Context(), "m", fmt.Sprintf("/nosteer\n/stream %d %d", n, rate), streamWords(n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	epochs := make([]uint64, len(all))
	for i, d := range all {
		epochs[i] = d.epoch()
		if owner := d.owner(); owner != f.Hubs[i%len(f.Hubs)] {
			t.Errorf("%s is owned by %q, want hub %s, where its first tab connected", d.id, d.tabs[0].Client.State().Owner, f.Hubs[i%len(f.Hubs)].Name)
		}
	}
	k.checkTimestamps(t, f, all[1].id)
	waitFor(t.Context(), idleTime)
	k.out.round.addViolations(f.Finish(t, h, tabs, hubtest.Rules{}))
	for i, d := range all {
		if d.epoch() != epochs[i] {
			t.Errorf("epoch of %s without a fault: got %d, want %d as before", d.id, d.epoch(), epochs[i])
			continue
		}
		k.kept++
	}
	for _, tab := range tabs {
		tab.Close()
	}
}

// checkTimestamps checks that the clock of the second hub is off, as its log shows, and that events
// do not show it: the hub alone writes the log of the session, whose events have the store's time.
func (k *skewRun) checkTimestamps(t *testing.T, f *hubtest.Cluster, session wire.SessionID) {
	t.Helper()
	_, rest, _ := strings.Cut(f.Hubs[1].Log(), "time=")
	text, _, _ := strings.Cut(rest, " ")
	logged, err := time.Parse(time.RFC3339, text)
	if off := time.Since(logged) + k.skew; err != nil || off.Abs() > 10*time.Minute {
		t.Errorf("the hub's clock reports %q, want a skew of %v: %v", text, k.skew, err)
	}
	var page struct {
		Events []struct {
			Timestamp time.Time `json:"timestamp"`
		} `json:"events"`
	}
	if err := f.Call(t, http.MethodGet, f.Balancer.URL()+"/api/sessions/"+string(session)+"/events", "", &page); err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Events {
		if off := time.Since(e.Timestamp); off.Abs() > 10*time.Minute {
			t.Errorf("an event has the time %v, want the store's time", e.Timestamp)
			return
		}
		k.shown++
	}
	if k.shown == 0 {
		t.Errorf("events of %s: got none, want at least one", session)
	}
}

func (k *skewRun) report(t *testing.T, r *hubtest.Result) {
	t.Helper()
	name := "clock right"
	if k.skew != 0 {
		name = fmt.Sprintf("clock %+.0f h", k.skew.Hours())
	}
	p99 := requireQuantile(t, name+": take-over p99", &k.out.kills, 0.99, 7*time.Second)
	requireQuantile(t, name+": a turn goes on after", &k.out.turns, 1, 10*time.Second)
	r.Rounds += k.out.round.count()
	r.Violations += k.out.round.violations
	r.Figures = append(r.Figures,
		hubtest.Figure{Name: name + ": sessions that kept their owner for 30 s", Value: fmt.Sprintf("%d of 6", k.kept), Wanted: "all"},
		hubtest.Figure{Name: "take-over p50", Value: roundDuration(k.out.kills.quantile(0.5))},
		hubtest.Figure{Name: "p99", Value: roundDuration(p99), Wanted: "≤ 7s"},
	)
}
