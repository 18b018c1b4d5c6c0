//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

const (
	readBuffer = 256 << 10
	// tick bounds every wait, so that deadlines and interrupts are noticed.
	tick = 100 * time.Millisecond
	// stallTimeout bounds the time of a phase without progress.
	stallTimeout = 20 * time.Second
)

// connState is the state of a connection.
type connState uint8

const (
	stateNew              connState = iota
	stateConnecting                 // connect is under way
	stateUpgrading                  // the request is sent
	stateAwaitingSnapshot           // upgraded, waiting for session_state
	stateCreatingWindow             // a publisher waits for the receipt of its window
	stateOpen
	stateClosed
)

// socket is one connection.
type socket struct {
	fd          int
	state       connState
	session     *session
	replica     int    // number of its replica
	isPublisher bool   // it sends events and receives none
	batched     bool   // the server may put several envelopes into a frame
	partial     []byte // the received part of an incomplete frame
	out         outbox
	seen        tally
}

// session is one session with its tabs.
type session struct {
	id        string
	publisher *socket
	tabs      []*socket
	published uint64 // events sent so far
	receipts  uint64 // EMITTED received
	queued    bool   // it is in clients.refillQueue
	layout    layout
	epoch     string // of its channel in Centrifuge
}

// minReceived returns the number of events that the slowest tab has received.
func (r *session) minReceived() uint64 {
	least := r.published
	for _, t := range r.tabs {
		least = min(least, t.seen.next)
	}
	return least
}

// clients is all clients of a run: an event loop over their sockets. One goroutine uses it.
type clients struct {
	target   target
	poll     *poller
	sessions []*session
	sockets  []*socket // by descriptor
	buf      []byte
	scratch  []byte

	waiting []*socket // to be connected
	opening int       // being connected
	open    int
	// refillQueue holds the sessions that received events or drained their socket since the last
	// refill.
	refillQueue []*session

	start      time.Time
	now        time.Duration // since start, at the last read
	deliveries uint64
	bytes      uint64 // of the frames with these deliveries
	dataBytes  int    // of the data in the newest of them
	pings      uint64
	sample     uint64 // the delay of one in so many deliveries is measured
	delays     histogram
	// catchingUp is when all tabs began to reconnect, or 0. While it is set, delays count from it to the
	// newest event of each tab.
	catchingUp time.Duration
	faults     faults
}

func newClients(t target, sessions []*session) (*clients, error) {
	poll, err := newPoller()
	if err != nil {
		return nil, err
	}
	return &clients{target: t, poll: poll, sessions: sessions, buf: make([]byte, readBuffer), sample: 1, start: time.Now()}, nil
}

// close closes all connections without a close frame.
func (c *clients) close() {
	for _, s := range c.sockets {
		c.closeSocket(s)
	}
	c.poll.close()
}

// closeSocket closes a connection without a close frame, like a lost network.
func (c *clients) closeSocket(s *socket) {
	if s == nil || s.state == stateNew || s.state == stateClosed {
		return
	}
	switch s.state {
	case stateOpen:
		c.open--
	default:
		c.opening--
	}
	c.sockets[s.fd] = nil
	_ = unix.Close(s.fd)
	s.state, s.partial, s.out = stateClosed, nil, outbox{}
}

// clock updates and returns the time since the start.
func (c *clients) clock() time.Duration {
	c.now = time.Since(c.start)
	return c.now
}

// errStuck is the error of a phase without progress for stallTimeout.
var errStuck = errors.New("no progress")

// run handles sockets until done returns true. It calls step before every poll; step does the work
// of the phase and returns the maximum wait of the poll.
func (c *clients) run(ctx context.Context, what string, done func() bool, step func() (time.Duration, error)) error {
	last, progress := time.Now(), c.progress()
	for !done() {
		wait, err := step()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := c.pollOnce(wait); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if p := c.progress(); p != progress {
			last, progress = time.Now(), p
		} else if time.Since(last) > stallTimeout {
			return fmt.Errorf("%s: %w: %s", what, errStuck, c.status())
		}
	}
	return nil
}

// waitOnly is the step of phases that only receive.
func waitOnly() (time.Duration, error) { return tick, nil }

// progress returns a number that changes with every delivery, connection, ping and receipt.
func (c *clients) progress() uint64 {
	n := c.deliveries + uint64(c.open) + c.faults.Closed + c.pings //nolint:gosec // a count
	for _, r := range c.sessions {
		n += r.receipts
	}
	return n
}

// status describes the progress of a phase for error messages.
func (c *clients) status() string {
	return fmt.Sprintf("%d connections are open, %d are being opened, %d wait; %d deliveries; %v",
		c.open, c.opening, len(c.waiting), c.deliveries, c.faults)
}

// pollOnce waits for ready sockets and handles them.
func (c *clients) pollOnce(wait time.Duration) error {
	ready, err := c.poll.wait(wait)
	if err != nil {
		return err
	}
	for i := range ready {
		s := c.sockets[ready[i].Fd]
		if s == nil {
			continue // closed earlier in this round
		}
		if err := c.handle(s, ready[i].Events); err != nil {
			c.countClosed(s, err)
		}
	}
	return nil
}

// countClosed counts a connection that failed, and closes it.
func (c *clients) countClosed(s *socket, err error) {
	c.faults.Closed++
	if c.faults.First == "" {
		c.faults.First = fmt.Sprintf("session %s: %v", s.session.id, err)
	}
	c.closeSocket(s)
}

func (c *clients) handle(s *socket, events uint32) error {
	if s.state == stateConnecting {
		return c.sendHandshake(s)
	}
	if events&unix.EPOLLOUT != 0 {
		done, err := s.out.flush(s.fd)
		if err != nil {
			return err
		}
		if done {
			c.queueRefill(s.session)
			if err := c.poll.change(s.fd, false); err != nil {
				return err
			}
		}
	}
	if events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR) == 0 {
		return nil
	}
	return c.read(s)
}

// queueRefill marks a session as possibly ready for more events.
func (c *clients) queueRefill(r *session) {
	if !r.queued {
		r.queued = true
		c.refillQueue = append(c.refillQueue, r)
	}
}

// send writes bytes to a socket; bytes that it does not accept are written when it is ready.
func (c *clients) send(s *socket, b []byte) error {
	idle := len(s.out.rest) == 0
	done, err := s.out.send(s.fd, b)
	if err != nil {
		return err
	}
	if !done && idle {
		return c.poll.change(s.fd, true)
	}
	return nil
}

// read reads from a socket and handles the complete frames.
func (c *clients) read(s *socket) error {
	have := copy(c.buf, s.partial)
	if have == len(c.buf) {
		return fmt.Errorf("%w: longer than %d bytes", errFrame, len(c.buf))
	}
	n, err := unix.Read(s.fd, c.buf[have:])
	switch {
	case err != nil && again(err):
		return nil
	case err != nil:
		return err
	case n == 0:
		return errors.New("the server closed the connection")
	}
	c.clock()
	rest := c.buf[:have+n]
	if s.state == stateUpgrading {
		if rest, err = c.readHandshake(s, rest); err != nil {
			return err
		}
	}
	if s.state > stateUpgrading {
		if rest, err = c.handleFrames(s, rest); err != nil {
			return err
		}
	}
	if len(rest) == 0 {
		s.partial = nil // saves memory: most sockets have no partial frame
		return nil
	}
	s.partial = append(s.partial[:0], rest...)
	return nil
}

// handleFrames handles complete frames and returns the rest.
func (c *clients) handleFrames(s *socket, b []byte) ([]byte, error) {
	before := s.seen.next
	for {
		op, payload, rest, ok, err := nextFrame(b)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if err := c.handleFrame(s, op, payload); err != nil {
			return nil, err
		}
		b = rest
	}
	if s.seen.next != before {
		c.queueRefill(s.session)
		if c.catchingUp > 0 && s.seen.next == s.session.published {
			c.delays.add(c.now - c.catchingUp)
		}
	}
	return b, nil
}

// socketAddr parses the address of the server, which must be IPv4.
func socketAddr(addr string) (unix.SockaddrInet4, error) {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil {
		return unix.SockaddrInet4{}, fmt.Errorf("address of the server: %w", err)
	}
	if !ap.Addr().Is4() {
		return unix.SockaddrInet4{}, fmt.Errorf("address of the server: %s is not IPv4", addr)
	}
	return unix.SockaddrInet4{Port: int(ap.Port()), Addr: ap.Addr().As4()}, nil
}
