package storetest

import (
	"context"
	"iter"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Leases is how sessions come to be, are owned and end.
type Leases interface {
	Create(ctx context.Context, s store.NewSession) error
	Recreate(ctx context.Context, lease store.Lease, s store.NewSession) error
	Deleted(ctx context.Context, session wire.SessionID, epoch uint64) (bool, error)
	Claim(ctx context.Context, session wire.SessionID, replica wire.ReplicaID, ttl time.Duration) (store.Lease, error)
	Renew(ctx context.Context, lease store.Lease) error
	Release(ctx context.Context, lease store.Lease) error
	Commit(ctx context.Context, lease store.Lease, b store.Batch) (store.Receipt, error)
	Delete(ctx context.Context, lease store.Lease) error
	Discard(ctx context.Context, session wire.SessionID) error
}

// Log is how a session is read, by anybody.
type Log interface {
	Load(ctx context.Context, session wire.SessionID) (store.State, error)
	Read(ctx context.Context, session wire.SessionID, after wire.Position, limit int) ([]store.Event, error)
	ReadList(ctx context.Context, session wire.SessionID, list string, from, limit int) (store.ListPage, error)
	Tail(ctx context.Context, session wire.SessionID, after wire.Position) iter.Seq2[store.News, error]
}

// Inbox is how a session's owner is told something.
type Inbox interface {
	Send(ctx context.Context, session wire.SessionID, c store.Command) (duplicate bool, err error)
	Receive(ctx context.Context, lease store.Lease) iter.Seq2[[]store.Command, error]
}

// Directory is what is known of all sessions.
type Directory interface {
	Session(ctx context.Context, session wire.SessionID) (store.Info, error)
	Sessions(ctx context.Context, q store.Query) (store.Page[store.Info], error)
	Unattended(ctx context.Context, limit int) ([]wire.SessionID, error)
	Quarantine(ctx context.Context, session wire.SessionID, reason string) error
	Partition(session wire.SessionID) int
}

// Replicas is what is known of the hub's processes.
type Replicas interface {
	Announce(ctx context.Context, r store.Replica, ttl time.Duration) error
	Withdraw(ctx context.Context, replica wire.ReplicaID) error
	Replicas(ctx context.Context, after string, limit int) (store.Page[store.Replica], error)
}

// Semaphores bound what happens at once on all replicas together.
type Semaphores interface {
	Acquire(ctx context.Context, r store.SlotRequest) (store.Slot, error)
	RenewSlot(ctx context.Context, s store.Slot) error
	ReleaseSlot(ctx context.Context, s store.Slot) error
	Slots(ctx context.Context, semaphore string) (store.SlotUse, error)
}

// Rates counts events over all replicas.
type Rates interface {
	Take(ctx context.Context, key string, limit int, window time.Duration) (wait time.Duration, err error)
}

// Documents are small values that belong to no session.
type Documents interface {
	Get(ctx context.Context, collection, name string) (store.Document, error)
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	Remove(ctx context.Context, collection, name string, version uint64) error
	Documents(ctx context.Context, collection, after string, limit int) (store.Page[store.Document], error)
}

// Service is the life of an engine.
type Service interface {
	Ready(ctx context.Context) error
	Close() error
}

// Engine is everything a store can do.
type Engine interface {
	Leases
	Log
	Inbox
	Directory
	Replicas
	Semaphores
	Rates
	Documents
	Service
}
