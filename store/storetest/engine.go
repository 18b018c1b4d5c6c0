package storetest

import (
	"context"
	"iter"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Lifecycle creates, packs and deletes sessions.
type Lifecycle interface {
	// Create makes an empty session without an owner. store.ErrExists if the id is in use.
	Create(ctx context.Context, s store.NewSession) error
	// Recreate creates a session that the store lost, owned by the replica of the lease;
	// the next epoch is above that of the lease. store.ErrExists if it exists,
	// store.ErrNotFound if it was deleted.
	Recreate(ctx context.Context, lease store.Lease, s store.NewSession) error
	// Deleted reports whether a session was deleted at or after an epoch. For several days
	// it is never false for a deleted session; it may be true for a lost one.
	Deleted(ctx context.Context, session wire.SessionID, epoch uint64) (bool, error)
	// Pack ends the lease like Release and may store the content in a smaller form, which no
	// other method shows. store.ErrFenced with a stale lease.
	Pack(ctx context.Context, lease store.Lease) error
	// Delete removes the session with all its data. store.ErrFenced with a stale lease.
	Delete(ctx context.Context, lease store.Lease) error
	// Discard removes a quarantined session, whichever replica holds the lease and even if
	// its data is unreadable. store.ErrConflict if it is not quarantined.
	Discard(ctx context.Context, session wire.SessionID) error
}

// Leases owns and writes sessions.
type Leases interface {
	// Claim makes a replica the owner under a greater epoch, fences all earlier leases and
	// appends the event of store.ClaimEvent. *store.OwnedError while another replica has a
	// live lease, store.ErrNotFound, *store.QuarantinedError.
	Claim(ctx context.Context, session wire.SessionID, replica wire.ReplicaID, ttl time.Duration) (store.Lease, error)
	// Renew extends the lease by its TTL from now, even after its expiry, unless another
	// replica has claimed the session. store.ErrFenced with a stale lease.
	Renew(ctx context.Context, lease store.Lease) error
	// ClaimShared is Claim for a session that is to be kept by the lease of an incarnation,
	// which it extends.
	ClaimShared(ctx context.Context, session wire.SessionID, by store.Incarnation, ttl time.Duration) (store.Lease, error)
	// RenewShared extends the lease that an incarnation has in a partition, and returns the
	// live leases of others.
	RenewShared(ctx context.Context, by store.Incarnation, partition int, ttl time.Duration) (store.Renewal, error)
	// Release ends the lease: any replica can claim the session at once, or for one TTL
	// only the heir, if there is one. store.ErrFenced with a stale lease.
	Release(ctx context.Context, lease store.Lease) error
	// Commit applies a batch atomically and returns when it is as durable as requested.
	// Sending the newest number again applies nothing and returns the first receipt.
	// store.ErrFenced with a stale lease, *store.GapError if the number or Prev does not
	// continue the log, store.ErrTooLarge, store.ErrNoSpace.
	Commit(ctx context.Context, lease store.Lease, b store.Batch) (store.Receipt, error)
}

// Contents reads sessions. Reading needs no lease.
type Contents interface {
	// Load returns all tables and lists, except cold lists, as of one position.
	Load(ctx context.Context, session wire.SessionID) (store.State, error)
	// Read returns the events after a cursor in order, fewer than limit only at the end of
	// the log. A cursor without an event is store.ErrTrimmed, store.ErrUnknownPosition or
	// store.ErrAhead.
	Read(ctx context.Context, session wire.SessionID, after wire.Position, limit int) ([]store.Event, error)
	// ReadList returns a page of a list, fewer items than limit only at its end. A
	// negative from counts from the end.
	ReadList(ctx context.Context, session wire.SessionID, list string, from, limit int) (store.ListPage, error)
	// Tail yields every event after a cursor once and in order, whichever replica commits
	// it, and waits for more until the first error. A slow consumer delays no writer; it
	// continues at its own position or gets store.ErrTrimmed.
	Tail(ctx context.Context, session wire.SessionID, after wire.Position) iter.Seq2[store.News, error]
}

// Inbox delivers commands to the owner of a session.
type Inbox interface {
	// Send adds commands to the inbox, up to the first that it refuses, and reports for
	// each one before whether it was a duplicate. A known id is a duplicate: of a command
	// in the inbox (store.ErrConflict if the data differs) or among the last
	// store.Limits.InboxCommands consumed ones. store.ErrFull if the inbox is full.
	Send(ctx context.Context, session wire.SessionID, commands ...store.Command) (duplicates []bool, err error)
	// Receive yields the commands in the order in which they were sent and waits for more
	// until the first error. Commands that no batch consumes are yielded again by every
	// later Receive. store.ErrFenced once the lease is stale.
	Receive(ctx context.Context, lease store.Lease) iter.Seq2[[]store.Command, error]
}

// Directory lists sessions and manages their quarantine.
type Directory interface {
	// Session returns the directory entry of a session, or store.ErrNotFound.
	Session(ctx context.Context, session wire.SessionID) (store.Info, error)
	// Sessions lists sessions by page. Reading all pages yields every session that exists
	// during the whole listing exactly once; by last change, those that did not change.
	Sessions(ctx context.Context, q store.Query) (store.Page[store.Info], error)
	// Unattended lists sessions that have unfinished work, are not quarantined, and whose
	// lease was released or has expired.
	Unattended(ctx context.Context, limit int) ([]wire.SessionID, error)
	// Quarantine makes the session refuse Claim, Commit, Delete, Send and Receive with
	// *store.QuarantinedError; an empty reason lifts it.
	Quarantine(ctx context.Context, session wire.SessionID, reason string) error
	// Partition returns the failure domain of a session: sessions with the same number
	// become unavailable together.
	Partition(session wire.SessionID) int
}

// Replicas lists the live hub processes.
type Replicas interface {
	// Announce lists a replica as alive for ttl.
	Announce(ctx context.Context, r store.Replica, ttl time.Duration) error
	// Withdraw removes a replica from the listing at once.
	Withdraw(ctx context.Context, replica wire.ReplicaID) error
	// Replicas lists the live replicas by page.
	Replicas(ctx context.Context, after string, limit int) (store.Page[store.Replica], error)
}

// Semaphores bound concurrent work of all replicas together.
type Semaphores interface {
	// Acquire takes a slot, or renews the one of the same holder. A free slot goes to the
	// waiting request whose key holds the fewest slots, and among those to the oldest.
	// store.ErrFull if it may not wait.
	Acquire(ctx context.Context, r store.SlotRequest) (store.Slot, error)
	// RenewSlot extends a slot by its TTL from now. store.ErrFenced if it has expired or
	// was released.
	RenewSlot(ctx context.Context, s store.Slot) error
	// ReleaseSlot frees a slot. A slot that is not held is not an error.
	ReleaseSlot(ctx context.Context, s store.Slot) error
	// Slots counts the held slots and the waiting requests.
	Slots(ctx context.Context, semaphore string) (store.SlotUse, error)
}

// Rates counts events over all replicas.
type Rates interface {
	// Take counts one event of key and returns 0, unless limit events were counted within
	// the last window: then it counts nothing and returns the time to wait. Counts of all
	// replicas are shared. A retry after a lost reply may count twice. store.ErrInvalid for
	// a limit below 1 or a window below store.MinRateWindow.
	Take(ctx context.Context, key string, limit int, window time.Duration) (wait time.Duration, err error)
}

// Documents are small versioned values that belong to no session.
type Documents interface {
	// Get returns a document with its remaining TTL, or store.ErrNotFound.
	Get(ctx context.Context, collection, name string) (store.Document, error)
	// Put writes a document if the stored version is d.Version (0: none), else
	// store.ErrConflict, and returns the new version.
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	// Remove deletes a document with that version, else, and if there is none,
	// store.ErrConflict.
	Remove(ctx context.Context, collection, name string, version uint64) error
	// Documents lists a collection by page.
	Documents(ctx context.Context, collection, after string, limit int) (store.Page[store.Document], error)
}

// Service is the lifecycle of an engine.
type Service interface {
	// Ready returns nil if the store accepts writes, store.ErrNoSpace if it has no space
	// for them.
	Ready(ctx context.Context) error
	// Close stops the engine. All calls, also waiting ones, return store.ErrClosed.
	Close() error
}

// Engine is the whole store contract. An engine may implement several roles with one type.
type Engine struct {
	Lifecycle  Lifecycle
	Leases     Leases
	Contents   Contents
	Inbox      Inbox
	Directory  Directory
	Replicas   Replicas
	Semaphores Semaphores
	Rates      Rates
	Documents  Documents
	Service    Service
}
