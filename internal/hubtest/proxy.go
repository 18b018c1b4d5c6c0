package hubtest

import (
	"context"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Weather describes the treatment of bytes by a [Proxy]. The zero value is a perfect
// network.
type Weather struct {
	// Delay is the delay of all bytes, and Jitter the maximum of a random addition to it.
	Delay, Jitter time.Duration
	// Rate limits each direction of a connection in bytes per second; 0 means unlimited.
	Rate int
	// Slice is the maximum number of bytes that are forwarded at once; 0 means no limit.
	Slice int
	// Up and Down hold back the bytes of clients and of servers: connections stay open, new
	// ones are accepted, and nothing arrives until it is reset.
	Up, Down bool
}

// piece returns the maximum length of a piece in bytes. With a rate, a piece is what passes in a
// tenth of a second, and at least one byte.
func (w Weather) piece() int {
	size := 32 << 10
	if w.Rate > 0 {
		size = min(size, max(w.Rate/10, 1))
	}
	if w.Slice > 0 {
		size = min(size, w.Slice)
	}
	return size
}

// Proxy forwards connections to its targets in turn, skipping those that do not accept, and
// treats their bytes according to a [Weather].
type Proxy struct {
	Addr string

	next    atomic.Uint64
	targets atomic.Pointer[[]string]
	life    context.Context
	wg      sync.WaitGroup

	mu      sync.Mutex // guards the following
	weather Weather
	changed chan struct{} // closed and replaced when the weather changes
	conns   map[net.Conn]bool
}

// NewProxy starts a proxy, which ends with the test.
func NewProxy(tb testing.TB, targets ...string) *Proxy {
	tb.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	life, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	p := &Proxy{Addr: ln.Addr().String(), life: life, changed: make(chan struct{}), conns: map[net.Conn]bool{}}
	p.targets.Store(&targets)
	p.wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.carry(in) })
		}
	})
	tb.Cleanup(func() {
		stop()
		_ = ln.Close()
		p.Cut()
		p.wg.Wait()
	})
	return p
}

// URL returns the URL for clients.
func (p *Proxy) URL() string { return "http://" + p.Addr }

// Retarget changes the targets of new connections.
func (p *Proxy) Retarget(targets ...string) { p.targets.Store(&targets) }

// Set changes the weather for all connections.
func (p *Proxy) Set(w Weather) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.weather = w
	close(p.changed)
	p.changed = make(chan struct{})
}

// Cut resets all connections and returns their number, in which one without a target counts half.
func (p *Proxy) Cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
	return len(p.conns) / 2
}

func (p *Proxy) now() (Weather, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.weather, p.changed
}

// track adds connections to those that Cut resets, or removes them.
func (p *Proxy) track(there bool, conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if there {
			p.conns[c] = true
		} else {
			delete(p.conns, c)
		}
	}
}

func (p *Proxy) dial() (net.Conn, error) {
	targets := *p.targets.Load()
	first := p.next.Add(1)
	var d net.Dialer
	err := net.ErrClosed
	for i := range targets {
		var out net.Conn
		out, err = d.DialContext(p.life, "tcp", targets[(first+uint64(i))%uint64(len(targets))])
		if err == nil {
			return out, nil
		}
	}
	return nil, err
}

func (p *Proxy) carry(in net.Conn) {
	defer func() { _ = in.Close() }()
	p.track(true, in)
	defer p.track(false, in)
	if !p.fair(func(w Weather) bool { return !w.Up }) {
		return
	}
	out, err := p.dial()
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	p.track(true, out)
	defer p.track(false, out)
	var wg sync.WaitGroup
	wg.Go(func() { p.pass(out, in, func(w Weather) bool { return !w.Up }) })
	wg.Go(func() { p.pass(in, out, func(w Weather) bool { return !w.Down }) })
	wg.Wait()
}

// piece is some bytes and their arrival time.
type piece struct {
	b   []byte
	due time.Time
}

// pass forwards one direction: pieces wait, in order, until they are due and open returns true for
// the weather. When one direction ends, it closes both connections.
func (p *Proxy) pass(to, from net.Conn, open func(Weather) bool) {
	pieces := make(chan piece, 256)
	gone := make(chan struct{})
	var wg sync.WaitGroup
	defer func() {
		close(gone)
		_, _ = to.Close(), from.Close()
		wg.Wait()
	}()
	wg.Go(func() {
		defer close(pieces)
		b := make([]byte, 32<<10)
		for {
			n, err := from.Read(b)
			if err != nil {
				return
			}
			for rest := slices.Clone(b[:n]); len(rest) > 0; {
				w, _ := p.now() // the weather may have changed while waiting
				now := rest[:min(len(rest), w.piece())]
				rest = rest[len(now):]
				// Waiting before the next read slows the sender down by back pressure.
				if w.Rate > 0 && !wait(time.Duration(len(now))*time.Second/time.Duration(w.Rate), gone) {
					return
				}
				due := time.Now().Add(w.Delay)
				if w.Jitter > 0 {
					due = due.Add(rand.N(w.Jitter)) //nolint:gosec // weather
				}
				select {
				case pieces <- piece{now, due}:
				case <-gone:
					return
				}
			}
		}
	})
	for it := range pieces {
		if !wait(time.Until(it.due), p.life.Done()) || !p.fair(open) {
			return
		}
		if _, err := to.Write(it.b); err != nil {
			return
		}
	}
}

// fair waits until open returns true for the weather; false means that the proxy has ended.
func (p *Proxy) fair(open func(Weather) bool) bool {
	for {
		w, changed := p.now()
		if open(w) {
			return true
		}
		select {
		case <-changed:
		case <-p.life.Done():
			return false
		}
	}
}

// wait waits for d; false means that over was closed before.
func wait(d time.Duration, over <-chan struct{}) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-over:
		return false
	}
}
