package policies

import (
	"maps"
	"slices"
)

// How many messages wait at most.
const (
	// MainQueueLimit is for one monitor.
	MainQueueLimit = 10
	// WindowQueueLimit is for one window, or one group of windows.
	WindowQueueLimit = 50
)

// Queue keeps things in arrival order, apart for each key. Keys do not touch each
// other. The zero value takes nothing; use a constructor.
type Queue[T any] struct {
	limit int
	lines map[string][]T // never an empty one
}

// NewQueue makes a queue that takes limit things per key.
func NewQueue[T any](limit int) *Queue[T] {
	return &Queue[T]{limit: limit, lines: make(map[string][]T)}
}

// NewMainQueue makes the queue of messages to main agents; keys are monitors.
func NewMainQueue[T any]() *Queue[T] { return NewQueue[T](MainQueueLimit) }

// NewWindowQueue makes the queue of messages to window agents; keys are what
// names the agent.
func NewWindowQueue[T any]() *Queue[T] { return NewQueue[T](WindowQueueLimit) }

// Push adds v and says which place it has, counted from 1; ok is false when the
// key has no room.
func (q *Queue[T]) Push(key string, v T) (position int, ok bool) {
	if q.Full(key) {
		return 0, false
	}
	q.lines[key] = append(q.lines[key], v)
	return len(q.lines[key]), true
}

// Full reports whether Push would refuse.
func (q *Queue[T]) Full(key string) bool { return len(q.lines[key]) >= q.limit }

// Pop takes what has waited longest.
func (q *Queue[T]) Pop(key string) (T, bool) {
	v, ok := q.Peek(key)
	if ok {
		q.set(key, slices.Delete(q.lines[key], 0, 1))
	}
	return v, ok
}

// Peek is what Pop would take.
func (q *Queue[T]) Peek(key string) (T, bool) {
	if line := q.lines[key]; len(line) > 0 {
		return line[0], true
	}
	var none T
	return none, false
}

// Len counts what waits for a key.
func (q *Queue[T]) Len(key string) int { return len(q.lines[key]) }

// Total counts what waits for all keys.
func (q *Queue[T]) Total() int {
	n := 0
	for _, line := range q.lines {
		n += len(line)
	}
	return n
}

// All is a copy of what waits for a key, in order.
func (q *Queue[T]) All(key string) []T { return slices.Clone(q.lines[key]) }

// Keys are those for which something waits, sorted.
func (q *Queue[T]) Keys() []string { return slices.Sorted(maps.Keys(q.lines)) }

// Remove takes out everything that matches and returns it, by key and in order.
func (q *Queue[T]) Remove(match func(T) bool) []T {
	var out []T
	for _, key := range q.Keys() {
		q.set(key, slices.DeleteFunc(q.lines[key], func(v T) bool {
			if !match(v) {
				return false
			}
			out = append(out, v)
			return true
		}))
	}
	return out
}

// Drop takes out everything that waits for a key.
func (q *Queue[T]) Drop(key string) []T {
	line := q.lines[key]
	delete(q.lines, key)
	return line
}

// Restore puts back what All returned. It keeps everything, even if the limit has
// become lower: what was once accepted stays.
func (q *Queue[T]) Restore(key string, line []T) { q.set(key, slices.Clone(line)) }

func (q *Queue[T]) set(key string, line []T) {
	if len(line) == 0 {
		delete(q.lines, key)
		return
	}
	q.lines[key] = line
}
