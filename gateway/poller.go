package gateway

import (
	"context"

	"github.com/everdesk/everdesk/session"
)

// A poller is where connections wait that have nothing to say, which is what nearly all do nearly
// always. They need no goroutine there: a few pollers attend to those from whom something has
// come, all on the same stack, which is in a cache while ten thousand others would not be.
//
// An poller must not wait for anything, or all others would wait with it. What it cannot do at
// once it leaves to a goroutine of the connection's own, which goes back to the poller when
// that is done. So a connection has one of three hosts, and never two: the poller, where it is in
// the list of a poller; that poller, for a moment; or a goroutine.

// postponedWork is what a goroutine is to do for a connection before it listens, since a poller would
// have had to wait for it.
type postponedWork struct {
	forth []session.Command // to be delivered
	frame []byte            // messages to be taken after that
}

// postponed leaves something to a goroutine.
func (c *conn) postponed() *postponedWork {
	if c.later == nil {
		c.later = &postponedWork{}
	}
	return c.later
}

// park has the connection wait at the poller, if it can and was not asked to end. Then
// its host must not touch it any more.
func (c *conn) park() bool { return c.poller != nil && c.poller.park(c) }

// unpark takes the connection from the poller, for a new host. It reports false when it was not
// there.
func (c *conn) unpark() bool { return c.poller != nil && c.poller.unpark(c) }

// handleReadable does for a connection what can be done without waiting, on the stack of a poller. It
// reports whether the connection may go on waiting where it was. If it is over, somebody else is
// to read the rest: of an end that came together with the last words nobody is told again.
func (c *conn) handleReadable(over bool) (stays bool) {
	if over {
		c.due = true
		return false
	}
	c.nonBlocking = true
	c.guard("listen to a client", func() { stays = c.readAvailable() })
	c.nonBlocking = false
	return stays
}

// gulps is how often a poller reads from a connection at a time. Who has said more than that
// has a goroutine take the rest, for others wait too.
const maxReads = 4

// readAvailable takes the whole frames that have come. It reports whether nothing else has.
func (c *conn) readAvailable() bool {
	take := func(frame []byte) { c.takeAll(c.s.connections.ctx, frame) }
	for range maxReads {
		c.failed = nil
		if err := c.raw.Control(c.glance); err != nil || c.failed != nil {
			c.due = true // whoever reads again is told that it is over
			return false
		}
		all := len(c.rest) < readBufferBytes
		for len(c.rest) > 0 {
			if !c.readWholeFrames(c.s.cfg.FrameBytes, take) || c.later != nil || c.ended.Load() != nil {
				return false
			}
		}
		if all {
			return true
		}
	}
	return false
}

// runPostponed does what a poller has left to do.
func (c *conn) runPostponed(ctx context.Context) {
	l := c.later
	if l == nil {
		return
	}
	c.later = nil
	c.deliver(ctx, &l.forth)
	if len(l.frame) > 0 {
		c.takeAll(ctx, l.frame)
	}
}
