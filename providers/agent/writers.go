package agent

import (
	"context"
	"sync"
)

// Writers has the ids of the conversations that programs with the same home have open. Two programs must not
// write the same one, also if they belong to different providers, as with keys of users.
type Writers struct {
	starting chan struct{} // has one element while a program starts

	mu   sync.Mutex
	open map[string]bool
}

// NewWriters returns an empty set.
func NewWriters() *Writers {
	return &Writers{starting: make(chan struct{}, 1), open: map[string]bool{}}
}

// StartAlone calls start while no other call of it runs, for programs that must not start at the same time in
// one home.
func (w *Writers) StartAlone(ctx context.Context, start func() error) error {
	select {
	case w.starting <- struct{}{}:
		defer func() { <-w.starting }()
		return start()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// claim adds a conversation, and returns false if it is there already.
func (w *Writers) claim(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open[id] {
		return false
	}
	w.open[id] = true
	return true
}

// release removes a conversation.
func (w *Writers) release(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, id)
}
