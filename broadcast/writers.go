package broadcast

import (
	"sync"
	"sync/atomic"
)

// groupSize is how many tabs a writer takes at a time.
const groupSize = 128

// Writers are a few goroutines that write for the Centers of a replica, so that
// the tabs of large sessions are written to by all processors and their
// publishers do not wait for it. The zero value has none: publishers then write
// to all tabs themselves.
//
// Ownership: Writers owns its goroutines. Close returns when they have ended.
type Writers struct {
	flushers sync.Pool // of *flusher
	batches  sync.Pool // of *batch, for tabs whose sockets are full
	wg       sync.WaitGroup
	running  int

	mu          sync.Mutex // guards the following
	wake        sync.Cond
	first, last *group // waiting, linked by next
	closed      bool
}

// NewWriters starts n writers; one per processor is a good number.
func NewWriters(n int) *Writers {
	w := &Writers{running: n}
	w.wake.L = &w.mu
	for range n {
		w.wg.Go(w.work)
	}
	return w
}

// Close ends the writers after the write each is at. Publishing goes on without
// them.
func (w *Writers) Close() {
	w.mu.Lock()
	w.closed = true
	waiting := w.first
	w.first, w.last = nil, nil
	w.wake.Broadcast()
	w.mu.Unlock()
	w.wg.Wait()
	for waiting != nil { // nobody else will
		g := waiting
		waiting, g.next = g.next, nil
		g.state.Store(groupIdle)
		w.flush(g)
	}
}

// work writes to one group after the other.
func (w *Writers) work() {
	f := &flusher{}
	for {
		g := w.pop()
		if g == nil {
			return
		}
		w.write(f, g)
	}
}

// pop waits for a group; nil is the end.
func (w *Writers) pop() *group {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.first == nil {
		if w.closed {
			return nil
		}
		w.wake.Wait()
	}
	return w.shift()
}

// shift takes the first group of the queue, if there is one. The caller has
// w.mu.
func (w *Writers) shift() *group {
	g := w.first
	if g == nil {
		return nil
	}
	w.first, g.next = g.next, nil
	if w.first == nil {
		w.last = nil
	}
	return g
}

// push queues a group that is not queued.
func (w *Writers) push(g *group) {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		g.state.Store(groupIdle)
		w.flush(g)
		return
	}
	if w.last == nil {
		w.first = g
	} else {
		w.last.next = g
	}
	w.last = g
	w.mu.Unlock()
	w.wake.Signal()
}

// news has somebody write to the tabs of some groups, soon. When the writers
// are behind, the caller takes its share of the writes that wait, so that a
// publisher is never much faster than they are.
func (w *Writers) news(groups []*group) {
	behind := 0
	for _, g := range groups {
		if !w.wakeFor(g) {
			behind++
		}
	}
	if behind == 0 {
		return
	}
	f := w.get()
	for range behind {
		w.mu.Lock()
		g := w.shift()
		w.mu.Unlock()
		if g == nil {
			break
		}
		w.write(f, g)
	}
	w.put(f)
}

// wakeFor queues a group. It reports false when it was queued before.
func (w *Writers) wakeFor(g *group) bool {
	for {
		switch g.state.Load() {
		case groupIdle:
			if g.state.CompareAndSwap(groupIdle, groupWaits) {
				w.push(g)
				return true
			}
		case groupWritten:
			if g.state.CompareAndSwap(groupWritten, groupAgain) {
				return true
			}
		default:
			return false
		}
	}
}

// write serves a group that was queued.
func (w *Writers) write(f *flusher, g *group) {
	g.state.Store(groupWritten)
	f.group(g)
	if !g.state.CompareAndSwap(groupWritten, groupIdle) {
		g.state.Store(groupWaits)
		w.push(g)
	}
}

// flush writes to the tabs of a group on the caller's time.
func (w *Writers) flush(g *group) {
	f := w.get()
	f.group(g)
	w.put(f)
}

// get and put share what a write needs between callers that come and go.
func (w *Writers) get() *flusher {
	if f, ok := w.flushers.Get().(*flusher); ok {
		return f
	}
	return &flusher{}
}

func (w *Writers) put(f *flusher) {
	f.batch.drop()
	w.flushers.Put(f)
}

// borrow and giveBack share the batches of tabs that wait. They are small, for
// there may be many of them for a long time.
func (w *Writers) borrow() *batch {
	if b, ok := w.batches.Get().(*batch); ok {
		return b
	}
	return &batch{}
}

func (w *Writers) giveBack(b *batch) {
	b.drop()
	if cap(b.buf) <= pooledLimit && cap(b.unit) <= pooledLimit {
		w.batches.Put(b)
	}
}

// What a group is doing.
const (
	groupIdle    int32 = iota
	groupWaits         // it is queued
	groupWritten       // a writer is at it
	groupAgain         // likewise, and there is news since
)

// group is some tabs of one ring and form that are written to one after the other.
type group struct {
	state atomic.Int32
	next  *group // in the queue

	mu   sync.Mutex // guards the following
	tabs []*Tab
}

// add takes a tab in, if there is room and it is of the same form.
func (g *group) add(t *Tab) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := len(g.tabs); n == groupSize || n > 0 && g.tabs[0].form != t.form {
		return false
	}
	t.group, t.slot = g, len(g.tabs)
	g.tabs = append(g.tabs, t)
	return true
}

// remove takes a tab out and reports whether it was the last.
func (g *group) remove(t *Tab) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	end := len(g.tabs) - 1
	moved := g.tabs[end]
	g.tabs[t.slot], moved.slot = moved, t.slot
	g.tabs[end] = nil
	g.tabs = g.tabs[:end]
	return end == 0
}
