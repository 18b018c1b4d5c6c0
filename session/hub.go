package session

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// Config configures a [Hub]. The zero value selects the defaults.
type Config struct {
	Replica wire.ReplicaID
	// Lease is how long the leases of this replica last without renewal. It renews them three times as
	// often.
	// Default: 6 s.
	Lease time.Duration
	// DormantAfter is how long an owned session without handles and without unfinished work stays
	// loaded. Default: 10 min.
	DormantAfter time.Duration
	// MayPack reports, without blocking, whether the store may pack sessions that become dormant:
	// whether all replicas can read packs. Nil means always.
	MayPack func() bool
	// Signals carries the pointers of users to other replicas; nil means that no other replica uses the store.
	Signals Signals
	// Cold moves unused sessions out of the store; nil means that the store cannot do so. ColdAfter
	// is the time from which on a session is unused, 0 for never, and MayCool reports, without
	// blocking, whether all replicas can open sessions that were moved. Nil means always.
	Cold      ColdStore
	ColdAfter time.Duration
	MayCool   func() bool
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
	// Titles says that a session without a title gets one from a model after its first answer.
	Titles bool
	// Documents holds the results of programs' tool calls for other replicas; nil if there are none.
	Documents Documents
	// Checkpoints saves and restores the files of sessions; nil means that there are none.
	Checkpoints Checkpoints
	// CheckpointDesktops saves the windows of sessions without files, too.
	CheckpointDesktops bool
	// CheckpointWait is how long a tool that writes waits for the checkpoint before it. It defaults to 10 s.
	CheckpointWait time.Duration
	// WatchFiles, unless nil, begins to look for what programs change in the files of a session.
	WatchFiles func(context.Context, wire.SessionID) (FileWatch, error)
	// Kernels executes the code of notebooks; nil means that nothing does, and KernelsOff says why.
	Kernels    Kernels
	KernelsOff string
	// Plan bounds plans and configures the tools of their todos.
	Plan workflow.Config
	// Alive reports, without blocking, whether a replica is known to be running. A session is not
	// handed to one that is not. Nil means that all are.
	Alive func(wire.ReplicaID) bool
	// Observer and MessageObserver receive counts and durations; nil discards them.
	Observer        Observer
	MessageObserver MessageObserver
	// Tracer traces messages; nil disables tracing.
	Tracer Tracer
	// Broadcast configures the Center of every session.
	Broadcast broadcast.Config
	Logger    *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Lease = cmp.Or(c.Lease, 6*time.Second)
	c.DormantAfter = cmp.Or(c.DormantAfter, 10*time.Minute)
	if c.MayPack == nil {
		c.MayPack = func() bool { return true }
	}
	if c.MayCool == nil {
		c.MayCool = func() bool { return true }
	}
	c.CheckpointWait = cmp.Or(c.CheckpointWait, 10*time.Second)
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
	if c.MessageObserver == nil {
		c.MessageObserver = noopObserver{}
	}
	if c.Broadcast.Logger == nil {
		c.Broadcast.Logger = c.Logger
	}
	return c
}

// Hub owns and follows the sessions of one replica.
type Hub struct {
	env      *environment
	registry *registry
	leases   leaseRenewer
	sweeper  sweeper
	prober   storeProber
}

// NewHub makes a hub. It starts no goroutine before [Hub.Run] or [Hub.Open].
func NewHub(cfg Config, s Store) *Hub {
	env := newEnvironment(cfg.withDefaults(), s)
	rg := newRegistry(env)
	return &Hub{
		env: env, registry: rg, leases: leaseRenewer{env, rg}, sweeper: sweeper{env, rg}, prober: storeProber{env, rg},
	}
}

// Run renews leases, claims sessions without an owner, probes the store and enforces Retention and
// ColdAfter until ctx ends. It returns when all goroutines of the hub have ended. It does not hand sessions
// over: call [Hub.Drain] first.
func (h *Hub) Run(ctx context.Context) {
	if h.env.cfg.Broadcast.Writers == nil {
		writers := broadcast.NewWriters(runtime.GOMAXPROCS(0))
		defer writers.Close()
		h.env.writers.Store(writers)
	}
	var wg sync.WaitGroup
	wg.Go(func() { h.leases.renewAll(ctx) })
	wg.Go(func() { h.sweeper.sweepAll(ctx) })
	wg.Go(func() { h.prober.probeAll(ctx) })
	if h.env.cfg.Cold != nil {
		wg.Go(func() { cooler{h.env, h.registry}.coolAll(ctx) })
	}
	if h.env.cfg.Retention > 0 {
		wg.Go(func() { h.sweeper.retireAll(ctx) })
	}
	wg.Wait()
	h.registry.shutDown()
	h.env.clientCalls.writes.Wait()
}

// Open returns a handle of a session and loads the session if it is not loaded here. The caller
// must close the handle.
func (h *Hub) Open(ctx context.Context, id wire.SessionID) (*Handle, error) {
	if err := id.Validate(); err != nil {
		return nil, asError(err)
	}
	ls, err := h.registry.acquireSession(id)
	if err != nil {
		return nil, err
	}
	select {
	case <-ls.ready:
	case <-ctx.Done():
		h.registry.releaseSession(ls)
		return nil, ctx.Err()
	}
	if ls.failure != nil {
		h.registry.releaseSession(ls)
		return nil, asError(ls.failure)
	}
	return &Handle{live: ls, registry: h.registry}, nil
}

// DeliverAndWait opens the session, calls [Handle.DeliverAndWait] and closes the handle.
func (h *Hub) DeliverAndWait(ctx context.Context, id wire.SessionID, c Command) (Answer, error) {
	hd, err := h.Open(ctx, id)
	if err != nil {
		return Answer{}, err
	}
	defer hd.Close()
	return hd.DeliverAndWait(ctx, c)
}
