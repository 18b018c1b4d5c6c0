package store

import (
	"fmt"
	"time"
)

// RateSteps is the number of steps a window of a rate limit is divided into. Events
// of one step are counted together.
const RateSteps = 60

// MinRateWindow is the shortest window of a rate limit: one millisecond per step.
const MinRateWindow = RateSteps * time.Millisecond

// CheckRate checks the arguments of a store's Take.
func CheckRate(key string, limit int, window time.Duration) error {
	if err := CheckName("rate key", key); err != nil {
		return err
	}
	if limit < 1 {
		return fmt.Errorf("%w: rate limit %d, want at least 1", ErrInvalid, limit)
	}
	if window < MinRateWindow {
		return fmt.Errorf("%w: rate window %v, want at least %v", ErrInvalid, window, MinRateWindow)
	}
	return nil
}

// RateWindow counts the events of one key in a sliding window, in memory. Stores that
// keep counts in memory use it; scripts of other stores count in the same way. The
// zero value has counted nothing. It is not safe for concurrent use.
type RateWindow struct {
	steps []rateStep // at most RateSteps+1 with a clock that does not go back
}

// rateStep is the number of events of one step, counted from the Unix epoch.
type rateStep struct {
	at int64
	n  int
}

// Take counts one event and returns 0, unless limit events were counted within the
// last window. Then it counts nothing and returns the time until the oldest of them
// leaves the window. An event counts until the end of its step is a window ago, so it
// never counts too briefly and at most one step too long.
func (w *RateWindow) Take(now time.Time, limit int, window time.Duration) time.Duration {
	step := window / RateSteps
	at := w.dropExpired(now, step)
	total, oldest := 0, at
	for _, s := range w.steps {
		total += s.n
		oldest = min(oldest, s.at)
	}
	if total >= limit {
		return time.Unix(0, (oldest+RateSteps+1)*int64(step)).Sub(now)
	}
	w.add(at)
	return 0
}

// Count counts one event regardless of a limit.
func (w *RateWindow) Count(now time.Time, window time.Duration) {
	w.add(w.dropExpired(now, window/RateSteps))
}

// Empty reports whether no event counts any more.
func (w *RateWindow) Empty(now time.Time, window time.Duration) bool {
	w.dropExpired(now, window/RateSteps)
	return len(w.steps) == 0
}

// dropExpired drops the steps that left the window and returns the present step. It also
// drops steps more than a window in the future: the clock was set back.
func (w *RateWindow) dropExpired(now time.Time, step time.Duration) (at int64) {
	at = now.UnixNano() / int64(step)
	kept := w.steps[:0]
	for _, s := range w.steps {
		if age := at - s.at; -RateSteps <= age && age <= RateSteps {
			kept = append(kept, s)
		}
	}
	w.steps = kept
	return at
}

func (w *RateWindow) add(at int64) {
	for i := range w.steps {
		if w.steps[i].at == at {
			w.steps[i].n++
			return
		}
	}
	w.steps = append(w.steps, rateStep{at: at, n: 1})
}
