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
const releaseFor = 5 * time.Second

// Slot is the right to run one agent.
type Slot struct {
	limiter *Limiter
	life    context.Context // canceled when the slot is lost
	lose    context.CancelFunc
	once    sync.Once
	gone    chan struct{} // closed when the slot has been released or releasing has timed out

	places []*place // in the order of acquisition; guarded by limiter.mu
}

func newSlot(l *Limiter) *Slot {
	s := &Slot{limiter: l, gone: make(chan struct{})}
	s.life, s.lose = context.WithCancel(context.Background())
	return s
}

// Lost is closed when the store has given the slot to another agent. The run in it must stop;
// the slot must still be released.
func (s *Slot) Lost() <-chan struct{} { return s.life.Done() }

// Release releases the slot in the background. Calls after the first do nothing.
func (s *Slot) Release() {
	s.once.Do(func() {
		s.limiter.mu.Lock()
		places := slices.Clone(s.places)
		s.limiter.mu.Unlock()
		s.limiter.forget(places...)
		slices.Reverse(places)
		s.limiter.releases.Go(func() {
			defer close(s.gone)
			s.limiter.giveBack(places)
		})
	})
}

// hasWaiters reports whether an agent waits for one of the slot's semaphores. It is false if
// the store does not answer.
func (s *Slot) wanted(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, reserveFor)
	defer cancel()
	s.limiter.mu.Lock()
	places := slices.Clone(s.places)
	s.limiter.mu.Unlock()
	return slices.ContainsFunc(places, func(p *place) bool {
		u, err := s.limiter.store.Slots(ctx, p.Semaphore)
		return err == nil && u.Waiting > 0
	})
}

// addPart adds a semaphore's part to the slot; the limiter renews it from now on.
func (s *Slot) add(r store.SlotRequest) {
	p := &place{SlotRequest: r, of: s}
	s.limiter.mu.Lock()
	defer s.limiter.mu.Unlock()
	s.places = append(s.places, p)
	s.limiter.held[p] = struct{}{}
}

// releaseParts releases parts of a slot and retries for a while if the store does not answer.
func (l *Limiter) giveBack(places []*place) {
	ctx, cancel := context.WithTimeout(context.Background(), min(releaseFor, l.limits.TTL))
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		var err error
		places = slices.DeleteFunc(places, func(p *place) bool {
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
