package gateway

import (
	"context"

	"github.com/everdesk/everdesk/session"
)

// A poller waits for parked connections to become readable (epoll), so that an idle connection
// needs no goroutine and no stack. One goroutine per poller handles the frames of all its
// connections on one stack, which stays in the CPU cache.
//
// That goroutine must not block, or all its connections would wait. Work that would block is left
// to a goroutine of the connection, which parks the connection again afterwards. So at any time a
// connection is in exactly one of three states: parked in a poller's list, handled by that poller,
// or served by a goroutine of its own.

// postponedWork is work that a goroutine must do for a connection before it reads on, because a
// poller would have blocked on it.
type postponedWork struct {
	commands []session.Command // to deliver to the session
	frame    []byte            // messages to handle after that
}

// ensurePostponed returns the connection's postponed work, making an empty one if there is none.
func (c *conn) ensurePostponed() *postponedWork {
	if c.postponed == nil {
		c.postponed = &postponedWork{}
	}
	return c.postponed
}

// park hands the connection to its poller. It reports false if the connection cannot be parked or
// was asked to close; after true the caller must not touch the connection any more.
func (c *conn) park() bool { return c.poller != nil && c.poller.park(c) }

// unpark takes the connection back from its poller. It reports false if it was not parked.
func (c *conn) unpark() bool { return c.poller != nil && c.poller.unpark(c) }

// handleReadable handles the frames of a readable connection without blocking, on the poller's
// stack. It reports whether the connection may stay parked. If the peer has hung up, a goroutine
// must read the rest: epoll does not report again an end that came together with data.
func (c *conn) handleReadable(over bool) (stays bool) {
	if over {
		c.mustRead = true
		return false
	}
	c.nonBlocking = true
	c.guard("read messages", func() { stays = c.readAvailable() })
	c.nonBlocking = false
	return stays
}

// maxReads bounds the reads of a poller from one connection at a time. A goroutine reads the rest,
// so that other connections of the poller do not wait.
const maxReads = 4

// readAvailable handles the complete frames that have arrived. It reports false if a goroutine must
// go on: after an error, for an incomplete or special frame, or for postponed work.
func (c *conn) readAvailable() bool {
	handle := func(frame []byte) { c.handleFrame(c.s.connections.ctx, frame) }
	for range maxReads {
		c.readErr = nil
		if err := c.raw.Control(c.fillOnce); err != nil || c.readErr != nil {
			c.mustRead = true // the next read returns the error
			return false
		}
		all := len(c.unread) < readBufferBytes
		for len(c.unread) > 0 {
			if !c.readBufferedFrame(c.s.cfg.FrameBytes, handle) || c.postponed != nil || c.closeRequested.Load() != nil {
				return false
			}
		}
		if all {
			return true
		}
	}
	return false
}

// runPostponed does the work that a poller has postponed.
func (c *conn) runPostponed(ctx context.Context) {
	l := c.postponed
	if l == nil {
		return
	}
	c.postponed = nil
	c.deliverCommands(ctx, &l.commands)
	if len(l.frame) > 0 {
		c.handleFrame(ctx, l.frame)
	}
}
