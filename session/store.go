package session

import (
	"context"
	"iter"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Store is the storage that a [Hub] needs, by role. One store may fill all roles, see [StoreOf]. All
// methods may be called from any goroutine.
type Store struct {
	Leases
	Writer
	Log
	Inbox
	Directory
}

// StoreOf fills all roles with one store.
func StoreOf(s interface {
	Leases
	Writer
	Log
	Inbox
	Directory
},
) Store {
	return Store{s, s, s, s, s}
}

// Leases decides which replica owns a session. At any time at most one lease of a session is valid.
type Leases interface {
	// Claim makes a replica the owner, in a new epoch that is higher than all before. It fails with
	// [store.OwnedError] while another replica has a valid lease. The claim is an event of the log.
	Claim(ctx context.Context, session wire.SessionID, replica wire.ReplicaID, ttl time.Duration) (store.Lease, error)
	// ClaimShared is Claim for a session that is to be kept by the lease of an incarnation, which it
	// extends.
	ClaimShared(ctx context.Context, session wire.SessionID, by store.Incarnation, ttl time.Duration) (store.Lease, error)
	// Renew extends the lease of Claim. It fails with [store.ErrFenced] if the lease is not valid any
	// more.
	Renew(ctx context.Context, lease store.Lease) error
	// RenewShared extends the lease that an incarnation has in a partition, or creates it, and
	// returns the live leases of others.
	RenewShared(ctx context.Context, by store.Incarnation, partition int, ttl time.Duration) (store.Renewal, error)
	// Pack ends a lease like Release and lets the store keep the session in a smaller form.
	Pack(ctx context.Context, lease store.Lease) error
	// Release ends a lease, so that any replica, or the heir that the lease names, can claim the
	// session at once. It fails with [store.ErrFenced] if the lease is not valid any more.
	Release(ctx context.Context, lease store.Lease) error
}

// Writer changes sessions. Every write to an existing session names its lease and fails with
// [store.ErrFenced] once another replica has claimed the session.
type Writer interface {
	// Create creates a session. It fails with [store.ErrExists] if there is one with that id.
	Create(ctx context.Context, s store.NewSession) error
	// Recreate creates a session again that the store has lost and lease was for. It fails with
	// [store.ErrNotFound] if the session was deleted.
	Recreate(ctx context.Context, lease store.Lease, s store.NewSession) error
	// Commit writes a batch, all of it or nothing, and once however often it is called with the same
	// number. It fails with [store.ErrGap] if the store lacks the batch before.
	Commit(ctx context.Context, lease store.Lease, b store.Batch) (store.Receipt, error)
	// Delete deletes a session with everything in it.
	Delete(ctx context.Context, lease store.Lease) error
	// Discard deletes a quarantined session, which needs no lease.
	Discard(ctx context.Context, session wire.SessionID) error
}

// Log reads sessions. Readers see committed batches only, and all of a batch.
type Log interface {
	// Load returns the tables and lists of a session and the position that they include.
	Load(ctx context.Context, session wire.SessionID) (store.State, error)
	// Read returns up to limit events after a position. The error says why there can be none:
	// [store.ErrTrimmed], [store.ErrUnknownPosition] or [store.ErrAhead].
	Read(ctx context.Context, session wire.SessionID, after wire.Position, limit int) ([]store.Event, error)
	// ReadList returns up to limit items of a list from an index on; a negative index counts from
	// the end.
	ReadList(ctx context.Context, session wire.SessionID, list string, from, limit int) (store.ListPage, error)
	// Tail returns the events after a position, and new ones as they are committed, in order and
	// without gaps, until ctx ends. It ends after an error.
	Tail(ctx context.Context, session wire.SessionID, after wire.Position) iter.Seq2[store.News, error]
}

// Inbox brings commands to the owner of a session, in the order in which the store accepted them.
type Inbox interface {
	// Send adds commands in order, up to the first that it refuses, and returns for each one before
	// that whether it was a duplicate. It adds a command once per id.
	Send(ctx context.Context, session wire.SessionID, commands ...store.Command) (duplicates []bool, err error)
	// Receive returns the commands that no batch has consumed, the oldest first, and new ones as
	// they arrive. After an error a new call starts over.
	Receive(ctx context.Context, lease store.Lease) iter.Seq2[[]store.Command, error]
}

// Directory describes sessions without loading them.
type Directory interface {
	// Session returns the entry of a session, or [store.ErrNotFound].
	Session(ctx context.Context, session wire.SessionID) (store.Info, error)
	// Sessions returns a page of entries, by last change if the query says so. Following the pages
	// finds every session that exists throughout, by last change only those that do not change.
	Sessions(ctx context.Context, q store.Query) (store.Page[store.Info], error)
	// Unattended returns up to limit sessions that have work and no valid lease.
	Unattended(ctx context.Context, limit int) ([]wire.SessionID, error)
	// Deleted reports whether a session of that epoch was deleted, as opposed to lost.
	Deleted(ctx context.Context, session wire.SessionID, epoch uint64) (bool, error)
	// Quarantine keeps a session from being claimed and loaded; an empty reason ends that.
	Quarantine(ctx context.Context, session wire.SessionID, reason string) error
	// Partition returns the part of the store that a session is in: sessions of one partition fail
	// together.
	Partition(session wire.SessionID) int
}
