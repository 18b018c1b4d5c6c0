package gateway

import (
	"sync/atomic"
	"syscall"

	"github.com/everdesk/everdesk/broadcast"
)

// Buffer sizes of a connection. The buffers that the library holds permanently are small, since
// most connections are idle: a frame header fits into them, and payloads bypass them. While data
// arrives, it is read into a large buffer from a pool.
const (
	readBuffer      = 64
	writeBuffer     = 256
	readBufferBytes = 16 << 10
)

// closeFrameByte is the first byte of a WebSocket close frame.
const closeFrame = 0x88

// link is the connection as the WebSocket library sees it. The library reads through it and writes
// its control frames; [broadcast] writes everything else to the underlying connection.
type link struct {
	broadcast.Socket // the accepted connection
	// tab, once there is one, writes the library's control frames, so that none lands in the middle
	// of another frame.
	tab atomic.Pointer[broadcast.Tab]
	// onCloseSent is called after the close frame was written: no frame may follow.
	hungUp func()

	// The following fields belong to the reading goroutine, except fd and lastSeen. Fields that are
	// used for each frame lie together, here and in [conn]: they are not in the CPU cache when an
	// idle connection wakes up.
	failed error // result of the last fillNow that read nothing
	raw    syscall.RawConn // nil if only Conn.Read works
	try    func(fd uintptr) bool // fillNow, for RawConn.Read
	glance func(fd uintptr) // fillNow, for RawConn.Control
	fd     int // descriptor of Conn, if raw is set
	doors  *connections
	big    *[readBufferBytes]byte // pooled buffer that holds unread, or nil
	rest   []byte // read from the socket, not yet consumed
	// lastSeen is the [connections].ticks value at which the client last sent something.
	seen atomic.Int64
}

// waitReadable waits until there is something to read, where that works without a buffer. The
// library would block at the end of a deep call chain whose stack frames are out of the CPU cache
// when an idle connection wakes up.
func (l *link) await() error {
	if len(l.rest) > 0 || l.raw == nil {
		return nil
	}
	return l.pull()
}

// fill waits without a buffer until data arrives and reads it with one system call.
func (l *link) pull() error {
	if err := l.raw.Read(l.try); err != nil {
		return err //nolint:wrapcheck // it is that of a connection
	}
	if len(l.rest) == 0 {
		return l.failed
	}
	return nil
}

// Read implements [net.Conn]. It reads into a pooled buffer that it takes when data has arrived and
// returns as soon as the data is consumed: a waiting connection has no buffer.
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

// consume removes n bytes from unread.
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
	if tick := l.doors.ticks.Load(); n > 0 && l.seen.Load() != tick { // storing is slower than loading
		l.seen.Store(tick)
	}
}

// Write implements [net.Conn] for the library, which passes whole frames.
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
