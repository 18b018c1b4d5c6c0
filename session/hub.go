package session

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Leases is how the hub owns sessions.
type Leases interface {
	Create(ctx context.Context, s store.NewSession) error
	Claim(ctx context.Context, session wire.SessionID, replica wire.ReplicaID, ttl time.Duration) (store.Lease, error)
	Renew(ctx context.Context, lease store.Lease) error
	Release(ctx context.Context, lease store.Lease) error
	Commit(ctx context.Context, lease store.Lease, b store.Batch) (store.Receipt, error)
	Delete(ctx context.Context, lease store.Lease) error
}

// Log is how sessions are read and their owners told something.
type Log interface {
	Load(ctx context.Context, session wire.SessionID) (store.State, error)
	Read(ctx context.Context, session wire.SessionID, after wire.Position, limit int) ([]store.Event, error)
	Tail(ctx context.Context, session wire.SessionID, after wire.Position) iter.Seq2[store.News, error]
	Send(ctx context.Context, session wire.SessionID, c store.Command) (duplicate bool, err error)
	Receive(ctx context.Context, lease store.Lease) iter.Seq2[[]store.Command, error]
}

// Directory is what is known of all sessions.
type Directory interface {
	Session(ctx context.Context, session wire.SessionID) (store.Info, error)
	Sessions(ctx context.Context, q store.Query) (store.Page[store.Info], error)
	Unattended(ctx context.Context, limit int) ([]wire.SessionID, error)
}

// Store is what the hub needs of a store.
type Store interface {
	Leases
	Log
	Directory
}

// Config tunes a [Hub]. The zero value means the defaults.
type Config struct {
	Replica wire.ReplicaID
	// Lease is how long a session stays ours without renewal; it is renewed
	// three times as often. It defaults to 6 s.
	Lease time.Duration
	// Dormant is how long a session without tabs and work stays loaded. It
	// defaults to 10 min.
	Dormant time.Duration
	// Retention is how long a session nobody uses is kept; 0 means for ever.
	Retention time.Duration
	// Sweep is how often sessions without an owner are looked for. It
	// defaults to 500 ms.
	Sweep time.Duration
	// AnswersPerMinute is how many answers to questions a session takes; 0
	// means 30, less means any number.
	AnswersPerMinute int
	// Broadcast tunes the Center of every session.
	Broadcast broadcast.Config
	Logger    *slog.Logger
}

// Hub is the registry of the sessions this replica owns or follows.
type Hub struct{}

// NewHub makes a hub. It does nothing before [Hub.Run].
func NewHub(cfg Config, s Store) *Hub { panic("not built yet") }

// Run sweeps and renews until ctx ends, and then returns after everything it
// started has ended. It does not drain: call [Hub.Drain] first.
func (h *Hub) Run(ctx context.Context) { panic("not built yet") }

// Drain hands every owned session over and refuses new ones, as SIGTERM asks.
func (h *Hub) Drain(ctx context.Context) { panic("not built yet") }

// Info is what is known of a session without opening it.
type Info struct {
	ID      wire.SessionID
	User    string
	Title   string
	Shares  map[string]Share
	Created time.Time
	Updated time.Time
	Working bool
	Owner   wire.ReplicaID
	Top     wire.Position
	// Quarantined is why the session is set aside, or empty.
	Quarantined string
}

// Share is what somebody else's session may be used for.
type Share string

// What a share allows.
const (
	ShareViewer   Share = "viewer"
	ShareOperator Share = "operator"
)

// NewSession is a session to be made.
type NewSession struct {
	// ID is chosen by the hub when empty.
	ID    wire.SessionID
	User  string
	Title string
}

// Create makes a session. The error is [*Error] or the store's.
func (h *Hub) Create(ctx context.Context, n NewSession) (Info, error) { panic("not built yet") }

// Info looks a session up.
func (h *Hub) Info(ctx context.Context, id wire.SessionID) (Info, error) { panic("not built yet") }

// List shows a page of a user's sessions, or of all when user is empty.
func (h *Hub) List(ctx context.Context, q store.Query) (store.Page[Info], error) {
	panic("not built yet")
}

// Rename gives a session another title.
func (h *Hub) Rename(ctx context.Context, id wire.SessionID, title string) error {
	panic("not built yet")
}

// Share grants somebody a use of a session; an empty share takes it back.
func (h *Hub) Share(ctx context.Context, id wire.SessionID, user string, s Share) error {
	panic("not built yet")
}

// Delete removes a session with everything in it. Its tabs are closed with 4410.
func (h *Hub) Delete(ctx context.Context, id wire.SessionID) error { panic("not built yet") }

// Open gives a door its hold on a session, loading it when nobody here has it.
// The caller must close the room.
func (h *Hub) Open(ctx context.Context, id wire.SessionID) (*Room, error) { panic("not built yet") }

// Deliver is Open, [Room.Ask] and Close.
func (h *Hub) Deliver(ctx context.Context, id wire.SessionID, c Command) (Answer, error) {
	panic("not built yet")
}
