package ws

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"syscall"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// conn is one streaming connection. There may be ten thousand idle ones, so it has no timer, no
// context and no buffer of its own; the registry and [connResources] provide these.
//
// Ownership: a connection is either parked at the poller or served by one goroutine at a time, which
// may be one of the poller. All fields but peer belong to that goroutine.
type conn struct {
	s      *Server
	peer   peer
	frames frameReader
	inbox  inbox

	poller    *poller     // nil if the connection cannot be parked; constant after registry.add
	mustRead  bool        // it must read before it may be parked
	postponed pendingWork // work that the poller left for a goroutine that may block
	// refused is the first frame, if it is to be refused when the session is attached.
	refused *refusedFrameError
}

// newConn returns a connection that is not accepted yet.
func newConn(s *Server, p protocol) *conn {
	c := &conn{s: s}
	c.peer.log, c.peer.timeouts, c.peer.conn = s.log, &s.cfg.Timeouts, c
	c.peer.id, c.peer.protocol, c.peer.resources = access.NewConnectionID(), p, s.resources
	c.frames = frameReader{link: &c.peer.link, limit: s.cfg.FrameBytes, peer: &c.peer}
	c.inbox = inbox{peer: &c.peer, admission: s.admission, rights: s.rights, sessions: s.sessions, trace: s.trace, from: session.Sender{Connection: c.peer.id}}
	return c
}

// adopt makes the hijacked connection of a request the conn's own.
func (c *conn) adopt(raw net.Conn, buffered *bufio.Reader) {
	early, _ := buffered.Peek(buffered.Buffered()) // cannot fail
	c.peer.Conn, c.peer.unread = raw, bytes.Clone(early)
	c.peer.onCloseSent = func() { c.peer.guard("detach session", c.detachSession) }
	c.peer.initRawConn()
}

// runConnect runs setup, the part of a connection's life up to the attached session. The rest has
// another goroutine, because the stack that setup needs is several times that of an idle
// connection.
func (c *conn) runConnect(setup func(context.Context) bool) {
	greeted := false
	c.peer.guard("connect", func() { greeted = setup(c.s.registry.ctx) })
	if !greeted {
		c.finish()
		return
	}
	go c.serve()
}

// serve reads from the connection until it ends or is parked. When it ends, serve closes it and
// detaches it from the session, also after a panic, which affects no other connection.
func (c *conn) serve() {
	parked := false
	if c.peer.protocol == protocolSSE {
		c.awaitDisconnect()
	} else {
		c.peer.guard("read messages", func() { parked = c.readMessages(c.s.registry.ctx) })
	}
	if !parked {
		c.finish()
	}
}

// finish closes and removes a connection.
func (c *conn) finish() {
	defer c.s.registry.wg.Done()
	defer c.remove()
	defer func() { _ = c.peer.Close() }()
	defer c.peer.guard("detach session", c.detachSession)
	c.peer.guard("send close", c.peer.sendClose)
	c.reportClosed()
}

// remove removes the connection from the registry and its rate limits.
func (c *conn) remove() {
	if c.peer.counted {
		c.inbox.limits.End(c.peer.identity.Load().User)
	}
	c.s.registry.remove(&c.peer)
}

// detachSession removes the tab from the session and closes the handle. It is called after the
// close frame was written, or when there will be none.
func (c *conn) detachSession() {
	handle := c.inbox.handle
	if handle == nil {
		return
	}
	c.inbox.handle = nil
	defer handle.Close()
	if tab := c.peer.tab.Load(); tab != nil {
		handle.Leave(tab)
	}
}

// closeAbnormal is the code of a connection that ended without a close frame (RFC 6455, 7.1.5).
const closeAbnormal wire.CloseCode = 1006

// reportClosed reports to the observer how a WebSocket has ended.
func (c *conn) reportClosed() {
	e := c.peer.closeRequested.Load()
	switch {
	case c.peer.protocol == protocolSSE:
	case e != nil:
		c.s.observer.Closed(e.code)
	case c.frames.closeCode != 0:
		c.s.observer.Closed(c.frames.closeCode)
	default:
		c.s.observer.Closed(closeAbnormal)
	}
}

// wake implements [waker]: it gives a parked connection a goroutine, and ends the read of another.
func (c *conn) wake() {
	if c.poller != nil && c.poller.unpark(c) {
		go c.serve()
	} else {
		_ = c.peer.SetReadDeadline(pastDeadline) // on a closed connection there is no read
	}
}

// park hands the connection to the poller. It reports false if the connection cannot be parked or was
// asked to close; after true the caller must not touch the connection any more.
func (c *conn) park() bool { return c.poller != nil && c.poller.park(c) }

// descriptor implements [pollable].
func (c *conn) descriptor() (syscall.RawConn, int) { return c.peer.raw, c.peer.fd }

// closing implements [pollable].
func (c *conn) closing() bool { return c.peer.closing() }

// readMessages reads and handles frames until the connection ends or is parked. It reports true if it
// is parked; then another goroutine may have it.
func (c *conn) readMessages(ctx context.Context) (parked bool) {
	handle := func(frame []byte) { c.inbox.handleFrame(ctx, frame) }
	if refused := c.refused; refused != nil {
		c.refused = nil
		c.rejectFrame(refused)
	}
	left := c.postponed
	c.postponed = pendingWork{}
	c.inbox.complete(ctx, left)
	ahead := c.peer.readAhead() // only readFrame changes it
	for !c.closing() {
		if ahead == 0 {
			if len(c.peer.unread) == 0 && !c.mustRead && c.park() {
				return true
			}
			c.mustRead = false
			if c.peer.waitReadable() != nil {
				return false
			}
			if c.answerPing() {
				continue
			}
			if found, err := c.frames.readBuffered(handle); found {
				c.closeOn(err)
				continue
			}
		}
		err := c.readFrame(c.s.cfg.FrameBytes, handle)
		ahead = c.peer.readAhead()
		if errors.Is(err, errFrameTooBig) {
			c.peer.refuse(ctx, &refusal{code: wire.CodeMessageTooLarge})
		}
		if err != nil && !c.rejectFrame(err) {
			return false
		}
	}
	return false
}

// answerPing answers a ping that has arrived completely, and reports whether there was one. The library
// would answer it, too, but then block for the next frame and keep the goroutine of an idle connection.
// A connection without a tab leaves pings to the library.
func (c *conn) answerPing() bool {
	data, mask, end := parsePingFrame(c.peer.unread)
	tab := c.peer.tab.Load()
	if end == 0 || tab == nil {
		return false
	}
	pong := appendUnmasked([]byte{finalPong, byte(len(data))}, data, mask) //nolint:gosec // shorter than 126
	c.peer.consume(end)
	_, _ = tab.WriteControl(pong) // if it fails, the next read does as well
	return true
}

// readFrame reads one frame through the library, and requests a close if no client may send it.
func (c *conn) readFrame(limit int64, handle func(frame []byte)) error {
	err := c.frames.read(limit, handle)
	c.closeOn(err)
	return err
}

// closeOn requests a close for an error of a frame with which no client may go on.
func (c *conn) closeOn(err error) {
	if e, ok := errors.AsType[*frameError](err); ok {
		c.peer.closeWith(e.code, e.reason)
	}
}

// handleReadable implements [pollable].
func (c *conn) handleReadable(hungUp bool) (stays bool) {
	if hungUp {
		c.mustRead = true
		return false
	}
	c.peer.guard("read messages", func() { stays = c.readAvailable() })
	return stays
}

// maxReads bounds the reads of the poller from one connection at a time. A goroutine reads the rest,
// so that other connections do not wait.
const maxReads = 4

// readAvailable handles the complete frames that have arrived. It reports false if a goroutine must
// go on: after an error, for an incomplete or special frame, or for postponed work.
func (c *conn) readAvailable() bool {
	accept := func(frame []byte) { c.postponed = c.inbox.accept(frame).kept() }
	for range maxReads {
		all, ok := c.peer.fillAvailable()
		if !ok {
			c.mustRead = true // the next read returns the error
			return false
		}
		for len(c.peer.unread) > 0 {
			found, err := c.frames.readBuffered(accept)
			c.closeOn(err)
			if !found || !c.postponed.isEmpty() || c.closing() {
				return false
			}
		}
		if all {
			return true
		}
	}
	return false
}
