package ws

import "syscall"

// A poller waits for parked connections to become readable (epoll), so that an idle connection
// needs no goroutine and no stack. A few goroutines handle the frames of all parked connections on
// their stacks, which stay in the CPU cache.
//
// Those goroutines must not block, or other connections would wait. Work that would block is left
// to a goroutine of the connection, which parks the connection again afterwards. So at any time a
// connection is in exactly one of three states: parked, handled by the poller, or served by a
// goroutine of its own.
//
// A poller has three methods: park hands a connection over, unpark takes it back, close ends the
// poller. Systems without epoll have a poller that parks nothing.

// pollable is a connection that a poller can wait for.
type pollable interface {
	// descriptor returns the connection for system calls and its descriptor. Both are constant.
	descriptor() (syscall.RawConn, int)
	// closing reports whether the connection was asked to close. Then it must not be parked.
	closing() bool
	// handleReadable handles what has arrived, without blocking. It reports whether the connection
	// may stay parked; otherwise serve is called. hungUp says that the peer has ended the
	// connection: a goroutine must read the rest, because epoll does not report again an end that
	// came together with data.
	handleReadable(hungUp bool) (stays bool)
	// serve reads from the connection until it ends or is parked again.
	serve()
}
