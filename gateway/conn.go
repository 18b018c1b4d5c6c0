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
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// protocol is the transport and codec of a connection.
type protocol uint8

const (
	protocolNative  protocol = iota // everdesk.v2
	protocolBatch                   // everdesk.v2.batch
	protocolPlain                   // no subprotocol: the client may know neither positions nor pongs
	protocolDesktop                 // the desktop dialect
	protocolSSE                     // Server-Sent Events
)

// Form returns the encoding of events for the protocol.
func (d protocol) form() broadcast.Form {
	switch d {
	case protocolBatch:
		return broadcast.FormBatch
	case protocolDesktop:
		return broadcast.FormDesktop
	case protocolSSE:
		return broadcast.FormSSE
	default:
		return broadcast.FormNative
	}
}

// Form returns the encoding of events for this client.
func (c *conn) form() broadcast.Form {
	if c.numbered {
		return broadcast.FormNumbered
	}
	return c.protocol.form()
}

// decode decodes a client's frame. It calls the codecs directly, because a [wire.Dialect] call
// would copy the message once more.
func (c *conn) decode(frame []byte) (wire.Message, error) {
	if c.protocol == protocolDesktop {
		return wire.Desktop{Numbered: c.numbered}.DecodeMessage(frame)
	}
	return wire.Native{}.DecodeMessage(frame)
}

// dialect returns the codec of the protocol.
func (d protocol) dialect() wire.Dialect {
	if d == protocolDesktop {
		return wire.Desktop{}
	}
	return wire.Native{}
}

// conn is one streaming connection. There may be ten thousand idle ones, so it has no timer, no
// context and no buffer of its own; [connections] provides these.
//
// Ownership: a connection is either parked at its poller or served by one goroutine at a time. Only
// that goroutine calls the WebSocket library. Other goroutines send through the tab or call
// requestClose.
type conn struct {
	link
	s              *Server
	closeRequested atomic.Pointer[closeRequest]
	access         atomic.Uint32 // an access value
	protocol       protocol
	counted        bool // counted in connections.userConnections; guarded by connections.mu

	poller *poller // nil if the connection cannot be parked; constant after connections.add

	// The following fields belong to the goroutine that serves the connection, see poller.
	nonBlocking bool // a poller's goroutine serves it, which must not block
	mustRead    bool // it must read before it may be parked
	// numbered says that a desktop client names monitors by number. It is constant once there is a
	// tab.
	numbered  bool
	postponed *postponedWork // work that a poller left for a goroutine that may block
	handle    *session.Handle
	limits    ratelimit.Connection
	from      session.Sender // Connection is set from the start, the other fields by attachSession

	// The following fields are constant once there is a tab.
	session wire.SessionID
	name    wire.SessionID // the session's name as the client sent it, or empty

	ws *websocket.Conn // nil for Server-Sent Events
	// headerReader is the buffer from which the library reads frame headers.
	headerReader    *bufio.Reader
	clientCloseCode wire.CloseCode                // close code that the client sent, or 0
	identity        atomic.Pointer[auth.Identity] // nil before authentication

	// The following fields belong to the heartbeat goroutine.
	refreshRequestedFor *auth.Identity // the expired credential for which a refresh was requested
	refreshDeadline     time.Time      // when the connection is closed without a new credential
	closeSeenTick       int64          // first tick at which closeRequested was set, or 0

	// The following fields are guarded by connections.mu.
	slot, index int
}

// closeRequest says how the server closes a connection.
type closeRequest struct {
	code   wire.CloseCode
	reason string
	done   *sync.WaitGroup // Done is called when the connection is removed, unless nil
	// lastEvent is sent before the close if the connection has a tab by then; or nil.
	lastEvent wire.ServerPayload
}

// pastDeadline is a deadline that has passed, which wakes a blocked read.
var pastDeadline = time.Unix(1, 0)

// requestClose asks the serving goroutine to close the connection. Only the first request counts.
// It never blocks and reports whether this was the first request.
func (c *conn) requestClose(e closeRequest) bool {
	if !c.closeRequested.CompareAndSwap(nil, &e) {
		return false
	}
	if c.unpark() {
		go c.serve()
	} else {
		_ = c.SetReadDeadline(pastDeadline) // wakes a blocked read; on a closed connection there is none
	}
	return true
}

// closeWith requests a close with a code and a reason.
func (c *conn) closeWith(code wire.CloseCode, reason string) {
	c.requestClose(closeRequest{code: code, reason: reason})
}

// limitRead sets the time by which the client must have sent something.
func (c *conn) limitRead(until time.Time) {
	_ = c.SetReadDeadline(until)
	if c.closeRequested.Load() != nil { // requestClose may have set its deadline just before
		_ = c.SetReadDeadline(pastDeadline)
	}
}

// runConnect runs setup, the part of a connection's life up to the attached session. The rest has
// another goroutine, because the stack that setup needs is several times that of an idle
// connection.
func (c *conn) runConnect(setup func(context.Context) bool) {
	greeted := false
	c.guard("connect", func() { greeted = setup(c.s.connections.ctx) })
	if !greeted {
		c.finish()
		return
	}
	go c.serve()
}

// serve reads from the connection until it ends or is parked at its poller. When it ends, serve
// closes it and detaches it from the session, also after a panic, which affects no other
// connection.
func (c *conn) serve() {
	parked := false
	if c.protocol == protocolSSE {
		c.awaitDisconnect()
	} else {
		c.guard("read messages", func() { parked = c.readMessages(c.s.connections.ctx) })
	}
	if !parked {
		c.finish()
	}
}

// finish closes and removes a connection.
func (c *conn) finish() {
	defer c.s.connections.wg.Done()
	defer c.s.connections.remove(c)
	defer func() { _ = c.Close() }()
	defer c.guard("detach session", c.detachSession)
	c.guard("send close", c.sendClose)
	c.reportClosed()
}

// Guard runs one part of a connection's life. A panic in it closes the connection.
func (c *conn) guard(what string, part func()) {
	defer func() {
		if p := recover(); p != nil {
			c.s.log.Error("panic while serving connection", "activity", what, "connection", c.from.Connection,
				"panic", p, "stack", string(debug.Stack()))
			c.closeWith(wire.CloseInternal, "an error on our side")
		}
	}()
	part()
}

// maxCloseReason is the space for the reason in a close frame, in bytes.
const maxCloseReason = 123

// sendClose sends the requested close frame, unless the client has closed the connection.
func (c *conn) sendClose() {
	e := c.closeRequested.Load()
	if e != nil && e.lastEvent != nil {
		c.sendToTab(e.lastEvent)
	}
	switch {
	case c.ws == nil:
	case e == nil:
		_ = c.ws.CloseNow()
	default:
		c.s.log.Debug("closing connection", "connection", c.from.Connection, "session", c.session, "code", e.code, "reason", e.reason)
		// The library waits 5 s for the client's answer; Timeouts.Close may be shorter.
		_ = c.SetReadDeadline(time.Now().Add(c.s.cfg.Timeouts.Close))
		_ = c.ws.Close(websocket.StatusCode(e.code), e.reason[:min(len(e.reason), maxCloseReason)])
	}
}

// detachSession removes the tab from the session and closes the handle. It is called after the
// close frame was written, or when there will be none.
func (c *conn) detachSession() {
	handle := c.handle
	if handle == nil {
		return
	}
	c.handle = nil
	defer handle.Close()
	if tab := c.tab.Load(); tab != nil {
		handle.Leave(tab)
	}
}

// granted returns the client's current access.
func (c *conn) granted() access.Level {
	return access.Level(c.access.Load()) //nolint:gosec // only access values are stored
}

// event wraps p in an event for this connection only.
func (c *conn) event(p wire.ServerPayload) wire.Event {
	return wire.Event{Session: cmp.Or(c.name, c.session), Time: time.Now(), Data: p}
}

// sendToTab sends p if the connection has a tab, and reports whether it has. Any goroutine may call
// it.
func (c *conn) sendToTab(p wire.ServerPayload) bool {
	tab := c.tab.Load()
	if tab == nil {
		return false
	}
	tab.Send(c.event(p))
	return true
}

// send is sendToTab for the serving goroutine: it also reaches a client that has no tab yet.
func (c *conn) send(ctx context.Context, p wire.ServerPayload) {
	if c.tab.Load() != nil {
		c.sendToTab(p)
		return
	}
	if c.ws == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.s.cfg.Timeouts.Auth)
	defer cancel()
	for _, frame := range c.protocol.dialect().AppendFrames(nil, c.event(p)) {
		if err := c.ws.Write(ctx, websocket.MessageText, frame); err != nil {
			return // the next read fails as well
		}
	}
}

// refuse sends the reason to the client and requests a close.
func (c *conn) refuse(ctx context.Context, r *refusal) {
	c.send(ctx, r.notice())
	c.closeWith(r.closeCode())
}
