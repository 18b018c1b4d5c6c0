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
func TestShutdownWithEndedContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t)
		path := "/ws/" + string(h.newSession("ann"))
		var tabs []*tab
		for range 200 { // more than one batch
			x := h.mustDial(path, as(h.userToken("ann"))).readInBackground()
			next[wire.SessionState](x)
			tabs = append(tabs, x)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		_ = h.server.Shutdown(ctx) // returns an error, since its time is over
		if took := time.Since(began); took > time.Second {
			t.Errorf("time of the shutdown: got %v, want at most 1 s", took)
		}
		for _, x := range tabs {
			next[wire.GoElsewhere](x)
			x.wantClosed(wire.CloseDraining)
		}
	})
}

// blockingObserver blocks after a snapshot was sent.
type blockingObserver chan struct{}

func (blockingObserver) Delivered(int, time.Duration)       {}
func (l blockingObserver) Greeted(wire.SnapshotReason, int) { <-l }
func (blockingObserver) Slow()                              {}

// A client that has its snapshot gets the close frame, even if the hub has not finished attaching
// it while it notifies the others.
func TestShutdownDuringAttach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		until := make(blockingObserver)
		h := newBubbleHub(t, func(p *hubOptions) { p.session.Broadcast.Observer = until })
		x := h.mustDial("/ws/"+string(h.newSession("ann")), as(h.token("ann", time.Hour))).readInBackground()
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
		x.wantClosed(wire.CloseDraining)
		<-done
	})
}

// readInBackground sees the close while its pong is still being written, since the server reads it
// only after the close.
func TestReadInBackgroundSeesTheClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newPipeListener()
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
		h := &testHub{t: t, pipes: s, addr: s.Addr().String(), wait: time.Hour}
		h.mustDial("/", dialOptions{}).readInBackground().wantClosed(wire.CloseUnauthorized)
	})
}
