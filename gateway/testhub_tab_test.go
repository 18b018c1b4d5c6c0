package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/wire"
)

// tab is a client of the native or the desktop dialect.
type tab struct {
	t       testing.TB
	ws      *websocket.Conn
	wait    time.Duration
	desktop bool
	pending []wire.Event
	events  chan wire.Event      // set by readInBackground
	code    websocket.StatusCode // after the close
	reason  string
}

// read returns the next event, or false after the close.
func (x *tab) read() (wire.Event, bool) {
	x.t.Helper()
	if x.events != nil {
		e, ok := <-x.events
		return e, ok
	}
	e, err := x.receive()
	if err != nil && x.code == 0 {
		x.t.Fatalf("read: got error %v, want an event or a close frame", err)
	}
	return e, err == nil
}

func (x *tab) receive() (wire.Event, error) {
	for len(x.pending) == 0 {
		ctx, cancel := context.WithTimeout(x.t.Context(), x.wait)
		_, frame, err := x.ws.Read(ctx)
		cancel()
		if ce, ok := errors.AsType[websocket.CloseError](err); ok {
			x.code, x.reason = ce.Code, ce.Reason
		}
		if err != nil {
			return wire.Event{}, err
		}
		for line := range bytes.Lines(frame) {
			var d wire.Dialect = wire.Native{}
			if x.desktop {
				d = wire.Desktop{}
			}
			e, err := d.DecodeEvent(bytes.TrimSpace(line))
			if err != nil {
				return wire.Event{}, fmt.Errorf("frame %.500s: %w", line, err)
			}
			x.pending = append(x.pending, e)
		}
	}
	e := x.pending[0]
	x.pending = x.pending[1:]
	return e, nil
}

// readInBackground makes the tab read all events at once and answer pings, as a browser would,
// independently of the test.
func (x *tab) readInBackground() *tab {
	x.events = make(chan wire.Event, 10_000)
	go func() { // ends with the connection
		defer close(x.events)
		for {
			e, err := x.receive()
			if err != nil {
				return
			}
			if _, ok := e.Data.(wire.Ping); ok {
				// In a goroutine: a pipe blocks a write until it is read, and the server may be
				// closing.
				go func() { _ = x.ws.Write(x.t.Context(), websocket.MessageText, []byte(`{"type":"pong"}`)) }()
				continue
			}
			x.events <- e
		}
	}()
	return x
}

// next returns the next event of a type and drops those before it.
func next[T wire.ServerPayload](x *tab) T {
	x.t.Helper()
	for {
		e, ok := x.read()
		if !ok {
			x.t.Fatalf("closed with %d %q before %T came", x.code, x.reason, *new(T))
		}
		if p, ok := e.Data.(T); ok {
			return p
		}
	}
}

// wantError checks that the next error event has a code.
func (x *tab) wantError(code wire.Code) wire.ErrorNotice {
	x.t.Helper()
	n := next[wire.ErrorNotice](x)
	if n.Code != code {
		x.t.Fatalf("error %+v, want code %d", n, code)
	}
	return n
}

// wantClosed checks that the connection is closed with a code, and returns the reason.
func (x *tab) wantClosed(code wire.CloseCode) string {
	x.t.Helper()
	for {
		if _, ok := x.read(); !ok {
			if wire.CloseCode(x.code) != code {
				x.t.Errorf("closed with %d %q, want %d", x.code, x.reason, code)
			}
			return x.reason
		}
	}
}

// send sends a message in the native dialect.
func (x *tab) send(p wire.ClientPayload) { x.sendWithID("", p) }

func (x *tab) sendWithID(id wire.MessageID, p wire.ClientPayload) {
	x.t.Helper()
	x.writeRaw(websocket.MessageText, wire.Native{}.AppendMessage(nil, wire.Message{ID: id, Data: p}))
}

func (x *tab) writeRaw(kind websocket.MessageType, frame []byte) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), x.wait)
	defer cancel()
	if err := x.ws.Write(ctx, kind, frame); err != nil {
		x.t.Fatalf("write: %v", err)
	}
}

func (x *tab) writeText(frame string) {
	x.t.Helper()
	x.writeRaw(websocket.MessageText, []byte(frame))
}

// emit emits an action and waits until it is committed.
func (x *tab) emit(id wire.MessageID) wire.Position {
	x.t.Helper()
	x.sendWithID(id, wire.Emit{MessageID: id, Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 1}}})
	for {
		if got := next[wire.Emitted](x); got.MessageID == id {
			return got.At
		}
	}
}

// wantAlive checks that the connection works.
func (x *tab) wantAlive() {
	x.t.Helper()
	x.emit(wire.MessageID("alive-" + time.Now().Format("150405.000000000")))
}
