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

// The subprotocols of the native door.
const (
	plainProtocol = "everdesk.v2"
	batchProtocol = "everdesk.v2.batch"
)

// elsewhere is a monitor that no event of a run is about. Publishers watch it,
// so that they are shown only the answers to what they send.
const elsewhere = "monitor-3"

// connect opens the given sockets, at most parallel at a time, and returns when
// all are greeted.
func (c *crowd) connect(ctx context.Context, sockets []*socket, parallel int) error {
	addr, err := address(c.target.addr)
	if err != nil {
		return err
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
			if err := c.dial(s, &addr); err != nil {
				return 0, err
			}
		}
		return tick, nil
	})
}

// dial begins a connection.
func (c *crowd) dial(s *socket, addr *unix.SockaddrInet4) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make a socket: %w", err)
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
	s.fd, s.stage = fd, stageConnecting
	c.opening++
	return nil
}

// upgrade asks for the WebSocket when the connection is there.
func (c *crowd) upgrade(s *socket) error {
	code, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return err
	}
	if code != 0 {
		return unix.Errno(code)
	}
	s.stage = stageUpgrading
	if err := c.poll.change(s.fd, false); err != nil {
		return err
	}
	return c.send(s, c.request(s))
}

// request is the handshake of a socket. One that was connected before goes on
// where it was.
func (c *crowd) request(s *socket) []byte {
	protocol := plainProtocol
	if s.batch || s.publish {
		protocol = batchProtocol
	}
	query := url.Values{}
	if s.publish {
		query.Set("monitor", elsewhere)
	}
	if !s.seen.at.IsZero() {
		query.Set("resume_from", s.seen.at.String())
	}
	// The key need not differ: nobody here caches answers.
	return fmt.Appendf(nil, "GET /ws/%s?%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ZXZlcmRlc2sgbG9hZCAhIQ==\r\nSec-WebSocket-Protocol: %s\r\n\r\n",
		url.PathEscape(s.room.id), query.Encode(), c.target.addr, protocol)
}

// upgraded reads the answer to the handshake, if it is whole, and returns what
// follows it.
func (c *crowd) upgraded(s *socket, b []byte) ([]byte, error) {
	head, rest, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	if !ok {
		return b, nil
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 101 ")) {
		return nil, fmt.Errorf("handshake refused: %.300q", b)
	}
	s.stage = stageGreeting
	return rest, nil
}

// greeted is called for session_state. A publisher then makes its window.
func (c *crowd) greeted(s *socket) error {
	if s.stage != stageGreeting {
		return nil // a fresh snapshot for a tab that was too slow
	}
	if setup := c.target.encoder.setup(); s.publish && s.room.published == 0 && setup != nil {
		s.stage = stageSettingUp
		return c.send(s, setup)
	}
	c.opened(s)
	return nil
}

func (c *crowd) opened(s *socket) {
	s.stage = stageOpen
	c.opening--
	c.open++
}
