package filestore

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// turn is a lock that obeys contexts and that somebody else may unlock: whoever
// writes takes it, and the log's callback gives it back, even if the writer has
// gone away meanwhile. Those who wait are served in order. The zero turn is
// free and costs little, for there is one in every session.
type turn struct {
	state   atomic.Uint32
	mu      sync.Mutex
	waiting []chan struct{}
}

// What a turn can be. It is wanted when somebody waits for it, or did.
const (
	turnFree = iota
	turnTaken
	turnWanted
)

func (t *turn) take(ctx context.Context) error {
	if t.tryTake() {
		return nil
	}
	t.mu.Lock()
	if t.state.Swap(turnWanted) == turnFree { // given back just now
		t.state.Store(turnTaken)
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
func (t *turn) tryTake() bool { return t.state.CompareAndSwap(turnFree, turnTaken) }

func (t *turn) give() {
	if t.state.CompareAndSwap(turnTaken, turnFree) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.waiting = nil
		t.state.Store(turnFree)
		return
	}
	close(t.waiting[0])
	t.waiting = t.waiting[1:]
}
