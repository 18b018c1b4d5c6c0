package policies

import (
	"maps"
	"slices"
)

// Limits of queued messages.
const (
	// MainQueueLimit applies to one monitor.
	MainQueueLimit = 10
	// WindowQueueLimit applies to one window or one group of windows.
	WindowQueueLimit = 50
)

// Queue holds values in arrival order, separately for each key. The zero value accepts nothing;
// use a constructor.
type Queue[T any] struct {
	limit  int
	values map[string][]T // no empty slices
}

// NewQueue returns a queue that holds at most limit values per key.
func NewQueue[T any](limit int) *Queue[T] {
	return &Queue[T]{limit: limit, values: make(map[string][]T)}
}

// NewMainQueue returns the queue of messages to main agents; keys are monitors.
func NewMainQueue[T any]() *Queue[T] { return NewQueue[T](MainQueueLimit) }

// NewWindowQueue returns the queue of messages to window agents; keys are agent names.
func NewWindowQueue[T any]() *Queue[T] { return NewQueue[T](WindowQueueLimit) }

// Push adds v and returns its position, counted from 1; ok is false if the key is full.
func (q *Queue[T]) Push(key string, v T) (position int, ok bool) {
	if q.Full(key) {
		return 0, false
	}
	q.values[key] = append(q.values[key], v)
	return len(q.values[key]), true
}

// Full reports whether Push would fail.
func (q *Queue[T]) Full(key string) bool { return len(q.values[key]) >= q.limit }

// Pop removes and returns the oldest value.
func (q *Queue[T]) Pop(key string) (T, bool) {
	v, ok := q.Peek(key)
	if ok {
		q.set(key, slices.Delete(q.values[key], 0, 1))
	}
	return v, ok
}

// Peek returns the oldest value.
func (q *Queue[T]) Peek(key string) (T, bool) {
	if line := q.values[key]; len(line) > 0 {
		return line[0], true
	}
	var none T
	return none, false
}

// Len returns the number of values of a key.
func (q *Queue[T]) Len(key string) int { return len(q.values[key]) }

// Total returns the number of values of all keys.
func (q *Queue[T]) Total() int {
	n := 0
	for _, line := range q.values {
		n += len(line)
	}
	return n
}

// All returns a copy of the values of a key, in order.
func (q *Queue[T]) All(key string) []T { return slices.Clone(q.values[key]) }

// Keys returns the keys that have values, sorted.
func (q *Queue[T]) Keys() []string { return slices.Sorted(maps.Keys(q.values)) }

// Remove removes and returns all matching values, by key and in order.
func (q *Queue[T]) Remove(match func(T) bool) []T {
	var out []T
	for _, key := range q.Keys() {
		q.set(key, slices.DeleteFunc(q.values[key], func(v T) bool {
			if !match(v) {
				return false
			}
			out = append(out, v)
			return true
		}))
	}
	return out
}

// Drop removes and returns all values of a key.
func (q *Queue[T]) Drop(key string) []T {
	line := q.values[key]
	delete(q.values, key)
	return line
}

// Restore sets the values of a key. It accepts more than the limit, because accepted values
// stay even if the limit has become lower.
func (q *Queue[T]) Restore(key string, line []T) { q.set(key, slices.Clone(line)) }

func (q *Queue[T]) set(key string, line []T) {
	if len(line) == 0 {
		delete(q.values, key)
		return
	}
	q.values[key] = line
}
