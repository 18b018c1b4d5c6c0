package membership

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// ErrUnknown means that no replica of that name is alive.
var ErrUnknown = errors.New("no such replica is alive")

const (
	orders = "fleet"
	// wishFor is how long a order waits to be seen.
	orderTimeout = time.Minute
	// withdrawFor is how long the end of a process waits for the store.
	withdrawFor = 2 * time.Second
)

// Store is what a fleet needs of a store.
type Store interface {
	Announce(ctx context.Context, r store.Replica, ttl time.Duration) error
	Withdraw(ctx context.Context, replica wire.ReplicaID) error
	Replicas(ctx context.Context, after string, limit int) (store.Page[store.Replica], error)
	Get(ctx context.Context, collection, name string) (store.Document, error)
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	Documents(ctx context.Context, collection, after string, limit int) (store.Page[store.Document], error)
}

// Config tunes a [Membership].
type Config struct {
	ID      wire.ReplicaID
	Version string
	URL     string
	// Every is how often this replica says that it is alive, 2 s unless set, and
	// TTL how long that counts, 6 s unless set.
	Every, TTL time.Duration
	// Load tells how much there is to do, and Crowds which users have so many
	// connections here that it matters to other replicas.
	Load            func() Load
	UserConnections func() map[string]int
	// Drain hands everything over and returns when that is done, or says why it
	// is not when ctx ends, and then is called again; Serve takes it back.
	// Neither is called while the other runs.
	Drain func(ctx context.Context) error
	Serve func()
	// Execute does something for another replica, see [Fleet.Send]. Several may
	// run at once, and the same may be done again.
	Execute func(ctx context.Context, e Command) Answer
	// Grace is how long a drain may take before it is tried again, 20 s unless
	// set.
	Grace  time.Duration
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Every, c.TTL = cmp.Or(c.Every, 2*time.Second), cmp.Or(c.TTL, 6*time.Second)
	c.Grace = cmp.Or(c.Grace, 20*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Load == nil {
		c.Load = func() Load { return Load{} }
	}
	if c.Execute == nil {
		c.Execute = func(context.Context, Command) Answer {
			return Answer{Code: wire.CodeInvalidMessage, Reason: "this replica executes no commands"}
		}
	}
	if c.UserConnections == nil {
		c.UserConnections = func() map[string]int { return nil }
	}
	return c
}

// Membership is this replica among the others. Make it with [New].
type Membership struct {
	cfg     Config
	store   Store
	log     *slog.Logger
	process string
	started time.Time
	roll    replicaList
	// poke asks for a round at once.
	poke chan struct{}
	// errandsPoke asks for a look for commands at once.
	wakeCommands chan struct{}
	commands     sync.WaitGroup
	away         bool // the last round failed; only Run's goroutine looks

	mu      sync.Mutex // guards the following; never held while anybody waits
	state   State
	leaving bool
	seen    string          // the id of the last order
	moving  *transition     // the last one, or nil
	running map[string]bool // commands
	// finished are commands that ended after they were last looked for.
	finished map[string]bool
}

// transition is a change from one state to another.
type transition struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// New makes a fleet of which this replica is one. Nothing is announced before
// [Fleet.Run].
func New(cfg Config, s Store) *Membership {
	cfg = cfg.withDefaults()
	return &Membership{
		cfg: cfg, store: s, log: cfg.Logger, process: rand.Text(), started: time.Now().UTC().Round(time.Millisecond),
		roll: newReplicaList(cfg.TTL), poke: make(chan struct{}, 1), wakeCommands: make(chan struct{}, 1),
		state: Serving, running: map[string]bool{}, finished: map[string]bool{},
	}
}

// Run announces this replica, and does what is ordered of it, until ctx ends. Then
// it withdraws.
//
// Ownership: it starts one goroutine per drain and command and one that looks for
// commands, and returns after they have ended.
func (f *Membership) Run(ctx context.Context) {
	defer f.halt()
	var looks sync.WaitGroup
	defer looks.Wait()
	looks.Go(func() { f.executeCommands(ctx) })
	for {
		f.round(ctx)
		pause := f.cfg.Every - mathrand.N(f.cfg.Every/5+1) //nolint:gosec // jitter needs no secrecy
		select {
		case <-time.After(pause):
		case <-f.poke:
		case <-ctx.Done():
			f.withdraw(ctx)
			return
		}
	}
}

// announce says that this replica is alive.
func (f *Membership) announce(ctx context.Context) error {
	card := f.Card()
	card.UserConnections = f.cfg.UserConnections()
	return f.store.Announce(ctx, store.Replica{ID: f.cfg.ID, Card: card.encode()}, f.cfg.TTL)
}

// Leave says that this process is about to end: it counts as draining from now on
// and orders are for nobody. A drain under way is given up, since whoever ends the
// process drains it too.
func (f *Membership) Leave() {
	f.mu.Lock()
	f.leaving, f.state = true, Draining
	f.mu.Unlock()
	f.halt()
	f.hurry()
}

// Card is what this replica says of itself now.
func (f *Membership) Card() Card {
	f.mu.Lock()
	state := f.state
	f.mu.Unlock()
	return Card{
		ID: f.cfg.ID, Process: f.process, Version: f.cfg.Version, State: state,
		Started: f.started, URL: f.cfg.URL, Load: f.cfg.Load(),
	}
}

// Alive reports whether a replica is. While that cannot be known it is.
func (f *Membership) Alive(id wire.ReplicaID) bool {
	return id == f.cfg.ID || f.roll.alive(id, time.Now())
}

// ConnectionsElsewhere is how many connections a user has to other replicas, as far as they
// said so when they were last heard of.
func (f *Membership) ConnectionsElsewhere(user string) int { return f.roll.elsewhere(user, time.Now()) }

// Replicas asks the store who is alive. This one is shown as it is now.
func (f *Membership) Replicas(ctx context.Context) ([]Card, error) {
	all, err := f.list(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].ID == f.cfg.ID && all[i].Process == f.process {
			all[i] = f.Card()
		}
	}
	return all, nil
}

// list reads all that is announced.
func (f *Membership) list(ctx context.Context) ([]Card, error) {
	var all []Card
	for after := ""; ; {
		page, err := f.store.Replicas(ctx, after, 1000)
		if err != nil {
			return nil, fmt.Errorf("list replicas: %w", err)
		}
		for _, r := range page.Items {
			all = append(all, readCard(r))
		}
		if after = page.Next; after == "" {
			return all, nil
		}
	}
}

// Order leaves a order for a replica, which does it within [Config.Every]. The order
// that was left last counts; the same order again changes nothing.
func (f *Membership) Order(ctx context.Context, id wire.ReplicaID, w ReplicaOrder) error {
	var err error
	if w.Process, err = f.processOf(ctx, id); err != nil {
		return err
	}
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	for {
		was, err := f.store.Get(ctx, orders, string(id))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("ask a replica: %w", err)
		}
		if old, err := readOrder(was.Data); err == nil && old.ID == w.ID && old.Process == w.Process {
			break
		}
		_, err = f.store.Put(ctx, store.Document{
			Collection: orders, Name: string(id), Data: data, Version: was.Version, TTL: orderTimeout,
		})
		if err == nil {
			break
		}
		if !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("ask a replica: %w", err)
		}
	}
	if id == f.cfg.ID {
		f.hurry()
	}
	return nil
}

// hurry asks for a round at once.
func (f *Membership) hurry() {
	select {
	case f.poke <- struct{}{}:
	default: // it is asked for already
	}
}

// round says that this replica is alive, looks who else is and for a order, and goes
// on with a drain.
func (f *Membership) round(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, f.cfg.TTL/2)
	defer cancel()
	number := f.roll.begin()
	err := f.announce(limited)
	var all []Card
	if err == nil {
		all, err = f.list(limited)
	}
	if err == nil {
		f.roll.end(number, f.cfg.ID, all, time.Now())
		err = f.heed(ctx, limited)
		f.persist(ctx)
	}
	// Only changes are logged: a store may be away for long.
	switch away := err != nil; {
	case ctx.Err() != nil || away == f.away:
		return
	case away:
		f.log.WarnContext(ctx, "replica cannot say that it is alive", "err", err)
	default:
		f.log.InfoContext(ctx, "replica can say again that it is alive")
	}
	f.away = err != nil
}

// withdraw says that this replica is gone.
func (f *Membership) withdraw(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawFor)
	defer cancel()
	if err := f.store.Withdraw(ctx, f.cfg.ID); err != nil {
		f.log.WarnContext(ctx, "replica is left to expire", "err", err)
	}
}
