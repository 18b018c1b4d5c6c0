package filestore

import (
	"context"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// sharedLeases are the leases that incarnations have for all their sessions. They are kept in
// memory, because leases are void in any other process.
type sharedLeases struct {
	mu    sync.Mutex
	until map[uint64]time.Time // by the number of the incarnation
}

// extend makes a lease last until a time at least.
func (l *sharedLeases) extend(number uint64, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until.After(l.until[number]) {
		l.until[number] = until
	}
}

// end returns when a lease expires.
func (l *sharedLeases) end(number uint64) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until[number]
}

// renew makes a lease last until ttl from now and returns the live leases of others.
func (l *sharedLeases) renew(number uint64, ttl time.Duration) store.Renewal {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	r := store.Renewal{Live: map[uint64]time.Duration{}}
	for other, until := range l.until {
		switch left := until.Sub(now); {
		case other == number:
			r.Known = true
		case left > 0:
			r.Live[other] = left
		}
	}
	l.until[number] = now.Add(ttl)
	return r
}

// ClaimShared is Claim for a session that is to be kept by the lease of an incarnation.
func (s *Sessions) ClaimShared(ctx context.Context, id wire.SessionID, by store.Incarnation, ttl time.Duration) (store.Lease, error) {
	if err := by.Check(ttl); err != nil {
		return store.Lease{}, err
	}
	return s.claim(ctx, id, by, ttl)
}

// RenewShared extends the lease of an incarnation to ttl from now, creates it if there is none,
// and returns the live leases of others. All sessions are in one partition.
func (s *Sessions) RenewShared(ctx context.Context, by store.Incarnation, _ int, ttl time.Duration) (store.Renewal, error) {
	if err := s.checkOpen(ctx); err != nil {
		return store.Renewal{}, err
	}
	if err := by.Check(ttl); err != nil {
		return store.Renewal{}, err
	}
	return s.leases.renew(by.Number, ttl), nil
}
