package session

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// newerSchemaRetry is how long a session that needs a newer hub is suspended.
const newerSchemaRetry = 10 * time.Minute

// quarantine releases the lease of a session that ended with an error, and quarantines a corrupt
// session, so that replicas do not load it again and again. A follower quarantines nothing: its
// owner may be able to read it.
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
		if failed := k.env.store.Quarantine(ctx, k.id, err.Error()); failed != nil {
			k.log.ErrorContext(ctx, "quarantine failed", "err", failed)
		}
	case errors.Is(err, store.ErrNewerSchema):
		why := &Error{Code: wire.CodeSessionInvalidState, Reason: "the stored session needs a newer version of the hub", Err: err}
		k.registry.suspend(k.id, suspension{until: time.Now().Add(newerSchemaRetry), err: why})
		k.changeRole(eventSuspended)
	}
	if k.lastLease.Epoch == 0 {
		return
	}
	failed := k.env.store.Release(ctx, k.lastLease)
	if failed != nil && !errors.Is(failed, store.ErrFenced) && !errors.Is(failed, store.ErrQuarantined) {
		k.log.WarnContext(ctx, "lease not released after an error", "err", failed)
	}
}

// Discard deletes a quarantined session. Nothing of it has to be readable.
func (h *Hub) Discard(ctx context.Context, id wire.SessionID) error {
	return asError(h.env.store.Discard(ctx, id))
}

// The pause of the sweeper before it tries the same session again grows from attemptFirst to
// attemptLast.
const (
	attemptFirst = time.Second
	attemptLast  = time.Minute
)

// attempts are the sessions that the sweeper has tried to own.
type attempts map[wire.SessionID]attempt

type attempt struct {
	next time.Time
	wait time.Duration
}

// retain drops all sessions but ids.
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

// allow reports whether a session may be tried now, and counts the attempt.
func (a attempts) allow(id wire.SessionID, now time.Time) bool {
	last := a[id]
	if now.Before(last.next) {
		return false
	}
	wait := min(max(2*last.wait, attemptFirst), attemptLast)
	a[id] = attempt{now.Add(wait), wait}
	return true
}
