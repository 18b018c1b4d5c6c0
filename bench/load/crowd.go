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
	// nothingFor is how long a phase may go on without any progress.
	nothingFor = 20 * time.Second
)

// stage is how far a socket has come.
type stage uint8

const (
	stageNew        stage = iota
	stageConnecting       // connect is under way
	stageUpgrading        // the request is sent
	stageGreeting         // upgraded, waiting for session_state
	stageSettingUp        // a publisher's window is being made
	stageOpen
	stageClosed
)

// socket is one connection of the crowd.
type socket struct {
	fd      int
	stage   stage
	room    *room
	publish bool   // it sends events and is shown none
	batch   bool   // several envelopes come in one frame
	carry   []byte // the beginning of a frame whose rest is still to come
	out     outbox
	seen    tally
}

// room is one session with its tabs.
type room struct {
	id        string
	publisher *socket
	tabs      []*socket
	published uint64 // events sent so far
	receipts  uint64 // EMITTED that came back
	stirred   bool   // it is in crowd.stirring
	layout    layout
}

// slowest is how many events the tab furthest behind has seen.
func (r *room) slowest() uint64 {
	least := r.published
	for _, t := range r.tabs {
		least = min(least, t.seen.next)
	}
	return least
}

// crowd is all clients of a run: an event loop over their sockets. It belongs
// to one goroutine.
type crowd struct {
	target  target
	poll    *poller
	rooms   []*room
	sockets []*socket // by descriptor
	buf     []byte
	scratch []byte

	waiting []*socket // to be connected
	opening int       // being connected
	open    int
	// stirring are the rooms in which something came in since the last look.
	stirring []*room

	start      time.Time
	now        time.Duration // since start, at the last read
	deliveries uint64
	bytes      uint64 // of the frames with these deliveries
	dataBytes  int    // of the data in the newest of them
	pings      uint64
	sample     uint64 // one delivery in so many has its delay measured
	delays     histogram
	faults     faults
}

func newCrowd(t target, rooms []*room) (*crowd, error) {
	poll, err := newPoller()
	if err != nil {
		return nil, err
	}
	return &crowd{target: t, poll: poll, rooms: rooms, buf: make([]byte, readBuffer), sample: 1, start: time.Now()}, nil
}

// close ends all connections without a word.
func (c *crowd) close() {
	for _, s := range c.sockets {
		c.hangUp(s)
	}
	c.poll.close()
}

// hangUp ends a connection, as a lost network would.
func (c *crowd) hangUp(s *socket) {
	if s == nil || s.stage == stageNew || s.stage == stageClosed {
		return
	}
	switch s.stage {
	case stageOpen:
		c.open--
	default:
		c.opening--
	}
	c.sockets[s.fd] = nil
	_ = unix.Close(s.fd)
	s.stage, s.carry, s.out = stageClosed, nil, outbox{}
}

// clock reads the time of the run.
func (c *crowd) clock() time.Duration {
	c.now = time.Since(c.start)
	return c.now
}

// errStuck is matched by the end of a phase that made no progress any more.
var errStuck = errors.New("no progress any more")

// run handles sockets until done reports true. step is called after every round
// with whatever the phase has to do besides, and says how long the next round
// may wait.
func (c *crowd) run(ctx context.Context, what string, done func() bool, step func() (time.Duration, error)) error {
	last, progress := time.Now(), c.progress()
	for !done() {
		wait, err := step()
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := c.round(wait); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if p := c.progress(); p != progress {
			last, progress = time.Now(), p
		} else if time.Since(last) > nothingFor {
			return fmt.Errorf("%s: %w: %s", what, errStuck, c.standing())
		}
	}
	return nil
}

// patiently is the step of phases that only wait.
func patiently() (time.Duration, error) { return tick, nil }

// progress is different when something has happened.
func (c *crowd) progress() uint64 {
	n := c.deliveries + uint64(c.open) + c.faults.Closed + c.pings //nolint:gosec // a count
	for _, r := range c.rooms {
		n += r.receipts
	}
	return n
}

// standing says where a phase stands, for messages.
func (c *crowd) standing() string {
	return fmt.Sprintf("%d connections are open, %d are being opened, %d wait; %d deliveries; %v",
		c.open, c.opening, len(c.waiting), c.deliveries, c.faults)
}

// round waits for sockets and handles those that are ready.
func (c *crowd) round(wait time.Duration) error {
	ready, err := c.poll.wait(wait)
	if err != nil {
		return err
	}
	for i := range ready {
		s := c.sockets[ready[i].Fd]
		if s == nil {
			continue // closed in this very round
		}
		if err := c.handle(s, ready[i].Events); err != nil {
			c.fail(s, err)
		}
	}
	return nil
}

// fail counts a connection that ended, and ends our side.
func (c *crowd) fail(s *socket, err error) {
	c.faults.Closed++
	if c.faults.First == "" {
		c.faults.First = fmt.Sprintf("session %s: %v", s.room.id, err)
	}
	c.hangUp(s)
}

func (c *crowd) handle(s *socket, events uint32) error {
	if s.stage == stageConnecting {
		return c.upgrade(s)
	}
	if events&unix.EPOLLOUT != 0 {
		done, err := s.out.flush(s.fd)
		if err != nil {
			return err
		}
		if done {
			c.stir(s.room)
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

// stir notes that a room may be ready for more events.
func (c *crowd) stir(r *room) {
	if !r.stirred {
		r.stirred = true
		c.stirring = append(c.stirring, r)
	}
}

// send writes bytes to a socket, later if it must.
func (c *crowd) send(s *socket, b []byte) error {
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

// read takes in what a socket has and handles every whole frame of it.
func (c *crowd) read(s *socket) error {
	have := copy(c.buf, s.carry)
	if have == len(c.buf) {
		return fmt.Errorf("%w: it does not end", errFrame)
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
	if s.stage == stageUpgrading {
		if rest, err = c.upgraded(s, rest); err != nil {
			return err
		}
	}
	if s.stage > stageUpgrading {
		if rest, err = c.frames(s, rest); err != nil {
			return err
		}
	}
	if len(rest) == 0 {
		s.carry = nil // most sockets of a large crowd carry nothing
		return nil
	}
	s.carry = append(s.carry[:0], rest...)
	return nil
}

// frames handles whole frames and returns the rest.
func (c *crowd) frames(s *socket, b []byte) ([]byte, error) {
	before := s.seen.next
	for {
		op, payload, rest, ok, err := nextFrame(b)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if err := c.frame(s, op, payload); err != nil {
			return nil, err
		}
		b = rest
	}
	if s.seen.next != before {
		c.stir(s.room)
	}
	return b, nil
}

// address is where the target listens, as a socket address.
func address(addr string) (unix.SockaddrInet4, error) {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil {
		return unix.SockaddrInet4{}, fmt.Errorf("address of the server: %w", err)
	}
	if !ap.Addr().Is4() {
		return unix.SockaddrInet4{}, fmt.Errorf("address of the server: %s is not IPv4", addr)
	}
	return unix.SockaddrInet4{Port: int(ap.Port()), Addr: ap.Addr().As4()}, nil
}
