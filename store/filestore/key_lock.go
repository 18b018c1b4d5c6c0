package filestore

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// keyLock is a mutex whose lock method obeys a context and that another goroutine may
// unlock: a writer locks it, and the log's callback unlocks it, even if the writer has
// returned meanwhile. Waiters are served in order. The zero value is unlocked. Every
// session has one, so it is small.
type keyLock struct {
	state   atomic.Uint32
	mu      sync.Mutex
	waiting []chan struct{}
}

// The states of a keyLock. It is contended while waiters are, or were, queued.
const (
	lockFree = iota
	lockHeld
	lockContended
)

// lock waits for the lock. If ctx ends first, it returns the context's cause.
func (t *keyLock) lock(ctx context.Context) error {
	if t.tryLock() {
		return nil
	}
	t.mu.Lock()
	if t.state.Swap(lockContended) == lockFree { // unlocked since tryLock
		t.state.Store(lockHeld)
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	t.waiting = append(t.waiting, mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(t.waiting, mine)
	if i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 {
		t.unlock() // the lock was passed to this waiter just now
	}
	return context.Cause(ctx)
}

// tryLock acquires the lock if it is free.
func (t *keyLock) tryLock() bool { return t.state.CompareAndSwap(lockFree, lockHeld) }

// unlock passes the lock to the first waiter, or frees it.
func (t *keyLock) unlock() {
	if t.state.CompareAndSwap(lockHeld, lockFree) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.waiting = nil
		t.state.Store(lockFree)
		return
	}
	close(t.waiting[0])
	t.waiting = t.waiting[1:]
}
