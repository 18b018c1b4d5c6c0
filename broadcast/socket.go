package broadcast

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// batchLimit is about how much one write takes at most, and heldLimit how much of
// its own is held for a tab whose socket is full. It is given catchLimit of the log
// at a time, so that with its goroutine it costs less than 64 KiB. Buffers up to
// pooledLimit are used again.
const (
	batchLimit  = 256 << 10
	heldLimit   = 64 << 10
	catchLimit  = heldLimit / 2
	pooledLimit = 2 * heldLimit
)

// flusher is what writing without waiting needs besides the tab. It is used by
// one goroutine at a time, for any number of tabs after each other.
type flusher struct {
	batch batch
	tabs  []*Tab // of the group at hand
	joint []byte // where bytes of several origins are put together

	// events and born are what was written since the last tell.
	events int
	born   time.Time

	try func(fd uintptr) bool // writes buf; made once, for a closure per write is garbage
	buf []byte
	n   int
	err error
}

func newFlusher() *flusher {
	f := &flusher{}
	f.try = func(fd uintptr) bool {
		f.n, f.err = writeNow(fd, f.buf)
		return true
	}
	return f
}

// write gives a socket what it takes at once. Nothing taken is not an error.
func (f *flusher) write(raw syscall.RawConn, b []byte) (int, error) {
	f.buf, f.n, f.err = b, 0, nil
	err := raw.Write(f.try)
	f.buf = nil
	return f.n, errors.Join(err, f.err)
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

// rawConn is how to write to a connection without waiting, or nil where one
// cannot.
func rawConn(c net.Conn) syscall.RawConn {
	sc, ok := c.(syscall.Conn)
	if !ok || !canWriteNow {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
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
func (p *patience) lost(raw syscall.RawConn, taken int) bool {
	if taken > 0 {
		*p = patience{}
		return false
	}
	queued, known := unsent(raw)
	if p.asked && (!known || queued >= p.queued) {
		return true
	}
	p.queued, p.asked = queued, true
	return false
}

// moves is whether what was written to a socket arrives. An answer to a ping
// that is behind a large frame cannot be expected before the frame is through.
type moves struct {
	sent int64 // written so far
	left int64 // of that, known to have arrived
	at   int64 // when that was seen to grow while more was on its way
}

// Moving reports whether a socket that is behind was seen to take something
// within a time. It is asked now and then when the client is silent.
func (t *Tab) Moving(within time.Duration) bool {
	queued, _ := unsent(t.raw)
	now := time.Now().UnixNano()
	t.mu.Lock()
	defer t.mu.Unlock()
	m := &t.moves
	was := t.busy
	t.busy = t.owner != nil || queued > 0
	if left := m.sent - int64(queued); left > m.left {
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
