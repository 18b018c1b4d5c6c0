package hubtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/internal/hubtest"
)

// recordingTB is a testing.TB that records failures and messages without failing the real test.
type recordingTB struct {
	testing.TB
	failed   bool
	messages strings.Builder
	cleanups []func()
}

func (v *recordingTB) Helper()          {}
func (v *recordingTB) Failed() bool     { return v.failed }
func (v *recordingTB) Cleanup(f func()) { v.cleanups = append(v.cleanups, f) }

func (v *recordingTB) Error(args ...any) { v.failed = true; v.Log(args...) }

func (v *recordingTB) Errorf(format string, args ...any) { v.failed = true; v.Logf(format, args...) }

func (v *recordingTB) Log(args ...any) { v.Logf("%v", args) }

func (v *recordingTB) Logf(format string, args ...any) {
	v.TB.Logf(format, args...)
	_, _ = v.messages.WriteString(strings.TrimSpace(fmt.Sprintf(format, args...)) + "\n")
}

// runCleanups runs the cleanups, like the end of a test.
func (v *recordingTB) runCleanups() {
	for _, f := range slices.Backward(v.cleanups) {
		f()
	}
}

func TestHistoryRoundTrip(t *testing.T) {
	t.Parallel()
	v := &recordingTB{TB: t}
	plan := &hubtest.Plan{Folder: t.TempDir(), Seed: 12, Full: true}
	h := plan.NewHistory(v, "run")
	for _, e := range validHistory() {
		h.Add(e)
	}
	h.Add(hubtest.Entry{Kind: hubtest.KindRules, Rules: &hubtest.Rules{StoreMayLose: true, MaxAgents: 3, Slack: time.Second}})
	if fault := h.AddFault("kill %s", "a"); fault <= 0 || h.Since() < fault {
		t.Errorf("fault at %v, time since the start %v; want the fault after 0 and not later than now", fault, h.Since())
	}
	want := h.Entries()
	v.failed = true // so that the history file is kept
	v.runCleanups()
	file, err := os.Open(filepath.Join(plan.Folder, "run-12.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got, err := hubtest.ReadHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("written and read (-written +read):\n%s", diff)
	}
	if head := got[0]; head.Kind != hubtest.KindHead || head.Seed != 12 || !head.Full || head.Test != t.Name() {
		t.Errorf("the head is %+v, want the test, seed 12 and all rounds", head)
	}
	if got, want := hubtest.RulesOf(got), (hubtest.Rules{StoreMayLose: true, MaxAgents: 3, Slack: time.Second}); got != want {
		t.Errorf("rules are %+v, want %+v", got, want)
	}
	if !strings.Contains(v.messages.String(), "hubtest/replay") {
		t.Errorf("the failed test printed %q, want the command of hubtest/replay", v.messages.String())
	}
}

func TestHistoryOfPassedTestIsRemoved(t *testing.T) {
	t.Parallel()
	v := &recordingTB{TB: t}
	plan := &hubtest.Plan{Folder: t.TempDir(), Seed: 12}
	plan.NewHistory(v, "run")
	v.runCleanups()
	if left, err := os.ReadDir(plan.Folder); err != nil || len(left) > 0 {
		t.Errorf("files left: %v, %v; want none", left, err)
	}
}

func TestReadHistoryRefusesInvalidFiles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "nothing\n", `{"kind":"head"}` + "\n" + `{"kind":"ev`, `{"kind":"send"}` + "\n"} {
		if got, err := hubtest.ReadHistory(strings.NewReader(text)); err == nil {
			t.Errorf("%q is read as %v, want an error", text, got)
		}
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, test := range []struct {
		sorted []time.Duration
		q      float64
		want   time.Duration
	}{
		{nil, 0.5, 0},
		{hundred[:1], 0, 1},
		{hundred[:1], 0.99, 1},
		{hundred[:3], 0.5, 2},
		{hundred[:3], 0.99, 3},
		{hundred, 0, 1},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 1, 100},
	} {
		if got := hubtest.Quantile(test.sorted, test.q); got != test.want {
			t.Errorf("%v of %d: got %d, want %d", test.q, len(test.sorted), got, test.want)
		}
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	few, all := &hubtest.Plan{Seed: 5}, &hubtest.Plan{Seed: 5, Full: true}
	if got := [2]int{few.Rounds(3, 200), all.Rounds(3, 200)}; got != [2]int{3, 200} {
		t.Errorf("rounds are %v, want 3 and 200", got)
	}
	if a, b := few.Rand(1).Uint64(), all.Rand(1).Uint64(); a != b {
		t.Errorf("the same seed gives %d and %d, want equal numbers", a, b)
	}
	if a, b := few.Rand(1).Uint64(), few.Rand(2).Uint64(); a == b {
		t.Error("two parts of a run have the same random numbers")
	}
}
