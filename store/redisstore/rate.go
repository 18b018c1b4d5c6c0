package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
)

// Rates implements the rate limits of the contract.
type Rates struct {
	*caller
	rebuilder *rebuilder
}

// Take counts one event of key over all replicas and returns 0, unless limit events
// were counted within the last window: then it counts nothing and returns how long to
// wait. It counts by the clock of Redis. A call whose answer was lost is repeated and
// may count twice.
func (s *Rates) Take(ctx context.Context, key string, limit int, window time.Duration) (wait time.Duration, err error) {
	if err := store.CheckRate(key, limit, window); err != nil {
		return 0, fmt.Errorf("take from rate limit: %w", err)
	}
	step := (window / store.RateSteps).Microseconds()
	v, err := s.rebuilder.callShared(ctx, "take from rate limit", s.scripts.take, []string{s.keys.rate(key)}, []string{"hash"},
		limit, step, store.RateSteps)
	if err != nil {
		return 0, err
	}
	us, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("take from rate limit: %w: %v", errReply, v)
	}
	return time.Duration(us) * time.Microsecond, nil
}
