package rooipc

import (
	"errors"
	"fmt"
	"net"
)

// peer is the process at the other end of a connection.
type peer struct {
	uid int
	pid int // 0 if unknown
}

var errForeignPeer = errors.New("the process belongs to another user")

// checkPeer returns the process at the other end of a connection, if it runs as this user.
func checkPeer(conn *net.UnixConn, uid int) (peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return peer{}, err
	}
	var p peer
	var peerErr error
	if err := raw.Control(func(fd uintptr) { p, peerErr = peerOf(int(fd)) }); err != nil {
		return peer{}, err
	}
	if peerErr != nil {
		return peer{}, fmt.Errorf("read the credentials of the process: %w", peerErr)
	}
	if p.uid != uid {
		return peer{}, fmt.Errorf("%w: %d, not %d", errForeignPeer, p.uid, uid)
	}
	return p, nil
}
