package policies_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/wire"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

const background wire.MonitorID = "monitor-1"

func TestPrimaryMonitorHasNoBudget(t *testing.T) {
	t.Parallel()
	b := policies.NewMonitorBudget(policies.BudgetLimits{Concurrent: 1, ActionsPerMin: 1, OutputPerMin: 1})
	b.TryAcquire(background, "x")
	for i := range 100 {
		if !b.TryAcquire(policies.PrimaryMonitor, strconv.Itoa(i)) {
			t.Fatal("slot of the primary monitor: got none, want one")
		}
		if v := b.Action(policies.PrimaryMonitor, noon, 10); !v.Allowed || v.Granted != 10 {
			t.Fatalf("ten actions of the primary monitor: got %+v, want all granted", v)
		}
		if v := b.Output(policies.PrimaryMonitor, noon, 1000); !v.Allowed || v.Granted != 1000 {
			t.Fatalf("1000 bytes of the primary monitor: got %+v, want all granted", v)
		}
	}
	b.Restore(policies.PrimaryMonitor, policies.BudgetState{Actions: policies.Usage{{Last: 1, N: 99}}})
	if kind, until, denied := b.Denied(policies.PrimaryMonitor, noon); denied {
		t.Errorf("primary monitor: got denied %s until %v, want it never denied", kind, until)
	}
	if got := b.State(policies.PrimaryMonitor); got.Actions != nil || got.Output != nil {
		t.Errorf("usage of the primary monitor: got %+v, want none counted", got)
	}
	if got := b.Report(policies.PrimaryMonitor, noon); got != (wire.Budget{}) {
		t.Errorf("budget of the primary monitor: got %+v, want none", got)
	}
	b.Release("0")
	if b.TryAcquire("monitor-2", "y") {
		t.Error("slot after a release of the primary monitor: got one, want none")
	}
}

func TestSlotsAreForAllBackgroundMonitorsTogether(t *testing.T) {
	t.Parallel()
	b := policies.NewMonitorBudget(policies.BudgetLimits{})
	if !b.TryAcquire("monitor-1", "a") || !b.TryAcquire("monitor-2", "b") || b.TryAcquire("monitor-3", "c") {
		t.Error("background slots: got other than two, want two by default")
	}
	if !b.TryAcquire("monitor-1", "a") {
		t.Error("slot for its holder: got none, want one")
	}
	b.Release("a")
	b.Release("a")
	b.Release("unknown")
	if !b.TryAcquire("monitor-3", "c") || b.TryAcquire("monitor-3", "d") {
		t.Error("slots after one release: got other than one, want one")
	}
	b.RemoveMonitor("monitor-3")
	if !b.TryAcquire("monitor-1", "d") || b.TryAcquire("monitor-1", "e") {
		t.Error("slots after a monitor was removed: got other than one, want one")
	}
	b.Clear()
	if b.Report(background, noon).Running != 0 {
		t.Error("running after Clear: got some, want none")
	}
}

func TestActionsAreAllowedUpToTheLimit(t *testing.T) {
	t.Parallel()
	b := policies.NewMonitorBudget(policies.BudgetLimits{ActionsPerMin: 5})
	for i := range 5 {
		if _, _, denied := b.Denied(background, noon); denied {
			t.Errorf("before action %d of 5: got denied, want it allowed", i)
		}
		if v := b.Action(background, noon.Add(time.Duration(i)*time.Second), 1); !v.Allowed {
			t.Errorf("action %d of 5: got %+v, want it allowed", i, v)
		}
	}
	at := noon.Add(5 * time.Second)
	want := policies.Verdict{Kind: wire.BudgetActions, Until: noon.Add(time.Minute)}
	if v := b.Action(background, at, 1); v.Allowed || v.Kind != want.Kind || !v.Until.Equal(want.Until) {
		t.Errorf("the sixth action: got %+v, want %+v", v, want)
	}
	if v := b.Action(background, at, 3); !v.Until.Equal(noon.Add(62 * time.Second)) {
		t.Errorf("three more actions: got %v as the time they fit, want %v", v.Until, noon.Add(62*time.Second))
	}
	if v := b.Action(background, at, 6); v.Allowed || !v.Until.IsZero() {
		t.Errorf("six actions at once, 5 are the limit: got %+v, want them refused without a time", v)
	}
	if kind, until, denied := b.Denied(background, at); !denied || kind != wire.BudgetActions || !until.Equal(want.Until) {
		t.Errorf("denied: got %v %s until %v, want true %s until %v", denied, kind, until, want.Kind, want.Until)
	}
	wantReport := wire.Budget{
		Actions: 5, ActionsLimit: 5, OutputLimit: 50_000, RunningLimit: 2,
		Denied: wire.BudgetActions, Until: wire.Millis(want.Until.UnixMilli()),
	}
	if diff := cmp.Diff(wantReport, b.Report(background, at)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if v := b.Action("monitor-2", at, 1); !v.Allowed {
		t.Errorf("action of another monitor: got %+v, want it allowed", v)
	}
}

func TestUsageExpiresAfterAMinute(t *testing.T) {
	t.Parallel()
	b := policies.NewMonitorBudget(policies.BudgetLimits{ActionsPerMin: 2, OutputPerMin: 10})
	b.Action(background, noon, 2)
	b.Output(background, noon, 10)
	almost := noon.Add(time.Minute - time.Nanosecond)
	if b.Action(background, almost, 1).Allowed || b.Output(background, almost, 1).Allowed {
		t.Error("just before a minute: got it allowed, want it refused")
	}
	half := policies.NewMonitorBudget(policies.BudgetLimits{ActionsPerMin: 1})
	half.Action(background, noon.Add(500*time.Microsecond), 1)
	if half.Action(background, noon.Add(time.Minute), 1).Allowed {
		t.Error("half a millisecond before a minute: got it allowed, want it refused")
	}
	after := noon.Add(time.Minute)
	if _, _, denied := b.Denied(background, after); denied {
		t.Error("a minute later: got denied, want it allowed")
	}
	if !b.Action(background, after, 2).Allowed || !b.Output(background, after, 10).Allowed {
		t.Error("a minute later: got it refused, want it allowed")
	}
}

func TestOutputThatReachesTheLimitIsOver(t *testing.T) {
	t.Parallel()
	b := policies.NewMonitorBudget(policies.BudgetLimits{OutputPerMin: 100})
	if v := b.Output(background, noon, 99); !v.Allowed {
		t.Errorf("99 of 100 bytes: got %+v, want them allowed", v)
	}
	if _, _, denied := b.Denied(background, noon); denied {
		t.Error("at 99 of 100 bytes: got denied, want it allowed")
	}
	v := b.Output(background, noon.Add(time.Second), 50)
	if v.Allowed || v.Granted != 1 || v.Kind != wire.BudgetOutput || !v.Until.Equal(noon.Add(time.Minute)) {
		t.Errorf("50 more bytes: got %+v, want one granted and the rest at %v", v, noon.Add(time.Minute))
	}
	if kind, until, denied := b.Denied(background, noon.Add(time.Second)); !denied || kind != wire.BudgetOutput || !until.Equal(v.Until) {
		t.Errorf("denied: got %v %s until %v, want true %s until %v", denied, kind, until, wire.BudgetOutput, v.Until)
	}
}

func TestDeniedNamesLaterLimit(t *testing.T) {
	t.Parallel()
	b := policies.NewMonitorBudget(policies.BudgetLimits{ActionsPerMin: 1, OutputPerMin: 1})
	b.Action(background, noon, 1)
	b.Output(background, noon.Add(9*time.Second), 1)
	kind, until, denied := b.Denied(background, noon.Add(10*time.Second))
	if !denied || kind != wire.BudgetOutput || !until.Equal(noon.Add(69*time.Second)) {
		t.Errorf("denied: got %v %s until %v, want true %s until %v", denied, kind, until, wire.BudgetOutput, noon.Add(69*time.Second))
	}
}

func TestBudgetAfterClockIsSetBack(t *testing.T) {
	t.Parallel()
	b := policies.NewMonitorBudget(policies.BudgetLimits{ActionsPerMin: 1})
	b.Action(background, noon.Add(time.Hour), 1)
	v := b.Action(background, noon, 1)
	if v.Allowed || !v.Until.Equal(noon.Add(time.Minute)) {
		t.Errorf("action after the clock was set back an hour: got %+v, want it refused until %v", v, noon.Add(time.Minute))
	}
	b = policies.NewMonitorBudget(policies.BudgetLimits{OutputPerMin: 1_000_000})
	for range 100 {
		for i := range 59 {
			b.Output(background, noon.Add(time.Duration(i)*time.Second), 1)
		}
	}
	if n := len(b.State(background).Output); n > 61 {
		t.Errorf("buckets of output: got %d, want at most 61", n)
	}
	if got := b.Report(background, noon.Add(59*time.Second)).Output; got != 5900 {
		t.Errorf("output of the last minute: got %d, want 5900", got)
	}
}

func TestRestoreRepairsInvalidBudget(t *testing.T) {
	t.Parallel()
	b := policies.NewMonitorBudget(policies.BudgetLimits{ActionsPerMin: 3})
	at := wire.Millis(noon.UnixMilli())
	b.Restore(background, policies.BudgetState{Actions: policies.Usage{{Last: at, N: 2}, {Last: at, N: -5}, {Last: at - 30_000, N: 1}}})
	if v := b.Action(background, noon, 1); v.Allowed || !v.Until.Equal(noon.Add(30*time.Second)) {
		t.Errorf("action after the restore: got %+v, want it refused until %v", v, noon.Add(30*time.Second))
	}
}

// use is an allowed amount.
type use struct {
	at time.Time
	n  int
}

// fits reports whether no 60 seconds exceed the limit.
func fits(uses []use, limit int) bool {
	for i, last := range uses {
		sum := 0
		for _, u := range uses[:i+1] {
			if last.at.Sub(u.at) < time.Minute {
				sum += u.n
			}
		}
		if sum > limit {
			return false
		}
	}
	return true
}

func TestBudgetProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limits := policies.BudgetLimits{
			Concurrent:    rapid.IntRange(1, 3).Draw(t, "slots"),
			ActionsPerMin: rapid.IntRange(1, 6).Draw(t, "actions"),
			OutputPerMin:  rapid.IntRange(1, 40).Draw(t, "bytes"),
		}
		b := policies.NewMonitorBudget(limits)
		now := noon
		var actions, output []use
		held := make(map[string]bool)
		copied := func() *policies.MonitorBudget {
			data, err := json.Marshal(b.State(background))
			if err != nil {
				t.Fatal(err)
			}
			var s policies.BudgetState
			if err := json.Unmarshal(data, &s); err != nil {
				t.Fatal(err)
			}
			fresh := policies.NewMonitorBudget(limits)
			fresh.Restore(background, s)
			return fresh
		}
		t.Repeat(map[string]func(*rapid.T){
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(25*time.Second)).Draw(t, "wait")))
			},
			"action": func(t *rapid.T) {
				n := rapid.IntRange(1, 7).Draw(t, "n")
				v := b.Action(background, now, n)
				switch {
				case v.Allowed:
					actions = append(actions, use{now, n})
				case n > limits.ActionsPerMin:
					if !v.Until.IsZero() {
						t.Fatalf("%d actions, %d are the limit: got %v as the time they fit, want none", n, limits.ActionsPerMin, v.Until)
					}
				case !v.Until.After(now),
					copied().Action(background, v.Until.Add(-time.Nanosecond), n).Allowed,
					!copied().Action(background, v.Until, n).Allowed:
					t.Fatalf("%d actions at %v: got %v as the time they fit, want the earliest one", n, now, v.Until)
				}
			},
			"output": func(t *rapid.T) {
				n := rapid.IntRange(1, 60).Draw(t, "n")
				v := b.Output(background, now, n)
				output = append(output, use{now, v.Granted})
				if v.Allowed != (v.Granted == n) {
					t.Fatalf("%d bytes: got %+v, want them allowed only when all are granted", n, v)
				}
				if !v.Allowed && (!v.Until.After(now) ||
					copied().Output(background, v.Until.Add(-time.Nanosecond), 1).Allowed ||
					!copied().Output(background, v.Until, 1).Allowed) {
					t.Fatalf("a byte at %v: got %v as the time it fits, want the earliest one", now, v.Until)
				}
			},
			"acquire": func(t *rapid.T) {
				holder := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "holder")
				want := held[holder] || len(held) < limits.Concurrent
				if b.TryAcquire(background, holder) != want {
					t.Fatalf("%s of %v: want %v", holder, held, want)
				}
				if want {
					held[holder] = true
				}
			},
			"release": func(t *rapid.T) {
				holder := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "holder")
				b.Release(holder)
				delete(held, holder)
			},
			"primary": func(t *rapid.T) {
				if !b.TryAcquire(policies.PrimaryMonitor, "p") || !b.Action(policies.PrimaryMonitor, now, 1000).Allowed ||
					!b.Output(policies.PrimaryMonitor, now, 1_000_000).Allowed {
					t.Fatal("primary monitor: got a refusal, want everything allowed")
				}
			},
			"another owner": func(*rapid.T) {
				b = copied()
				for holder := range held {
					b.TryAcquire(background, holder)
				}
			},
			"": func(t *rapid.T) {
				if !fits(actions, limits.ActionsPerMin) || !fits(output, limits.OutputPerMin) {
					t.Fatalf("in a minute: got actions %v and output %v, want at most %+v", actions, output, limits)
				}
				r := b.Report(background, now)
				if r.Running != len(held) || r.Running > r.RunningLimit || r.Actions > r.ActionsLimit || r.Output > r.OutputLimit {
					t.Fatalf("report: got %+v, want %d running and no value above its limit", r, len(held))
				}
				kind, until, denied := b.Denied(background, now)
				full := r.Actions == r.ActionsLimit || r.Output == r.OutputLimit
				if denied != full || denied && (kind != r.Denied || !until.After(now)) {
					t.Fatalf("denied: got %v %s until %v, want %v as in the report %+v", denied, kind, until, full, r)
				}
				if s := b.State(background); len(s.Actions) > 61 || len(s.Output) > 61 {
					t.Fatalf("buckets: got %d and %d, want at most 61 each", len(s.Actions), len(s.Output))
				}
			},
		})
	})
}
