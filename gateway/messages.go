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

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// errFrameTooBig says that a frame has more bytes than it may.
var errFrameTooBig = errors.New("frame too big")

// errFrameRefused says that a frame was refused and the connection is ending.
var errFrameRefused = errors.New("frame refused")

// frameRoom is what a buffer for frames begins with. It grows with what has
// arrived, not with what a frame promises: half a frame from each of ten thousand
// clients must not cost ten thousand whole ones.
const frameRoom = 2 << 10

// listen takes what the client says until it leaves or has to, or may wait at the poller
// for it to say more; then it reports true, and somebody else may have the connection.
func (c *conn) listen(ctx context.Context) (parked bool) {
	take := func(frame []byte) { c.takeAll(ctx, frame) }
	c.runPostponed(ctx)
	ahead := c.heads.Buffered() // only hear changes it
	for c.ended.Load() == nil {
		if ahead == 0 {
			if len(c.rest) == 0 && !c.due && c.park() {
				return true
			}
			c.due = false
			if c.await() != nil {
				return false
			}
			if c.readWholeFrames(c.s.cfg.FrameBytes, take) {
				continue
			}
		}
		err := c.hear(c.s.cfg.FrameBytes, take)
		ahead = c.heads.Buffered()
		if errors.Is(err, errFrameTooBig) {
			c.refuse(ctx, &refusal{code: wire.CodeMessageTooLarge})
		}
		if err != nil {
			return false
		}
	}
	return false
}

// hear reads one frame and hands it to take, which must not keep it.
func (c *conn) hear(limit int64, take func(frame []byte)) error {
	// The deadline is on the connection beneath: a context that can end would
	// cost more than the reading.
	kind, r, err := c.ws.Reader(context.Background())
	if err != nil {
		if code := websocket.CloseStatus(err); code > 0 {
			c.left = wire.CloseCode(code)
		}
		return err
	}
	if kind != websocket.MessageText {
		c.drop(wire.CloseUnsupported, "only text frames are understood")
		return errFrameRefused
	}
	buf, _ := c.s.connections.frames.Get().(*[]byte)
	*buf, err = readFrame(r, (*buf)[:0], limit)
	switch {
	case err != nil:
	case !utf8.Valid(*buf):
		c.drop(wire.CloseInvalidText, "the frame is not UTF-8")
		err = errFrameRefused
	default:
		take(*buf)
	}
	c.s.connections.reuse(buf, c.s.cfg.FrameBytes)
	return err
}

// reuse takes a buffer for frames of some size back, unless it has grown beyond them.
func (d *connections) reuse(buf *[]byte, frameBytes int64) {
	if int64(cap(*buf)) <= 2*frameBytes {
		d.frames.Put(buf)
	}
}

// readFrame appends a frame of at most limit bytes to buf.
func readFrame(r io.Reader, buf []byte, limit int64) ([]byte, error) {
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

// isPong knows the pong of our clients at sight. It is all that an idle client
// ever says, and decoding it would leave every idle connection with a stack of
// four times the size. Nothing becomes of a pong, so that it does not matter what
// else is in the envelope.
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

// takeAll does what the messages in a frame ask for. What goes to the session goes
// there together.
func (c *conn) takeAll(ctx context.Context, frame []byte) {
	if isPong(frame) {
		return
	}
	forth, _ := c.s.connections.commandBuffers.Get().(*[]session.Command)
	var left []byte
	defer func() {
		c.deliver(ctx, forth)
		c.s.connections.commandBuffers.Put(forth)
		if len(left) > 0 {
			c.postponed().frame = bytes.Clone(left)
		}
	}()
	if c.door == doorBatch {
		left = c.takeLines(ctx, frame, forth)
	} else if !c.take(ctx, frame, forth) {
		left = frame
	}
}

// takeLines is takeAll for a frame in which each line is a message. It returns those that
// it would have to wait for and may not.
func (c *conn) takeLines(ctx context.Context, frame []byte, forth *[]session.Command) (left []byte) {
	for len(frame) > 0 && c.ended.Load() == nil {
		line, rest, _ := bytes.Cut(frame, []byte{'\n'})
		if line = bytes.TrimSpace(line); len(line) > 0 && !c.take(ctx, line, forth) {
			return frame
		}
		if frame = rest; len(*forth) == forthRoom {
			if c.deliver(ctx, forth); c.later != nil {
				return frame
			}
		}
	}
	return nil
}

// forthRoom is how many messages go to a session together.
const forthRoom = 64

// deliver gives the session what has gathered.
func (c *conn) deliver(ctx context.Context, forth *[]session.Command) {
	all := *forth
	*forth = all[:0]
	if len(all) == 0 {
		return
	}
	if c.nonBlocking {
		if n := c.room.TryDeliver(all); n < len(all) {
			c.postponed().forth = slices.Clone(all[n:])
		}
	} else if n, err := c.room.DeliverAll(ctx, all); err != nil {
		for _, m := range all[n:] {
			c.sendError(c.s.refusalOf(ctx, err), m.Message.ID)
		}
	}
	clear(all)
}

// take does what one message asks for, or leaves it to be delivered. Whatever is
// wrong with it is told to the client, and the connection lives on unless that
// happens too often. It reports false when it would have to wait and may not; then it has done nothing.
func (c *conn) take(ctx context.Context, frame []byte, forth *[]session.Command) bool {
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
		return true // that something came is what counts, and the link saw it
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
		c.renew(ctx, p)
		return true
	case wire.SubscribeMonitor:
		c.from.Monitor = p.MonitorID
		if c.granted() >= accessOperator { // looking is not making a monitor
			c.forward(&m, forth)
		}
		c.deliver(ctx, forth)
		c.room.Watch(c.tab.Load(), p.MonitorID) // after the session has heard of it
		return true
	}
	c.forward(&m, forth)
	return true
}

// forward leaves a message to be delivered, if the client may say it.
func (c *conn) forward(m *wire.Message, forth *[]session.Command) {
	if !c.granted().may(m.Data) {
		c.sendError(&refusal{code: wire.CodeForbidden}, m.ID)
		return
	}
	named(m)
	c.s.trace(c.session, m, "")
	*forth = append(*forth, session.Command{From: c.from, Message: *m})
}

// named gives a message that will be answered an id to be answered by.
func named(m *wire.Message) {
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

// sendError tells the client that one of its messages was refused.
func (c *conn) sendError(r *refusal, id wire.MessageID) {
	n := r.notice()
	n.MessageID = id
	c.notify(n)
}

// rejectMalformed answers a message that could not be understood.
func (c *conn) rejectMalformed(err error) {
	n := wire.CodeInvalidMessage.Notice("")
	if e, ok := errors.AsType[*wire.Error](err); ok {
		n = e.Notice()
	}
	c.notify(n)
	if c.limits.Bad() {
		c.drop(wire.CloseBadMessages, "too many messages that could not be understood")
	}
}

// rejectRateLimited answers a message that is one too many. The third in a minute is the
// last: the client does not listen.
func (c *conn) rejectRateLimited(id wire.MessageID, wait time.Duration) {
	c.sendError(&refusal{code: wire.CodeRateLimited, retry: wait}, id)
	if c.limits.Refused() {
		c.drop(wire.CloseRateLimited, retryReason(wait))
	}
}

// retryReason is the reason of a close with 4429, in whole seconds.
func retryReason(wait time.Duration) string { return "retry_after=" + retrySeconds(wait) }

func retrySeconds(wait time.Duration) string {
	return strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10)
}

// renew takes new credentials in place of those that expire. They must be of the
// same user, who may do from now on what they allow.
func (c *conn) renew(ctx context.Context, a wire.Auth) {
	old := c.who.Load()
	who, err := c.s.authenticateMessage(ctx, a)
	if err == nil && who.User != old.User {
		err = &refusal{code: wire.CodeAuthFailed, detail: "The credentials are somebody else's."}
	}
	if err == nil && who.Session != "" && who.Session != c.session {
		err = &refusal{code: wire.CodeAuthFailed, detail: "The credentials are for another session."}
	}
	if err != nil {
		c.sendError(c.s.refusalOf(ctx, err), "")
		if c.limits.Bad() { // guessing has an end
			c.drop(wire.CloseUnauthorized, "credentials were not accepted")
		}
		return
	}
	rights := c.s.connections.rights.Load()
	granted, _, err := c.s.accessTo(ctx, who, c.session)
	if err != nil {
		r := c.s.refusalOf(ctx, err)
		c.sendError(r, "")
		if r.code == wire.CodeSessionNotFound {
			c.drop(wire.CloseNotFound, "no longer allowed")
		}
		return
	}
	c.regrant(old, &who, granted) // nobody else changes who it is
	c.from.Invited = who.Session != ""
	if c.s.connections.rights.Load() != rights {
		c.s.recheck([]*conn{c})
	}
	c.notify(authResult(who))
}
