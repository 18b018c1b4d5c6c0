package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// errFrameTooBig is the error for a frame that exceeds its limit.
var errFrameTooBig = errors.New("frame too big")

// errFrameRefused is the error for a frame that was refused with a close request.
var errFrameRefused = errors.New("frame refused")

// initialFrameBytes is the initial size of a frame buffer. A buffer grows with the data that has
// arrived, not with the announced length: half a frame from each of ten thousand clients must not
// cost the memory of ten thousand whole ones.
const initialFrameBytes = 2 << 10

// readMessages reads and handles frames until the connection ends or is parked at its poller. It
// reports true if it is parked; then another goroutine may have it.
func (c *conn) readMessages(ctx context.Context) (parked bool) {
	handle := func(frame []byte) { c.handleFrame(ctx, frame) }
	c.runPostponed(ctx)
	ahead := c.headerReader.Buffered() // only readFrame changes it
	for c.closeRequested.Load() == nil {
		if ahead == 0 {
			if len(c.unread) == 0 && !c.mustRead && c.park() {
				return true
			}
			c.mustRead = false
			if c.waitReadable() != nil {
				return false
			}
			if c.readBufferedFrame(c.s.cfg.FrameBytes, handle) {
				continue
			}
		}
		err := c.readFrame(c.s.cfg.FrameBytes, handle)
		ahead = c.headerReader.Buffered()
		if errors.Is(err, errFrameTooBig) {
			c.refuse(ctx, &refusal{code: wire.CodeMessageTooLarge})
		}
		if err != nil {
			return false
		}
	}
	return false
}

// readFrame reads one frame through the library and passes it to handle, which must not retain it.
func (c *conn) readFrame(limit int64, handle func(frame []byte)) error {
	// The deadline is set on the underlying connection: a cancellable context would cost more than
	// the read.
	kind, r, err := c.ws.Reader(context.Background())
	if err != nil {
		if code := websocket.CloseStatus(err); code > 0 {
			c.clientCloseCode = wire.CloseCode(code)
		}
		return err
	}
	if kind != websocket.MessageText {
		c.closeWith(wire.CloseUnsupported, "only text frames are understood")
		return errFrameRefused
	}
	buf, _ := c.s.connections.frameBuffers.Get().(*[]byte)
	*buf, err = appendFrame(r, (*buf)[:0], limit)
	switch {
	case err != nil:
	case !utf8.Valid(*buf):
		c.closeWith(wire.CloseInvalidText, "the frame is not UTF-8")
		err = errFrameRefused
	default:
		handle(*buf)
	}
	c.s.connections.putFrameBuffer(buf, c.s.cfg.FrameBytes)
	return err
}

// putFrameBuffer returns a buffer to the pool, unless it has grown far beyond the size of a frame.
func (d *connections) putFrameBuffer(buf *[]byte, frameBytes int64) {
	if int64(cap(*buf)) <= 2*frameBytes {
		d.frameBuffers.Put(buf)
	}
}

// appendFrame appends the message in r to buf. It fails if the result exceeds limit bytes.
func appendFrame(r io.Reader, buf []byte, limit int64) ([]byte, error) {
	for {
		if int64(len(buf)) > limit {
			return buf, errFrameTooBig
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):min(int64(cap(buf)), limit+1)])
		buf = buf[:len(buf)+n]
		switch {
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return buf, err
		}
	}
}

// isPong recognises the pong message of our clients without decoding it. It is all that an idle
// client sends, and decoding it would grow the stack of every idle connection fourfold. A pong has
// no effect, so other content of its envelope does not matter.
func isPong(frame []byte) bool {
	rest, ok := bytes.CutPrefix(frame, []byte(`{"type":"pong"`))
	switch {
	case !ok || len(rest) == 0:
		return false
	case rest[0] == '}':
		return len(rest) == 1
	default:
		return rest[0] == ',' && !bytes.Contains(rest, []byte(`"type"`)) &&
			bytes.Count(rest, []byte("{")) <= 1 && bytes.Count(rest, []byte("}")) <= 2
	}
}

// handleFrame handles the messages in a frame, and delivers those for the session together.
func (c *conn) handleFrame(ctx context.Context, frame []byte) {
	if isPong(frame) {
		return
	}
	commands, _ := c.s.connections.commandBuffers.Get().(*[]session.Command)
	var left []byte
	defer func() {
		c.deliverCommands(ctx, commands)
		c.s.connections.commandBuffers.Put(commands)
		if len(left) > 0 {
			c.ensurePostponed().frame = bytes.Clone(left)
		}
	}()
	if c.protocol == protocolBatch {
		left = c.handleLines(ctx, frame, commands)
	} else if !c.handleMessage(ctx, frame, commands) {
		left = frame
	}
}

// handleLines is handleFrame for a frame with one message per line. It returns the lines that it
// could not handle without blocking.
func (c *conn) handleLines(ctx context.Context, frame []byte, commands *[]session.Command) (left []byte) {
	for len(frame) > 0 && c.closeRequested.Load() == nil {
		line, rest, _ := bytes.Cut(frame, []byte{'\n'})
		if line = bytes.TrimSpace(line); len(line) > 0 && !c.handleMessage(ctx, line, commands) {
			return frame
		}
		if frame = rest; len(*commands) == maxCommandBatch {
			if c.deliverCommands(ctx, commands); c.postponed != nil {
				return frame
			}
		}
	}
	return nil
}

// maxCommandBatch bounds the number of commands delivered to a session together.
const maxCommandBatch = 64

// deliverCommands delivers the collected commands to the session.
func (c *conn) deliverCommands(ctx context.Context, commands *[]session.Command) {
	all := *commands
	*commands = all[:0]
	if len(all) == 0 {
		return
	}
	if c.nonBlocking {
		if n := c.handle.TryDeliver(all); n < len(all) {
			c.ensurePostponed().commands = slices.Clone(all[n:])
		}
	} else if n, err := c.handle.DeliverAll(ctx, all); err != nil {
		for _, m := range all[n:] {
			c.sendError(c.s.refusalOf(ctx, err), m.Message.ID)
		}
	}
	clear(all)
}

// handleMessage handles one message, or adds it to commands. It reports errors to the client, and
// the connection stays open unless there are too many of them. It returns false, without any
// effect, if it would have to block and must not.
func (c *conn) handleMessage(ctx context.Context, frame []byte, commands *[]session.Command) bool {
	m, err := c.decode(frame)
	if err == nil && m.Session != "" && m.Session != c.session && m.Session != c.name {
		err = &wire.Error{Code: wire.CodeInvalidMessage, Path: "session_id", Message: "this connection is of another session", Ref: m.ID}
	}
	if err != nil {
		c.rejectMalformed(err)
		return true
	}
	switch m.Data.(type) {
	case wire.Pong:
		return true // its arrival counts, which the link has recorded
	case wire.Auth, wire.SubscribeMonitor:
		if c.nonBlocking {
			return false
		}
	}
	if wait := c.limits.Message(m.Data); wait > 0 {
		c.rejectRateLimited(m.ID, wait)
		return true
	}
	switch p := m.Data.(type) {
	case wire.Auth:
		c.refreshAuth(ctx, p)
		return true
	case wire.SubscribeMonitor:
		c.from.Monitor = p.MonitorID
		if c.granted() >= access.Operator { // viewers watch a monitor without creating it
			c.queueCommand(&m, commands)
		}
		c.deliverCommands(ctx, commands)
		c.handle.Watch(c.tab.Load(), p.MonitorID) // after the command was delivered
		return true
	}
	c.queueCommand(&m, commands)
	return true
}

// queueCommand adds a message to commands if the client may send it.
func (c *conn) queueCommand(m *wire.Message, commands *[]session.Command) {
	if !c.granted().May(m.Data) {
		c.sendError(&refusal{code: wire.CodeForbidden}, m.ID)
		return
	}
	assignMessageID(m)
	c.s.trace(c.session, m, "")
	*commands = append(*commands, session.Command{From: c.from, Message: *m})
}

// assignMessageID gives a message that gets a reply an id, which the reply refers to.
func assignMessageID(m *wire.Message) {
	if m.ID != "" {
		return
	}
	switch p := m.Data.(type) {
	case wire.UserMessage:
		m.ID = newMessageID()
		p.MessageID = m.ID
		m.Data = p
	case wire.WindowMessage:
		m.ID = newMessageID()
		p.MessageID = m.ID
		m.Data = p
	case wire.ComponentAction:
		m.ID = newMessageID()
		p.MessageID = m.ID
		m.Data = p
	}
}

func newMessageID() wire.MessageID { return wire.MessageID("hub-" + rand.Text()) }

// sendError notifies the client that one of its messages was refused.
func (c *conn) sendError(r *refusal, id wire.MessageID) {
	n := r.notice()
	n.MessageID = id
	c.sendToTab(n)
}

// rejectMalformed reports a message that could not be decoded.
func (c *conn) rejectMalformed(err error) {
	n := wire.CodeInvalidMessage.Notice("")
	if e, ok := errors.AsType[*wire.Error](err); ok {
		n = e.Notice()
	}
	c.sendToTab(n)
	if c.limits.Bad() {
		c.closeWith(wire.CloseBadMessages, "too many messages that could not be understood")
	}
}

// rejectRateLimited reports a message over the rate limit. The third within a minute closes the
// connection, since the client ignores the error.
func (c *conn) rejectRateLimited(id wire.MessageID, wait time.Duration) {
	c.sendError(&refusal{code: wire.CodeRateLimited, retryAfter: wait}, id)
	if c.limits.Refused() {
		c.closeWith(wire.CloseRateLimited, retryReason(wait))
	}
}

// retryReason returns the reason of a close with 4429, in whole seconds.
func retryReason(wait time.Duration) string { return "retry_after=" + retrySeconds(wait) }

func retrySeconds(wait time.Duration) string {
	return strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10)
}

// refreshAuth replaces the connection's credential by a new one of the same user, and applies the
// Level that it gives.
func (c *conn) refreshAuth(ctx context.Context, a wire.Auth) {
	old := c.identity.Load()
	who, err := c.s.authenticateMessage(ctx, a)
	if err == nil && who.User != old.User {
		err = &refusal{code: wire.CodeAuthFailed, detail: "The credentials are somebody else's."}
	}
	if err == nil && who.Session != "" && who.Session != c.session {
		err = &refusal{code: wire.CodeAuthFailed, detail: "The credentials are for another session."}
	}
	if err != nil {
		c.sendError(c.s.refusalOf(ctx, err), "")
		if c.limits.Bad() { // bounds guessing
			c.closeWith(wire.CloseUnauthorized, "credentials were not accepted")
		}
		return
	}
	rights := c.s.connections.rightsVersion.Load()
	granted, _, err := c.s.sessions.Access(ctx, who, c.session)
	if err != nil {
		r := c.s.refusalOf(ctx, err)
		c.sendError(r, "")
		if r.code == wire.CodeSessionNotFound {
			c.closeWith(wire.CloseNotFound, "no longer allowed")
		}
		return
	}
	c.updateAccess(old, &who, granted) // only this goroutine replaces the identity
	c.from.Invited = who.Session != ""
	if c.s.connections.rightsVersion.Load() != rights {
		c.s.recheck([]*conn{c})
	}
	c.sendToTab(authResult(who))
}
