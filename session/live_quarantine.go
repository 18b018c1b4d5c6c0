package session

import (
	"context"
	"errors"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// newerSchemaRetry is the time for which a session that needs a newer hub is suspended.
const newerSchemaRetry = 10 * time.Minute

// cleanUpAfter does in the store and the registry what the error requires with which a live session
// ended. It quarantines a corrupt session, so that replicas do not load it again and again; a
// follower does not, because the owner may be able to read it. It suspends a session that needs a
// newer hub. In both cases, and after unexpected errors, it releases the lease if this replica had
// one.
func (ls *liveSession) cleanUpAfter(err error) {
	for _, expected := range []error{errStopping, errUnloaded, store.ErrNotFound, store.ErrClosed} {
		// With errOtherSession this replica has claimed the new session of that id and must release it.
		if errors.Is(err, expected) && !errors.Is(err, errOtherSession) {
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	switch {
	case errors.Is(err, store.ErrCorrupt) && ls.lastLease.Epoch != 0:
		ls.log.ErrorContext(ctx, "session is corrupt, quarantining it", "err", err)
		if storeErr := ls.env.store.Quarantine(ctx, ls.id, err.Error()); storeErr != nil {
			ls.log.ErrorContext(ctx, "quarantine failed", "err", storeErr)
		}
	case errors.Is(err, store.ErrNewerSchema):
		reason := &Error{Code: wire.CodeSessionInvalidState, Reason: "the stored session needs a newer version of the hub", Err: err}
		ls.registry.suspend(ls.id, suspension{until: time.Now().Add(newerSchemaRetry), err: reason})
		ls.changeRole(eventSuspended)
	}
	if ls.lastLease.Epoch == 0 {
		return
	}
	storeErr := ls.env.store.Release(ctx, ls.lastLease)
	if storeErr != nil && !errors.Is(storeErr, store.ErrFenced) && !errors.Is(storeErr, store.ErrQuarantined) {
		ls.log.WarnContext(ctx, "lease not released after an error", "err", storeErr)
	}
}
