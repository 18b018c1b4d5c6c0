//go:build !unix

package gateway

import "net"

// readNow would read what has arrived without waiting for more. Here it never
// finds anything, so that busy clients are read in small pieces.
func readNow(net.Conn, []byte) int { return 0 }
