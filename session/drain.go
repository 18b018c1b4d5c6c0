package session

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// drainOrder is what a live session is told when its replica drains.
type drainOrder struct {
	done chan struct{} // closed when the live session owns nothing and will not again
	// finish is how long turns that run may take to end by themselves. What is
	// cut off is asked of its model again by the next owner, and paid again.
	finish time.Time
}

// releaseTime is what is left of a drain, after turns and tools have had their
// time, to give leases back.
const releaseTime = time.Second

// Drain hands every owned session over and refuses new ones, as SIGTERM asks.
// Sessions that are open stay so and follow whoever takes them. It returns when
// all are handed over, ctx ends or [Hub.Undrain] takes it back.
//
// A session goes as soon as none of its agents is at work, or all that are wait
// for people. Where ctx has a deadline, turns may go on until shortly before it;
// without one they are cut off at once.
func (h *Hub) Drain(ctx context.Context) {
	var finish time.Time
	if until, ok := ctx.Deadline(); ok {
		finish = until.Add(-parkTime - releaseTime)
	}
	h.mu.Lock()
	if h.draining == nil {
		h.draining = make(chan struct{})
	}
	withdrawn := h.draining
	keepers := slices.Collect(maps.Values(h.sessions))
	orders := make([]*drainOrder, len(keepers))
	for i, k := range keepers {
		if orders[i] = k.drainOrder.Load(); orders[i] == nil {
			orders[i] = &drainOrder{done: make(chan struct{}), finish: finish}
			k.drainOrder.Store(orders[i])
		}
	}
	h.mu.Unlock()
	for _, k := range keepers {
		k.mailbox.signal()
	}
	for i, k := range keepers {
		select {
		case <-orders[i].done:
		case <-k.done:
		case <-withdrawn:
			return
		case <-ctx.Done():
			h.log.WarnContext(ctx, "drain timed out before all sessions were handed over", "err", context.Cause(ctx))
			return
		}
	}
}

// Undrain takes [Hub.Drain] back: the hub opens and claims sessions again. What
// another replica has taken meanwhile stays there; what nobody took and is held
// here is claimed again. Without a Drain before, it does nothing.
func (h *Hub) Undrain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.draining == nil {
		return
	}
	close(h.draining)
	h.draining = nil
	for _, k := range h.sessions {
		k.drainOrder.Store(nil)
		k.mailbox.signal()
	}
}

// Serving says why no session can be opened here, or nil.
func (h *Hub) Serving() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.servingLocked()
}

// servingLocked is Serving for who has the lock.
func (h *Hub) servingLocked() error {
	switch {
	case h.stopped:
		return asError(errStopping)
	case h.draining != nil:
		return asError(errDraining)
	}
	return nil
}

// confirmHandover says that this replica owns nothing of the session any more. Only the
// live session's goroutine calls it.
func (k *liveSession) confirmHandover(order *drainOrder) {
	select {
	case <-order.done:
	default:
		close(order.done)
	}
}

// Load is how much a hub has to do.
type Load struct {
	// Owned and Followed are sessions that are loaded here: those that this
	// replica runs, and those that it shows of another.
	Owned, Followed int
	// Tabs are the connections that watch them.
	Tabs int
}

// Owns reports whether this replica runs a session.
func (h *Hub) Owns(id wire.SessionID) bool {
	k := h.lookup(id)
	return k != nil && k.activeOwner.Load() != nil
}

// Load counts. It asks nobody and is quick.
func (h *Hub) Load() Load {
	var l Load
	for _, k := range h.appendSessions(nil) {
		if !k.isReady() || k.failure != nil {
			continue
		}
		if k.activeOwner.Load() != nil {
			l.Owned++
		} else {
			l.Followed++
		}
		l.Tabs += k.center.Tabs()
	}
	return l
}
