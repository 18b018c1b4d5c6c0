package gateway

import (
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxEvents is the number of connections a poller handles before it yields.
const maxEvents = 64

// pollers are all pollers of a server.
type pollers []*poller

// poller waits for a part of the connections with epoll.
type poller struct {
	epoll   *os.File // itself registered with the runtime's poller
	raw     syscall.RawConn
	fd      int
	pollers int // number of pollers of the server

	mu          sync.Mutex // guards the following
	parkedConns []*conn    // indexed by slot; nil where none is parked
	closed      bool
}

// newPollers makes one poller per GOMAXPROCS.
func newPollers() (pollers, error) {
	var p pollers
	n := runtime.GOMAXPROCS(0)
	for range n {
		u, err := newPoller(n)
		if err != nil {
			p.close()
			return nil, err
		}
		p = append(p, u)
	}
	return p, nil
}

func newPoller(pollers int) (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // required for the runtime's poller
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	u := &poller{fd: fd, pollers: pollers, epoll: os.NewFile(uintptr(fd), "epoll")}
	if u.raw, err = u.epoll.SyscallConn(); err != nil {
		_ = u.epoll.Close()
		return nil, err
	}
	return u, nil
}

// start runs the pollers in goroutines of wg.
func (p pollers) start(wg *sync.WaitGroup) {
	for _, u := range p {
		wg.Go(u.run)
	}
}

func (p pollers) close() {
	for _, u := range p {
		u.close()
	}
}

// pollerFor returns the poller of a connection, or nil if there are none.
func (p pollers) pollerFor(c *conn) *poller {
	if len(p) == 0 {
		return nil
	}
	return p[c.fd%len(p)]
}

// slot returns the index of a connection in parkedConns. It is unique, because the connections of a
// poller have different descriptors with the same remainder modulo pollers.
func (u *poller) slot(c *conn) int { return c.fd / u.pollers }

// close stops the poller. Each parked connection gets a goroutine.
func (u *poller) close() {
	u.mu.Lock()
	left := u.parkedConns
	u.closed, u.parkedConns = true, nil
	_ = u.epoll.Close()
	u.mu.Unlock()
	for _, c := range left {
		if c != nil {
			go c.serve()
		}
	}
}

// park registers a connection with epoll, unless it was asked to close.
func (u *poller) park(c *conn) (parked bool) {
	_ = c.raw.Control(func(uintptr) { // Control keeps the descriptor from being closed and reused meanwhile
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.closed || c.closeRequested.Load() != nil {
			return
		}
		index := u.slot(c)
		for index >= len(u.parkedConns) {
			u.parkedConns = append(u.parkedConns, nil)
		}
		// Adding a descriptor that is already readable raises an event.
		ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(index)} //nolint:gosec // a descriptor is small
		if unix.EpollCtl(u.fd, unix.EPOLL_CTL_ADD, c.fd, &ev) == nil {
			u.parkedConns[index], parked = c, true
		}
	})
	return parked
}

// unpark removes a connection from the poller. It reports false if it is not parked here.
func (u *poller) unpark(c *conn) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	index := u.slot(c)
	if index >= len(u.parkedConns) || u.parkedConns[index] != c {
		return false
	}
	u.parkedConns[index] = nil
	u.remove(c)
	return true
}

// remove unregisters a connection from epoll. Control skips a closed connection, which the kernel
// has unregistered already: its descriptor may belong to another parked connection by now.
func (u *poller) remove(c *conn) {
	_ = c.raw.Control(func(uintptr) { _ = unix.EpollCtl(u.fd, unix.EPOLL_CTL_DEL, c.fd, nil) })
}

// run handles readable connections until the poller is closed.
func (u *poller) run() {
	defer u.close() // also after a failure: parked connections must get a goroutine
	var events [maxEvents]unix.EpollEvent
	var parkedConns [maxEvents]*conn
	n := 0
	look := func(fd uintptr) bool {
		n, _ = unix.EpollWait(int(fd), events[:], 0)
		return n != 0
	}
	for u.raw.Read(look) == nil {
		u.handleReady(events[:max(n, 0)], parkedConns[:])
		runtime.Gosched() // lets the sessions process the delivered commands
	}
}

// handleReady handles the connections that epoll reported.
func (u *poller) handleReady(events []unix.EpollEvent, parkedConns []*conn) {
	parkedConns = parkedConns[:len(events)]
	u.mu.Lock()
	for i, e := range events {
		if int(e.Fd) < len(u.parkedConns) {
			parkedConns[i], u.parkedConns[e.Fd] = u.parkedConns[e.Fd], nil
		}
	}
	u.mu.Unlock()
	for i, c := range parkedConns {
		if c == nil {
			continue // unparked meanwhile
		}
		if over := events[i].Events != unix.EPOLLIN; !u.rearm(c, c.handleReadable(over)) {
			go c.serve()
		}
		parkedConns[i] = nil
	}
}

// rearm parks a handled connection again, unless it must not stay or was asked to close.
func (u *poller) rearm(c *conn, stays bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return false
	}
	if stays && c.closeRequested.Load() == nil {
		u.parkedConns[u.slot(c)] = c
		return true
	}
	u.remove(c)
	return false
}
