package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/wire"
)

// The patience of a connection.
const (
	// connectTimeout is for the handshake, and for the first event after it.
	connectTimeout = 15 * time.Second
	writeTimeout   = 10 * time.Second
	closeTimeout   = time.Second // for the hub's goodbye
	// replayTimeout is how long messages are held back for a replay whose end
	// we may not be shown, because it is on a monitor we did not ask for.
	replayTimeout = time.Second
)

// maxBufferedFrames is how many frames wait for a slow handler.
const maxBufferedFrames = 16

// The subprotocols, the better first.
const (
	protocolBatch  = "everdesk.v2.batch"
	protocolSingle = "everdesk.v2"
)

// errHubSilent is why a connection ended that nothing came from.
var errHubSilent = errors.New("the hub was silent for too long")

// conn is one connection. It has a goroutine that reads and decodes, and one that
// writes.
type conn struct {
	client *Client
	number uint64
	ws     *websocket.Conn
	cut    context.CancelCauseFunc // cuts the connection

	events   chan []Event  // closed when the connection has ended
	control  chan []byte   // pong, auth: before everything else
	released chan struct{} // closed when messages may be written
	closing  chan struct{} // closed when nobody takes the news any more
	// spawn runs something as long as the connection lives, at most. attach
	// waits for it.
	spawn func(func(context.Context))

	err error // why it ended; read after news is closed

	watchdog       *time.Timer  // cuts the connection when it is silent; runs while the reader waits
	silenceTimeout atomic.Int64 // how long that is
	largestPosted  int          // the largest frame that was written and is done; the writer's
}

// runConnection makes one connection and serves it until it ends.
func (c *Client) runConnection(ctx context.Context) error {
	live, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	c.conns++
	k := &conn{
		client: c, number: c.conns, cut: end,
		events: make(chan []Event, maxBufferedFrames), control: make(chan []byte, 4),
		released: make(chan struct{}), closing: make(chan struct{}),
	}
	k.silenceTimeout.Store(int64(connectTimeout))
	if err := k.dial(ctx); err != nil {
		return err
	}
	k.watchdog = time.AfterFunc(connectTimeout, func() { end(errHubSilent) })
	defer k.watchdog.Stop()
	var wg sync.WaitGroup
	k.spawn = func(f func(context.Context)) { wg.Go(func() { f(live) }) }
	k.spawn(k.read)
	k.spawn(k.write)
	err := c.serve(ctx, k)
	end(nil)
	wg.Wait()
	if e, ok := errors.AsType[*Error](err); ok {
		switch e.Code {
		case wire.CloseTooBig, wire.CloseInvalidText, wire.CloseUnsupported:
			c.outbox.failCulprit(k.number, k.largestPosted, e)
		}
	}
	return err
}

// dial makes the handshake.
func (k *conn) dial(ctx context.Context) error {
	c := k.client
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	target := c.url.JoinPath("ws", string(c.cfg.Session))
	query := target.Query()
	query.Set("client_id", string(c.cfg.ClientID))
	monitors, known := c.monitorFilter()
	if at := c.mirror.position(); !at.IsZero() && known {
		query.Set("resume_from", at.String())
	}
	for _, m := range monitors {
		query.Add("monitor", string(m))
	}
	target.RawQuery = query.Encode()
	header := http.Header{}
	token := c.bearer()
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	ws, res, err := websocket.Dial(ctx, target.String(), &websocket.DialOptions{ //nolint:bodyclose // Dial does it
		HTTPClient: c.cfg.HTTPClient, HTTPHeader: header,
		Subprotocols: []string{protocolBatch, protocolSingle},
		// A ping is a sign of life too.
		OnPingReceived: func(context.Context, []byte) bool { k.resetWatchdog(); return true },
	})
	switch {
	case err != nil && res != nil && res.StatusCode != http.StatusSwitchingProtocols:
		return handshakeError(res)
	case err != nil:
		return fmt.Errorf("connect to %s: %w", c.url.Host, err)
	}
	ws.SetReadLimit(c.cfg.MaxFrame)
	k.ws = ws
	if token == "" && c.ticket != "" {
		k.sendControl(wire.Auth{Ticket: c.ticket})
		c.ticket = "" // it is good for one use
	}
	return nil
}

// sendControl writes a message about the connection itself before all others.
func (k *conn) sendControl(p wire.ClientPayload) {
	select {
	case k.control <- wire.Native{}.AppendMessage(nil, wire.Message{Data: p}):
	default: // as many unsent pongs are enough
	}
}

// read decodes what comes until the connection ends.
func (k *conn) read(ctx context.Context) {
	defer close(k.events)
	for {
		k.resetWatchdog()
		frame, err := k.frame(ctx)
		k.watchdog.Stop() // the time a slow handler takes is not the hub's
		if err != nil {
			k.err = closeError(err)
			if cause := context.Cause(ctx); cause != nil {
				k.err = cause
			}
			k.cut(nil)
			_ = k.ws.CloseNow() // it is closed; this waits for its goroutines
			return
		}
		select {
		case k.events <- k.decode(frame):
		case <-k.closing:
		}
	}
}

// frame reads a frame. A large one may take longer than a hub may be silent, so
// every piece of it counts.
func (k *conn) frame(ctx context.Context) ([]byte, error) {
	_, r, err := k.ws.Reader(ctx)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(activityReader{r, k})
}

// activityReader notes that something came.
type activityReader struct {
	io.Reader
	conn *conn
}

// Read implements [io.Reader].
func (p activityReader) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.conn.resetWatchdog()
	return n, err
}

// resetWatchdog gives the hub its time anew.
func (k *conn) resetWatchdog() { k.watchdog.Reset(time.Duration(k.silenceTimeout.Load())) }

// decode takes a frame apart into its events. It answers pings at once, even if
// the handler is slow.
func (k *conn) decode(frame []byte) []Event {
	var events []Event
	for line := range bytes.SplitSeq(frame, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		e, ok := decode(line)
		if !ok {
			k.client.mirror.unreadable()
			continue
		}
		switch d := e.Data.(type) {
		case wire.Ping:
			k.sendControl(wire.Pong{})
			continue
		case wire.SessionState:
			if e.At.IsZero() && d.HeartbeatMS > 0 { // one in the log is not about this connection
				k.silenceTimeout.Store(int64(time.Duration(d.HeartbeatMS) * time.Millisecond * 3 / 2))
			}
		}
		events = append(events, e)
	}
	return events
}

// decode reads one event. Of one that is not understood, only the head is.
func decode(line []byte) (Event, bool) {
	e, err := (wire.Native{}).DecodeEvent(line)
	if err == nil {
		entry, _ := wire.Events().Of(e.Data)
		return Event{Event: e, Type: entry.Type, Raw: line}, true
	}
	head, ok := wire.Peek(line)
	if !ok {
		return Event{}, false
	}
	return Event{Event: wire.Event{At: head.At}, Type: head.Type, Raw: line}, true
}

// write sends messages once they are released, and control messages always.
func (k *conn) write(ctx context.Context) {
	o := &k.client.outbox
	released := k.released
	var wake chan struct{}
	due := time.NewTimer(time.Hour)
	due.Stop()
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case frame := <-k.control:
			if k.writeFrame(ctx, frame) != nil {
				return
			}
			continue
		case <-released:
			released, wake = nil, o.wake
		case <-wake:
		case <-due.C:
		}
		for {
			p, wait := o.next(k.number)
			if p == nil {
				if wait > 0 {
					due.Reset(wait)
				}
				break
			}
			k.client.observeSubscription(p.data) // first, since its answer may be read at once
			if k.writeFrame(ctx, p.frame) != nil {
				return // whatever it was is written to the next connection
			}
			if !p.awaitsAnswer {
				k.largestPosted = max(k.largestPosted, len(p.frame))
				o.finish(p, Answer{}, nil)
			}
		}
	}
}

// writeFrame writes a frame. Its failure ends the connection, and the reader says why.
func (k *conn) writeFrame(ctx context.Context, frame []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return k.ws.Write(ctx, websocket.MessageText, frame)
}

// closeNormally says goodbye, for a moment at most.
func (k *conn) closeNormally() {
	close(k.closing)
	cut := time.AfterFunc(closeTimeout, func() { k.cut(nil) })
	defer cut.Stop()
	_ = k.ws.Close(websocket.StatusNormalClosure, "") // whether it was heard or not
}
