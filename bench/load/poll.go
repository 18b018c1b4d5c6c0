//go:build linux

package main

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// maxReady bounds the sockets that one wait reports.
const maxReady = 1024

// poller is an epoll instance.
type poller struct {
	fd     int
	events [maxReady]unix.EpollEvent
}

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make an epoll: %w", err)
	}
	return &poller{fd: fd}, nil
}

// watch adds a socket for reading and, if write is set, for writing.
func (p *poller) watch(fd int, write bool) error {
	return p.control(unix.EPOLL_CTL_ADD, fd, write)
}

// change sets whether a socket is also watched for writing.
func (p *poller) change(fd int, write bool) error {
	return p.control(unix.EPOLL_CTL_MOD, fd, write)
}

func (p *poller) control(op, fd int, write bool) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)} //nolint:gosec // a descriptor is a small number
	if write {
		ev.Events |= unix.EPOLLOUT
	}
	if err := unix.EpollCtl(p.fd, op, fd, &ev); err != nil {
		return fmt.Errorf("watch a socket: %w", err)
	}
	return nil
}

// wait returns the sockets that are ready, after at most timeout.
func (p *poller) wait(timeout time.Duration) ([]unix.EpollEvent, error) {
	n, err := unix.EpollWait(p.fd, p.events[:], int(timeout.Milliseconds()))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return nil, fmt.Errorf("wait for sockets: %w", err)
	}
	return p.events[:max(n, 0)], nil
}

func (p *poller) close() { _ = unix.Close(p.fd) }

// again reports whether a call on a non-blocking socket must be repeated when it is ready.
func again(err error) bool {
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR)
}

// outbox holds the bytes that a socket has not accepted yet.
type outbox struct{ rest []byte }

// send writes b after the bytes that wait already, as far as the socket accepts them, and
// keeps the rest. It reports whether all bytes were written.
func (o *outbox) send(fd int, b []byte) (done bool, err error) {
	if len(o.rest) > 0 {
		o.rest = append(o.rest, b...)
		return false, nil
	}
	n, err := unix.Write(fd, b)
	if err != nil && !again(err) {
		return false, err
	}
	if n = max(n, 0); n == len(b) {
		return true, nil
	}
	o.rest = append(o.rest, b[n:]...)
	return false, nil
}

// flush writes the waiting bytes and reports whether all were written.
func (o *outbox) flush(fd int) (done bool, err error) {
	if len(o.rest) == 0 {
		return true, nil
	}
	n, err := unix.Write(fd, o.rest)
	if err != nil && !again(err) {
		return false, err
	}
	left := copy(o.rest, o.rest[max(n, 0):])
	o.rest = o.rest[:left]
	return left == 0, nil
}
