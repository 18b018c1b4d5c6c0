package broadcast

import (
	"sync"
	"sync/atomic"
)

// groupSize is the number of tabs that a writer serves at a time.
const groupSize = 128

// Writers are goroutines that write for all Centers of a replica, so that the writes to the
// tabs of large sessions use all processors and do not delay their publishers. The zero value
// has no goroutines: publishers then write to all tabs themselves. Close returns when the
// goroutines have ended.
type Writers struct {
	flushers sync.Pool // of *flusher
	batches  sync.Pool // of *batch, for tabs whose sockets are full
	wg       sync.WaitGroup
	running  int

	mu          sync.Mutex // guards the fields below
	wake        sync.Cond
	first, last *group // queue of groups, linked by next
	closed      bool
}

// NewWriters starts n goroutines; one per processor is a good number.
func NewWriters(n int) *Writers {
	w := &Writers{running: n}
	w.wake.L = &w.mu
	for range n {
		w.wg.Go(w.writeLoop)
	}
	return w
}

// Close stops each goroutine after its current write. Publishing goes on without them.
func (w *Writers) Close() {
	w.mu.Lock()
	w.closed = true
	waiting := w.first
	w.first, w.last = nil, nil
	w.wake.Broadcast()
	w.mu.Unlock()
	w.wg.Wait()
	for waiting != nil { // write the remaining groups here
		g := waiting
		waiting, g.next = g.next, nil
		g.state.Store(groupIdle)
		w.flush(g)
	}
}

// writeLoop writes to queued groups until Close.
func (w *Writers) writeLoop() {
	f := &flusher{}
	for {
		g := w.pop()
		if g == nil {
			return
		}
		w.write(f, g)
	}
}

// pop waits for a queued group; it returns nil after Close.
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

// shift removes the first group from the queue and returns it, or nil. The caller holds
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

// enqueueGroups queues groups for writing. For each group that was still queued from
// before, the caller writes one queued group itself, so that a publisher is never much
// faster than the writers.
func (w *Writers) enqueueGroups(groups []*group) {
	behind := 0
	for _, g := range groups {
		if !w.enqueue(g) {
			behind++
		}
	}
	if behind == 0 {
		return
	}
	f := w.getFlusher()
	for range behind {
		w.mu.Lock()
		g := w.shift()
		w.mu.Unlock()
		if g == nil {
			break
		}
		w.write(f, g)
	}
	w.putFlusher(f)
}

// enqueue queues a group. It returns false if the group was already queued.
func (w *Writers) enqueue(g *group) bool {
	for {
		switch g.state.Load() {
		case groupIdle:
			if g.state.CompareAndSwap(groupIdle, groupQueued) {
				w.push(g)
				return true
			}
		case groupWriting:
			if g.state.CompareAndSwap(groupWriting, groupRequeue) {
				return true
			}
		default:
			return false
		}
	}
}

// write serves a group taken from the queue.
func (w *Writers) write(f *flusher, g *group) {
	g.state.Store(groupWriting)
	f.writeGroup(g)
	if !g.state.CompareAndSwap(groupWriting, groupIdle) {
		g.state.Store(groupQueued)
		w.push(g)
	}
}

// flush writes to the tabs of a group on the caller's goroutine.
func (w *Writers) flush(g *group) {
	f := w.getFlusher()
	f.writeGroup(g)
	w.putFlusher(f)
}

// getFlusher and putFlusher pool the buffers of non-blocking writes.
func (w *Writers) getFlusher() *flusher {
	if f, ok := w.flushers.Get().(*flusher); ok {
		return f
	}
	return &flusher{}
}

func (w *Writers) putFlusher(f *flusher) {
	f.batch.reset()
	w.flushers.Put(f)
}

// getBatch and putBatch pool the batches of owner goroutines. They are small, because there
// may be many of them for a long time.
func (w *Writers) getBatch() *writeBatch {
	if b, ok := w.batches.Get().(*writeBatch); ok {
		return b
	}
	return &writeBatch{}
}

func (w *Writers) putBatch(b *writeBatch) {
	b.reset()
	if cap(b.buf) <= maxPooledBytes && cap(b.unitBuf) <= maxPooledBytes {
		w.batches.Put(b)
	}
}

// The states of a group.
const (
	groupIdle    int32 = iota
	groupQueued        // in the queue
	groupWriting       // being written
	groupRequeue       // being written, and to be queued again afterwards
)

// group is a set of tabs of one ring and form that one goroutine writes to in turn.
type group struct {
	state atomic.Int32
	next  *group // in the queue

	mu   sync.Mutex // guards the fields below
	tabs []*Tab
}

// add adds a tab if the group has space and the same form.
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

// remove removes a tab and reports whether it was the last.
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
