package agent

import "sync"

// Writers has the ids of the conversations that programs with the same home have open. Two programs must not
// write the same one, also if they belong to different providers, as with keys of users.
type Writers struct {
	mu   sync.Mutex
	open map[string]bool
}

// NewWriters returns an empty set.
func NewWriters() *Writers { return &Writers{open: map[string]bool{}} }

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
