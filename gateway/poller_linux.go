package gateway

import (
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// round is how many connections a poller attends to before it lets others run.
const round = 64

// pollers are those of a server.
type pollers []*poller

// poller attends to a part of the connections.
type poller struct {
	epoll   *os.File // which itself is waited for as other files are
	raw     syscall.RawConn
	fd      int
	pollers int // how many there are

	mu          sync.Mutex // guards the following
	parkedConns []*conn    // those who wait, by seat
	closed      bool
}

// newPollers makes one poller per processor.
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
	if err := unix.SetNonblock(fd, true); err != nil { // else it would not be waited for
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

// open has the pollers begin.
func (p pollers) open(wg *sync.WaitGroup) {
	for _, u := range p {
		wg.Go(u.run)
	}
}

// close ends the pollers.
func (p pollers) close() {
	for _, u := range p {
		u.close()
	}
}

// pollerFor is the poller of a connection; nil when there are none.
func (p pollers) pollerFor(c *conn) *poller {
	if len(p) == 0 {
		return nil
	}
	return p[c.fd%len(p)]
}

// slot is where a connection waits. No other one of the poller has the same descriptor.
func (u *poller) slot(c *conn) int { return c.fd / u.pollers }

// close ends the poller. Who waits gets a goroutine.
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

// park has a connection wait, unless it was asked to end.
func (u *poller) park(c *conn) (parked bool) {
	_ = c.raw.Control(func(uintptr) { // so that the descriptor is its own meanwhile
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.closed || c.ended.Load() != nil {
			return
		}
		index := u.slot(c)
		for index >= len(u.parkedConns) {
			u.parkedConns = append(u.parkedConns, nil)
		}
		// What has come already counts as something new.
		ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(index)} //nolint:gosec // a descriptor is small
		if unix.EpollCtl(u.fd, unix.EPOLL_CTL_ADD, c.fd, &ev) == nil {
			u.parkedConns[index], parked = c, true
		}
	})
	return parked
}

// unpark takes a connection out. It reports false when it does not wait here.
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

// remove tells the system that nobody waits for a connection any more. One that is closed it has
// forgotten by itself, and the descriptor may be that of another who waits.
func (u *poller) remove(c *conn) {
	_ = c.raw.Control(func(uintptr) { _ = unix.EpollCtl(u.fd, unix.EPOLL_CTL_DEL, c.fd, nil) })
}

// run attends to those who have something to say, until the poller is closed.
func (u *poller) run() {
	defer u.close() // whatever the end is, nobody waits in vain
	var events [round]unix.EpollEvent
	var parkedConns [round]*conn
	n := 0
	look := func(fd uintptr) bool {
		n, _ = unix.EpollWait(int(fd), events[:], 0)
		return n != 0
	}
	for u.raw.Read(look) == nil {
		u.handleReady(events[:max(n, 0)], parkedConns[:])
		runtime.Gosched() // the sessions have something to do now
	}
}

// handleReady attends to connections from whom something has come.
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
			continue // somebody has fetched it
		}
		if over := events[i].Events != unix.EPOLLIN; !u.rearm(c, c.handleReadable(over)) {
			go c.serve()
		}
		parkedConns[i] = nil
	}
}

// rearm has a connection wait again that was attended to, unless it may not or was asked to end.
func (u *poller) rearm(c *conn, stays bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return false
	}
	if stays && c.ended.Load() == nil {
		u.parkedConns[u.slot(c)] = c
		return true
	}
	u.remove(c)
	return false
}
