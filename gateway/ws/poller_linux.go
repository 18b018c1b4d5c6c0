package ws

import (
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxEvents is the number of connections an event loop handles before it yields.
const maxEvents = 64

// poller waits for parked connections with epoll. It has one event loop per GOMAXPROCS; a connection
// belongs to one of them by its descriptor.
type poller struct{ loops []*eventLoop }

// newPoller starts a poller in goroutines of wg.
func newPoller(wg *sync.WaitGroup) (*poller, error) {
	p := &poller{}
	n := runtime.GOMAXPROCS(0)
	for range n {
		l, err := newEventLoop(n)
		if err != nil {
			p.close()
			return nil, err
		}
		p.loops = append(p.loops, l)
	}
	for _, l := range p.loops {
		wg.Go(l.run)
	}
	return p, nil
}

// park waits for a connection, unless it was asked to close or the poller is closed. After true the
// caller must not touch the connection any more.
func (p *poller) park(c pollable) (parked bool) {
	raw, fd := c.descriptor()
	l := p.loops[fd%len(p.loops)]
	// Control keeps the descriptor from being closed and reused meanwhile.
	_ = raw.Control(func(uintptr) { parked = l.add(c, fd) })
	return parked
}

// unpark takes a connection back. It reports false if the connection is not parked.
func (p *poller) unpark(c pollable) bool {
	_, fd := c.descriptor()
	return p.loops[fd%len(p.loops)].removeParked(c)
}

// close stops the poller. Each parked connection gets a goroutine.
func (p *poller) close() {
	for _, l := range p.loops {
		l.close()
	}
}

// eventLoop waits for a part of the connections.
type eventLoop struct {
	epoll *os.File // itself registered with the runtime's poller
	raw   syscall.RawConn
	fd    int
	loops int // number of event loops of the poller

	mu     sync.Mutex // guards the following
	parked []pollable // indexed by slot; nil where none is parked
	closed bool
}

func newEventLoop(loops int) (*eventLoop, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // required for the runtime's poller
		_ = unix.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	l := &eventLoop{fd: fd, loops: loops, epoll: os.NewFile(uintptr(fd), "epoll")}
	if l.raw, err = l.epoll.SyscallConn(); err != nil {
		_ = l.epoll.Close()
		return nil, err
	}
	return l, nil
}

// slot returns the index of a descriptor in parked. It is unique, because the connections of a loop
// have different descriptors with the same remainder modulo loops.
func (l *eventLoop) slot(fd int) int { return fd / l.loops }

// close stops the loop. Each parked connection gets a goroutine.
func (l *eventLoop) close() {
	l.mu.Lock()
	left := l.parked
	l.closed, l.parked = true, nil
	_ = l.epoll.Close()
	l.mu.Unlock()
	for _, c := range left {
		if c != nil {
			go c.serve()
		}
	}
}

// add registers a connection with epoll, unless it was asked to close.
func (l *eventLoop) add(c pollable, fd int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || c.closing() {
		return false
	}
	index := l.slot(fd)
	for index >= len(l.parked) {
		l.parked = append(l.parked, nil)
	}
	// Adding a descriptor that is already readable raises an event.
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(index)} //nolint:gosec // a descriptor is small
	if unix.EpollCtl(l.fd, unix.EPOLL_CTL_ADD, fd, &ev) != nil {
		return false
	}
	l.parked[index] = c
	return true
}

// removeParked removes a parked connection from the loop. It reports false if the connection is not parked here.
func (l *eventLoop) removeParked(c pollable) bool {
	_, fd := c.descriptor()
	l.mu.Lock()
	defer l.mu.Unlock()
	index := l.slot(fd)
	if index >= len(l.parked) || l.parked[index] != c {
		return false
	}
	l.parked[index] = nil
	l.remove(c)
	return true
}

// remove unregisters a connection from epoll. Control skips a closed connection, which the kernel
// has unregistered already: its descriptor may belong to another parked connection by now.
func (l *eventLoop) remove(c pollable) {
	raw, fd := c.descriptor()
	_ = raw.Control(func(uintptr) { _ = unix.EpollCtl(l.fd, unix.EPOLL_CTL_DEL, fd, nil) })
}

// run handles readable connections until the loop is closed.
func (l *eventLoop) run() {
	defer l.close() // also after a failure: parked connections must get a goroutine
	var events [maxEvents]unix.EpollEvent
	var ready [maxEvents]pollable
	n := 0
	look := func(fd uintptr) bool {
		n, _ = unix.EpollWait(int(fd), events[:], 0)
		return n != 0
	}
	for l.raw.Read(look) == nil {
		l.handleReady(events[:max(n, 0)], ready[:])
		runtime.Gosched() // lets the sessions process the delivered commands
	}
}

// handleReady handles the connections that epoll reported.
func (l *eventLoop) handleReady(events []unix.EpollEvent, ready []pollable) {
	ready = ready[:len(events)]
	l.mu.Lock()
	for i, e := range events {
		if int(e.Fd) < len(l.parked) {
			ready[i], l.parked[e.Fd] = l.parked[e.Fd], nil
		}
	}
	l.mu.Unlock()
	for i, c := range ready {
		if c == nil {
			continue // unparked meanwhile
		}
		if hungUp := events[i].Events != unix.EPOLLIN; !l.rearm(c, c.handleReadable(hungUp)) {
			go c.serve()
		}
		ready[i] = nil
	}
}

// rearm parks a handled connection again, unless it must not stay or was asked to close.
func (l *eventLoop) rearm(c pollable, stays bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if stays && !c.closing() {
		_, fd := c.descriptor()
		l.parked[l.slot(fd)] = c
		return true
	}
	l.remove(c)
	return false
}
