package agentpool

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
)

// releaseTimeout bounds the retries of releasing a slot. A slot that could not be released by
// then expires.
const releaseTimeout = 5 * time.Second

// Slot is the right to run one agent.
type Slot struct {
	limiter  *Limiter
	lostCtx  context.Context // canceled when the slot is lost
	markLost context.CancelFunc
	once     sync.Once
	released chan struct{} // closed when the slot has been released or releasing has timed out

	parts []*slotPart // in the order of acquisition; guarded by limiter.mu
}

func newSlot(l *Limiter) *Slot {
	s := &Slot{limiter: l, released: make(chan struct{})}
	s.lostCtx, s.markLost = context.WithCancel(context.Background())
	return s
}

// Lost is closed when the store has given the slot to another agent. The run in it must stop;
// the slot must still be released.
func (s *Slot) Lost() <-chan struct{} { return s.lostCtx.Done() }

// Release releases the slot in the background. Calls after the first do nothing.
func (s *Slot) Release() {
	s.once.Do(func() {
		s.limiter.mu.Lock()
		places := slices.Clone(s.parts)
		s.limiter.mu.Unlock()
		s.limiter.removeHeld(places...)
		slices.Reverse(places)
		s.limiter.releases.Go(func() {
			defer close(s.released)
			s.limiter.releaseParts(places)
		})
	})
}

// hasWaiters reports whether an agent waits for one of the slot's semaphores. It is false if
// the store does not answer.
func (s *Slot) hasWaiters(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, reserveTimeout)
	defer cancel()
	s.limiter.mu.Lock()
	places := slices.Clone(s.parts)
	s.limiter.mu.Unlock()
	return slices.ContainsFunc(places, func(p *slotPart) bool {
		u, err := s.limiter.store.Slots(ctx, p.Semaphore)
		return err == nil && u.Waiting > 0
	})
}

// addPart adds a semaphore's part to the slot; the limiter renews it from now on.
func (s *Slot) addPart(r store.SlotRequest) {
	p := &slotPart{SlotRequest: r, of: s}
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	s.parts = append(s.parts, p)
	s.limiter.held[p] = struct{}{}
}

// releaseParts releases parts of a slot and retries for a while if the store does not answer.
func (l *Limiter) releaseParts(places []*slotPart) {
	ctx, cancel := context.WithTimeout(context.Background(), min(releaseTimeout, l.limits.TTL))
	defer cancel()
	for pause := minRetryPause; ; pause = min(2*pause, maxRetryPause) {
		var err error
		places = slices.DeleteFunc(places, func(p *slotPart) bool {
			failed := l.store.ReleaseSlot(ctx, p.slot())
			// A name that the store refuses was never granted.
			failed = ignore(failed, store.ErrInvalid)
			err = errors.Join(err, failed)
			return failed == nil
		})
		if err == nil || errors.Is(err, store.ErrClosed) {
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			l.log.WarnContext(ctx, "agent slot not released, leaving it to expire", "semaphore", places[0].Semaphore, "holder", places[0].Holder, "error", err)
			return
		}
	}
}
