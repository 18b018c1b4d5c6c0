package gateway

import (
	"bufio"
	"cmp"
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// protocol is the way a connection came in.
type protocol uint8

const (
	doorNative  protocol = iota // everdesk.v2
	doorBatch                   // everdesk.v2.batch
	doorPlain                   // no subprotocol: it may know neither positions nor pongs
	doorDesktop                 // the desktop dialect
	doorSSE                     // Server-Sent Events
)

// form is how events are shown at the door.
func (d protocol) form() broadcast.Form {
	switch d {
	case doorBatch:
		return broadcast.FormBatch
	case doorDesktop:
		return broadcast.FormDesktop
	case doorSSE:
		return broadcast.FormSSE
	default:
		return broadcast.FormNative
	}
}

// form is how events are encoded for the client.
func (c *conn) form() broadcast.Form {
	if c.numbered {
		return broadcast.FormNumbered
	}
	return c.door.form()
}

// decode reads what a client sends. It does without an interface, since a message is
// copied once more behind one.
func (c *conn) decode(frame []byte) (wire.Message, error) {
	if c.door == doorDesktop {
		return wire.Desktop{Numbered: c.numbered}.DecodeMessage(frame)
	}
	return wire.Native{}.DecodeMessage(frame)
}

// dialect is what is spoken at the door.
func (d protocol) dialect() wire.Dialect {
	if d == doorDesktop {
		return wire.Desktop{}
	}
	return wire.Native{}
}

// conn is one streaming connection. There may be ten thousand idle ones, so it
// has no timer, no context and no buffer of its own; [connections] looks after it.
//
// Ownership: one goroutine at a time serves a connection, or the poller has it, where it needs
// none. Only the former calls the WebSocket library. Others say something through the tab, or ask it to end.
type conn struct {
	link
	s      *Server
	ended  atomic.Pointer[ending]
	access atomic.Uint32 // an access
	door   protocol
	seated bool // it is counted for its user; guarded by doors.mu

	poller *poller // who has it while it waits; nil when it cannot. It does not change after it came

	// What follows is the host's, see poller.
	nonBlocking bool // it must not wait
	due         bool // it must read before it may go to the poller
	// numbered says that a desktop of the other dialect names monitors by number. It is
	// set before there is a tab and does not change then.
	numbered bool
	later    *postponedWork // what was left for one that may
	room     *session.Handle
	limits   ratelimit.Connection
	from     session.Sender // the connection's id is there from the beginning, the rest from the greeting on

	// What follows is set before there is a tab and does not change then.
	session wire.SessionID
	name    wire.SessionID // what the client calls the session, or empty

	ws *websocket.Conn // nil at the door of Server-Sent Events
	// heads is where the library reads heads of frames from.
	heads *bufio.Reader
	left  wire.CloseCode                // what the client closed it with, or 0; the host's
	who   atomic.Pointer[auth.Identity] // nil before it is known

	// What follows is the heart's.
	asked  *auth.Identity // the credential that a new one was asked for
	until  time.Time      // how long it waits for that
	ending int64          // the tick at which it was seen to end, or 0

	// What follows is guarded by doors.mu.
	slot, index int
}

// ending is how a connection ends when it is not the client who ends it.
type ending struct {
	code   wire.CloseCode
	reason string
	done   *sync.WaitGroup // told when the connection is gone, unless nil
	// last is what the client is shown before, if it sees a session by then; or nil.
	last wire.ServerPayload
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// end asks the serving goroutine to close the connection. The first to ask says
// why. It never waits and reports whether it was the first.
func (c *conn) end(e ending) bool {
	if !c.ended.CompareAndSwap(nil, &e) {
		return false
	}
	if c.unpark() {
		go c.serve()
	} else {
		_ = c.SetReadDeadline(longAgo) // wakes it; a closed connection needs no waking
	}
	return true
}

// drop is end without anybody waiting for it.
func (c *conn) drop(code wire.CloseCode, reason string) { c.end(ending{code: code, reason: reason}) }

// patient sets the time by which the client must have said something.
func (c *conn) patient(until time.Time) {
	_ = c.SetReadDeadline(until)
	if c.ended.Load() != nil { // it may have been asked to end just before
		_ = c.SetReadDeadline(longAgo)
	}
}

// welcome runs the first part of a connection's life, up to the greeting. What
// follows has a goroutine of its own, for the stack that a greeting takes is
// several times what an idle connection needs.
func (c *conn) welcome(hello func(context.Context) bool) {
	greeted := false
	c.guard("greet a client", func() { greeted = hello(c.s.connections.ctx) })
	if !greeted {
		c.finish()
		return
	}
	go c.serve()
}

// serve runs the rest of it, up to the end or until the poller has it. Whatever happens, the
// connection is closed then and the session told, and nobody else suffers.
func (c *conn) serve() {
	parked := false
	if c.door == doorSSE {
		c.linger()
	} else {
		c.guard("listen to a client", func() { parked = c.listen(c.s.connections.ctx) })
	}
	if !parked {
		c.finish()
	}
}

// finish ends a connection's life.
func (c *conn) finish() {
	defer c.s.connections.wg.Done()
	defer c.s.connections.remove(c)
	defer func() { _ = c.Close() }()
	defer c.guard("leave a session", c.leave)
	c.guard("close a connection", c.hangUp)
	c.told()
}

// guard runs one part of a connection's life. A panic in it ends the connection.
func (c *conn) guard(what string, part func()) {
	defer func() {
		if p := recover(); p != nil {
			c.s.log.Error("panic while serving a connection", "doing", what, "connection", c.from.Connection,
				"panic", p, "stack", string(debug.Stack()))
			c.drop(wire.CloseInternal, "an error on our side")
		}
	}()
	part()
}

// maxCloseReason is what fits into a close frame beside the code.
const maxCloseReason = 123

// hangUp says goodbye, unless the client did so first.
func (c *conn) hangUp() {
	e := c.ended.Load()
	if e != nil && e.last != nil {
		c.notify(e.last)
	}
	switch {
	case c.ws == nil:
	case e == nil:
		_ = c.ws.CloseNow()
	default:
		c.s.log.Debug("closing a connection", "connection", c.from.Connection, "session", c.session, "code", e.code, "reason", e.reason)
		// The library gives the client 5 s to answer; we may be in a hurry.
		_ = c.SetReadDeadline(time.Now().Add(c.s.cfg.Timeouts.Close))
		_ = c.ws.Close(websocket.StatusCode(e.code), e.reason[:min(len(e.reason), maxCloseReason)])
	}
}

// leave gives the session back. It is called after our close frame was written,
// or when there will be none.
func (c *conn) leave() {
	room := c.room
	if room == nil {
		return
	}
	c.room = nil
	defer room.Close()
	if tab := c.tab.Load(); tab != nil {
		room.Leave(tab)
	}
}

// granted is what the client may do now.
func (c *conn) granted() access {
	return access(c.access.Load()) //nolint:gosec // nothing else is stored there
}

// event makes an event for this connection only.
func (c *conn) event(p wire.ServerPayload) wire.Event {
	return wire.Event{Session: cmp.Or(c.name, c.session), Time: time.Now(), Data: p}
}

// notify shows the client something, if it has got so far as to see a session, and
// reports whether it has. Any goroutine may call it.
func (c *conn) notify(p wire.ServerPayload) bool {
	tab := c.tab.Load()
	if tab == nil {
		return false
	}
	tab.Send(c.event(p))
	return true
}

// tell is notify for the serving goroutine: it also reaches a client that sees
// no session yet.
func (c *conn) tell(ctx context.Context, p wire.ServerPayload) {
	if c.tab.Load() != nil {
		c.notify(p)
		return
	}
	if c.ws == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.s.cfg.Timeouts.Auth)
	defer cancel()
	for _, frame := range c.door.dialect().AppendFrames(nil, c.event(p)) {
		if err := c.ws.Write(ctx, websocket.MessageText, frame); err != nil {
			return // the next read will meet the same
		}
	}
}

// refuse tells the client what was wrong and closes the connection for it.
func (c *conn) refuse(ctx context.Context, r *refusal) {
	c.tell(ctx, r.notice())
	c.drop(r.close())
}
