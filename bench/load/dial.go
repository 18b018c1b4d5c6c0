//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"golang.org/x/sys/unix"
)

// The subprotocols of the native WebSocket endpoint.
const (
	plainProtocol = "everdesk.v2"
	batchProtocol = "everdesk.v2.batch"
)

// unusedMonitor is a monitor without events. Publishers subscribe to it, so that they receive only
// the replies to their messages.
const unusedMonitor = "monitor-3"

// connect opens the given sockets, at most parallel at a time, and returns when all are open.
func (c *clients) connect(ctx context.Context, sockets []*socket, parallel int) error {
	addrs := make([]unix.SockaddrInet4, len(c.target.addrs))
	for i, name := range c.target.addrs {
		var err error
		if addrs[i], err = socketAddr(name); err != nil {
			return err
		}
	}
	c.waiting = sockets
	want := c.open + len(sockets)
	return c.run(ctx, "connect", func() bool { return c.open >= want }, func() (time.Duration, error) {
		if c.faults.Closed > 0 {
			return 0, errors.New(c.faults.First)
		}
		for len(c.waiting) > 0 && c.opening < parallel {
			s := c.waiting[0]
			c.waiting = c.waiting[1:]
			if err := c.dial(s, &addrs[s.replica%len(addrs)]); err != nil {
				return 0, err
			}
		}
		return tick, nil
	})
}

// dial starts a non-blocking connect.
func (c *clients) dial(s *socket, addr *unix.SockaddrInet4) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("create a socket: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		_ = unix.Close(fd)
		return fmt.Errorf("set up a socket: %w", err)
	}
	if err := unix.Connect(fd, addr); err != nil && !errors.Is(err, unix.EINPROGRESS) {
		_ = unix.Close(fd)
		return fmt.Errorf("connect: %w", err)
	}
	if err := c.poll.watch(fd, true); err != nil {
		_ = unix.Close(fd)
		return err
	}
	for fd >= len(c.sockets) {
		c.sockets = append(c.sockets, nil)
	}
	c.sockets[fd] = s
	s.fd, s.state = fd, stateConnecting
	c.opening++
	return nil
}

// sendHandshake checks the result of the connect and sends the WebSocket handshake.
func (c *clients) sendHandshake(s *socket) error {
	code, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return err
	}
	if code != 0 {
		return unix.Errno(code)
	}
	s.state = stateUpgrading
	if err := c.poll.change(s.fd, false); err != nil {
		return err
	}
	return c.send(s, c.handshake(s))
}

// upgradeRequest begins a WebSocket handshake, with a path and a host. A constant key is enough: there
// is no caching proxy.
const upgradeRequest = "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ZXZlcmRlc2sgbG9hZCAhIQ==\r\n"

// handshake returns the WebSocket handshake of a socket. A socket that was connected before resumes
// after its last position.
func (c *clients) handshake(s *socket) []byte {
	if c.target.isCentrifuge {
		return fmt.Appendf(nil, upgradeRequest+"\r\n", centrifugePath, c.target.addrs[0])
	}
	protocol := plainProtocol
	if s.batched || s.isPublisher {
		protocol = batchProtocol
	}
	query := url.Values{}
	if s.isPublisher {
		query.Set("monitor", unusedMonitor)
	}
	if !s.seen.at.IsZero() {
		query.Set("resume_from", s.seen.at.String())
	}
	path := "/ws/" + url.PathEscape(s.session.id) + "?" + query.Encode()
	return fmt.Appendf(nil, upgradeRequest+"Sec-WebSocket-Protocol: %s\r\n\r\n", path, c.target.addrs[0], protocol)
}

// readHandshake checks the reply to the handshake, if it is complete, and returns the bytes after it.
func (c *clients) readHandshake(s *socket, b []byte) ([]byte, error) {
	head, rest, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	if !ok {
		return b, nil
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 101 ")) {
		return nil, fmt.Errorf("handshake refused: %.300q", b)
	}
	s.state = stateAwaitingSnapshot
	if c.target.isCentrifuge {
		return rest, c.send(s, centrifugeConnect(s))
	}
	return rest, nil
}

// onSnapshot handles session_state. A publisher then creates its window.
func (c *clients) onSnapshot(s *socket) error {
	if s.state != stateAwaitingSnapshot {
		return nil // a fresh snapshot for a tab that was too slow
	}
	if setup := c.target.encoder.setup(); s.isPublisher && s.session.published == 0 && setup != nil {
		s.state = stateCreatingWindow
		return c.send(s, setup)
	}
	c.markOpen(s)
	return nil
}

func (c *clients) markOpen(s *socket) {
	s.state = stateOpen
	c.opening--
	c.open++
}
