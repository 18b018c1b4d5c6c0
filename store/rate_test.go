package store_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/store"
)

// For any rhythm: never more than the limit in any window, and a caller that waits as
// long as it was told is let through.
func TestRateWindowKeepsTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		window := time.Duration(rapid.Int64Range(int64(store.MinRateWindow), int64(2*time.Minute)).Draw(t, "window"))
		now := time.Unix(rapid.Int64Range(0, 1<<32).Draw(t, "start"), 0)
		var w store.RateWindow
		var passed []time.Time
		for range rapid.IntRange(1, 200).Draw(t, "calls") {
			wait := w.Take(now, limit, window)
			if wait > 0 && rapid.Bool().Draw(t, "wait") {
				now = now.Add(wait)
				if again := w.Take(now, limit, window); again != 0 {
					t.Fatalf("after waiting %v: got another %v, want 0", wait, again)
				}
				wait = 0
			}
			if wait == 0 {
				passed = append(passed, now)
			}
			if wait > window+2*window/store.RateSteps {
				t.Fatalf("got a wait of %v for a window of %v, want at most %v", wait, window, window+2*window/store.RateSteps)
			}
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(window)).Draw(t, "pause")) / time.Duration(limit))
		}
		for i := limit; i < len(passed); i++ {
			if span := passed[i].Sub(passed[i-limit]); span <= window-window%store.RateSteps-store.RateSteps {
				t.Fatalf("got %d events within %v, want at most %d in %v", limit+1, span, limit, window)
			}
		}
	})
}

func TestRateWindowSurvivesAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	var w store.RateWindow
	now := time.Unix(1_000_000, 0)
	for range 3 {
		w.Take(now.Add(24*time.Hour), 3, time.Minute)
	}
	if wait := w.Take(now, 3, time.Minute); wait != 0 {
		t.Errorf("got a wait of %v because of events of tomorrow, want 0", wait)
	}
	if w.Empty(now, time.Minute) || !w.Empty(now.Add(2*time.Minute), time.Minute) {
		t.Error("want an event to count now and not after two minutes")
	}
}
