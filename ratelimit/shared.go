package ratelimit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
)

// storeTimeout bounds how long one request waits for the store.
const storeTimeout = time.Second

// shared counts requests of users over all replicas.
type shared struct {
	counts Counts

	mu sync.Mutex // guards own, never held while waiting
	// own are the events that this replica counted, in the store or by itself. They
	// are the fallback while the store is unavailable, so that an outage resets no limit.
	own recent[string, *store.RateWindow]
}

// count counts one of at most limit requests in a minute. It returns 0, or how long to wait.
func (s *shared) count(ctx context.Context, user, kind string, limit int) time.Duration {
	sum := sha256.Sum256([]byte(user)) // a user's name may be longer than a key
	key := hex.EncodeToString(sum[:]) + "-" + kind
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	wait, err := s.counts.Take(ctx, key, limit, minute)
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.own.get(key, func() *store.RateWindow { return new(store.RateWindow) })
	if err != nil {
		return own.Take(time.Now(), limit, minute)
	}
	if wait == 0 {
		own.Count(time.Now(), minute)
	}
	return wait
}
