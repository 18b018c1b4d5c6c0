package gateway

import (
	"net"
	"sync/atomic"

	"github.com/everdesk/everdesk/broadcast"
)

// The buffers of a connection. What the library holds for good is small, since
// most connections are idle; who sends much is read in big pieces meanwhile.
const (
	readBuffer  = 512
	writeBuffer = 256
	gulpBytes   = 16 << 10
)

// closeFrame is the first byte of a WebSocket close frame.
const closeFrame = 0x88

// link is the connection as the WebSocket library sees it. The library reads
// through it and writes its control frames; everything else is written by
// [broadcast], to the connection beneath.
type link struct {
	net.Conn // as it was accepted
	// tab, once there is one, writes what the library wants to write, so that
	// no control frame lands in the middle of another frame.
	tab atomic.Pointer[broadcast.Tab]
	// hungUp is called after our close frame was written: no frame may follow.
	hungUp func()
	// seen is the tick of the doors at which the client was last heard of.
	seen  atomic.Int64
	doors *doors

	// The rest is the reader's.
	big  *[gulpBytes]byte // what rest lies in, if it came from the pool
	rest []byte           // read before, not yet handed out
	full bool             // the last read filled its buffer: more may be there
}

// Read implements [net.Conn]. A read that comes up full is followed by one that
// takes whatever is there, without waiting, into a buffer that is given back as
// soon as it is empty.
func (l *link) Read(p []byte) (int, error) {
	if len(l.rest) == 0 && l.full && len(p) < gulpBytes {
		l.gulp()
	}
	if len(l.rest) > 0 {
		n := copy(p, l.rest)
		if l.rest = l.rest[n:]; len(l.rest) == 0 {
			l.release()
		}
		return n, nil
	}
	n, err := l.Conn.Read(p)
	l.full = n == len(p)
	l.saw(n)
	return n, err
}

func (l *link) gulp() {
	big, _ := l.doors.gulps.Get().(*[gulpBytes]byte)
	n := readNow(l.Conn, big[:])
	l.full = n > readBuffer
	if n <= 0 { // nothing yet, or an error that the next read will meet too
		l.doors.gulps.Put(big)
		return
	}
	l.big, l.rest = big, big[:n]
	l.saw(n)
}

func (l *link) release() {
	l.rest = nil
	if l.big != nil {
		l.doors.gulps.Put(l.big)
		l.big = nil
	}
}

func (l *link) saw(n int) {
	if n > 0 {
		l.seen.Store(l.doors.ticks.Load())
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
