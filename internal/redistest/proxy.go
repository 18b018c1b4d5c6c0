package redistest

import (
	"bytes"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy forwards connections to a server. Data from the server to its replicas can be
// delayed. When the proxy goes down, all data that has not arrived is lost, as if the
// machine had crashed.
type Proxy struct {
	// Addr is the address that all other processes use for the server.
	Addr string

	target string
	lag    atomic.Int64
	ctx    context.Context //nolint:containedctx // canceled when the test ends
	wg     sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	ln    net.Listener
	conns map[net.Conn]bool
}

// newProxy starts a proxy for target.
func newProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	life, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	p := &Proxy{Addr: freeAddr(tb), target: target, ctx: life, conns: map[net.Conn]bool{}}
	p.Up(tb)
	tb.Cleanup(func() {
		stop()
		p.Down()
		p.wg.Wait()
	})
	return p
}

// Lag sets the delay of data to the server's replicas.
func (p *Proxy) Lag(d time.Duration) { p.lag.Store(int64(d)) }

// Up starts to accept connections.
func (p *Proxy) Up(tb testing.TB) {
	tb.Helper()
	ln, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", p.Addr)
	if err != nil {
		tb.Fatalf("proxy to redis-server on %s: %v", p.target, err)
	}
	p.mu.Lock()
	p.ln = ln
	p.mu.Unlock()
	p.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.forward(c) })
		}
	})
}

// Down closes all connections and accepts no new ones.
func (p *Proxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ln != nil {
		_ = p.ln.Close()
		p.ln = nil
	}
	for c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // data in transit is lost
		}
		_ = c.Close()
	}
}

// track registers connections for [Proxy.Down], and closes them if the proxy is down
// already.
func (p *Proxy) track(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = true
		if p.ln == nil {
			_ = c.Close()
		}
	}
}

func (p *Proxy) closeConns(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
		_ = c.Close()
	}
}

func (p *Proxy) forward(in net.Conn) {
	out, err := (&net.Dialer{}).DialContext(p.ctx, "tcp", p.target)
	if err != nil {
		_ = in.Close()
		return
	}
	p.track(in, out)
	defer p.closeConns(in, out)
	var replica atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		defer p.closeConns(in, out)
		b := make([]byte, 32<<10)
		for {
			n, err := in.Read(b)
			if err != nil {
				return
			}
			if !replica.Load() && bytes.Contains(bytes.ToUpper(b[:n]), []byte("REPLCONF")) {
				replica.Store(true)
			}
			if _, err := out.Write(b[:n]); err != nil {
				return
			}
		}
	})
	p.forwardReplies(in, out, &replica)
	p.closeConns(in, out)
	wg.Wait()
}

// delayedBytes are bytes with the time of their delivery.
type delayedBytes struct {
	b   []byte
	due time.Time
}

// forwardReplies forwards data from the server, delayed for replicas. When the server's
// connection ends, undelivered data is lost.
func (p *Proxy) forwardReplies(in, out net.Conn, replica *atomic.Bool) {
	pieces, gone := make(chan delayedBytes, 4096), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(gone)
		for {
			b := make([]byte, 32<<10)
			n, err := out.Read(b)
			if err != nil {
				return
			}
			piece := delayedBytes{b: b[:n], due: time.Now()}
			if replica.Load() {
				piece.due = piece.due.Add(time.Duration(p.lag.Load()))
			}
			select {
			case pieces <- piece:
			case <-p.ctx.Done():
				return
			}
		}
	})
	defer wg.Wait()
	defer p.closeConns(in, out)
	for {
		var piece delayedBytes
		select {
		case piece = <-pieces:
		case <-gone:
			return
		}
		select {
		case <-time.After(time.Until(piece.due)):
		case <-gone:
			return
		}
		if _, err := in.Write(piece.b); err != nil {
			return
		}
	}
}
