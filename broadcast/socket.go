package broadcast

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// maxWriteBytes is the approximate bound of one write; maxHeldBytes bounds the private
// frames held for a tab whose socket is full. The owner goroutine of such a tab reads
// catchUpBytes of the ring or log at a time, so that the tab costs less than 64 KiB with
// its goroutine, unless it has many replies to receive. Buffers up to maxPooledBytes are
// reused. maxDelayedBytes is larger than nearly all replies of one step: a client that sent
// many messages to a busy session gets all replies at once and is not slow because of that.
const (
	maxWriteBytes   = 256 << 10
	maxHeldBytes    = 64 << 10
	maxDelayedBytes = 4 * maxHeldBytes
	catchUpBytes    = maxHeldBytes / 2
	maxPooledBytes  = 2 * maxHeldBytes
)

// noDescriptor means that a connection has no descriptor that can be written to without
// blocking.
const noDescriptor int32 = -1

// Socket is a connection that tabs write to. Tabs write to its file descriptor directly,
// because a write through package net touches several times as much memory. A user of a
// Socket must therefore not close the inner connection: Socket.Close first ensures that no tab
// writes to the descriptor, whose number may be reused after the close.
//
// A Socket has at most one tab at a time. It may be read from, and written to while it has no
// tab, like any other connection.
type Socket struct {
	net.Conn
	tab    atomic.Pointer[Tab] // the tab that uses the descriptor
	closed atomic.Bool
}

// Close implements [net.Conn].
func (s *Socket) Close() error {
	s.closed.Store(true)
	if t := s.tab.Load(); t != nil {
		s.detachTab(t)
	}
	return s.Conn.Close()
}

// attachTab gives a tab the descriptor, if there is one. Either attachTab observes that the
// socket was closed, or Close observes the tab.
func (s *Socket) attachTab(t *Tab) {
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

// detachTab ends attachTab. When it returns, the tab no longer writes to the descriptor.
func (s *Socket) detachTab(t *Tab) {
	t.mu.Lock()
	t.fd = noDescriptor
	t.mu.Unlock()
	s.tab.CompareAndSwap(t, nil)
}

// descriptor returns the file descriptor of a connection for non-blocking writes, or
// noDescriptor.
func descriptor(c net.Conn) int32 {
	sc, ok := c.(syscall.Conn)
	if !ok || !canWriteNonBlocking {
		return noDescriptor
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return noDescriptor
	}
	number := noDescriptor
	if err := raw.Control(func(fd uintptr) { number = int32(fd) }); err != nil { //nolint:gosec // descriptors are small numbers
		return noDescriptor
	}
	return number
}

// flusher holds the buffers of non-blocking writes. One goroutine at a time uses it, for
// any number of tabs in turn.
type flusher struct {
	batch  writeBatch
	tabs   []*Tab // of the current group
	joined []byte // buffer for joining unwritten bytes, batch and private frames

	// events and publishedAt cover the writes since the last reportDelivered.
	events      int
	publishedAt time.Time
}

// writeGroup writes to every tab of a group what its socket accepts without blocking.
func (f *flusher) writeGroup(g *group) {
	g.mu.Lock()
	f.tabs = append(f.tabs[:0], g.tabs...)
	g.mu.Unlock()
	f.batch.reset() // the ring may have changed
	for _, t := range f.tabs {
		t.mu.Lock()
		t.flush(f, nil)
		t.mu.Unlock()
	}
	if f.events > 0 {
		f.reportDelivered(f.tabs[0].center.cfg.Observer)
	}
	clear(f.tabs)
}

// countDelivered counts events of the batch that a socket accepted.
func (f *flusher) countDelivered(events int) {
	if events == 0 {
		return
	}
	f.events += events
	if born := f.batch.publishedAt; !born.IsZero() && (f.publishedAt.IsZero() || born.Before(f.publishedAt)) {
		f.publishedAt = born
	}
}

// reportDelivered reports the writes since its last call to an observer.
func (f *flusher) reportDelivered(o Observer) {
	if f.events == 0 {
		return
	}
	o.Delivered(f.events, elapsedSince(f.publishedAt))
	f.events, f.publishedAt = 0, time.Time{}
}

// stallDetector distinguishes a slow socket from a stalled one. A socket with a large
// buffer may accept nothing for a long time although the peer reads; then its buffer still
// drains.
type stallDetector struct {
	queued int // bytes in the socket's buffer at the previous timeout
	armed  bool
}

// stalled is called when a write timed out after half of WriteTimeout, with the bytes that
// the socket accepted. It reports whether the socket made no progress since the previous
// call.
func (d *stallDetector) stalled(fd int32, written int) bool {
	if written > 0 {
		*d = stallDetector{}
		return false
	}
	queued, known := unsentBytes(fd)
	if d.armed && (!known || queued >= d.queued) {
		return true
	}
	d.queued, d.armed = queued, true
	return false
}

// writeProgress records whether written bytes reach the peer. The reply to a ping behind a
// large frame cannot be expected before the frame has been delivered.
type writeProgress struct {
	arrived int64 // bytes known to have reached the peer
	grewAt  int64 // time of the last growth while data was pending, in Unix nanoseconds
}

// Moving reports whether a socket that is behind made progress within the given time. It is
// called periodically while the client is silent.
func (t *Tab) Moving(within time.Duration) bool {
	now := time.Now().UnixNano()
	t.mu.Lock()
	defer t.mu.Unlock()
	queued, _ := unsentBytes(t.fd)
	m := &t.progress
	was := t.behind
	t.behind = t.owner != nil || queued > 0
	if left := t.sent - int64(queued); left > m.arrived {
		m.arrived = left
		if was || t.behind {
			m.grewAt = now
		}
	}
	return m.grewAt > 0 && now-m.grewAt < int64(within)
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// expiredDeadline returns a deadline that ends writes at once.
func expiredDeadline() time.Time { return time.Unix(1, 0) }
