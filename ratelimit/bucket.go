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
