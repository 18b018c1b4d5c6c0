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
func (s *Rates) Take(ctx context.Context, key string, limit int, window time.Duration) (wait time.Duration, err error) {
	if err := s.checkOpen(ctx); err != nil {
		return 0, err
	}
	if err := store.CheckRate(key, limit, window); err != nil {
		return 0, err
	}
	return s.take(time.Now(), key, limit, window), nil
}

func (s *Rates) take(now time.Time, key string, limit int, window time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counted[key]
	if c == nil {
		s.sweep(now)
		c = new(rate)
		s.counted[key] = c
	}
	c.window = window
	return c.events.Take(now, limit, window)
}

// sweep removes keys without events whenever their number has doubled, so that the map
// stays in proportion to the keys in use.
func (s *Rates) sweep(now time.Time) {
	if len(s.counted) < s.sweepAt {
		return
	}
	for key, c := range s.counted {
		if c.events.Empty(now, c.window) {
			delete(s.counted, key)
		}
	}
	s.sweepAt = max(minSweep, 2*len(s.counted))
}
