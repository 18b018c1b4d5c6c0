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

// Timeouts of a connection.
const (
	// connectTimeout is for the handshake, and for the first event after it.
	connectTimeout = 15 * time.Second
	writeTimeout   = 10 * time.Second
	closeTimeout   = time.Second // for the hub's close frame
	// replayTimeout is how long messages are held back for the end of a replay that the client may
	// not see, because it is on a monitor outside its filter.
	replayTimeout = time.Second
)

// maxBufferedFrames bounds the frames that wait for a slow handler.
const maxBufferedFrames = 16

// The subprotocols, preferred first.
const (
	protocolBatch  = "everdesk.v2.batch"
	protocolSingle = "everdesk.v2"
)

// errHubSilent is the error of a connection without data from the hub.
var errHubSilent = errors.New("the hub was silent for too long")

// conn is one connection. It has a goroutine that reads and decodes, and one that writes.
type conn struct {
	client *Client
	number uint64
	ws     *websocket.Conn
	cut    context.CancelCauseFunc // closes the connection at once

	events   chan []Event  // closed when the connection has ended
	control  chan []byte   // pong, auth: written before all other messages
	released chan struct{} // closed when messages may be written
	closing  chan struct{} // closed when events are no longer received
	// spawn runs a function for at most the life of the connection. runConnection waits for it.
	spawn func(func(context.Context))

	err error // why it ended; valid after events is closed

	watchdog       *time.Timer  // cuts a silent connection; runs while the reader waits
	silenceTimeout atomic.Int64 // the watchdog's timeout
	largestPosted  int          // size of the largest frame written without waiting for an answer; the writer's
}

// runConnection makes one connection and serves it until it ends.
func (c *Client) runConnection(ctx context.Context) error {
	live, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	c.conns++
	cn := &conn{
		client: c, number: c.conns, cut: end,
		events: make(chan []Event, maxBufferedFrames), control: make(chan []byte, 4),
		released: make(chan struct{}), closing: make(chan struct{}),
	}
	cn.silenceTimeout.Store(int64(connectTimeout))
	if err := cn.dial(ctx); err != nil {
		return err
	}
	cn.watchdog = time.AfterFunc(connectTimeout, func() { end(errHubSilent) })
	defer cn.watchdog.Stop()
	var wg sync.WaitGroup
	cn.spawn = func(f func(context.Context)) { wg.Go(func() { f(live) }) }
	cn.spawn(cn.read)
	cn.spawn(cn.write)
	err := c.serve(ctx, cn)
	end(nil)
	wg.Wait()
	if e, ok := errors.AsType[*Error](err); ok {
		switch e.Code {
		case wire.CloseTooBig, wire.CloseInvalidText, wire.CloseUnsupported:
			c.outbox.failCulprit(cn.number, cn.largestPosted, e)
		}
	}
	return err
}

// dial makes the handshake.
func (cn *conn) dial(ctx context.Context) error {
	c := cn.client
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
		// A ping shows that the hub is alive, too.
		OnPingReceived: func(context.Context, []byte) bool { cn.resetWatchdog(); return true },
	})
	switch {
	case err != nil && res != nil && res.StatusCode != http.StatusSwitchingProtocols:
		return handshakeError(res)
	case err != nil:
		return fmt.Errorf("connect to %s: %w", c.url.Host, err)
	}
	ws.SetReadLimit(c.cfg.MaxFrame)
	cn.ws = ws
	if token == "" && c.ticket != "" {
		cn.sendControl(wire.Auth{Ticket: c.ticket})
		c.ticket = "" // valid once
	}
	return nil
}

// sendControl writes a message about the connection itself, before all others.
func (cn *conn) sendControl(p wire.ClientPayload) {
	select {
	case cn.control <- wire.Native{}.AppendMessage(nil, wire.Message{Data: p}):
	default: // enough pongs are queued already
	}
}

// read decodes frames until the connection ends.
func (cn *conn) read(ctx context.Context) {
	defer close(cn.events)
	for {
		cn.resetWatchdog()
		frame, err := cn.frame(ctx)
		cn.watchdog.Stop() // the time of a slow handler does not count
		if err != nil {
			cn.err = closeError(err)
			if cause := context.Cause(ctx); cause != nil {
				cn.err = cause
			}
			cn.cut(nil)
			_ = cn.ws.CloseNow() // already closed; this waits for its goroutines
			return
		}
		select {
		case cn.events <- cn.decode(frame):
		case <-cn.closing:
		}
	}
}

// frame reads a frame. A large one may take longer than the silence timeout, so each part of it
// resets the watchdog.
func (cn *conn) frame(ctx context.Context) ([]byte, error) {
	_, r, err := cn.ws.Reader(ctx)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(activityReader{r, cn})
}

// activityReader resets the watchdog with each read.
type activityReader struct {
	io.Reader
	conn *conn
}

// Read implements [io.Reader].
func (r activityReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.conn.resetWatchdog()
	return n, err
}

// resetWatchdog restarts the silence timeout.
func (cn *conn) resetWatchdog() { cn.watchdog.Reset(time.Duration(cn.silenceTimeout.Load())) }

// decode splits a frame into its events. It answers pings at once, even if the handler is slow.
func (cn *conn) decode(frame []byte) []Event {
	var events []Event
	for line := range bytes.SplitSeq(frame, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		e, ok := decode(line)
		if !ok {
			cn.client.mirror.unreadable()
			continue
		}
		switch d := e.Data.(type) {
		case wire.Ping:
			cn.sendControl(wire.Pong{})
			continue
		case wire.SessionState:
			if e.At.IsZero() && d.HeartbeatMS > 0 { // a session_state of the log is not about this connection
				cn.silenceTimeout.Store(int64(time.Duration(d.HeartbeatMS) * time.Millisecond * 3 / 2))
			}
		}
		events = append(events, e)
	}
	return events
}

// decode decodes one event. An unknown event has its head only.
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
func (cn *conn) write(ctx context.Context) {
	o := &cn.client.outbox
	released := cn.released
	var wake chan struct{}
	due := time.NewTimer(time.Hour)
	due.Stop()
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case frame := <-cn.control:
			if cn.writeFrame(ctx, frame) != nil {
				return
			}
			continue
		case <-released:
			released, wake = nil, o.wake
		case <-wake:
		case <-due.C:
		}
		for {
			p, wait := o.next(cn.number)
			if p == nil {
				if wait > 0 {
					due.Reset(wait)
				}
				break
			}
			cn.client.observeSubscription(p.data) // before writing, since the answer may be read at once
			if cn.writeFrame(ctx, p.frame) != nil {
				return // the next connection writes it again
			}
			if !p.awaitsAnswer {
				cn.largestPosted = max(cn.largestPosted, len(p.frame))
				o.finish(p, Answer{}, nil)
			}
		}
	}
}

// writeFrame writes a frame. A failure ends the connection, and the reader reports the reason.
func (cn *conn) writeFrame(ctx context.Context, frame []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return cn.ws.Write(ctx, websocket.MessageText, frame)
}

// closeNormally performs the close handshake, for at most closeTimeout.
func (cn *conn) closeNormally() {
	close(cn.closing)
	cut := time.AfterFunc(closeTimeout, func() { cn.cut(nil) })
	defer cut.Stop()
	_ = cn.ws.Close(websocket.StatusNormalClosure, "") // an error makes no difference
}
