package ws

import (
	"context"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/coder/websocket"
)

// A connection that used the library and ends without a close frame is freed.
func TestConnectionsThatUsedTheLibraryAreFreed(t *testing.T) {
	t.Parallel()
	served := make(chan weak.Pointer[conn], 1)
	url, _ := newConnServer(t, func(_ context.Context, c *conn) bool {
		if _, err := c.peer.library(); err != nil {
			t.Error(err)
		}
		served <- weak.Make(c)
		return false
	})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, url, nil) //nolint:bodyclose // the library does
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.CloseNow() }()
	if _, _, err := ws.Read(ctx); err == nil {
		t.Fatal("read: got a frame, want the end of the connection")
	}
	c := <-served
	tick := time.NewTicker(10 * time.Millisecond) // finalizers run after a collection
	defer tick.Stop()
	for runtime.GC(); c.Value() != nil; runtime.GC() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("got a connection that is still in use, want it freed")
		}
	}
}
