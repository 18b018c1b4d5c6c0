package ratelimit

import (
	"time"

	"golang.org/x/time/rate"
)

// minute is the time that all limits are about.
const minute = time.Minute

// newBucket lets n pass in any minute: one part of them at once, the others
// spread over the minute.
func newBucket(n, part int) *rate.Limiter {
	burst := max(1, n/part)
	if n <= 1 {
		// There is nothing to spread: the next one is good when the minute
		// is over.
		return rate.NewLimiter(rate.Every(minute+time.Nanosecond), burst)
	}
	return rate.NewLimiter(rate.Limit(float64(n-burst)/minute.Seconds()), burst)
}

// take counts one and reports 0, or does not and reports how long to wait.
func take(l *rate.Limiter, now time.Time) time.Duration {
	r := l.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// window counts exactly, by seconds.
type window []second

// second is how many passed in a second of Unix time.
type second struct {
	At int64 `json:"at"`
	N  int   `json:"n"`
}

// recent is the window without what is over. A second counts until its last
// moment is a minute ago. Seconds to come are those of a clock that is ahead,
// or was set back; one that would count for more than two minutes is dropped.
func (w window) recent(now time.Time) window {
	var kept window
	for _, s := range w {
		if age := now.Unix() - s.At; age <= 60 && age >= -60 && s.N > 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

// take counts one more, unless n passed already: then it reports how long to
// wait for the first that leaves the window.
func (w window) take(now time.Time, n int) (window, time.Duration) {
	w = w.recent(now)
	total, oldest := 0, now.Unix()
	for _, s := range w {
		total += s.N
		oldest = min(oldest, s.At)
	}
	if total >= n {
		return w, time.Unix(oldest+61, 0).Sub(now)
	}
	return w.count(now), 0
}

// count counts one more, come what may.
func (w window) count(now time.Time) window {
	at := now.Unix()
	for i := range w {
		if w[i].At == at {
			w[i].N++
			return w
		}
	}
	return append(w, second{At: at, N: 1})
}
