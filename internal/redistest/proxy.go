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

// Line is the way to a server. What a server tells its replicas over it may be
// late, and when the line is down all of that is lost which has not arrived, as if
// the machine were gone.
type Line struct {
	// Addr is where the server is for everybody else.
	Addr string

	target string
	lag    atomic.Int64
	life   context.Context //nolint:containedctx // the test's
	wg     sync.WaitGroup

	mu    sync.Mutex // guards the following
	ln    net.Listener
	conns map[net.Conn]bool
}

// newLine makes a line that is up.
func newLine(tb testing.TB, target string) *Line {
	tb.Helper()
	life, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	l := &Line{Addr: freeAddr(tb), target: target, life: life, conns: map[net.Conn]bool{}}
	l.Up(tb)
	tb.Cleanup(func() {
		stop()
		l.Down()
		l.wg.Wait()
	})
	return l
}

// Lag says how late a server's replicas are told everything from now on.
func (l *Line) Lag(d time.Duration) { l.lag.Store(int64(d)) }

// Up lets connections through.
func (l *Line) Up(tb testing.TB) {
	tb.Helper()
	ln, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", l.Addr)
	if err != nil {
		tb.Fatalf("line to redis-server on %s: %v", l.target, err)
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
			l.wg.Go(func() { l.carry(c) })
		}
	})
}

// Down ends all connections and takes no new ones.
func (l *Line) Down() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ln != nil {
		_ = l.ln.Close()
		l.ln = nil
	}
	for c := range l.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // what is under way is lost
		}
		_ = c.Close()
	}
}

// keep remembers connections for [Line.Down], and closes them if that has been.
func (l *Line) keep(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		l.conns[c] = true
		if l.ln == nil {
			_ = c.Close()
		}
	}
}

func (l *Line) forget(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		delete(l.conns, c)
		_ = c.Close()
	}
}

func (l *Line) carry(in net.Conn) {
	out, err := (&net.Dialer{}).DialContext(l.life, "tcp", l.target)
	if err != nil {
		_ = in.Close()
		return
	}
	l.keep(in, out)
	defer l.forget(in, out)
	var replica atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		defer l.forget(in, out)
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
	l.answer(in, out, &replica)
	l.forget(in, out)
	wg.Wait()
}

// late is some bytes and when they arrive.
type late struct {
	b   []byte
	due time.Time
}

// answer carries what the server says. When the server ends, what is still on its
// way is lost.
func (l *Line) answer(in, out net.Conn, replica *atomic.Bool) {
	pieces, gone := make(chan late, 4096), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(gone)
		for {
			b := make([]byte, 32<<10)
			n, err := out.Read(b)
			if err != nil {
				return
			}
			piece := late{b: b[:n], due: time.Now()}
			if replica.Load() {
				piece.due = piece.due.Add(time.Duration(l.lag.Load()))
			}
			select {
			case pieces <- piece:
			case <-l.life.Done():
				return
			}
		}
	})
	defer wg.Wait()
	defer l.forget(in, out)
	for {
		var piece late
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
