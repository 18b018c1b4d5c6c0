package ratelimit

import (
	"time"

	"golang.org/x/time/rate"
)

// minute is the period of all limits.
const minute = time.Minute

// newBucket returns a token bucket that lets at most n pass in any minute: n/part at once, the
// others spread over the minute.
func newBucket(n, part int) *rate.Limiter {
	burst := max(1, n/part)
	if n <= 1 {
		// Nothing to spread: the next one may pass when the minute is over.
		return rate.NewLimiter(rate.Every(minute+time.Nanosecond), burst)
	}
	return rate.NewLimiter(rate.Limit(float64(n-burst)/minute.Seconds()), burst)
}

// takeToken takes a token and returns 0, or takes none and returns how long to wait.
func takeToken(l *rate.Limiter, now time.Time) time.Duration {
	r := l.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}
