package filestore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
)

// Semaphores implements the semaphores of the contract. They are kept in memory only, because
// all holders are part of this process.
type Semaphores struct {
	*folder
	mu    sync.Mutex
	named map[string]*semaphore
}

func newSemaphores(f *folder) *Semaphores {
	return &Semaphores{folder: f, named: map[string]*semaphore{}}
}

type semaphore struct {
	held    map[string]*slot // by holder
	waiting []*slotWaiter    // oldest first
}

type slot struct {
	key   string
	until time.Time
}

type slotWaiter struct {
	store.SlotRequest
	granted chan struct{} // closed under the lock
}

// Acquire takes a slot of a semaphore. A free slot goes to the waiting request whose key
// holds the fewest slots, and among those to the oldest. Without r.Wait a full semaphore is
// [store.ErrFull].
func (s *Semaphores) Acquire(ctx context.Context, r store.SlotRequest) (store.Slot, error) {
	if err := s.checkOpen(ctx); err != nil {
		return store.Slot{}, err
	}
	if err := store.CheckSlot(r); err != nil {
		return store.Slot{}, err
	}
	granted := store.Slot{Semaphore: r.Semaphore, Holder: r.Holder, TTL: r.TTL}
	w := &slotWaiter{SlotRequest: r, granted: make(chan struct{})}
	full := s.withSemaphore(r.Semaphore, func(m *semaphore, now time.Time) error {
		m.waiting = append(m.waiting, w)
		m.dispatch(now)
		if !r.Wait && m.removeWaiter(w) {
			return fmt.Errorf("semaphore %q: %w: %d slots held, %d requests waiting", r.Semaphore, store.ErrFull, len(m.held), len(m.waiting))
		}
		return nil
	})
	if full != nil {
		return store.Slot{}, full
	}
	notify(s.wake) // the expiry of a slot may now matter to this request
	var err error
	select {
	case <-w.granted:
		return granted, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-s.runCtx.Done():
		err = store.ErrClosed
	}
	if left := s.withSemaphore(r.Semaphore, func(m *semaphore, _ time.Time) error {
		if m.removeWaiter(w) {
			return err
		}
		return nil // granted just now
	}); left != nil {
		return store.Slot{}, left
	}
	return granted, nil
}

// withSemaphore calls fn with a semaphore after expiring its slots, and deletes the semaphore if it
// is unused afterwards.
func (s *Semaphores) withSemaphore(name string, fn func(m *semaphore, now time.Time) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.named[name]
	if m == nil {
		m = &semaphore{held: map[string]*slot{}}
		s.named[name] = m
	}
	now := time.Now()
	m.dispatch(now)
	err := fn(m, now)
	if len(m.held) == 0 && len(m.waiting) == 0 {
		delete(s.named, name)
	}
	return err
}

// expire expires slots and returns the earliest expiry in a semaphore with waiting
// requests, or the zero time.
func (s *Semaphores) expire(now time.Time) (next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, m := range s.named {
		m.dispatch(now)
		if len(m.held) == 0 && len(m.waiting) == 0 {
			delete(s.named, name)
		}
		for _, h := range m.held {
			if len(m.waiting) > 0 && (next.IsZero() || h.until.Before(next)) {
				next = h.until
			}
		}
	}
	return next
}

// dispatch expires slots and grants free ones to waiting requests.
func (m *semaphore) dispatch(now time.Time) {
	maps.DeleteFunc(m.held, func(_ string, h *slot) bool { return !h.until.After(now) })
	for {
		w := m.nextWaiter()
		if w == nil {
			return
		}
		m.held[w.Holder] = &slot{key: w.Key, until: now.Add(w.TTL)}
		m.removeWaiter(w)
		close(w.granted)
	}
}

// nextWaiter returns the request to grant next, or nil: that of the key with the fewest
// slots, the oldest first. A request whose holder already has a slot is granted in any
// case.
func (m *semaphore) nextWaiter() (best *slotWaiter) {
	uses := map[string]int{}
	for _, h := range m.held {
		uses[h.key]++
	}
	for _, w := range m.waiting {
		if m.held[w.Holder] != nil {
			return w
		}
		if len(m.held) < w.Limit && (best == nil || uses[w.Key] < uses[best.Key]) {
			best = w
		}
	}
	return best
}

// removeWaiter removes a waiting request and reports whether it was waiting.
func (m *semaphore) removeWaiter(w *slotWaiter) bool {
	i := slices.Index(m.waiting, w)
	if i < 0 {
		return false
	}
	m.waiting = slices.Delete(m.waiting, i, i+1)
	return true
}

// RenewSlot extends a slot by its TTL from now. [store.ErrFenced] if the slot has expired
// or was released.
func (s *Semaphores) RenewSlot(ctx context.Context, held store.Slot) error {
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	if err := store.CheckTTL(held.TTL); err != nil {
		return err
	}
	sooner := false
	err := s.withSemaphore(held.Semaphore, func(m *semaphore, now time.Time) error {
		h := m.held[held.Holder]
		if h == nil {
			return store.ErrFenced
		}
		until := now.Add(held.TTL)
		sooner, h.until = until.Before(h.until), until
		return nil
	})
	if sooner {
		notify(s.wake) // the timer is set to the later expiry
	}
	return err
}

// ReleaseSlot frees a slot. A slot that is not held is not an error.
func (s *Semaphores) ReleaseSlot(ctx context.Context, held store.Slot) error {
	if err := s.checkOpen(ctx); err != nil {
		return err
	}
	return s.withSemaphore(held.Semaphore, func(m *semaphore, now time.Time) error {
		delete(m.held, held.Holder)
		m.dispatch(now)
		return nil
	})
}

// Slots counts the held slots and the waiting requests of a semaphore.
func (s *Semaphores) Slots(ctx context.Context, name string) (use store.SlotUse, err error) {
	if err := s.checkOpen(ctx); err != nil {
		return use, err
	}
	err = s.withSemaphore(name, func(m *semaphore, _ time.Time) error {
		use = store.SlotUse{Held: len(m.held), Waiting: len(m.waiting)}
		return nil
	})
	return use, err
}
