package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"iter"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// Leases is how the hub owns sessions.
type Leases interface {
	Create(ctx context.Context, s store.NewSession) error
	Recreate(ctx context.Context, lease store.Lease, s store.NewSession) error
	Deleted(ctx context.Context, session wire.SessionID, epoch uint64) (bool, error)
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
	ReadList(ctx context.Context, session wire.SessionID, list string, from, limit int) (store.ListPage, error)
	Tail(ctx context.Context, session wire.SessionID, after wire.Position) iter.Seq2[store.News, error]
	Send(ctx context.Context, session wire.SessionID, c store.Command) (duplicate bool, err error)
	Receive(ctx context.Context, lease store.Lease) iter.Seq2[[]store.Command, error]
}

// Directory is what is known of all sessions.
type Directory interface {
	Session(ctx context.Context, session wire.SessionID) (store.Info, error)
	Sessions(ctx context.Context, q store.Query) (store.Page[store.Info], error)
	Unattended(ctx context.Context, limit int) ([]wire.SessionID, error)
	Quarantine(ctx context.Context, session wire.SessionID, reason string) error
	Discard(ctx context.Context, session wire.SessionID) error
	Partition(session wire.SessionID) int
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
	// DormantAfter is how long a session without tabs and work stays loaded. It
	// defaults to 10 min.
	DormantAfter time.Duration
	// StalledAfter is how long the agents of a session that has work may show nothing
	// before it counts as stalled. It defaults to 1 min.
	StalledAfter time.Duration
	// Retention is how long a session nobody uses is kept; 0 means for ever.
	Retention time.Duration
	// BeforeExpiry is called before a session is deleted because of it, or because its
	// import was not finished, and removes what is kept of it elsewhere. It may be
	// called again for the same session.
	BeforeExpiry func(wire.SessionID)
	// SweepEvery is how often sessions without an owner are looked for. It
	// defaults to 500 ms.
	SweepEvery time.Duration
	// AnswersPerMinute is how many answers to questions a session takes; 0
	// means 30, less means any number.
	AnswersPerMinute int
	// NewRunner makes the session runner of a session that is owned here; without it messages
	// for agents are refused.
	NewRunner func(ctx context.Context, e agentpool.SessionRef) Runner
	// Provider is who thinks in sessions that have chosen nobody.
	Provider string
	// Budget bounds what background monitors may do.
	Budget policies.BudgetLimits
	// Window is how many tokens models read, where that is not what their
	// providers say, and CondenseAt from how many per cent of it on a
	// conversation is summed up; 0 means never by itself.
	Window, CondenseAt int
	// Plan bounds plans and says what their todos may use.
	Plan workflow.Config
	// Alive says whether a replica is known to be running, without waiting. The
	// tabs of one that is not are forgotten. Without it, that takes as long as
	// a replica may be silent.
	Alive func(wire.ReplicaID) bool
	// Observer is told what happens; nil means that nobody looks.
	Observer Observer
	// Tracer follows messages, if there is one.
	Tracer Tracer
	// Broadcast tunes the Center of every session.
	Broadcast broadcast.Config
	Logger    *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Lease = cmp.Or(c.Lease, 6*time.Second)
	c.DormantAfter = cmp.Or(c.DormantAfter, 10*time.Minute)
	c.StalledAfter = cmp.Or(c.StalledAfter, time.Minute)
	c.SweepEvery = cmp.Or(c.SweepEvery, 500*time.Millisecond)
	c.AnswersPerMinute = cmp.Or(c.AnswersPerMinute, 30)
	if c.BeforeExpiry == nil {
		c.BeforeExpiry = func(wire.SessionID) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Observer == nil {
		c.Observer = noopObserver{}
	}
	if c.Broadcast.Logger == nil {
		c.Broadcast.Logger = c.Logger
	}
	return c
}

// Hub is the registry of the sessions this replica owns or follows.
type Hub struct {
	cfg     Config
	store   Store
	log     *slog.Logger
	started time.Time
	// writers write to the tabs of large sessions while Run runs.
	writers atomic.Pointer[broadcast.Writers]
	// deliveryCount numbers what this replica sends to other owners, and process
	// tells its numbers from those of its processes before.
	deliveryCount atomic.Uint64
	process       string

	// stepPool lends sessions the memory for a turn.
	stepPool stepPool

	// lifeCtx is that of the live sessions. It ends when Run does.
	lifeCtx context.Context
	stop    context.CancelCauseFunc
	running sync.WaitGroup // the live sessions

	mu        sync.Mutex // guards the following; never held while the store is asked
	sessions  map[wire.SessionID]*liveSession
	suspended map[wire.SessionID]suspension
	draining  chan struct{} // closed when that is taken back; nil while nothing drains
	stopped   bool
}

// suspension says that a session is not opened for a while, because it went wrong
// too often or this hub does not understand it.
type suspension struct {
	until time.Time
	err   *Error
	epoch uint64 // of its last owner here; 0 when it is no fault of the session
}

// NewHub makes a hub. It does nothing before [Hub.Run].
func NewHub(cfg Config, s Store) *Hub {
	cfg = cfg.withDefaults()
	h := &Hub{
		cfg: cfg, store: s, log: cfg.Logger, started: time.Now(), process: rand.Text()[:10],
		sessions: map[wire.SessionID]*liveSession{}, suspended: map[wire.SessionID]suspension{},
	}
	h.lifeCtx, h.stop = context.WithCancelCause(context.Background())
	return h
}

// Run sweeps and renews until ctx ends, and then returns after everything it
// started has ended. It does not drain: call [Hub.Drain] first.
func (h *Hub) Run(ctx context.Context) {
	if h.cfg.Broadcast.Writers == nil {
		writers := broadcast.NewWriters(runtime.GOMAXPROCS(0))
		defer writers.Close()
		h.writers.Store(writers)
	}
	var wg sync.WaitGroup
	wg.Go(func() { h.renewAll(ctx) })
	wg.Go(func() { h.sweepAll(ctx) })
	wg.Go(func() { h.probeAll(ctx) })
	if h.cfg.Retention > 0 {
		wg.Go(func() { h.retireAll(ctx) })
	}
	wg.Wait()
	h.mu.Lock()
	h.stopped = true // nobody starts a live session after this
	h.mu.Unlock()
	h.stop(errStopping)
	h.running.Wait()
}

// Open gives a door its hold on a session, loading it when nobody here has it.
// The caller must close the room.
func (h *Hub) Open(ctx context.Context, id wire.SessionID) (*Handle, error) {
	if err := id.Validate(); err != nil {
		return nil, asError(err)
	}
	k, err := h.acquireSession(id)
	if err != nil {
		return nil, err
	}
	select {
	case <-k.ready:
	case <-ctx.Done():
		h.releaseSession(k)
		return nil, ctx.Err()
	}
	if k.failure != nil {
		h.releaseSession(k)
		return nil, asError(k.failure)
	}
	return &Handle{live: k}, nil
}

// DeliverAndWait is Open, [Handle.DeliverAndWait] and Close.
func (h *Hub) DeliverAndWait(ctx context.Context, id wire.SessionID, c Command) (Answer, error) {
	r, err := h.Open(ctx, id)
	if err != nil {
		return Answer{}, err
	}
	defer r.Close()
	return r.DeliverAndWait(ctx, c)
}

// acquireSession finds or starts the live session of a session. Many who want the same session
// wait for the same live session; it is the live session that asks the store.
func (h *Hub) acquireSession(id wire.SessionID) (*liveSession, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.servingLocked(); err != nil {
		return nil, err
	}
	if c, ok := h.suspended[id]; ok {
		if time.Now().Before(c.until) {
			return nil, c.err
		}
		delete(h.suspended, id)
	}
	k := h.sessions[id]
	if k == nil {
		k = newLiveSession(h, id)
		h.sessions[id] = k
		h.running.Go(func() { k.run(h.lifeCtx) })
	}
	k.handles++
	k.unusedSince.Store(0)
	k.mailbox.signal() // it may have waited for somebody to have use for it
	return k, nil
}

// releaseSession gives a hold back.
func (h *Hub) releaseSession(k *liveSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k.handles--
	if k.handles == 0 {
		k.unusedSince.Store(time.Now().UnixNano())
		k.mailbox.signal()
	}
}

// removeSession takes a live session out of the registry, unless somebody holds it or it has
// something to do, and it is not said to go anyway.
func (h *Hub) removeSession(k *liveSession, anyway bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !anyway && (k.handles > 0 || !k.mailbox.isIdle()) {
		return false
	}
	if h.sessions[k.id] == k {
		delete(h.sessions, k.id)
	}
	return true
}

// suspend keeps a session from being opened for a while.
func (h *Hub) suspend(id wire.SessionID, c suspension) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(h.suspended, func(_ wire.SessionID, c suspension) bool { return c.until.Before(now) })
	h.suspended[id] = c
}

// lookup returns the live session of a session, if there is one.
func (h *Hub) lookup(id wire.SessionID) *liveSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

// appendSessions returns the live sessions there are now.
func (h *Hub) appendSessions(into []*liveSession) []*liveSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.AppendSeq(into, maps.Values(h.sessions))
}
