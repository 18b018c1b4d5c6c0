package filestore

import (
	"context"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
)

// Rates implements the rate limits of the contract. Counts are in memory only: one process
// uses the store, and a read that is limited must not write.
type Rates struct {
	*folder
	mu      sync.Mutex
	counted map[string]*rate
	sweepAt int // number of keys at which unused ones are removed
}

type rate struct {
	events store.RateWindow
	window time.Duration
}

// minSweep keeps sweeps away from small maps.
const minSweep = 1024

func newRates(f *folder) *Rates {
	return &Rates{folder: f, counted: map[string]*rate{}, sweepAt: minSweep}
}

// Take counts one event of key and returns 0, unless limit events were counted within
// the last window: then it counts nothing and returns how long to wait. Counts start
// at zero when the store is opened.
func (r *Rates) Take(ctx context.Context, key string, limit int, window time.Duration) (wait time.Duration, err error) {
	if err := r.checkOpen(ctx); err != nil {
		return 0, err
	}
	if err := store.CheckRate(key, limit, window); err != nil {
		return 0, err
	}
	return r.take(time.Now(), key, limit, window), nil
}

func (r *Rates) take(now time.Time, key string, limit int, window time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counted[key]
	if c == nil {
		r.sweep(now)
		c = new(rate)
		r.counted[key] = c
	}
	c.window = window
	return c.events.Take(now, limit, window)
}

// sweep removes keys without events whenever their number has doubled, so that the map
// stays in proportion to the keys in use.
func (r *Rates) sweep(now time.Time) {
	if len(r.counted) < r.sweepAt {
		return
	}
	for key, c := range r.counted {
		if c.events.Empty(now, c.window) {
			delete(r.counted, key)
		}
	}
	r.sweepAt = max(minSweep, 2*len(r.counted))
}
