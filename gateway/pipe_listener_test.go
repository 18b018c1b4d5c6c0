package gateway_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// pipeListener is a listener whose connections are pipes, so that a hub can run in a synctest
// bubble with virtual time.
type pipeListener struct {
	came   chan net.Conn
	closed chan struct{}
	once   sync.Once
	// from is the address of clients, an [net.IP] in its text form.
	from atomic.Pointer[string]
}

func newPipeListener() *pipeListener {
	s := &pipeListener{came: make(chan net.Conn), closed: make(chan struct{})}
	s.from.Store(new("127.0.0.1"))
	return s
}

// pipeConn is one end of a pipe with TCP addresses.
type pipeConn struct {
	net.Conn
	from string
}

func (w pipeConn) LocalAddr() net.Addr  { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }
func (w pipeConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(w.from), Port: 1024} }

// DialContext connects a client to the listener.
func (s *pipeListener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case s.came <- pipeConn{server, *s.from.Load()}:
		return client, nil
	case <-s.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements [net.Listener].
func (s *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-s.came:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (s *pipeListener) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// Addr implements [net.Listener].
func (s *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// newBubbleHub starts a hub in a synctest bubble, where time passes when all goroutines are idle.
func newBubbleHub(t *testing.T, tune ...func(*hubOptions)) *testHub {
	t.Helper()
	h := newTestHub(t, append(tune, func(p *hubOptions) { p.pipes = newPipeListener() })...)
	h.wait = 24 * time.Hour
	return h
}
