//go:build unix

package gateway

import (
	"net"
	"syscall"
)

// readNow reads what has arrived and does not wait for more. It returns 0 or
// less when there is nothing, and when the connection cannot be asked, as with
// TLS.
func readNow(conn net.Conn, p []byte) int {
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	err = raw.Read(func(fd uintptr) bool {
		n, _ = syscall.Read(int(fd), p)
		return true
	})
	if err != nil {
		return 0
	}
	return n
}
