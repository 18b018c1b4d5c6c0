package gateway

import (
	"sync/atomic"
	"syscall"

	"github.com/everdesk/everdesk/broadcast"
)

// The buffers of a connection. What the library holds for good is small, since
// most connections are idle: the head of a frame fits, and the rest goes by. Who
// sends much is read in big pieces meanwhile.
const (
	readBuffer      = 64
	writeBuffer     = 256
	readBufferBytes = 16 << 10
)

// closeFrame is the first byte of a WebSocket close frame.
const closeFrame = 0x88

// link is the connection as the WebSocket library sees it. The library reads
// through it and writes its control frames; everything else is written by
// [broadcast], to the connection beneath.
type link struct {
	broadcast.Socket // as it was accepted
	// tab, once there is one, writes what the library wants to write, so that
	// no control frame lands in the middle of another frame.
	tab atomic.Pointer[broadcast.Tab]
	// hungUp is called after our close frame was written: no frame may follow.
	hungUp func()

	// What follows is the reader's, but for fd and seen. What it needs for each frame lies
	// together, here and in [conn]: a connection that wakes up finds none of it in a
	// cache.
	failed error                 // why the last try took nothing
	raw    syscall.RawConn       // nil where only Conn can be read
	try    func(fd uintptr) bool // takes what has arrived, if anything has
	glance func(fd uintptr)      // is try for those who do not wait for more
	fd     int                   // of Conn, where there is a raw one
	doors  *connections
	big    *[readBufferBytes]byte // what rest lies in, if it came from the pool
	rest   []byte                 // read before, not yet handed out
	// seen is the tick of the doors at which the client was last heard of.
	seen atomic.Int64
}

// await waits until there is something to read, where that is possible without a
// buffer. The library would wait at the end of many calls, and a connection that
// wakes up finds none of their frames in a cache.
func (l *link) await() error {
	if len(l.rest) > 0 || l.raw == nil {
		return nil
	}
	return l.pull()
}

// pull takes all that has arrived with one system call, and waits for it without
// a buffer.
func (l *link) pull() error {
	if err := l.raw.Read(l.try); err != nil {
		return err //nolint:wrapcheck // it is that of a connection
	}
	if len(l.rest) == 0 {
		return l.failed
	}
	return nil
}

// Read implements [net.Conn]. It reads from a buffer that is borrowed when something
// has come and given back as soon as it is empty: who waits has none.
func (l *link) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		if l.raw == nil {
			n, err := l.Conn.Read(p)
			l.saw(n)
			return n, err
		}
		if err := l.pull(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.skip(n)
	return n, nil
}

// skip says that bytes of rest are done with.
func (l *link) skip(n int) {
	if l.rest = l.rest[n:]; len(l.rest) > 0 {
		return
	}
	l.rest = nil
	if l.big != nil {
		l.doors.readBuffers.Put(l.big)
		l.big = nil
	}
}

func (l *link) saw(n int) {
	if tick := l.doors.ticks.Load(); n > 0 && l.seen.Load() != tick { // storing takes longer
		l.seen.Store(tick)
	}
}

// Write implements [net.Conn] for the library, which hands over whole frames.
func (l *link) Write(p []byte) (int, error) {
	tab := l.tab.Load()
	if tab == nil {
		return l.Conn.Write(p)
	}
	n, err := tab.WriteControl(p)
	if len(p) > 0 && p[0] == closeFrame {
		l.hungUp()
	}
	return n, err
}
