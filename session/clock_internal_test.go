package session

import (
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
)

func TestClockSkewFromClaim(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct{ ahead, want time.Duration }{
		"the way there":      {3 * time.Second, 0},
		"an hour ahead":      {time.Hour, time.Hour},
		"an hour behind":     {-time.Hour, -time.Hour},
		"no time, but count": {-50 * 365 * 24 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lease := store.Lease{Epoch: uint64(now.Add(tt.ahead).UnixMilli())}
			if got := skewOf(lease, now); got != tt.want {
				t.Errorf("skew is %v, want %v", got, tt.want)
			}
		})
	}
}

// Times of the store's clock are converted to the local clock, and a zero time stays zero.
func TestStoreTimesAreConverted(t *testing.T) {
	t.Parallel()
	now := time.Now()
	w := stepWriter{clockSkew: time.Hour}
	w.advanceClock(now)
	if !w.now.Equal(now.Add(time.Hour)) || !w.localTime(w.now).Equal(now) {
		t.Errorf("it is %v there and %v here, want %v here", w.now, w.localTime(w.now), now)
	}
	if got := w.localTime(time.Time{}); !got.IsZero() {
		t.Errorf("the local time of the zero time is %v, want the zero time", got)
	}
}
