package broadcast

import (
	"errors"

	"golang.org/x/sys/unix"
)

const canWriteNonBlocking = true

// writeNonBlocking writes to a socket, which in Go is always in non-blocking mode, as much
// as it accepts at once.
func writeNonBlocking(fd int32, b []byte) (int, error) {
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

// unsentBytes returns the number of bytes in the socket's send buffer that the peer has not
// acknowledged, if known.
func unsentBytes(fd int32) (n int, known bool) {
	if fd == noDescriptor {
		return 0, false
	}
	n, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
	return n, err == nil
}
