package gateway_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/wire"
)

// Connected clients get their close frame even if the shutdown's context has ended. Virtual time
// makes the test independent of the machine's load.
func TestGoodbyeWithoutTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := inBubble(t)
		path := "/ws/" + string(h.session("ann"))
		var tabs []*tab
		for range 200 { // more than one batch
			x := h.enter(path, as(h.user("ann"))).attend()
			next[wire.SessionState](x)
			tabs = append(tabs, x)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		_ = h.server.Shutdown(ctx) // returns an error, since its time is over
		if took := time.Since(began); took > time.Second {
			t.Errorf("the hub took %v", took)
		}
		for _, x := range tabs {
			next[wire.GoElsewhere](x)
			x.closed(wire.CloseDraining)
		}
	})
}

// blockingObserver blocks after a snapshot was sent.
type lingering chan struct{}

func (lingering) Delivered(int, time.Duration)       {}
func (l lingering) Greeted(wire.SnapshotReason, int) { <-l }
func (lingering) Slow()                              {}

// A client that has its snapshot gets the close frame, even if the hub has not finished attaching
// it while it notifies the others.
func TestGoodbyeDuringTheGreeting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		until := make(lingering)
		h := inBubble(t, func(p *plan) { p.session.Broadcast.Observer = until })
		x := h.enter("/ws/"+string(h.session("ann")), as(h.token("ann", time.Hour))).attend()
		next[wire.SessionState](x)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = h.server.Shutdown(ctx) // returns an error, since its time is over
		}()
		synctest.Wait() // all were notified
		close(until)
		next[wire.GoElsewhere](x)
		x.closed(wire.CloseDraining)
		<-done
	})
}

// readInBackground sees the close while its pong is still being written, since the server reads it
// only after the close.
func TestAttendHearsTheClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStreet()
		web := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ws, err := websocket.Accept(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			frame := wire.Native{}.AppendFrames(nil, wire.Event{Time: time.Now(), Data: wire.Ping{}})[0]
			if err := ws.Write(t.Context(), websocket.MessageText, frame); err != nil {
				t.Error(err)
			}
			synctest.Wait() // until the pong waits to be read
			_ = ws.Close(websocket.StatusCode(wire.CloseUnauthorized), "")
		})}
		go func() { _ = web.Serve(s) }()
		defer web.Close()
		h := &hall{t: t, street: s, addr: s.Addr().String(), wait: time.Hour}
		h.enter("/", visit{}).attend().closed(wire.CloseUnauthorized)
	})
}
