package ws

import (
	"bytes"
	"math"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/pictures"
	"github.com/everdesk/everdesk/session"
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

// connResources holds what all connections of a server use together: pools of buffers, the fitter of pictures, and the
// clock of the heartbeat.
type connResources struct {
	readBuffers    sync.Pool // of *[readBufferBytes]byte
	frameBuffers   sync.Pool // of *[]byte
	commandBuffers sync.Pool // of *[]session.Command
	fitter         *pictures.Fitter
	// ticks counts the ticks of the wheel. Silence is measured in ticks, so that the time in which
	// the process was suspended does not count.
	ticks atomic.Int64
}

func newConnResources(fitter *pictures.Fitter) *connResources {
	s := &connResources{fitter: fitter}
	s.readBuffers.New = func() any { return new([readBufferBytes]byte) }
	s.commandBuffers.New = func() any { return new([]session.Command) }
	s.frameBuffers.New = func() any { return new(make([]byte, 0, initialFrameBytes)) }
	return s
}

// putFrameBuffer returns a buffer to the pool, unless it has grown far beyond the size of a frame.
func (s *connResources) putFrameBuffer(buf *[]byte, frameBytes int64) {
	if int64(cap(*buf)) <= 2*frameBytes {
		s.frameBuffers.Put(buf)
	}
}

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
	// used for each frame lie together, here and in [peer]: they are not in the CPU cache when an
	// idle connection wakes up.
	lib       libraryConn
	readErr   error                 // result of the last fillNow that read nothing
	raw       syscall.RawConn       // nil if only Conn.Read works
	tryFill   func(fd uintptr) bool // fillNow, for RawConn.Read
	fillOnce  func(fd uintptr)      // fillNow, for RawConn.Control
	fd        int                   // descriptor of Conn, if raw is set
	resources *connResources
	buffer    *[readBufferBytes]byte // pooled buffer that holds unread, or nil
	unread    []byte                 // Read from the socket, not yet consumed
	// lastSeen is the [connResources].ticks value at which the client last sent something.
	lastSeen atomic.Int64
}

// waitReadable waits until there is something to read, where that works without a buffer. The
// library would block at the end of a deep call chain whose stack frames are out of the CPU cache
// when an idle connection wakes up.
//
// If that is the beginning of a ping or a pong, it waits for the rest: the library would read the frame
// and then block for the next one. net/http, for example, leaves one byte of what a client sends while
// its request is still handled.
func (l *link) waitReadable() error {
	if l.raw == nil {
		return nil
	}
	if len(l.unread) == 0 {
		if err := l.fillWhenReadable(); err != nil {
			return err
		}
	}
	for isPartOfControl(l.unread) {
		part := bytes.Clone(l.unread)
		l.consume(len(part))
		if err := l.fillWhenReadable(); err != nil {
			return err
		}
		whole := append(part, l.unread...)
		l.consume(len(l.unread))
		l.unread = whole
	}
	return nil
}

// fillWhenReadable waits without a buffer until data arrives and reads it with one system call.
func (l *link) fillWhenReadable() error {
	if err := l.raw.Read(l.tryFill); err != nil {
		return err //nolint:wrapcheck // it is that of a connection
	}
	if len(l.unread) == 0 {
		return l.readErr
	}
	return nil
}

// fillAvailable reads the data that has arrived, without blocking. It reports false for an error,
// which the next read returns. all says that no more data is waiting.
func (l *link) fillAvailable() (all, ok bool) {
	l.readErr = nil
	if err := l.raw.Control(l.fillOnce); err != nil || l.readErr != nil {
		return false, false
	}
	return len(l.unread) < readBufferBytes, true
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
		if err := l.fillWhenReadable(); err != nil {
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
		l.resources.readBuffers.Put(l.buffer)
		l.buffer = nil
	}
}

func (l *link) recordActivity(n int) {
	if tick := l.resources.ticks.Load(); n > 0 && l.lastSeen.Load() != tick { // storing is slower than loading
		l.lastSeen.Store(tick)
	}
}

// stopReading keeps the heartbeat from closing the connection for silence while the hub does not read from it. The
// result ends that.
func (l *link) stopReading() (resume func()) {
	l.lastSeen.Store(math.MaxInt64)
	return func() { l.lastSeen.Store(l.resources.ticks.Load()) }
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
