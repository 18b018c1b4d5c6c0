package redistest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Copy is a copy of all keys of a server, without the times at which they expire.
type Copy struct{ values map[string]string }

// TakeCopy copies all keys.
func (s *Server) TakeCopy(tb testing.TB) Copy {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()
	client := s.Client(tb)
	keys, err := client.Keys(ctx, "*").Result()
	if err != nil {
		tb.Fatalf("list the keys of %s: %v", s.Addr, err)
	}
	c := Copy{values: map[string]string{}}
	for _, k := range keys {
		v, err := client.Dump(ctx, k).Result()
		if errors.Is(err, redis.Nil) {
			continue // it has expired
		}
		if err != nil {
			tb.Fatalf("copy %s of %s: %v", k, s.Addr, err)
		}
		c.values[k] = v
	}
	return c
}

// RevertTo replaces all keys by those of a copy, in one transaction, as a failover to a replica that
// lags does.
func (s *Server) RevertTo(tb testing.TB, c Copy) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()
	_, err := s.Client(tb).TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.FlushAll(ctx)
		for k, v := range c.values {
			p.Restore(ctx, k, 0, v)
		}
		return nil
	})
	if err != nil {
		tb.Fatalf("revert %s to a copy: %v", s.Addr, err)
	}
}
