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
const closeFrameByte = 0x88

// link is the connection as the WebSocket library sees it. The library reads through it and writes
// its control frames; [broadcast] writes everything else to the underlying connection.
type link struct {
	broadcast.Socket // the accepted connection
	// tab, once there is one, writes the library's control frames, so that none lands in the middle
	// of another frame.
	tab atomic.Pointer[broadcast.Tab]
	// onCloseSent is called after the close frame was written: no frame may follow.
	onCloseSent func()

	// The following fields belong to the reading goroutine, except fd and lastSeen. Fields that are
	// used for each frame lie together, here and in [conn]: they are not in the CPU cache when an
	// idle connection wakes up.
	readErr     error                 // result of the last fillNow that read nothing
	raw         syscall.RawConn       // nil if only Conn.Read works
	tryFill     func(fd uintptr) bool // fillNow, for RawConn.Read
	fillOnce    func(fd uintptr)      // fillNow, for RawConn.Control
	fd          int                   // descriptor of Conn, if raw is set
	connections *connections
	buffer      *[readBufferBytes]byte // pooled buffer that holds unread, or nil
	unread      []byte                 // Read from the socket, not yet consumed
	// lastSeen is the [connections].ticks value at which the client last sent something.
	lastSeen atomic.Int64
}

// waitReadable waits until there is something to read, where that works without a buffer. The
// library would block at the end of a deep call chain whose stack frames are out of the CPU cache
// when an idle connection wakes up.
func (l *link) waitReadable() error {
	if len(l.unread) > 0 || l.raw == nil {
		return nil
	}
	return l.fill()
}

// fill waits without a buffer until data arrives and reads it with one system call.
func (l *link) fill() error {
	if err := l.raw.Read(l.tryFill); err != nil {
		return err //nolint:wrapcheck // it is that of a connection
	}
	if len(l.unread) == 0 {
		return l.readErr
	}
	return nil
}

// Read implements [net.Conn]. It reads into a pooled buffer that it takes when data has arrived and
// returns as soon as the data is consumed: a waiting connection has no buffer.
func (l *link) Read(p []byte) (int, error) {
	if len(l.unread) == 0 {
		if l.raw == nil {
			n, err := l.Conn.Read(p)
			l.recordActivity(n)
			return n, err
		}
		if err := l.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.unread)
	l.consume(n)
	return n, nil
}

// consume removes n bytes from unread.
func (l *link) consume(n int) {
	if l.unread = l.unread[n:]; len(l.unread) > 0 {
		return
	}
	l.unread = nil
	if l.buffer != nil {
		l.connections.readBuffers.Put(l.buffer)
		l.buffer = nil
	}
}

func (l *link) recordActivity(n int) {
	if tick := l.connections.ticks.Load(); n > 0 && l.lastSeen.Load() != tick { // storing is slower than loading
		l.lastSeen.Store(tick)
	}
}

// Write implements [net.Conn] for the library, which passes whole frames.
func (l *link) Write(p []byte) (int, error) {
	tab := l.tab.Load()
	if tab == nil {
		return l.Conn.Write(p)
	}
	n, err := tab.WriteControl(p)
	if len(p) > 0 && p[0] == closeFrameByte {
		l.onCloseSent()
	}
	return n, err
}
