package session

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// registry has the live sessions of a hub, starts them, and refuses to while the hub drains, is
// stopped, or the session is suspended.
type registry struct {
	env *environment
	// lifeCtx is the context of all live sessions. It ends when Run returns.
	lifeCtx context.Context //nolint:containedctx // of goroutines that outlive their first caller
	stop    context.CancelCauseFunc
	running sync.WaitGroup // the live sessions

	mu        sync.Mutex // guards the following; never held during a store call
	sessions  map[wire.SessionID]*liveSession
	suspended map[wire.SessionID]suspension
	draining  chan struct{} // closed by undrain; nil while the hub does not drain
	stopped   bool
}

// suspension keeps a session from being opened until a time: it panicked too often, or its schema
// is newer than this hub.
type suspension struct {
	until time.Time
	err   *Error
	epoch uint64 // of its last owner here; 0 if the suspension is not the session's fault
}

func newRegistry(env *environment) *registry {
	rg := &registry{env: env, sessions: map[wire.SessionID]*liveSession{}, suspended: map[wire.SessionID]suspension{}}
	rg.lifeCtx, rg.stop = context.WithCancelCause(context.Background())
	return rg
}

// shutDown ends all live sessions and waits for them.
func (rg *registry) shutDown() {
	rg.mu.Lock()
	rg.stopped = true // no live session starts after this
	rg.mu.Unlock()
	rg.stop(errStopping)
	rg.running.Wait()
}

// acquireSession returns the live session of id with one more handle, and starts it if there is
// none. Concurrent callers share one live session, whose goroutine loads the state. The caller must
// call releaseSession.
func (rg *registry) acquireSession(id wire.SessionID) (*liveSession, error) {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	if err := rg.servingLocked(); err != nil {
		return nil, err
	}
	if c, ok := rg.suspended[id]; ok {
		if time.Now().Before(c.until) {
			return nil, c.err
		}
		delete(rg.suspended, id)
	}
	ls := rg.sessions[id]
	if ls == nil {
		ls = newLiveSession(rg.env, rg, id)
		rg.sessions[id] = ls
		rg.running.Go(func() { ls.run(rg.lifeCtx) })
	}
	ls.handles++
	ls.unusedSince.Store(0)
	ls.mailbox.signal() // a follower may have been about to unload
	return ls, nil
}

// releaseSession undoes acquireSession. With the last handle the time until the session is unloaded
// begins.
func (rg *registry) releaseSession(ls *liveSession) {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	ls.handles--
	if ls.handles == 0 {
		ls.unusedSince.Store(time.Now().UnixNano())
		ls.mailbox.signal()
	}
}

// removeSession removes ls from the registry and reports whether it did. Unless anyway is set, it refuses
// while ls has handles or items.
func (rg *registry) removeSession(ls *liveSession, anyway bool) bool {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	if !anyway && (ls.handles > 0 || !ls.mailbox.isIdle()) {
		return false
	}
	if rg.sessions[ls.id] == ls {
		delete(rg.sessions, ls.id)
	}
	return true
}

// suspend refuses to open a session until c.until. It also drops suspensions that have ended.
func (rg *registry) suspend(id wire.SessionID, c suspension) {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(rg.suspended, func(_ wire.SessionID, c suspension) bool { return c.until.Before(now) })
	rg.suspended[id] = c
}

// lookup returns the live session of id, or nil.
func (rg *registry) lookup(id wire.SessionID) *liveSession {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	return rg.sessions[id]
}

// appendSessions appends all live sessions to into.
func (rg *registry) appendSessions(into []*liveSession) []*liveSession {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	return slices.AppendSeq(slices.Grow(into, len(rg.sessions)), maps.Values(rg.sessions))
}

// liftSuspension lets a suspended session be opened again.
func (rg *registry) liftSuspension(id wire.SessionID) {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	delete(rg.suspended, id)
}

// suspendedStatuses returns the sessions that are suspended after too many panics.
func (rg *registry) suspendedStatuses() []Status {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	var all []Status
	for id, c := range rg.suspended {
		if left := time.Until(c.until); left > 0 && c.epoch != 0 {
			all = append(all, Status{ID: id, Epoch: c.epoch, Stuck: true, Activity: ActivityClosed, For: suspendFor - left})
		}
	}
	return all
}

// drain refuses to open sessions from now on and orders the live ones to hand their sessions over,
// with their turns cut off at finish. The channel is closed by undrain.
func (rg *registry) drain(finish time.Time) ([]*liveSession, []*drainOrder, <-chan struct{}) {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	if rg.draining == nil {
		rg.draining = make(chan struct{})
	}
	sessions := slices.Collect(maps.Values(rg.sessions))
	orders := make([]*drainOrder, len(sessions))
	for i, ls := range sessions {
		if orders[i] = ls.drainOrder.Load(); orders[i] == nil {
			orders[i] = &drainOrder{done: make(chan struct{}), finish: finish}
			ls.drainOrder.Store(orders[i])
		}
		ls.mailbox.signal()
	}
	return sessions, orders, rg.draining
}

// undrain cancels drain.
func (rg *registry) undrain() {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	if rg.draining == nil {
		return
	}
	close(rg.draining)
	rg.draining = nil
	for _, ls := range rg.sessions {
		ls.drainOrder.Store(nil)
		ls.mailbox.signal()
	}
}

// serving returns why no session can be opened, or nil.
func (rg *registry) serving() error {
	rg.mu.Lock()
	defer rg.mu.Unlock()
	return rg.servingLocked()
}

// servingLocked is serving for a caller that holds rg.mu.
func (rg *registry) servingLocked() error {
	switch {
	case rg.stopped:
		return asError(errStopping)
	case rg.draining != nil:
		return asError(errDraining)
	}
	return nil
}
