package broadcast

import (
	"errors"

	"golang.org/x/sys/unix"
)

const canWriteNow = true

// writeNow gives a socket, which is never blocking in Go, what it takes at once.
func writeNow(fd int32, b []byte) (int, error) {
	for {
		n, err := unix.Write(int(fd), b)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return 0, nil
		default:
			return 0, err
		}
	}
}

// unsent is how much is in a socket's buffer that the peer has not taken, if
// that can be known.
func unsent(fd int32) (n int, known bool) {
	if fd == noDescriptor {
		return 0, false
	}
	n, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
	return n, err == nil
}
