package gateway

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// waiting is how many connections are at the porch.
func (p porch) waiting() (n int) {
	for _, u := range p {
		u.mu.Lock()
		for _, c := range u.guests {
			if c != nil {
				n++
			}
		}
		u.mu.Unlock()
	}
	return n
}

// Clients that say nothing, or only that they are there, wait at the porch, until they leave.
func TestSilentClientsWaitAtThePorch(t *testing.T) {
	t.Parallel()
	const clients = 20
	came := make(chan *conn, clients)
	url, _ := newDoor(t, func(_ context.Context, c *conn) bool {
		came <- c
		return true
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
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
		for s.doors.porch.waiting() != n {
			if ctx.Err() != nil {
				t.Fatalf("%d of %d wait", s.doors.porch.waiting(), n)
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
