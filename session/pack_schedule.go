package session

import (
	"sync"
	"time"
)

// packInterval is the least time between two sessions that a hub packs. Packing one with a few turns
// takes Redis less than a millisecond, so thousands that become dormant together take a tenth of it.
const packInterval = 10 * time.Millisecond

// packSchedule spreads the packing of sessions that become dormant at the same time, for example
// those of all users who leave at the end of a day.
type packSchedule struct {
	mu   sync.Mutex
	next time.Time
}

// reserve returns the time at which the caller may pack its session.
func (s *packSchedule) reserve(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.next
	if at.Before(now) {
		at = now
	}
	s.next = at.Add(packInterval)
	return at
}
