package hubtest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/hubtest"
)

// echoServer is an echo server that counts connections and received pieces.
type echoServer struct {
	addr   string
	conns  atomic.Int32
	pieces atomic.Int32
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func newEchoServer(t *testing.T) *echoServer {
	t.Helper()
	ln := listen(t)
	e := &echoServer{addr: ln.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			e.conns.Add(1)
			wg.Go(func() {
				defer c.Close()
				b := make([]byte, 1<<10)
				for {
					n, err := c.Read(b)
					if err != nil {
						return
					}
					e.pieces.Add(1)
					if _, err := c.Write(b[:n]); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		wg.Wait()
	})
	return e
}

// dial connects to a proxy, with a bound on everything.
func dial(t *testing.T, p *hubtest.Proxy) net.Conn {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

// roundTrip sends text and returns the time until its echo arrived.
func roundTrip(t *testing.T, c net.Conn, text string) time.Duration {
	t.Helper()
	began := time.Now()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	expectRead(t, c, text)
	return time.Since(began)
}

func expectRead(t *testing.T, c net.Conn, text string) {
	t.Helper()
	b := make([]byte, len(text))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != text {
		t.Fatalf("got %q, %v, want %q", b, err, text)
	}
}

// expectSilence checks that nothing arrives for 100 ms; there is no event to wait for.
func expectSilence(t *testing.T, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("got %d bytes, %v, want silence", n, err)
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
}

func TestProxyForwards(t *testing.T) {
	t.Parallel()
	p := hubtest.NewProxy(t, newEchoServer(t).addr)
	if want := "http://" + p.Addr; p.URL() != want {
		t.Errorf("URL is %s, want %s", p.URL(), want)
	}
	roundTrip(t, dial(t, p), "hello")
}

func TestProxyDelays(t *testing.T) {
	t.Parallel()
	p := hubtest.NewProxy(t, newEchoServer(t).addr)
	c := dial(t, p)
	const delay = 40 * time.Millisecond
	p.SetFaults(hubtest.ProxyFaults{Delay: delay, Jitter: time.Millisecond})
	if got := roundTrip(t, c, "hello"); got < 2*delay {
		t.Errorf("the round trip took %v, want at least %v", got, 2*delay)
	}
}

func TestProxyLimitsPieces(t *testing.T) {
	t.Parallel()
	e := newEchoServer(t)
	p := hubtest.NewProxy(t, e.addr)
	// The rate keeps the pieces apart, so that the socket does not join them.
	p.SetFaults(hubtest.ProxyFaults{MaxPiece: 4, Rate: 400})
	roundTrip(t, dial(t, p), "0123456789abcdef")
	if got := e.pieces.Load(); got < 2 {
		t.Errorf("received %d pieces, want 2 or more", got)
	}
}

func TestProxyLimitsRate(t *testing.T) {
	t.Parallel()
	p := hubtest.NewProxy(t, newEchoServer(t).addr)
	p.SetFaults(hubtest.ProxyFaults{Rate: 10_000})
	c := dial(t, p)
	text := string(bytes.Repeat([]byte("x"), 1000))
	if got, want := roundTrip(t, c, text), 200*time.Millisecond; got < want {
		t.Errorf("the round trip took %v, want at least %v", got, want)
	}
}

func TestProxyHoldsBack(t *testing.T) {
	t.Parallel()
	t.Run("up", func(t *testing.T) {
		t.Parallel()
		e := newEchoServer(t)
		p := hubtest.NewProxy(t, e.addr)
		c := dial(t, p)
		roundTrip(t, c, "before")
		before := e.pieces.Load()
		p.SetFaults(hubtest.ProxyFaults{HoldRequests: true})
		later := dial(t, p)
		for _, c := range []net.Conn{c, later} {
			if _, err := io.WriteString(c, "during"); err != nil {
				t.Fatal(err)
			}
			expectSilence(t, c)
		}
		if got := e.pieces.Load(); got != before {
			t.Errorf("the server received %d more pieces, want none", got-before)
		}
		p.SetFaults(hubtest.ProxyFaults{})
		expectRead(t, c, "during")
		expectRead(t, later, "during")
	})
	t.Run("down", func(t *testing.T) {
		t.Parallel()
		e := newEchoServer(t)
		p := hubtest.NewProxy(t, e.addr)
		c := dial(t, p)
		roundTrip(t, c, "before")
		before := e.pieces.Load()
		p.SetFaults(hubtest.ProxyFaults{HoldReplies: true})
		if _, err := io.WriteString(c, "during"); err != nil {
			t.Fatal(err)
		}
		expectSilence(t, c)
		if got := e.pieces.Load(); got == before {
			t.Error("the server received nothing, want the bytes of the client")
		}
		p.SetFaults(hubtest.ProxyFaults{})
		expectRead(t, c, "during")
	})
}

func TestProxyResetsConnections(t *testing.T) {
	t.Parallel()
	p := hubtest.NewProxy(t, newEchoServer(t).addr)
	a, b := dial(t, p), dial(t, p)
	roundTrip(t, a, "a")
	roundTrip(t, b, "b")
	if got := p.ResetConnections(); got != 2 {
		t.Errorf("cut %d connections, want 2", got)
	}
	for _, c := range []net.Conn{a, b} {
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v, want a reset connection", err)
		}
	}
	roundTrip(t, dial(t, p), "again")
}

func TestProxyRotatesTargets(t *testing.T) {
	t.Parallel()
	refusing := listen(t)
	if err := refusing.Close(); err != nil {
		t.Fatal(err)
	}
	first, second := newEchoServer(t), newEchoServer(t)
	p := hubtest.NewProxy(t, refusing.Addr().String(), first.addr, second.addr)
	for range 6 {
		roundTrip(t, dial(t, p), "hello")
	}
	if a, b := first.conns.Load(), second.conns.Load(); a+b != 6 || a == 0 || b == 0 {
		t.Errorf("%d and %d connections, want 6 in total and some at each", a, b)
	}
	p.SetTargets(second.addr)
	before := first.conns.Load()
	for range 3 {
		roundTrip(t, dial(t, p), "hello")
	}
	if got := first.conns.Load(); got != before {
		t.Errorf("%d connections to a removed target, want none", got-before)
	}
	p.SetTargets(refusing.Addr().String())
	if _, err := dial(t, p).Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want a closed connection", err)
	}
}
