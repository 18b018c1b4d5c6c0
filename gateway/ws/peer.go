package ws

import (
	"cmp"
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/wire"
)

// waker wakes the goroutine of a connection.
type waker interface {
	// wake makes the connection notice that it was asked to close. It never blocks.
	wake()
}

// peer is the client at the other end of a connection: its identity and its access, and how the hub
// sends to it and closes the connection.
//
// Ownership: only the goroutine that serves the connection calls the WebSocket library. Other
// goroutines send through the tab or call requestClose.
type peer struct {
	link
	log      *slog.Logger
	timeouts *Timeouts
	conn     waker

	closeRequested atomic.Pointer[closeRequest]
	access         atomic.Uint32 // an access.Level
	protocol       protocol
	// numbered says that a desktop client names monitors by number. It is constant once there is a
	// tab.
	numbered bool
	id       wire.ConnectionID
	identity atomic.Pointer[auth.Identity] // nil before authentication

	// The following fields are constant once there is a tab.
	session wire.SessionID
	name    wire.SessionID // the session's name as the client sent it, or empty

	heartbeat heartbeatState

	// The following fields are guarded by registry.mu.
	counted     bool // counted in registry.userConnections
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

// form returns the encoding of events for this client.
func (p *peer) form() broadcast.Form {
	if p.numbered {
		return broadcast.FormNumbered
	}
	return p.protocol.form()
}

// decode decodes a client's frame. It calls the codecs directly, because a [wire.Dialect] call
// would copy the message once more.
func (p *peer) decode(frame []byte) (wire.Message, error) {
	if p.protocol == protocolDesktop {
		return wire.Desktop{Numbered: p.numbered}.DecodeMessage(frame)
	}
	return wire.Native{}.DecodeMessage(frame)
}

// requestClose asks the serving goroutine to close the connection. Only the first request counts.
// It never blocks and reports whether this was the first request.
func (p *peer) requestClose(e closeRequest) bool {
	if !p.closeRequested.CompareAndSwap(nil, &e) {
		return false
	}
	p.conn.wake()
	return true
}

// closeWith requests a close with a code and a reason.
func (p *peer) closeWith(code wire.CloseCode, reason string) {
	p.requestClose(closeRequest{code: code, reason: reason})
}

// closing reports whether the connection was asked to close.
func (p *peer) closing() bool { return p.closeRequested.Load() != nil }

// limitRead sets the time by which the client must have sent something.
func (p *peer) limitRead(until time.Time) {
	_ = p.SetReadDeadline(until)
	if p.closing() { // requestClose may have set its deadline just before
		_ = p.SetReadDeadline(pastDeadline)
	}
}

// guard runs one part of a connection's life. A panic in it closes the connection.
func (p *peer) guard(what string, part func()) {
	defer func() {
		if v := recover(); v != nil {
			p.log.Error("panic while serving connection", "activity", what, "connection", p.id,
				"panic", v, "stack", string(debug.Stack()))
			p.closeWith(wire.CloseInternal, "an error on our side")
		}
	}()
	part()
}

// maxCloseReason is the space for the reason in a close frame, in bytes.
const maxCloseReason = 123

// sendClose sends the requested close frame, unless the client has closed the connection.
func (p *peer) sendClose() {
	e := p.closeRequested.Load()
	if e != nil && e.lastEvent != nil {
		p.sendToTab(e.lastEvent)
	}
	switch {
	case p.protocol == protocolSSE:
	case e == nil:
		p.releaseLibrary()
		_ = p.Close()
	default:
		p.log.Debug("closing connection", "connection", p.id, "session", p.session, "code", e.code, "reason", e.reason)
		// The library waits 5 s for the client's answer; Timeouts.Close may be shorter.
		_ = p.SetReadDeadline(time.Now().Add(p.timeouts.Close))
		if ws, err := p.library(); err == nil {
			_ = ws.Close(websocket.StatusCode(e.code), e.reason[:min(len(e.reason), maxCloseReason)])
		}
	}
}

// admit stores the identity of the client and its access to the session. It is called before there is a
// tab; later [rights.update] is.
func (p *peer) admit(who *auth.Identity, granted access.Level, r *connectRequest) {
	p.session, p.name = r.session, r.name
	p.access.Store(uint32(granted))
	p.identity.Store(who)
}

// granted returns the client's current access.
func (p *peer) granted() access.Level {
	return access.Level(p.access.Load()) //nolint:gosec // only levels are stored
}

// event wraps a payload in an event for this connection only.
func (p *peer) event(data wire.ServerPayload) wire.Event {
	return wire.Event{Session: cmp.Or(p.name, p.session), Time: time.Now(), Data: data}
}

// sendToTab sends an event if the connection has a tab, and reports whether it has. Any goroutine may
// call it.
func (p *peer) sendToTab(data wire.ServerPayload) bool {
	tab := p.tab.Load()
	if tab == nil {
		return false
	}
	tab.Send(p.event(data))
	return true
}

// send is sendToTab for the serving goroutine: it also reaches a client that has no tab yet.
func (p *peer) send(ctx context.Context, data wire.ServerPayload) {
	if p.tab.Load() != nil {
		p.sendToTab(data)
		return
	}
	if p.protocol == protocolSSE {
		return
	}
	ws, err := p.library()
	if err != nil {
		return // the next read fails as well
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeouts.Auth)
	defer cancel()
	for _, frame := range p.protocol.dialect().AppendFrames(nil, p.event(data)) {
		if err := ws.Write(ctx, websocket.MessageText, frame); err != nil {
			return // the next read fails as well
		}
	}
}

// refuse sends the reason to the client and requests a close.
func (p *peer) refuse(ctx context.Context, r *refusal) {
	p.send(ctx, r.notice())
	p.closeWith(r.closeCode())
}

// sendError notifies the client that one of its messages was refused.
func (p *peer) sendError(r *refusal, id wire.MessageID) {
	n := r.notice()
	n.MessageID = id
	p.sendToTab(n)
}
