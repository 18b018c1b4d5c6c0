package session

import (
	"context"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// drainOrder makes a live session hand its session over, because the replica drains.
type drainOrder struct {
	done chan struct{} // closed when the live session owns nothing and will not claim again
	// finish is until when running turns may end by themselves. The next owner repeats the model
	// calls of a turn that is cut off, which costs again.
	finish time.Time
}

// releaseTime is reserved at the end of a drain, after turns and tools, for releasing leases.
const releaseTime = time.Second

// Drain hands every owned session over and refuses new ones. Open handles stay open and follow the
// new owner. It returns when all sessions are handed over, ctx ends or [Hub.Undrain] cancels it.
//
// A session is handed over as soon as no turn runs, or all running ones wait for people. If ctx has
// a deadline, turns may run until shortly before it; without one they are cut off at once.
func (h *Hub) Drain(ctx context.Context) {
	var finish time.Time
	if until, ok := ctx.Deadline(); ok {
		finish = until.Add(-parkTime - releaseTime)
	}
	sessions, orders, withdrawn := h.registry.drain(finish)
	for i, ls := range sessions {
		select {
		case <-orders[i].done:
		case <-ls.done:
		case <-withdrawn:
			return
		case <-ctx.Done():
			h.env.log.WarnContext(ctx, "drain timed out before all sessions were handed over", "err", context.Cause(ctx))
			return
		}
	}
}

// Undrain cancels [Hub.Drain]: the hub opens and claims sessions again. Sessions that another
// replica has claimed meanwhile stay there; the others are claimed again if they have handles here.
// Without a Drain before, it does nothing.
func (h *Hub) Undrain() { h.registry.undrain() }

// Serving returns why no session can be opened here, or nil.
func (h *Hub) Serving() error { return h.registry.serving() }

// confirmHandover records that this replica does not own the session any more. Only the live
// session's goroutine calls it.
func (ls *liveSession) confirmHandover(order *drainOrder) {
	select {
	case <-order.done:
	default:
		close(order.done)
	}
}

// Load is the load of a hub.
type Load struct {
	// Owned counts the sessions that this replica owns, also while it loads them, and Followed the
	// loaded sessions of other replicas.
	Owned, Followed int
	// Tabs counts the connections that are attached to them.
	Tabs int
}

// Owns reports whether this replica owns a session, which it may still be loading. A lease that the
// store grants at this moment does not count yet.
func (h *Hub) Owns(id wire.SessionID) bool {
	ls := h.registry.lookup(id)
	return ls != nil && ls.activeOwner.Load() != nil
}

// Load returns the load. It does not block.
func (h *Hub) Load() Load {
	var l Load
	for _, ls := range h.registry.appendSessions(nil) {
		owned := ls.activeOwner.Load() != nil
		if owned {
			l.Owned++
		}
		if !ls.isReady() || ls.failure != nil {
			continue
		}
		if !owned {
			l.Followed++
		}
		l.Tabs += ls.center.Tabs()
	}
	return l
}
