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

// Leases is the part of the store with which a hub creates, owns, writes and deletes sessions.
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

// Log is the part of the store that reads sessions and sends commands to their owners.
type Log interface {
	Load(ctx context.Context, session wire.SessionID) (store.State, error)
	Read(ctx context.Context, session wire.SessionID, after wire.Position, limit int) ([]store.Event, error)
	ReadList(ctx context.Context, session wire.SessionID, list string, from, limit int) (store.ListPage, error)
	Tail(ctx context.Context, session wire.SessionID, after wire.Position) iter.Seq2[store.News, error]
	Send(ctx context.Context, session wire.SessionID, c store.Command) (duplicate bool, err error)
	Receive(ctx context.Context, lease store.Lease) iter.Seq2[[]store.Command, error]
}

// Directory is the part of the store that describes sessions without loading them.
type Directory interface {
	Session(ctx context.Context, session wire.SessionID) (store.Info, error)
	Sessions(ctx context.Context, q store.Query) (store.Page[store.Info], error)
	Unattended(ctx context.Context, limit int) ([]wire.SessionID, error)
	Quarantine(ctx context.Context, session wire.SessionID, reason string) error
	Discard(ctx context.Context, session wire.SessionID) error
	Partition(session wire.SessionID) int
}

// Store is the storage that a [Hub] needs.
type Store interface {
	Leases
	Log
	Directory
}

// Config configures a [Hub]. The zero value selects the defaults.
type Config struct {
	Replica wire.ReplicaID
	// Lease is how long a lease lasts without renewal. Owners renew it three times as often.
	// Default: 6 s.
	Lease time.Duration
	// DormantAfter is how long an owned session without handles and without unfinished work stays
	// loaded. Default: 10 min.
	DormantAfter time.Duration
	// StalledAfter is how long the agents of a session with unfinished work may make no progress
	// before the session counts as stalled. Default: 1 min.
	StalledAfter time.Duration
	// Retention is the age of the last event from which on an idle session is deleted; 0 keeps
	// sessions forever.
	Retention time.Duration
	// BeforeExpiry is called before the hub deletes a session because of Retention or because its
	// import was not finished. It deletes what other packages store of the session, and may be
	// called again for the same session.
	BeforeExpiry func(wire.SessionID)
	// SweepEvery is the mean interval between searches for sessions with work and without an owner.
	// Default: 500 ms.
	SweepEvery time.Duration
	// AnswersPerMinute limits the answers to questions per session; 0 means 30, a negative value
	// means unlimited.
	AnswersPerMinute int
	// NewRunner makes the runner of the agents of a session that becomes owned here. Without it
	// messages to agents are refused.
	NewRunner func(ctx context.Context, e agentpool.SessionRef) Runner
	// Provider is the model backend of sessions that have not chosen one.
	Provider string
	// Budget bounds the work of agents on background monitors.
	Budget policies.BudgetLimits
	// Window is the size of the models' context in tokens, where it differs from the size that the
	// provider states. CondenseAt is the percentage of it from which on a conversation is condensed
	// automatically; 0 disables that.
	Window, CondenseAt int
	// Plan bounds plans and configures the tools of their todos.
	Plan workflow.Config
	// Alive reports, without blocking, whether a replica is known to be running. The owner drops
	// the tabs of a replica that is not from its presence list. Without Alive it drops them when
	// the replica has sent no presence for presenceTimeout.
	Alive func(wire.ReplicaID) bool
	// Observer receives counts and durations; nil discards them.
	Observer Observer
	// Tracer traces messages; nil disables tracing.
	Tracer Tracer
	// Broadcast configures the Center of every session.
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
	// writers writes to the tabs of sessions with many tabs; set while Run runs.
	writers atomic.Pointer[broadcast.Writers]
	// deliveryCount numbers the deliveries that this replica sends to other owners. process is
	// random and separates them from the deliveries of earlier processes of the same replica.
	deliveryCount atomic.Uint64
	process       string

	// stepPool holds empty steps, which sessions borrow while they process their mailbox.
	stepPool stepPool

	// lifeCtx is the context of all live sessions. It ends when Run returns.
	lifeCtx context.Context
	stop    context.CancelCauseFunc
	running sync.WaitGroup // the live sessions

	mu        sync.Mutex // guards the following; never held during a store call
	sessions  map[wire.SessionID]*liveSession
	suspended map[wire.SessionID]suspension
	draining  chan struct{} // closed by Undrain; nil while the hub does not drain
	stopped   bool
}

// suspension keeps a session from being opened until a time: it panicked too often, or its schema
// is newer than this hub.
type suspension struct {
	until time.Time
	err   *Error
	epoch uint64 // of its last owner here; 0 if the suspension is not the session's fault
}

// NewHub makes a hub. It starts no goroutine before [Hub.Run] or [Hub.Open].
func NewHub(cfg Config, s Store) *Hub {
	cfg = cfg.withDefaults()
	h := &Hub{
		cfg: cfg, store: s, log: cfg.Logger, started: time.Now(), process: rand.Text()[:10],
		sessions: map[wire.SessionID]*liveSession{}, suspended: map[wire.SessionID]suspension{},
	}
	h.lifeCtx, h.stop = context.WithCancelCause(context.Background())
	return h
}

// Run renews leases, claims sessions without an owner, probes the store and enforces Retention
// until ctx ends. It returns when all goroutines of the hub have ended. It does not hand sessions
// over: call [Hub.Drain] first.
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
	h.stopped = true // no live session starts after this
	h.mu.Unlock()
	h.stop(errStopping)
	h.running.Wait()
}

// Open returns a handle of a session and loads the session if it is not loaded here. The caller
// must close the handle.
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

// DeliverAndWait opens the session, calls [Handle.DeliverAndWait] and closes the handle.
func (h *Hub) DeliverAndWait(ctx context.Context, id wire.SessionID, c Command) (Answer, error) {
	r, err := h.Open(ctx, id)
	if err != nil {
		return Answer{}, err
	}
	defer r.Close()
	return r.DeliverAndWait(ctx, c)
}

// acquireSession returns the live session of id with one more handle, and starts it if there is
// none. Concurrent callers share one live session, whose goroutine loads the state. The caller must
// call releaseSession.
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
	k.mailbox.signal() // a follower may have been about to unload
	return k, nil
}

// releaseSession undoes acquireSession. With the last handle the time until the session is unloaded
// begins.
func (h *Hub) releaseSession(k *liveSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k.handles--
	if k.handles == 0 {
		k.unusedSince.Store(time.Now().UnixNano())
		k.mailbox.signal()
	}
}

// removeSession removes k from the registry and reports whether it did. Without force it refuses
// while k has handles or items.
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

// suspend refuses to open a session until c.until. It also drops suspensions that have ended.
func (h *Hub) suspend(id wire.SessionID, c suspension) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(h.suspended, func(_ wire.SessionID, c suspension) bool { return c.until.Before(now) })
	h.suspended[id] = c
}

// lookup returns the live session of id, or nil.
func (h *Hub) lookup(id wire.SessionID) *liveSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[id]
}

// appendSessions appends all live sessions to into.
func (h *Hub) appendSessions(into []*liveSession) []*liveSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.AppendSeq(into, maps.Values(h.sessions))
}
