//go:build linux

package ws

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/broadcast"
)

// parkedCount returns the number of parked connections.
func parkedCount(s *Server) (n int) {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	for _, l := range s.registry.poller.loops {
		l.mu.Lock()
		for _, c := range l.parked {
			if c != nil {
				n++
			}
		}
		l.mu.Unlock()
	}
	return n
}

// Clients that send nothing, or only pongs, stay parked until they disconnect.
func TestIdleConnectionsAreParked(t *testing.T) {
	t.Parallel()
	const clients = 20
	came := make(chan *conn, clients)
	url, _ := newConnServer(t, func(_ context.Context, c *conn) bool {
		came <- c
		return true
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var all []*websocket.Conn
	var s *Server
	for range clients {
		ws, _, err := websocket.Dial(ctx, url, nil) //nolint:bodyclose // the library does
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = ws.CloseNow() }()
		all = append(all, ws)
		s = (<-came).s
	}
	want := func(n int) {
		t.Helper()
		for parkedCount(s) != n {
			if ctx.Err() != nil {
				t.Fatalf("parked connections: got %d, want %d", parkedCount(s), n)
			}
			runtime.Gosched()
		}
	}
	want(clients)
	for _, ws := range all {
		if err := ws.Write(ctx, websocket.MessageText, []byte(`{"type":"pong"}`)); err != nil {
			t.Fatal(err)
		}
	}
	want(clients)
	for i, ws := range all {
		_ = ws.CloseNow()
		want(clients - 1 - i)
	}
}

// Unparking a connection that was closed meanwhile does not affect another one that has got its
// descriptor.
func TestUnparkKeepsAReusedDescriptor(t *testing.T) {
	t.Parallel()
	l, err := newEventLoop(1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.epoll.Close()
	p := &poller{loops: []*eventLoop{l}}
	parked := func() *conn {
		server, _ := pair(t)
		c := &conn{}
		c.peer.Socket = broadcast.Socket{Conn: server}
		c.peer.initRawConn()
		if !p.park(c) {
			t.Fatal("got false from park, want true")
		}
		return c
	}
	gone := parked()
	if !p.unpark(gone) || p.unpark(gone) {
		t.Fatal("got false from the first unpark or true from the second, want true and false")
	}
	gone.peer.Close()
	next := parked()
	gone.peer.fd = next.peer.fd // as the kernel may reuse it
	if l.rearm(gone, false) {
		t.Error("got true from rearm of a closed connection, want false")
	}
	if !p.unpark(next) {
		t.Error("got false from unpark of the next connection, want true")
	}
}
