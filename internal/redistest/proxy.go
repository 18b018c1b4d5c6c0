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
	l := &Proxy{Addr: freeAddr(tb), target: target, ctx: life, conns: map[net.Conn]bool{}}
	l.Up(tb)
	tb.Cleanup(func() {
		stop()
		l.Down()
		l.wg.Wait()
	})
	return l
}

// Lag sets the delay of data to the server's replicas.
func (l *Proxy) Lag(d time.Duration) { l.lag.Store(int64(d)) }

// Up starts to accept connections.
func (l *Proxy) Up(tb testing.TB) {
	tb.Helper()
	ln, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", l.Addr)
	if err != nil {
		tb.Fatalf("proxy to redis-server on %s: %v", l.target, err)
	}
	l.mu.Lock()
	l.ln = ln
	l.mu.Unlock()
	l.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			l.wg.Go(func() { l.forward(c) })
		}
	})
}

// Down closes all connections and accepts no new ones.
func (l *Proxy) Down() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ln != nil {
		_ = l.ln.Close()
		l.ln = nil
	}
	for c := range l.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // data in transit is lost
		}
		_ = c.Close()
	}
}

// track registers connections for [Proxy.Down], and closes them if the proxy is down
// already.
func (l *Proxy) track(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		l.conns[c] = true
		if l.ln == nil {
			_ = c.Close()
		}
	}
}

func (l *Proxy) closeConns(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		delete(l.conns, c)
		_ = c.Close()
	}
}

func (l *Proxy) forward(in net.Conn) {
	out, err := (&net.Dialer{}).DialContext(l.ctx, "tcp", l.target)
	if err != nil {
		_ = in.Close()
		return
	}
	l.track(in, out)
	defer l.closeConns(in, out)
	var replica atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		defer l.closeConns(in, out)
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
	l.forwardReplies(in, out, &replica)
	l.closeConns(in, out)
	wg.Wait()
}

// delayedBytes are bytes with the time of their delivery.
type delayedBytes struct {
	b   []byte
	due time.Time
}

// forwardReplies forwards data from the server, delayed for replicas. When the server's
// connection ends, undelivered data is lost.
func (l *Proxy) forwardReplies(in, out net.Conn, replica *atomic.Bool) {
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
				piece.due = piece.due.Add(time.Duration(l.lag.Load()))
			}
			select {
			case pieces <- piece:
			case <-l.ctx.Done():
				return
			}
		}
	})
	defer wg.Wait()
	defer l.closeConns(in, out)
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
