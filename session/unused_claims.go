package session

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// logBefore returns the end of the log before a lease of this replica, without the claims of this
// replica directly before it under which nothing was committed: the session could not be loaded, or
// the answer to the claim was lost. Without them it is visible whether the store lacks what this
// replica knows. known are positions that the log had, in descending order; none if this replica does
// not know any.
func (sr *storeReader) logBefore(ctx context.Context, next store.Lease, known ...wire.Position) (wire.Position, error) {
	if len(known) == 0 || next.Prev.Seq != 0 || next.Prev.Epoch <= known[0].Epoch {
		return next.Prev, nil
	}
	for _, p := range append(known, wire.Position{}) {
		kept, found, err := sr.newestKept(ctx, next.Session, p)
		if err != nil {
			return wire.Position{}, err
		}
		if !found {
			continue
		}
		before, err := sr.logBeforeClaims(ctx, next, kept, known[0].Epoch)
		if !errors.Is(err, store.ErrTrimmed) { // else the log begins later; from its beginning if it lost the rest
			return before, err
		}
	}
	return next.Prev, nil // the log was trimmed, and the store lost more than the rest can show
}

// newestKept returns the newest position of the epoch of p, up to p, that the log still has. The log
// had all of them: positions of an epoch are contiguous.
func (sr *storeReader) newestKept(ctx context.Context, id wire.SessionID, p wire.Position) (kept wire.Position, found bool, err error) {
	lacks, err := sr.logLacks(ctx, id, p)
	if err != nil || !lacks {
		return p, err == nil, err
	}
	count := int(p.Seq) + 1 //nolint:gosec // not that many events
	lost := sort.Search(count, func(i int) bool {
		if err != nil {
			return true
		}
		lacks, err = sr.logLacks(ctx, id, wire.Position{Epoch: p.Epoch, Seq: p.Seq - uint64(i)}) //nolint:gosec // not negative
		return !lacks
	})
	if err != nil || lost == count {
		return wire.Position{}, false, err
	}
	return wire.Position{Epoch: p.Epoch, Seq: p.Seq - uint64(lost)}, true, nil //nolint:gosec // not negative
}

// logLacks reports whether the log lost a position that it had.
func (sr *storeReader) logLacks(ctx context.Context, id wire.SessionID, at wire.Position) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	_, err := sr.log.Read(ctx, id, at, 1)
	switch {
	case errors.Is(err, store.ErrUnknownPosition), errors.Is(err, store.ErrAhead):
		return true, nil
	case errors.Is(err, store.ErrTrimmed), errors.Is(err, store.ErrNotFound):
		return false, nil
	}
	return false, err
}

// logBeforeClaims reads the log from a position of it up to a lease. It returns the last position of
// the epoch known and those before it if only claims of the lease's replica follow, else the end of
// the log before the lease.
func (sr *storeReader) logBeforeClaims(ctx context.Context, next store.Lease, from wire.Position, known uint64) (wire.Position, error) {
	before := from
	for at := from; at != next.Prev; {
		events, err := sr.readEvents(ctx, next.Session, at)
		if err != nil {
			return wire.Position{}, fmt.Errorf("read the claims before a lease: %w", err)
		}
		if len(events) == 0 {
			return next.Prev, nil // the log has changed since the claim, so the lease is lost
		}
		for _, e := range decodeEvents(events) {
			if at == next.Prev {
				break
			}
			at = e.At
			if at.Epoch <= known {
				before = at
			} else if c, ok := e.Data.(wire.OwnerChanged); !ok || c.Replica != next.Replica {
				return next.Prev, nil // another replica has continued
			}
		}
	}
	return before, nil
}

// readEvents reads a page of the log after a position.
func (sr *storeReader) readEvents(ctx context.Context, id wire.SessionID, after wire.Position) ([]store.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return sr.log.Read(ctx, id, after, readPage)
}
