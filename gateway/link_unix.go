//go:build unix

package gateway

import (
	"io"
	"os"
	"syscall"
)

// open finds out whether one can wait for the connection without a buffer; with TLS,
// for one, that is not so.
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
	_ = raw.Control(func(fd uintptr) { l.fd = int(fd) }) // if it is closed already, nobody waits for it
}

// pullNow reads what has arrived and does not wait for more. It reports whether
// waiting is over.
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
