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
func (k *keyLock) lock(ctx context.Context) error {
	if k.tryLock() {
		return nil
	}
	k.mu.Lock()
	if k.state.Swap(lockContended) == lockFree { // unlocked since tryLock
		k.state.Store(lockHeld)
		k.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	k.waiting = append(k.waiting, mine)
	k.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	k.mu.Lock()
	i := slices.Index(k.waiting, mine)
	if i >= 0 {
		k.waiting = slices.Delete(k.waiting, i, i+1)
	}
	k.mu.Unlock()
	if i < 0 {
		k.unlock() // the lock was passed to this waiter just now
	}
	return context.Cause(ctx)
}

// tryLock acquires the lock if it is free.
func (k *keyLock) tryLock() bool { return k.state.CompareAndSwap(lockFree, lockHeld) }

// unlock passes the lock to the first waiter, or frees it.
func (k *keyLock) unlock() {
	if k.state.CompareAndSwap(lockHeld, lockFree) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.waiting) == 0 {
		k.waiting = nil
		k.state.Store(lockFree)
		return
	}
	close(k.waiting[0])
	k.waiting = k.waiting[1:]
}
