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

// semaphores are kept in memory only: whoever holds a slot is part of this
// process.
type semaphores struct {
	mu    sync.Mutex
	named map[string]*semaphore
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

// Acquire takes a slot of a semaphore.
func (s *Store) Acquire(ctx context.Context, r store.SlotRequest) (store.Slot, error) {
	if err := s.enter(ctx); err != nil {
		return store.Slot{}, err
	}
	if err := store.CheckSlot(r); err != nil {
		return store.Slot{}, err
	}
	granted := store.Slot{Semaphore: r.Semaphore, Holder: r.Holder, TTL: r.TTL}
	w := &slotWaiter{SlotRequest: r, granted: make(chan struct{})}
	full := s.semaphores.use(r.Semaphore, func(m *semaphore, now time.Time) error {
		m.waiting = append(m.waiting, w)
		m.dispatch(now)
		if !r.Wait && m.giveUp(w) {
			return fmt.Errorf("semaphore %q: %w: %d slots held, %d requests waiting", r.Semaphore, store.ErrFull, len(m.held), len(m.waiting))
		}
		return nil
	})
	if full != nil {
		return store.Slot{}, full
	}
	signal(s.alarm) // somebody may wait for the end of a slot now
	var err error
	select {
	case <-w.granted:
		return granted, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-s.life.Done():
		err = store.ErrClosed
	}
	if left := s.semaphores.use(r.Semaphore, func(m *semaphore, _ time.Time) error {
		if m.giveUp(w) {
			return err
		}
		return nil // granted just now
	}); left != nil {
		return store.Slot{}, left
	}
	return granted, nil
}

// use calls fn with a semaphore whose dead holders are gone, and forgets the
// semaphore if nobody uses it afterwards.
func (all *semaphores) use(name string, fn func(m *semaphore, now time.Time) error) error {
	all.mu.Lock()
	defer all.mu.Unlock()
	m := all.named[name]
	if m == nil {
		m = &semaphore{held: map[string]*slot{}}
		all.named[name] = m
	}
	now := time.Now()
	m.dispatch(now)
	err := fn(m, now)
	if len(m.held) == 0 && len(m.waiting) == 0 {
		delete(all.named, name)
	}
	return err
}

// expire ends slots whose time is over and returns when the next one that
// somebody waits for is, or the zero time.
func (all *semaphores) expire(now time.Time) (next time.Time) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for name, m := range all.named {
		m.dispatch(now)
		if len(m.held) == 0 && len(m.waiting) == 0 {
			delete(all.named, name)
		}
		for _, h := range m.held {
			if len(m.waiting) > 0 && (next.IsZero() || h.until.Before(next)) {
				next = h.until
			}
		}
	}
	return next
}

// dispatch ends slots whose time is over and grants what can be granted.
func (m *semaphore) dispatch(now time.Time) {
	maps.DeleteFunc(m.held, func(_ string, h *slot) bool { return !h.until.After(now) })
	for {
		w := m.next()
		if w == nil {
			return
		}
		m.held[w.Holder] = &slot{key: w.Key, until: now.Add(w.TTL)}
		m.giveUp(w)
		close(w.granted)
	}
}

// next returns the request whose turn it is, if there is a slot for it: that of
// the key with the fewest slots, the oldest first. One whose holder has a slot
// already needs none.
func (m *semaphore) next() (best *slotWaiter) {
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

// giveUp takes a request out of those who wait, if it is among them.
func (m *semaphore) giveUp(w *slotWaiter) bool {
	i := slices.Index(m.waiting, w)
	if i < 0 {
		return false
	}
	m.waiting = slices.Delete(m.waiting, i, i+1)
	return true
}

// RenewSlot makes a slot last for another while.
func (s *Store) RenewSlot(ctx context.Context, held store.Slot) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	if err := store.CheckTTL(held.TTL); err != nil {
		return err
	}
	sooner := false
	err := s.semaphores.use(held.Semaphore, func(m *semaphore, now time.Time) error {
		h := m.held[held.Holder]
		if h == nil {
			return store.ErrFenced
		}
		until := now.Add(held.TTL)
		sooner, h.until = until.Before(h.until), until
		return nil
	})
	if sooner {
		signal(s.alarm) // which is set for later
	}
	return err
}

// ReleaseSlot gives a slot back. One that is not held is no error.
func (s *Store) ReleaseSlot(ctx context.Context, held store.Slot) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	return s.semaphores.use(held.Semaphore, func(m *semaphore, now time.Time) error {
		delete(m.held, held.Holder)
		m.dispatch(now)
		return nil
	})
}

// Slots tells how busy a semaphore is.
func (s *Store) Slots(ctx context.Context, name string) (use store.SlotUse, err error) {
	if err := s.enter(ctx); err != nil {
		return use, err
	}
	err = s.semaphores.use(name, func(m *semaphore, _ time.Time) error {
		use = store.SlotUse{Held: len(m.held), Waiting: len(m.waiting)}
		return nil
	})
	return use, err
}
