package filestore

import (
	"context"
	"slices"
	"sync"
)

// turn is a lock that obeys contexts and that somebody else may unlock: whoever
// writes takes it, and the log's callback gives it back, even if the writer has
// gone away meanwhile. Those who wait are served in order. The zero turn is
// free and costs little, for there is one in every session.
type turn struct {
	mu      sync.Mutex
	taken   bool
	waiting []chan struct{}
}

func (t *turn) take(ctx context.Context) error {
	t.mu.Lock()
	if !t.taken {
		t.taken = true
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
		t.give() // it came just now
	}
	return context.Cause(ctx)
}

// tryTake takes the turn if it is free.
func (t *turn) tryTake() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken {
		return false
	}
	t.taken = true
	return true
}

func (t *turn) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.taken, t.waiting = false, nil
		return
	}
	close(t.waiting[0])
	t.waiting = t.waiting[1:]
}
