package access

import (
	"context"
	"fmt"
	"sync"
)

// createLocks serialises session creation per user, so that two tabs of a new user get one session
// and no user gets more sessions than allowed. Different users do not wait for each other.
type createLocks struct {
	mu   sync.Mutex
	held map[string]*createLock // by user; only those held or awaited
}

type createLock struct {
	taken chan struct{}
	users int // holders and waiters; guarded by createLocks.mu
}

// acquire waits for the user's lock. The caller must call release.
func (b *createLocks) acquire(ctx context.Context, user string) (release func(), err error) {
	b.mu.Lock()
	if b.held == nil {
		b.held = map[string]*createLock{}
	}
	t := b.held[user]
	if t == nil {
		t = &createLock{taken: make(chan struct{}, 1)}
		b.held[user] = t
	}
	t.users++
	b.mu.Unlock()
	leave := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(b.held, user)
		}
	}
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, fmt.Errorf("wait for another request of the user: %w", context.Cause(ctx))
	}
}
