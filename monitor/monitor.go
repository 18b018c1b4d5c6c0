package monitor

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/fleet"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// ErrQuery means that a [Query] cannot be understood.
var ErrQuery = errors.New("the query cannot be understood")

// Hub is what a monitor needs of the sessions here.
type Hub interface {
	Census(ctx context.Context) []session.Status
	Inspect(ctx context.Context, id wire.SessionID) (session.Inspection, error)
	Audience(id wire.SessionID) []broadcast.Viewer
	List(ctx context.Context, q store.Query) (store.Page[session.Info], error)
	Info(ctx context.Context, id wire.SessionID) (session.Info, error)
}

// Fleet says which replicas are alive.
type Fleet interface {
	Replicas(ctx context.Context) ([]fleet.Card, error)
}

// Store is what a monitor needs of a store.
type Store interface {
	Get(ctx context.Context, collection, name string) (store.Document, error)
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	Read(ctx context.Context, session wire.SessionID, after wire.Position, limit int) ([]store.Event, error)
}

// Config tunes a [Watcher].
type Config struct {
	Replica wire.ReplicaID
	// Every is how often is reported and looked, 500 ms unless set.
	Every time.Duration
	// Sample is what this replica measures of itself.
	Sample func() Sample
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Every = cmp.Or(c.Every, 500*time.Millisecond)
	if c.Sample == nil {
		c.Sample = func() Sample { return Sample{} }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Watcher reports what this replica knows of its sessions to those who look, and
// puts together what all replicas report. Make it with [New].
type Watcher struct {
	cfg   Config
	hub   Hub
	fleet Fleet
	store Store
}

// New makes the monitor of a replica. It does nothing before [Watcher.Run].
func New(cfg Config, h Hub, f Fleet, s Store) *Watcher {
	return &Watcher{cfg: cfg.withDefaults(), hub: h, fleet: f, store: s}
}

var errNotYet = errors.New("the monitor does not look yet")

// Run reports and watches until ctx ends.
func (m *Watcher) Run(ctx context.Context) { <-ctx.Done() }

// Overview is the whole fleet as it is now.
func (m *Watcher) Overview(context.Context) (Overview, error) { return Overview{}, errNotYet }

// Sessions is a page of the table of all sessions. The error wraps [ErrQuery] when
// the query is wrong.
func (m *Watcher) Sessions(context.Context, Query) (Page, error) { return Page{}, errNotYet }

// Detail is all that is known of a session. It waits for its owner, but not for
// long. The error is [*session.Error] when there is no such session.
func (m *Watcher) Detail(context.Context, wire.SessionID) (Detail, error) {
	return Detail{}, errNotYet
}

// Watch shows what an interest is about: all of it, then what changes, until ctx
// ends, which is its last error. Who is slow misses what was in between.
func (m *Watcher) Watch(context.Context, Interest) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) { yield(Update{}, errNotYet) }
}
