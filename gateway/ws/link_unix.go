//go:build unix

package ws

import (
	"io"
	"os"
	"syscall"
)

// initRawConn finds out whether the connection supports waiting without a buffer; TLS, for example,
// does not.
func (l *link) initRawConn() {
	sc, ok := l.Conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	l.raw, l.tryFill = raw, l.fillNow
	l.fillOnce = func(fd uintptr) { l.fillNow(fd) }
	_ = raw.Control(func(fd uintptr) { l.fd = int(fd) }) // fails for a closed connection, which is never parked
}

// fillNow reads the available data without blocking. It reports whether waiting is over: data was
// read, or readErr is set.
func (l *link) fillNow(fd uintptr) bool {
	big, _ := l.resources.readBuffers.Get().(*[readBufferBytes]byte)
	n, err := syscall.Read(int(fd), big[:])
	for err == syscall.EINTR {
		n, err = syscall.Read(int(fd), big[:])
	}
	if n > 0 {
		l.buffer, l.unread = big, big[:n]
		l.recordActivity(n)
		return true
	}
	l.resources.readBuffers.Put(big)
	switch err {
	case syscall.EAGAIN:
		return false
	case nil:
		l.readErr = io.EOF
	default:
		l.readErr = os.NewSyscallError("read", err)
	}
	return true
}
