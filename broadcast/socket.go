package broadcast

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// batchLimit is about how much one write takes at most, and heldLimit how much of
// its own is held for a tab whose socket is full. It is given catchLimit of the log
// at a time, so that with its goroutine it costs less than 64 KiB, unless it is to be answered much. Buffers up to
// pooledLimit are used again. Nearly all that a step can answer fits into dueLimit: who has said
// much to a session that was behind is answered all at once, and is not slow for that.
const (
	batchLimit  = 256 << 10
	heldLimit   = 64 << 10
	dueLimit    = 4 * heldLimit
	catchLimit  = heldLimit / 2
	pooledLimit = 2 * heldLimit
)

// noDescriptor is the descriptor of a connection that has none, or none that may
// be written to without waiting.
const noDescriptor int32 = -1

// Socket is a connection that tabs write to. They give the bytes to its descriptor
// themselves, since the way through package net touches several times the memory
// that the rest of a write does. So whoever has a Socket must not close the
// connection within: Close sees to it first that no tab writes to a descriptor
// which may be somebody else's by then.
//
// A Socket has one tab at a time. It may be read from, and written to while it has
// none, as any other connection.
type Socket struct {
	net.Conn
	tab    atomic.Pointer[Tab] // who has the descriptor
	closed atomic.Bool
}

// Close implements [net.Conn].
func (s *Socket) Close() error {
	s.closed.Store(true)
	if t := s.tab.Load(); t != nil {
		s.takeBack(t)
	}
	return s.Conn.Close()
}

// lend gives a tab the descriptor, if there is one. Either it sees that the socket
// was closed, or Close sees the tab.
func (s *Socket) lend(t *Tab) {
	fd := descriptor(s.Conn)
	if fd == noDescriptor || !s.tab.CompareAndSwap(nil, t) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !s.closed.Load() {
		t.fd = fd
	}
}

// takeBack ends lend. The tab does not write to the descriptor any more when it
// returns.
func (s *Socket) takeBack(t *Tab) {
	t.mu.Lock()
	t.fd = noDescriptor
	t.mu.Unlock()
	s.tab.CompareAndSwap(t, nil)
}

// descriptor is what a connection can be written to without waiting.
func descriptor(c net.Conn) int32 {
	sc, ok := c.(syscall.Conn)
	if !ok || !canWriteNow {
		return noDescriptor
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return noDescriptor
	}
	number := noDescriptor
	if err := raw.Control(func(fd uintptr) { number = int32(fd) }); err != nil { //nolint:gosec // the kernel has no larger ones
		return noDescriptor
	}
	return number
}

// flusher is what writing without waiting needs besides the tab. It is used by
// one goroutine at a time, for any number of tabs after each other.
type flusher struct {
	batch batch
	tabs  []*Tab // of the group at hand
	joint []byte // where bytes of several origins are put together

	// events and born are what was written since the last tell.
	events int
	born   time.Time
}

// group writes to every tab of a group what its socket takes at once.
func (f *flusher) group(g *group) {
	g.mu.Lock()
	f.tabs = append(f.tabs[:0], g.tabs...)
	g.mu.Unlock()
	f.batch.drop() // the ring has moved on
	for _, t := range f.tabs {
		t.mu.Lock()
		t.flush(f, nil)
		t.mu.Unlock()
	}
	if f.events > 0 {
		f.tell(f.tabs[0].center.cfg.Observer)
	}
	clear(f.tabs)
}

// wrote counts what a socket took of the batch.
func (f *flusher) wrote(events int) {
	if events == 0 {
		return
	}
	f.events += events
	if born := f.batch.born; !born.IsZero() && (f.born.IsZero() || born.Before(f.born)) {
		f.born = born
	}
}

// tell tells an observer what was written since the last time.
func (f *flusher) tell(o Observer) {
	if f.events == 0 {
		return
	}
	o.Delivered(f.events, since(f.born))
	f.events, f.born = 0, time.Time{}
}

// patience tells a socket that takes little from one that takes nothing. A
// socket with a large buffer lets nothing in for a long time although the peer
// reads; then the buffer still empties.
type patience struct {
	queued int // in the socket's buffer when nothing had been taken for a while
	asked  bool
}

// lost is called when a write of half the timeout ended. It reports that nothing
// was taken all the time.
func (p *patience) lost(fd int32, taken int) bool {
	if taken > 0 {
		*p = patience{}
		return false
	}
	queued, known := unsent(fd)
	if p.asked && (!known || queued >= p.queued) {
		return true
	}
	p.queued, p.asked = queued, true
	return false
}

// moves is whether what was written to a socket arrives. An answer to a ping
// that is behind a large frame cannot be expected before the frame is through.
type moves struct {
	left int64 // of what was sent, known to have arrived
	at   int64 // when that was seen to grow while more was on its way
}

// Moving reports whether a socket that is behind was seen to take something
// within a time. It is asked now and then when the client is silent.
func (t *Tab) Moving(within time.Duration) bool {
	now := time.Now().UnixNano()
	t.mu.Lock()
	defer t.mu.Unlock()
	queued, _ := unsent(t.fd)
	m := &t.moves
	was := t.busy
	t.busy = t.owner != nil || queued > 0
	if left := t.sent - int64(queued); left > m.left {
		m.left = left
		if was || t.busy {
			m.at = now
		}
	}
	return m.at > 0 && now-m.at < int64(within)
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// past is a deadline that ends writes at once.
func past() time.Time { return time.Unix(1, 0) }
