package ws

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// inbox handles the messages of a client: it checks them, and delivers those for the session. What can
// be done without blocking, accept does; complete does the rest.
//
// Ownership: the goroutine that has the connection at the time: its own, or one of the poller, which
// calls only accept (see conn).
type inbox struct {
	peer      *peer
	admission *admission
	rights    *rights
	sessions  *access.Sessions
	trace     func(id wire.SessionID, m *wire.Message, traceparent string)

	handle *session.Handle // nil before the session is attached and after it is detached
	limits ratelimit.Connection
	from   session.Sender // Connection is set from the start, the other fields by attachSession

	pointer pointer
}

// pendingWork is what is left of a frame because it could block. The zero value means nothing.
type pendingWork struct {
	commands []session.Command // to deliver to the session
	frame    []byte            // messages to handle after that
	blocks   bool              // handling the first of these messages may block
}

func (w pendingWork) isEmpty() bool { return len(w.commands) == 0 && len(w.frame) == 0 && !w.blocks }

// kept returns w with a copy of the frame, whose buffer is used again.
func (w pendingWork) kept() pendingWork {
	w.frame = bytes.Clone(w.frame)
	return w
}

// maxCommandBatch bounds the number of commands delivered to a session together.
const maxCommandBatch = 64

// handleFrame handles the messages in a frame. It blocks while the session has no room for them.
func (in *inbox) handleFrame(ctx context.Context, frame []byte) {
	in.complete(ctx, in.accept(frame))
}

// accept handles the messages in a frame as far as that is possible without blocking, and delivers
// those for the session together. It returns the rest, for complete, which must be called before the
// next accept. The rest refers to frame.
func (in *inbox) accept(frame []byte) (left pendingWork) {
	if isPong(frame) {
		return pendingWork{}
	}
	commands, _ := in.peer.resources.commandBuffers.Get().(*[]session.Command)
	defer func() {
		if rest := in.tryDeliver(commands); len(rest) > 0 {
			left.commands = rest
		}
		in.peer.resources.commandBuffers.Put(commands)
	}()
	if in.peer.protocol != protocolBatch {
		if !in.acceptGuarded(frame, commands) {
			return pendingWork{frame: frame, blocks: true}
		}
		return pendingWork{}
	}
	for len(frame) > 0 && !in.peer.closing() {
		line, rest := in.cutMessage(frame)
		if len(line) > 0 && !in.acceptGuarded(line, commands) {
			return pendingWork{frame: frame, blocks: true}
		}
		if frame = rest; len(*commands) == maxCommandBatch {
			if undelivered := in.tryDeliver(commands); len(undelivered) > 0 {
				return pendingWork{commands: undelivered, frame: frame}
			}
		}
	}
	return pendingWork{}
}

// complete does what accept has left, and blocks where it must.
func (in *inbox) complete(ctx context.Context, left pendingWork) {
	for !left.isEmpty() {
		in.deliver(ctx, left.commands)
		rest := left.frame
		if left.blocks {
			var message []byte
			message, rest = in.cutMessage(rest)
			in.handleBlocking(ctx, message)
		}
		if left = (pendingWork{}); len(rest) > 0 {
			left = in.accept(rest)
		}
	}
}

// cutMessage returns the first message of a frame and the rest. Only frames of the batch protocol have more
// than one, each on a line.
func (in *inbox) cutMessage(frame []byte) (message, rest []byte) {
	if in.peer.protocol != protocolBatch {
		return frame, nil
	}
	message, rest, _ = bytes.Cut(frame, []byte{'\n'})
	return bytes.TrimSpace(message), rest
}

// tryDeliver delivers the collected commands to the session without blocking, and returns a copy of
// those for which it has no room.
func (in *inbox) tryDeliver(commands *[]session.Command) (left []session.Command) {
	all := *commands
	*commands = all[:0]
	if len(all) == 0 {
		return nil
	}
	if n := in.handle.TryDeliver(all); n < len(all) {
		left = slices.Clone(all[n:])
	}
	clear(all)
	return left
}

// deliver delivers commands to the session, and reports an error to the client.
func (in *inbox) deliver(ctx context.Context, commands []session.Command) {
	if len(commands) == 0 {
		return
	}
	if n, err := in.handle.DeliverAll(ctx, commands); err != nil {
		for _, m := range commands[n:] {
			in.peer.sendError(in.admission.refusalOf(ctx, err), m.Message.ID)
		}
	}
}

// decode decodes a message for the connection's session. It reports an invalid one to the client, and
// the connection stays open unless there are too many of them.
func (in *inbox) decode(frame []byte) (m wire.Message, ok bool) {
	m, err := in.peer.decode(frame)
	if err == nil && m.Session != "" && m.Session != in.peer.session && m.Session != in.peer.name {
		err = &wire.Error{Code: wire.CodeInvalidMessage, Path: "session_id", Message: "this connection is of another session", Ref: m.ID}
	}
	if err != nil {
		in.rejectMalformed(err)
		return wire.Message{}, false
	}
	return m, true
}

// acceptGuarded is acceptMessage, but a panic only closes the connection, so that the messages before
// it take effect, if necessary in complete.
func (in *inbox) acceptGuarded(frame []byte, commands *[]session.Command) (done bool) {
	done = true
	in.peer.guard("accept message", func() { done = in.acceptMessage(frame, commands) })
	return done
}

// acceptMessage handles one message, or adds it to commands. It returns false, without any effect, if
// handling the message may block.
func (in *inbox) acceptMessage(frame []byte, commands *[]session.Command) bool {
	m, ok := in.decode(frame)
	if !ok {
		return true
	}
	switch p := m.Data.(type) {
	case wire.Pong:
		return true // its arrival counts, which the link has recorded
	case wire.Pointer:
		in.movePointer(p, time.Now())
		return true
	case wire.Auth, wire.SubscribeMonitor:
		return false
	}
	if wait := in.limits.Message(m.Data); wait > 0 {
		in.rejectRateLimited(m.ID, wait)
		return true
	}
	if cmd, ok := in.command(&m); ok {
		*commands = append(*commands, cmd)
	}
	return true
}

// handleBlocking handles a message for which acceptMessage returned false.
func (in *inbox) handleBlocking(ctx context.Context, frame []byte) {
	m, ok := in.decode(frame)
	if !ok {
		return
	}
	if wait := in.limits.Message(m.Data); wait > 0 {
		in.rejectRateLimited(m.ID, wait)
		return
	}
	switch p := m.Data.(type) {
	case wire.Auth:
		in.refreshAuth(ctx, p)
	case wire.SubscribeMonitor:
		in.from.Monitor = p.MonitorID
		if in.peer.granted() >= access.Operator { // viewers watch a monitor without creating it
			if cmd, ok := in.command(&m); ok {
				in.deliver(ctx, []session.Command{cmd})
			}
		}
		in.handle.Watch(in.peer.tab.Load(), p.MonitorID) // after the command was delivered
	}
}

// command returns the command for a message, if the client may send it.
func (in *inbox) command(m *wire.Message) (session.Command, bool) {
	if !in.peer.granted().May(m.Data) {
		in.peer.sendError(&refusal{code: wire.CodeForbidden}, m.ID)
		return session.Command{}, false
	}
	assignMessageID(m)
	in.trace(in.peer.session, m, "")
	return session.Command{From: in.from, Message: *m}, true
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

// rejectMalformed reports a message that could not be decoded.
func (in *inbox) rejectMalformed(err error) {
	n := wire.CodeInvalidMessage.Notice("")
	if e, ok := errors.AsType[*wire.Error](err); ok {
		n = e.Notice()
	}
	in.peer.sendToTab(n)
	if in.limits.Bad() {
		in.peer.closeWith(wire.CloseBadMessages, "too many messages that could not be understood")
	}
}

// rejectRateLimited reports a message over the rate limit. The third within a minute closes the
// connection, since the client ignores the error.
func (in *inbox) rejectRateLimited(id wire.MessageID, wait time.Duration) {
	in.peer.sendError(&refusal{code: wire.CodeRateLimited, retryAfter: wait}, id)
	if in.limits.Refused() {
		in.peer.closeWith(wire.CloseRateLimited, retryReason(wait))
	}
}

// refreshAuth replaces the connection's credential by a new one of the same user, and applies the
// access that it gives.
func (in *inbox) refreshAuth(ctx context.Context, a wire.Auth) {
	old := in.peer.identity.Load()
	who, err := in.admission.authenticateMessage(ctx, a)
	if err == nil && who.User != old.User {
		err = &refusal{code: wire.CodeAuthFailed, detail: "The credentials are somebody else's."}
	}
	if err == nil && who.Session != "" && who.Session != in.peer.session {
		err = &refusal{code: wire.CodeAuthFailed, detail: "The credentials are for another session."}
	}
	if err != nil {
		in.peer.sendError(in.admission.refusalOf(ctx, err), "")
		if in.limits.Bad() { // bounds guessing
			in.peer.closeWith(wire.CloseUnauthorized, "credentials were not accepted")
		}
		return
	}
	rights := in.rights.version.Load()
	granted, _, err := in.sessions.Access(ctx, who, in.peer.session)
	if err != nil {
		r := in.admission.refusalOf(ctx, err)
		in.peer.sendError(r, "")
		if r.code == wire.CodeSessionNotFound {
			in.peer.closeWith(wire.CloseNotFound, "no longer allowed")
		}
		return
	}
	in.rights.update(in.peer, old, &who, granted) // only this goroutine replaces the identity
	in.from.Invited = who.Session != ""
	if in.rights.version.Load() != rights {
		in.rights.recheck([]*peer{in.peer})
	}
	in.peer.sendToTab(authResult(who))
}
