package policies

import (
	"cmp"
	"slices"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Usage is the amount used over time, oldest first, in buckets of one second: at most one for
// each second of the window and the one that is about to expire.
type Usage []UsageBucket

// UsageBucket is the amount used in one second.
type UsageBucket struct {
	// Last is the time of the last use in the bucket. The whole bucket counts until one minute
	// after that: some of it up to a second too long, none of it too short.
	Last wire.Millis `json:"last"`
	N    int         `json:"n"`
}

// add counts n more.
func (u *Usage) add(now time.Time, n int) {
	if n <= 0 {
		return
	}
	*u = append(*u, UsageBucket{Last: ceilMillis(now), N: n})
	u.expire(now)
}

// expire drops buckets older than the window. Times in the future, caused by a changed clock or
// another machine, are set to now.
func (u *Usage) expire(now time.Time) {
	top := ceilMillis(now)
	kept := (*u)[:0]
	for _, b := range *u {
		b.Last = min(b.Last, top)
		if !b.expiresAt().After(now) {
			continue
		}
		if i := len(kept) - 1; i >= 0 && kept[i].sameSecond(b) {
			kept[i] = UsageBucket{Last: b.Last, N: kept[i].N + b.N}
			continue
		}
		kept = append(kept, b)
	}
	*u = kept
}

func (b UsageBucket) sameSecond(o UsageBucket) bool { return b.Last/1000 == o.Last/1000 }

// expiresAt returns when the bucket no longer counts.
func (b UsageBucket) expiresAt() time.Time {
	return time.UnixMilli(int64(b.Last)).Add(budgetWindow)
}

func (u Usage) sum() int {
	n := 0
	for _, b := range u {
		n += b.N
	}
	return n
}

// freeAt returns when at most n remain; zero if that is so now, or never.
func (u Usage) freeAt(n int) time.Time {
	left := u.sum()
	var at time.Time
	for _, b := range u {
		if left <= n || n < 0 {
			break
		}
		left -= b.N
		at = b.expiresAt()
	}
	return at
}

// sanitized returns a valid copy of stored usage.
func (u Usage) sanitized() Usage {
	out := slices.Clone(u)
	out = slices.DeleteFunc(out, func(b UsageBucket) bool { return b.N <= 0 })
	slices.SortStableFunc(out, func(a, b UsageBucket) int { return cmp.Compare(a.Last, b.Last) })
	return out
}

// ceilMillis rounds up to milliseconds, so that usage never expires too early.
func ceilMillis(now time.Time) wire.Millis {
	return wire.Millis(now.Add(time.Millisecond - time.Nanosecond).UnixMilli())
}
