package session

import (
	"context"
	"time"

	"github.com/everdesk/everdesk/checkpoints"
	"github.com/everdesk/everdesk/sessionfile"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// importLease is how long an import lasts without [Import.Renew]. After that its replica counts as
// dead, and any replica deletes the session.
const importLease = time.Minute

// Import is a session that is being imported from a file. Listings leave it out until
// [Import.Finish]. It has a lease and unfinished work, so that replicas find it like every session
// whose owner is dead, and delete it.
type Import struct {
	env   *environment
	lease store.Lease
	top   wire.Position
	batch uint64
	// saved are the imported checkpoints of the session's files.
	saved []checkpoints.Checkpoint
}

// BeginImport begins to fill a session that [Hub.Create] created with Importing set.
func (h *Hub) BeginImport(ctx context.Context, id wire.SessionID) (*Import, error) {
	lease, err := h.env.store.Claim(ctx, id, h.env.cfg.Replica, importLease)
	if err != nil {
		return nil, asError(err)
	}
	i := &Import{env: h.env, lease: lease, top: lease.Top()}
	return i, i.commit(ctx, store.Batch{Working: new(true)})
}

func (i *Import) commit(ctx context.Context, b store.Batch) error {
	i.batch++
	b.Number, b.Prev = i.batch, i.top
	receipt, err := i.env.store.Commit(ctx, i.lease, b)
	if err != nil {
		return asError(err)
	}
	i.top = receipt.Top
	return nil
}

// Renew extends the import by importLease.
func (i *Import) Renew(ctx context.Context) error { return asError(i.env.store.Renew(ctx, i.lease)) }

// AddCheckpoints makes checkpoints of the session's files, which were imported, known to the session.
func (i *Import) AddCheckpoints(saved []checkpoints.Checkpoint) { i.saved = saved }

// Finish writes the contents of a session file to the session and shows it in listings. After an
// error the session is incomplete and the caller must delete it.
func (i *Import) Finish(ctx context.Context, title string, l *sessionfile.Log) error {
	if err := checkTitle(title); err != nil {
		return err
	}
	batches := splitOps(append(importOps(i.lease.Session, title, l, i.lease.Top()), importMarks(l.Rows, i.saved)...))
	for n, ops := range batches {
		b := store.Batch{Ops: ops}
		if n == len(batches)-1 {
			b.Card, b.Working = card{Title: title}.encode(), new(false)
		}
		if err := i.commit(ctx, b); err != nil {
			return err
		}
	}
	return asError(i.env.store.Release(ctx, i.lease))
}

// isAbandoned reports whether the replica that imports the session is dead.
func (i Info) isAbandoned(now time.Time) bool {
	return now.Sub(i.Created) > importLease && (i.Owner == "" || i.Until.Before(now))
}
