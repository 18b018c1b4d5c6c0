//go:build unix

package gateway

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// puller returns what reads all that has arrived at the connection into rest, and
// waits for it without a buffer. It is nil when the connection cannot be read so,
// as with TLS.
func (l *link) puller() func() error {
	sc, ok := l.Conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	var failure error
	try := func(fd uintptr) bool {
		failure = l.pullNow(int(fd))
		return !errors.Is(failure, syscall.EAGAIN)
	}
	return func() error {
		if err := raw.Read(try); err != nil {
			return err
		}
		return failure
	}
}

// pullNow reads what has arrived and does not wait for more.
func (l *link) pullNow(fd int) error {
	big, _ := l.doors.gulps.Get().(*[gulpBytes]byte)
	n, err := syscall.Read(fd, big[:])
	for errors.Is(err, syscall.EINTR) {
		n, err = syscall.Read(fd, big[:])
	}
	if err == nil && n > 0 {
		l.big, l.rest = big, big[:n]
		return nil
	}
	l.doors.gulps.Put(big)
	switch {
	case err == nil:
		return io.EOF
	case errors.Is(err, syscall.EAGAIN):
		return err
	}
	return os.NewSyscallError("read", err)
}
