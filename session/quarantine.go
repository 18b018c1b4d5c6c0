package session

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// newerSchemaRetry is how long a session is left alone that only newer hubs can read.
const newerSchemaRetry = 10 * time.Minute

// quarantine sees to a session that this replica cannot keep: what it owned of it is
// free for others, and what nobody can read waits for an operator instead of being
// tried again and again. A follower sets nothing aside: the owner may know better.
func (k *liveSession) quarantine(err error) {
	for _, is := range []error{errStopping, errUnloaded, store.ErrNotFound, store.ErrClosed} {
		if errors.Is(err, is) && !errors.Is(err, errOtherSession) {
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	switch {
	case errors.Is(err, store.ErrCorrupt) && k.lastLease.Epoch != 0:
		k.log.ErrorContext(ctx, "session is corrupt, quarantining it", "err", err)
		if failed := k.hub.store.Quarantine(ctx, k.id, err.Error()); failed != nil {
			k.log.ErrorContext(ctx, "quarantine failed", "err", failed)
		}
	case errors.Is(err, store.ErrNewerSchema):
		why := &Error{Code: wire.CodeSessionInvalidState, Reason: "the stored session is of a newer version than this hub", Err: err}
		k.hub.suspend(k.id, suspension{until: time.Now().Add(newerSchemaRetry), err: why})
	}
	if k.lastLease.Epoch == 0 {
		return
	}
	failed := k.hub.store.Release(ctx, k.lastLease)
	if failed != nil && !errors.Is(failed, store.ErrFenced) && !errors.Is(failed, store.ErrQuarantined) {
		k.log.WarnContext(ctx, "lease not released after an error", "err", failed)
	}
}

// Discard gives up a session that is set aside. Nothing of it has to be readable.
func (h *Hub) Discard(ctx context.Context, id wire.SessionID) error {
	return asError(h.store.Discard(ctx, id))
}

// How long the sweeper waits before it tries the same session again.
const (
	attemptFirst = time.Second
	attemptLast  = time.Minute
)

// attempts are what the sweeper has tried in vain. The zero value has none.
type attempts map[wire.SessionID]attempt

type attempt struct {
	next time.Time
	wait time.Duration
}

// retain forgets all sessions but these.
func (a attempts) retain(ids []wire.SessionID) {
	if len(a) == 0 {
		return
	}
	still := make(map[wire.SessionID]bool, len(ids))
	for _, id := range ids {
		still[id] = true
	}
	maps.DeleteFunc(a, func(id wire.SessionID, _ attempt) bool { return !still[id] })
}

// allow reports whether it is time to try a session, and counts that as a try.
func (a attempts) allow(id wire.SessionID, now time.Time) bool {
	last := a[id]
	if now.Before(last.next) {
		return false
	}
	wait := min(max(2*last.wait, attemptFirst), attemptLast)
	a[id] = attempt{now.Add(wait), wait}
	return true
}
