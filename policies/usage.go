package policies

import (
	"cmp"
	"slices"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Usage is how much was used when, oldest first, in buckets of a second: at most
// 61 of them.
type Usage []UsageBucket

// UsageBucket is what was used in one second.
type UsageBucket struct {
	// Last is when the last of it was used. All of it counts until that is a
	// minute ago: some of it up to a second too long, none of it too short.
	Last wire.Millis `json:"last"`
	N    int         `json:"n"`
}

// maxBuckets is one for each second of the window, and the one that leaves it.
const maxBuckets = int(budgetWindow/time.Second) + 1

// add counts n more.
func (u *Usage) add(now time.Time, n int) {
	if n <= 0 {
		return
	}
	at := ceilMillis(now)
	if i := len(*u) - 1; i >= 0 && (*u)[i].Last/1000 == at/1000 {
		(*u)[i].Last = max((*u)[i].Last, at)
		(*u)[i].N += n
		return
	}
	*u = append(*u, UsageBucket{Last: at, N: n})
}

// forget drops what is older than the window. What lies in the future, because a
// clock was set back or another machine had it, is taken to be of now.
func (u *Usage) forget(now time.Time) {
	top := ceilMillis(now)
	for i := range *u {
		(*u)[i].Last = min((*u)[i].Last, top)
	}
	*u = slices.DeleteFunc(*u, func(b UsageBucket) bool { return !b.leaves().After(now) })
	if extra := len(*u) - maxBuckets; extra > 0 {
		// Only a clock that was set back does that: what came before the jump
		// counts as if it were of the same second.
		for _, b := range (*u)[:extra] {
			(*u)[extra].N += b.N
		}
		*u = slices.Delete(*u, 0, extra)
	}
}

// leaves is when the bucket no longer counts.
func (b UsageBucket) leaves() time.Time {
	return time.UnixMilli(int64(b.Last)).Add(budgetWindow)
}

func (u Usage) sum() int {
	n := 0
	for _, b := range u {
		n += b.N
	}
	return n
}

// room is when no more than n are left; zero if that is so now, or never.
func (u Usage) room(n int) time.Time {
	left := u.sum()
	if left <= n || n < 0 {
		return time.Time{}
	}
	for _, b := range u {
		if left -= b.N; left <= n {
			return b.leaves()
		}
	}
	return time.Time{}
}

// mended is a copy that can be counted on, whatever was kept.
func (u Usage) mended() Usage {
	out := slices.Clone(u)
	out = slices.DeleteFunc(out, func(b UsageBucket) bool { return b.N <= 0 })
	slices.SortStableFunc(out, func(a, b UsageBucket) int { return cmp.Compare(a.Last, b.Last) })
	return out
}

// ceilMillis is now, or a little later: what is counted leaves no earlier than it
// may.
func ceilMillis(now time.Time) wire.Millis {
	return wire.Millis(now.Add(time.Millisecond - time.Nanosecond).UnixMilli())
}
