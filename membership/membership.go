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

// ErrUnknown means that no replica with that id is alive.
var ErrUnknown = errors.New("replica is not alive")

const (
	orderCollection = "fleet"
	// orderTTL is the time after which an order that was not read expires.
	orderTTL = time.Minute
	// withdrawTimeout bounds the withdrawal when the process stops.
	withdrawTimeout = 2 * time.Second
)

// Announcements is the part of the store that lists the live replicas.
type Announcements interface {
	// Announce lists a replica as alive for ttl.
	Announce(ctx context.Context, r store.Replica, ttl time.Duration) error
	// Withdraw removes a replica from the listing at once.
	Withdraw(ctx context.Context, replica wire.ReplicaID) error
	// Replicas lists the live replicas by page.
	Replicas(ctx context.Context, after string, limit int) (store.Page[store.Replica], error)
}

// Documents is the part of the store that holds orders and replica commands.
type Documents interface {
	// Get returns a document, or [store.ErrNotFound].
	Get(ctx context.Context, collection, name string) (store.Document, error)
	// Put writes a document if the stored version is d.Version (0: none), else
	// [store.ErrConflict].
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	// Documents lists a collection by page.
	Documents(ctx context.Context, collection, after string, limit int) (store.Page[store.Document], error)
}

// Config configures a [Membership].
type Config struct {
	ID      wire.ReplicaID
	Version string
	URL     string
	// Every is the interval of announcements, 2 s by default; TTL is their lifetime, 6 s by
	// default.
	Every, TTL time.Duration
	// Load returns the load of this replica. UserConnections returns the connection counts
	// of users that have enough connections here to matter to other replicas.
	Load            func() Load
	UserConnections func() map[string]int
	// Drain hands all sessions over and returns when that is done, or an error when ctx
	// ends first; it is called again then. Serve revokes it. They are never called
	// concurrently.
	Drain func(ctx context.Context) error
	Serve func()
	// Execute executes a command of another replica, see [Membership.Send]. Several may run
	// concurrently, and a command may be executed again.
	Execute func(ctx context.Context, e Command) Answer
	// Grace bounds one attempt to drain, 20 s by default.
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

// Membership is this replica's view of all replicas, itself included. [New] returns one.
type Membership struct {
	cfg      Config
	listing  Announcements
	docs     Documents
	log      *slog.Logger
	process  string
	started  time.Time
	replicas replicaList
	// wakeRound requests a round at once.
	wakeRound chan struct{}
	// wakeCommands requests a poll for commands at once.
	wakeCommands chan struct{}
	commands     sync.WaitGroup
	failing      bool // the last round failed; used by Run's goroutine only

	mu         sync.Mutex // guards the fields below; never held during I/O
	state      State
	leaving    bool
	lastOrder  string          // id of the last order read
	transition *transition     // the last transition, or nil
	running    map[string]bool // commands in progress
	// finished are commands that ended after the last poll.
	finished map[string]bool
}

// transition is a change from one state to another.
type transition struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// New returns the membership of this replica. Nothing is announced before [Membership.Run].
func New(cfg Config, listing Announcements, docs Documents) *Membership {
	cfg = cfg.withDefaults()
	return &Membership{
		cfg: cfg, listing: listing, docs: docs, log: cfg.Logger, process: rand.Text(), started: time.Now().UTC().Round(time.Millisecond),
		replicas: newReplicaList(cfg.TTL), wakeRound: make(chan struct{}, 1), wakeCommands: make(chan struct{}, 1),
		state: Serving, running: map[string]bool{}, finished: map[string]bool{},
	}
}

// Run announces this replica, applies orders and executes commands until ctx ends. Then it
// withdraws the announcement. It starts one goroutine per drain and per command and one that
// polls for commands, and returns after they have ended.
func (f *Membership) Run(ctx context.Context) {
	defer f.stopTransition()
	var looks sync.WaitGroup
	defer looks.Wait()
	looks.Go(func() { f.executeCommands(ctx) })
	for {
		f.round(ctx)
		pause := f.cfg.Every - mathrand.N(f.cfg.Every/5+1) //nolint:gosec // jitter needs no secrecy
		select {
		case <-time.After(pause):
		case <-f.wakeRound:
		case <-ctx.Done():
			f.withdraw(ctx)
			return
		}
	}
}

// announce stores the card of this replica.
func (f *Membership) announce(ctx context.Context) error {
	card := f.Card()
	card.UserConnections = f.cfg.UserConnections()
	return f.listing.Announce(ctx, store.Replica{ID: f.cfg.ID, Card: card.encode()}, f.cfg.TTL)
}

// Leave announces that this process is about to stop: its state is draining from now on and
// it ignores orders. A drain in progress is canceled, because stopping the process drains
// it as well.
func (f *Membership) Leave() {
	f.mu.Lock()
	f.leaving, f.state = true, Draining
	f.mu.Unlock()
	f.stopTransition()
	f.requestRound()
}

// Card returns the current card of this replica, without UserConnections.
func (f *Membership) Card() Card {
	f.mu.Lock()
	state := f.state
	f.mu.Unlock()
	return Card{
		ID: f.cfg.ID, Process: f.process, Version: f.cfg.Version, State: state,
		Started: f.started, URL: f.cfg.URL, Load: f.cfg.Load(), ReadsPacks: true, ReadsCold: true,
	}
}

// Alive reports whether a replica is alive. It returns true while that is unknown.
func (f *Membership) Alive(id wire.ReplicaID) bool {
	return id == f.cfg.ID || f.replicas.alive(id, time.Now())
}

// AllReadPacks reports whether all live replicas can read packed sessions. It returns false
// while that is unknown.
func (f *Membership) AllReadPacks() bool { return f.replicas.allReadPacks(time.Now()) }

// AllReadCold is AllReadPacks for sessions that were moved out of the store.
func (f *Membership) AllReadCold() bool { return f.replicas.allReadCold(time.Now()) }

// ConnectionsElsewhere returns the number of connections of a user to other replicas, as of
// their last announcements.
func (f *Membership) ConnectionsElsewhere(user string) int {
	return f.replicas.connectionsElsewhere(user, time.Now())
}

// Replicas reads the live replicas from the store. The entry of this replica is current.
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

// list reads all announced cards.
func (f *Membership) list(ctx context.Context) ([]Card, error) {
	var all []Card
	for after := ""; ; {
		page, err := f.listing.Replicas(ctx, after, 1000)
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

// Order stores an order for a replica, which applies it within [Config.Every]. The last
// order counts; repeating it changes nothing. [ErrUnknown] if the replica is not alive.
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
		was, err := f.docs.Get(ctx, orderCollection, string(id))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("order replica: %w", err)
		}
		if old, err := readOrder(was.Data); err == nil && old.ID == w.ID && old.Process == w.Process {
			break
		}
		_, err = f.docs.Put(ctx, store.Document{
			Collection: orderCollection, Name: string(id), Data: data, Version: was.Version, TTL: orderTTL,
		})
		if err == nil {
			break
		}
		if !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("order replica: %w", err)
		}
	}
	if id == f.cfg.ID {
		f.requestRound()
	}
	return nil
}

// requestRound makes Run start a round at once.
func (f *Membership) requestRound() {
	select {
	case f.wakeRound <- struct{}{}:
	default: // already requested
	}
}

// round announces this replica, reads the live replicas and the order for this one, and
// retries a failed drain.
func (f *Membership) round(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, f.cfg.TTL/2)
	defer cancel()
	number := f.replicas.begin()
	err := f.announce(limited)
	var all []Card
	if err == nil {
		all, err = f.list(limited)
	}
	if err == nil {
		f.replicas.end(number, f.cfg.ID, all, time.Now())
		err = f.applyOrder(ctx, limited)
		f.retryDrain(ctx)
	}
	// Only changes are logged: an outage of the store may be long.
	switch away := err != nil; {
	case ctx.Err() != nil || away == f.failing:
		return
	case away:
		f.log.WarnContext(ctx, "cannot announce replica", "err", err)
	default:
		f.log.InfoContext(ctx, "replica announced again")
	}
	f.failing = err != nil
}

// withdraw removes the announcement of this replica.
func (f *Membership) withdraw(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()
	if err := f.listing.Withdraw(ctx, f.cfg.ID); err != nil {
		f.log.WarnContext(ctx, "cannot withdraw replica, leaving it to expire", "err", err)
	}
}
