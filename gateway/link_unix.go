//go:build unix

package gateway

import (
	"io"
	"os"
	"syscall"
)

// initRawConn finds out whether the connection supports waiting without a buffer; TLS, for example,
// does not.
func (l *link) open() {
	sc, ok := l.Conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	l.raw, l.try = raw, l.pullNow
	l.glance = func(fd uintptr) { l.pullNow(fd) }
	_ = raw.Control(func(fd uintptr) { l.fd = int(fd) }) // fails for a closed connection, which is never parked
}

// fillNow reads the available data without blocking. It reports whether waiting is over: data was
// read, or readErr is set.
func (l *link) pullNow(fd uintptr) bool {
	big, _ := l.doors.readBuffers.Get().(*[readBufferBytes]byte)
	n, err := syscall.Read(int(fd), big[:])
	for err == syscall.EINTR {
		n, err = syscall.Read(int(fd), big[:])
	}
	if n > 0 {
		l.big, l.rest = big, big[:n]
		l.saw(n)
		return true
	}
	l.doors.readBuffers.Put(big)
	switch err {
	case syscall.EAGAIN:
		return false
	case nil:
		l.failed = io.EOF
	default:
		l.failed = os.NewSyscallError("read", err)
	}
	return true
}
