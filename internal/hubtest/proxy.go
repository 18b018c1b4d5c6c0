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

// ProxyFaults describes how a [Proxy] delays, limits and holds back bytes. The zero value is a perfect
// network.
type ProxyFaults struct {
	// Delay is the delay of all bytes, and Jitter the maximum of a random addition to it.
	Delay, Jitter time.Duration
	// Rate limits each direction of a connection in bytes per second; 0 means unlimited.
	Rate int
	// MaxPiece is the maximum number of bytes that are forwarded at once; 0 means no limit.
	MaxPiece int
	// HoldRequests and Down hold back the bytes of clients and of servers: connections stay open, new
	// ones are accepted, and nothing arrives until it is reset.
	HoldRequests, HoldReplies bool
}

// pieceSize returns the maximum length of a piece in bytes. With a rate, a piece is what passes in a
// tenth of a second, and at least one byte.
func (f ProxyFaults) pieceSize() int {
	size := 32 << 10
	if f.Rate > 0 {
		size = min(size, max(f.Rate/10, 1))
	}
	if f.MaxPiece > 0 {
		size = min(size, f.MaxPiece)
	}
	return size
}

// Proxy forwards connections to its targets in turn, skipping those that do not accept, and
// applies a [ProxyFaults] to their bytes.
type Proxy struct {
	Addr string

	next    atomic.Uint64
	targets atomic.Pointer[[]string]
	ctx     context.Context
	wg      sync.WaitGroup

	mu      sync.Mutex // guards the following
	faults  ProxyFaults
	changed chan struct{} // closed and replaced when the faults change
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
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	p := &Proxy{Addr: ln.Addr().String(), ctx: ctx, changed: make(chan struct{}), conns: map[net.Conn]bool{}}
	p.targets.Store(&targets)
	p.wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(in) })
		}
	})
	tb.Cleanup(func() {
		stop()
		_ = ln.Close()
		p.ResetConnections()
		p.wg.Wait()
	})
	return p
}

// URL returns the URL for clients.
func (p *Proxy) URL() string { return "http://" + p.Addr }

// SetTargets changes the targets of new connections.
func (p *Proxy) SetTargets(targets ...string) { p.targets.Store(&targets) }

// SetFaults sets the faults of all connections.
func (p *Proxy) SetFaults(f ProxyFaults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
	close(p.changed)
	p.changed = make(chan struct{})
}

// ResetConnections resets all connections and returns their number, in which one without a target counts half.
func (p *Proxy) ResetConnections() int {
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

func (p *Proxy) currentFaults() (ProxyFaults, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults, p.changed
}

// track adds connections to those that Cut resets, or removes them.
func (p *Proxy) track(open bool, conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if open {
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
		out, err = d.DialContext(p.ctx, "tcp", targets[(first+uint64(i))%uint64(len(targets))])
		if err == nil {
			return out, nil
		}
	}
	return nil, err
}

func (p *Proxy) serve(in net.Conn) {
	defer func() { _ = in.Close() }()
	p.track(true, in)
	defer p.track(false, in)
	if !p.awaitOpen(func(f ProxyFaults) bool { return !f.HoldRequests }) {
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
	wg.Go(func() { p.forward(out, in, func(f ProxyFaults) bool { return !f.HoldRequests }) })
	wg.Go(func() { p.forward(in, out, func(f ProxyFaults) bool { return !f.HoldReplies }) })
	wg.Wait()
}

// piece is some bytes and their arrival time.
type piece struct {
	b   []byte
	due time.Time
}

// forward forwards one direction: pieces wait, in order, until they are due and open returns true for
// the faults. When one direction ends, it closes both connections.
func (p *Proxy) forward(to, from net.Conn, open func(ProxyFaults) bool) {
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
				f, _ := p.currentFaults() // the faults may have changed while waiting
				now := rest[:min(len(rest), f.pieceSize())]
				rest = rest[len(now):]
				// Waiting before the next read slows the sender down by back pressure.
				if f.Rate > 0 && !sleepUnless(time.Duration(len(now))*time.Second/time.Duration(f.Rate), gone) {
					return
				}
				due := time.Now().Add(f.Delay)
				if f.Jitter > 0 {
					due = due.Add(rand.N(f.Jitter)) //nolint:gosec // need not be secure
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
		if !sleepUnless(time.Until(it.due), p.ctx.Done()) || !p.awaitOpen(open) {
			return
		}
		if _, err := to.Write(it.b); err != nil {
			return
		}
	}
}

// awaitOpen waits until open returns true for the current faults; false means that the proxy has ended.
func (p *Proxy) awaitOpen(open func(ProxyFaults) bool) bool {
	for {
		f, changed := p.currentFaults()
		if open(f) {
			return true
		}
		select {
		case <-changed:
		case <-p.ctx.Done():
			return false
		}
	}
}

// sleepUnless waits for d; false means that over was closed before.
func sleepUnless(d time.Duration, over <-chan struct{}) bool {
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
