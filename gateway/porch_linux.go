package gateway

import (
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// round is how many connections an usher attends to before it lets others run.
const round = 64

// porch is the ushers of a server.
type porch []*usher

// usher attends to a part of the connections.
type usher struct {
	epoll *os.File // which itself is waited for as other files are
	raw   syscall.RawConn
	fd    int

	mu     sync.Mutex // guards the following
	guests []*conn    // those who wait, by descriptor
	closed bool
}

// newPorch makes a porch with an usher for every processor.
func newPorch() (porch, error) {
	var p porch
	for range runtime.GOMAXPROCS(0) {
		u, err := newUsher()
		if err != nil {
			p.close()
			return nil, err
		}
		p = append(p, u)
	}
	return p, nil
}

func newUsher() (*usher, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // else it would not be waited for
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	u := &usher{fd: fd, epoll: os.NewFile(uintptr(fd), "epoll")}
	if u.raw, err = u.epoll.SyscallConn(); err != nil {
		_ = u.epoll.Close()
		return nil, err
	}
	return u, nil
}

// open has the ushers begin.
func (p porch) open(wg *sync.WaitGroup) {
	for _, u := range p {
		wg.Go(u.run)
	}
}

// close ends the ushers. Who waits gets a goroutine.
func (p porch) close() {
	for _, u := range p {
		u.mu.Lock()
		u.closed = true
		left := u.guests
		u.guests = nil
		_ = u.epoll.Close()
		u.mu.Unlock()
		for _, c := range left {
			if c != nil {
				go c.serve()
			}
		}
	}
}

// of is the usher of a connection.
func (p porch) of(c *conn) *usher { return p[c.fd%len(p)] }

func (p porch) park(c *conn) bool {
	if len(p) == 0 {
		return false
	}
	u, parked := p.of(c), false
	err := c.raw.Control(func(uintptr) { // so that the descriptor is its own meanwhile
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.closed || c.ended.Load() != nil {
			return
		}
		for c.fd >= len(u.guests) {
			u.guests = append(u.guests, nil)
		}
		// What has come already counts as something new.
		ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(c.fd)} //nolint:gosec // a descriptor is small
		if unix.EpollCtl(u.fd, unix.EPOLL_CTL_ADD, c.fd, &ev) == nil {
			u.guests[c.fd], parked = c, true
		}
	})
	return err == nil && parked
}

func (p porch) fetch(c *conn) bool {
	if len(p) == 0 {
		return false
	}
	u := p.of(c)
	u.mu.Lock()
	defer u.mu.Unlock()
	if c.fd >= len(u.guests) || u.guests[c.fd] != c {
		return false
	}
	u.forget(c)
	return true
}

// forget takes a connection out of everything. The caller has u.mu.
func (u *usher) forget(c *conn) {
	u.guests[c.fd] = nil
	_ = unix.EpollCtl(u.fd, unix.EPOLL_CTL_DEL, c.fd, nil) // it is there
}

// run attends to those who have something to say, until the porch is closed.
func (u *usher) run() {
	var events [round]unix.EpollEvent
	var guests [round]*conn
	n := 0
	look := func(fd uintptr) bool {
		n, _ = unix.EpollWait(int(fd), events[:], 0)
		return n != 0
	}
	for u.raw.Read(look) == nil {
		u.attend(events[:max(n, 0)], guests[:])
		runtime.Gosched() // the sessions have something to do now
	}
}

// attend attends to connections from whom something has come.
func (u *usher) attend(events []unix.EpollEvent, guests []*conn) {
	guests = guests[:len(events)]
	u.mu.Lock()
	for i, e := range events {
		if int(e.Fd) < len(u.guests) {
			guests[i], u.guests[e.Fd] = u.guests[e.Fd], nil
		}
	}
	u.mu.Unlock()
	for i, c := range guests {
		if c == nil {
			continue // somebody has fetched it
		}
		if over := events[i].Events != unix.EPOLLIN; !u.putBack(c, c.attend(over)) {
			go c.serve()
		}
		guests[i] = nil
	}
}

// putBack has a connection wait again that was attended to, unless it may not or was asked to end.
func (u *usher) putBack(c *conn, stays bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return false
	}
	if stays && c.ended.Load() == nil {
		u.guests[c.fd] = c
		return true
	}
	u.forget(c)
	return false
}
