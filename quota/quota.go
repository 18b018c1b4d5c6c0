package quota

import (
	"context"
	"net/netip"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Documents is where counts are shared between replicas.
type Documents interface {
	Get(ctx context.Context, collection, name string) (store.Document, error)
	Put(ctx context.Context, d store.Document) (version uint64, err error)
}

// Config is the limits, each per minute. The zero value means the defaults.
type Config struct {
	// Off lifts all limits, for trusted networks and benchmarks.
	Off bool
	// Connects are fresh connections of a user (10), Resumes those with a
	// position (60), Strangers those of an address before it has said who it
	// is (30).
	Connects, Resumes, Strangers int
	// Messages are a connection's (100); Interactions have a bucket of their
	// own (600), so that dragging a window cannot eat what chat needs.
	Messages, Interactions int
	// Requests are REST calls of a user that change something (300).
	Requests int
}

// Keeper counts for one replica.
type Keeper struct{}

// New makes a keeper.
func New(cfg Config, docs Documents) *Keeper { panic("not built yet") }

// Connect counts a connection of a user. It reports how long to wait when it is
// one too many; 0 means that it is not. When the store is away it counts alone.
func (k *Keeper) Connect(ctx context.Context, user string, resume bool) time.Duration {
	panic("not built yet")
}

// Stranger counts a connection of an address that has not said who it is.
func (k *Keeper) Stranger(addr netip.Addr) time.Duration { panic("not built yet") }

// Request counts a REST call of a user.
func (k *Keeper) Request(user string) time.Duration { panic("not built yet") }

// Connection are the buckets of one connection. They cost nothing until used.
type Connection struct{}

// NewConnection makes the buckets of a connection. One goroutine uses them.
func (k *Keeper) NewConnection() Connection { panic("not built yet") }

// Message counts a message. It reports how long to wait when it is one too many.
func (c *Connection) Message(p wire.ClientPayload) time.Duration { panic("not built yet") }

// Bad counts a message that could not be understood and reports whether it was
// the fifth in a minute.
func (c *Connection) Bad() bool { panic("not built yet") }
