//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	// floorBatch bounds the input that the floor collects before it writes.
	floorBatch = 1 << 20
	// floorBacklog bounds the connections that wait to be accepted.
	floorBacklog = 4096
)

// floor is a server that does the least possible work: it copies prepared frames from
// publishers to the tabs of their session, with one write per tab for all frames that
// arrived. It knows nothing of the protocol but the path of a request, and stores nothing.
// One goroutine uses it.
type floor struct {
	poll     *poller
	listener int
	addr     string
	conns    []*floorConn // by descriptor
	sessions map[string]*floorSession
	dirty    []*floorSession
	pending  int
	buf      []byte
}

type floorConn struct {
	fd      int
	session *floorSession // nil until its request is read
	publish bool
	in      []byte // an incomplete request or frame
	out     outbox
}

type floorSession struct {
	tabs    []*floorConn
	pending []byte // frames that were not sent to the tabs yet
}

// greeting is the reply to every request: the upgrade and a session_state.
var greeting = []byte("HTTP/1.1 101 Switching Protocols\r\n\r\n\x81\x18" + `{"type":"session_state"}`)

// floorReady begins the line that the floor prints when it listens.
const floorReady = "floor is running: http://"

// runFloor serves on a free port until ctx ends.
func runFloor(ctx context.Context, stdout io.Writer) error {
	f, err := newFloor()
	if err != nil {
		return err
	}
	defer f.close()
	fmt.Fprintf(stdout, "%s%s\n", floorReady, f.addr)
	return f.serve(ctx)
}

func newFloor() (*floor, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("create a socket: %w", err)
	}
	f := &floor{listener: fd, sessions: map[string]*floorSession{}, buf: make([]byte, readBuffer)}
	if err := f.listen(); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return f, nil
}

func (f *floor) listen() error {
	if err := unix.Bind(f.listener, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	if err := unix.Listen(f.listener, floorBacklog); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	name, err := unix.Getsockname(f.listener)
	if err != nil {
		return fmt.Errorf("look up the address: %w", err)
	}
	in4, ok := name.(*unix.SockaddrInet4)
	if !ok {
		return errors.New("look up the address: it is not IPv4")
	}
	f.addr = netip.AddrPortFrom(netip.AddrFrom4(in4.Addr), uint16(in4.Port)).String() //nolint:gosec // a port
	if f.poll, err = newPoller(); err != nil {
		return err
	}
	return f.poll.watch(f.listener, false)
}

func (f *floor) close() {
	for _, c := range f.conns {
		if c != nil {
			_ = unix.Close(c.fd)
		}
	}
	_ = unix.Close(f.listener)
	f.poll.close()
}

// serve reads all available input and then writes it to the tabs, until ctx ends.
func (f *floor) serve(ctx context.Context) error {
	for ctx.Err() == nil {
		ready, err := f.poll.wait(tick)
		for err == nil && len(ready) > 0 {
			for i := range ready {
				f.handle(int(ready[i].Fd), ready[i].Events)
			}
			if f.pending >= floorBatch {
				break
			}
			ready, err = f.poll.wait(0)
		}
		if err != nil {
			return err
		}
		for _, s := range f.dirty {
			f.writePending(s)
		}
		f.dirty, f.pending = f.dirty[:0], 0
	}
	return nil
}

// writePending writes the pending frames to all tabs of a session.
func (f *floor) writePending(s *floorSession) {
	// From the end, because a tab that fails is removed.
	for _, c := range slices.Backward(s.tabs) {
		idle := len(c.out.rest) == 0
		done, err := c.out.send(c.fd, s.pending)
		if err == nil && !done && idle {
			err = f.poll.change(c.fd, true)
		}
		if err != nil {
			f.drop(c)
		}
	}
	s.pending = s.pending[:0]
}

func (f *floor) handle(fd int, events uint32) {
	if fd == f.listener {
		f.accept()
		return
	}
	c := f.conns[fd]
	if c == nil {
		return // dropped in this round
	}
	if events&unix.EPOLLOUT != 0 {
		done, err := c.out.flush(fd)
		if err == nil && done {
			err = f.poll.change(fd, false)
		}
		if err != nil {
			f.drop(c)
			return
		}
	}
	if events&^unix.EPOLLOUT == 0 {
		return
	}
	if err := f.read(c); err != nil {
		f.drop(c)
	}
}

func (f *floor) accept() {
	for {
		fd, _, err := unix.Accept4(f.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return // no connection waits; the client reports other errors
		}
		for fd >= len(f.conns) {
			f.conns = append(f.conns, nil)
		}
		c := &floorConn{fd: fd}
		f.conns[fd] = c
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		if err == nil {
			err = f.poll.watch(fd, false)
		}
		if err != nil {
			f.drop(c)
		}
	}
}

func (f *floor) drop(c *floorConn) {
	f.conns[c.fd] = nil
	_ = unix.Close(c.fd)
	if c.session != nil && !c.publish {
		c.session.tabs = slices.DeleteFunc(c.session.tabs, func(t *floorConn) bool { return t == c })
	}
}

func (f *floor) read(c *floorConn) error {
	have := copy(f.buf, c.in)
	n, err := unix.Read(c.fd, f.buf[have:])
	switch {
	case err != nil && again(err):
		return nil
	case err != nil:
		return err
	case n <= 0:
		return io.EOF
	}
	rest := f.buf[:have+n]
	if c.session == nil {
		if rest, err = f.join(c, rest); err != nil {
			return err
		}
	}
	switch {
	case c.session == nil:
	case c.publish:
		rest = f.collect(c.session, rest)
	default:
		rest = nil // input of tabs is ignored
	}
	c.in = append(c.in[:0], rest...)
	return nil
}

// join reads a request and adds the connection to its session.
func (f *floor) join(c *floorConn, b []byte) ([]byte, error) {
	head, rest, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	if !ok {
		return b, nil
	}
	target, _ := bytes.CutPrefix(head, []byte("GET /ws/"))
	target, _, _ = bytes.Cut(target, []byte{' '})
	name, query, _ := bytes.Cut(target, []byte{'?'})
	s := f.sessions[string(name)]
	if s == nil {
		s = &floorSession{}
		f.sessions[string(name)] = s
	}
	c.session, c.publish = s, bytes.HasPrefix(query, []byte("monitor="))
	if !c.publish {
		s.tabs = append(s.tabs, c)
	}
	_, err := c.out.send(c.fd, greeting)
	return rest, err
}

// collect appends the complete frames in b to the pending ones and returns the rest.
func (f *floor) collect(s *floorSession, b []byte) []byte {
	if len(s.pending) == 0 {
		f.dirty = append(f.dirty, s)
	}
	for len(b) >= 4 {
		n := int(binary.BigEndian.Uint32(b))
		if len(b) < 4+n {
			break
		}
		s.pending = append(s.pending, b[4:4+n]...)
		f.pending += n
		b = b[4+n:]
	}
	return b
}
