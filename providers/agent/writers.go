package agent

import (
	"context"
	"sync"
)

// Writers has the ids of the conversations that programs with the same home have open. Two programs must not
// write the same one, also if they belong to different providers, as with keys of users, or to different hubs
// with the same folder.
type Writers struct {
	locks    lockFolder
	starting chan struct{} // has one element while a program starts

	mu   sync.Mutex
	open map[string]fileLock
}

// NewWriters returns an empty set. Sets of other processes with the same folder are respected; "" means that there
// are none.
func NewWriters(folder string) *Writers {
	return &Writers{locks: lockFolder(folder), starting: make(chan struct{}, 1), open: map[string]fileLock{}}
}

// startLock is the name of the lock that programs start with.
const startLock = "start"

// StartAlone calls start while no other call of it runs, for programs that must not start at the same time in
// one home.
func (w *Writers) StartAlone(ctx context.Context, start func() error) error {
	select {
	case w.starting <- struct{}{}:
		defer func() { <-w.starting }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	lock, err := w.locks.wait(ctx, startLock)
	if err != nil {
		return err
	}
	defer lock.release()
	return start()
}

// claim adds a conversation, and returns false if it is there already.
func (w *Writers) claim(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.open[id]; ok {
		return false
	}
	lock, ok := w.locks.try(id)
	if ok {
		w.open[id] = lock
	}
	return ok
}

// release removes a conversation.
func (w *Writers) release(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[id].release()
	delete(w.open, id)
}
