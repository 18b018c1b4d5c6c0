package adminview_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// sessionStore is the part of a store that a session.Hub uses.
type sessionStore interface {
	session.Leases
	session.Writer
	session.Log
	session.Inbox
	session.Directory
}

// engine is a store with all methods that replicas need.
type engine interface {
	sessionStore
	membership.Announcements
	documents
}

// documents is an alias, because an embedded field with the name Documents would hide the
// method.
type documents = membership.Documents

// joined is an engine made of the parts of a store.
type joined struct {
	sessionStore
	membership.Announcements
	documents
}

// probe is a store that counts and can be blocked.
type probe struct {
	engine
	puts atomic.Int64
	// commits wait until blocked is closed, if set.
	blocked atomic.Pointer[chan struct{}]
	// away is the error of an unavailable store, if set.
	away atomic.Bool
}

func (p *probe) Get(ctx context.Context, collection, name string) (store.Document, error) {
	if p.away.Load() {
		<-ctx.Done()
		return store.Document{}, store.ErrUnavailable
	}
	return p.engine.Get(ctx, collection, name)
}

func (p *probe) Put(ctx context.Context, d store.Document) (uint64, error) {
	if p.away.Load() {
		<-ctx.Done()
		return 0, store.ErrUnavailable
	}
	if d.Collection == "monitor" && !strings.HasPrefix(d.Name, "interest") {
		p.puts.Add(1)
	}
	return p.engine.Put(ctx, d)
}

func (p *probe) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	if p.away.Load() {
		return store.Receipt{}, store.ErrUnavailable
	}
	if gate := p.blocked.Load(); gate != nil {
		select {
		case <-*gate:
		case <-ctx.Done():
			return store.Receipt{}, ctx.Err()
		}
	}
	return p.engine.Commit(ctx, l, b)
}

// replica is a session hub with a watcher.
type replica struct {
	*adminview.Watcher
	hub   *session.Hub
	store *probe
	stop  func()
	// sample, if set, returns its measurements.
	sample *atomic.Pointer[adminview.Sample]
}

func openStore(t *testing.T) engine {
	t.Helper()
	s, err := filestore.Open(filepath.Join(t.TempDir(), "store"), filestore.Config{Sync: filestore.SyncOff})
	ok(t, err)
	t.Cleanup(func() { ok(t, s.Close()) })
	return joined{s.Sessions, s.Replicas, s.Documents}
}

// start runs a replica until the test ends or it is stopped.
func start(t *testing.T, s engine, id wire.ReplicaID) *replica {
	t.Helper()
	p := &probe{engine: s}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	f := membership.New(membership.Config{ID: id, Version: "test", Logger: log}, p, p)
	h := session.NewHub(session.Config{Replica: id, Logger: log, Alive: f.Alive, SweepEvery: time.Hour, DormantAfter: time.Hour}, session.StoreOf(p))
	var sample atomic.Pointer[adminview.Sample]
	m := adminview.New(adminview.Config{
		Replica: id, Logger: log,
		Sample: func() adminview.Sample {
			if s := sample.Load(); s != nil {
				return *s
			}
			return adminview.Sample{Goroutines: len(id)}
		},
	}, h, f, p, p)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { h.Run(ctx) })
	wg.Go(func() { m.Run(ctx) })
	wg.Go(func() { f.Run(ctx) })
	stop := sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
	t.Cleanup(stop)
	return &replica{m, h, p, stop, &sample}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// opened creates a session and opens it at a replica, which then owns it.
func (r *replica) opened(t *testing.T, id wire.SessionID) *session.Handle {
	t.Helper()
	_, err := r.hub.Create(t.Context(), session.NewSession{ID: id, User: "ada", Title: "Desk of " + string(id)})
	ok(t, err)
	handle, err := r.hub.Open(t.Context(), id)
	ok(t, err)
	t.Cleanup(handle.Close)
	return handle
}

// says sends a message and waits for its answer.
func says(t *testing.T, handle *session.Handle, id wire.MessageID) {
	t.Helper()
	_, err := handle.DeliverAndWait(t.Context(), emits(id))
	ok(t, err)
}

// emits opens a window.
func emits(id wire.MessageID) session.Command {
	return session.Command{From: session.Sender{User: "ada"}, Message: wire.Message{ID: id, Data: wire.Emit{
		Actions: []wire.Action{wire.WindowCreate{
			WindowID: wire.WindowID("w-" + id), Title: "Secret plans", Bounds: wire.Bounds{X: 1, Y: 2, W: 300, H: 200},
			Content: wire.TextContent{Data: "hello"},
		}},
	}}}
}

// table holds the rows that a subscriber has received.
type table struct {
	rows     map[wire.SessionID]adminview.Row
	overview adminview.Overview
	detail   adminview.Detail
	history  adminview.History
}

func (tb *table) apply(u adminview.Update) {
	if u.History != nil {
		tb.history = *u.History
	}
	if u.Overview != nil {
		tb.overview = *u.Overview
	}
	if u.Detail != nil {
		tb.detail = *u.Detail
	}
	if u.Rows == nil {
		return
	}
	if u.Rows.Full || tb.rows == nil {
		tb.rows = map[wire.SessionID]adminview.Row{}
	}
	for _, r := range u.Rows.Rows {
		tb.rows[r.SessionID] = r
	}
	for _, id := range u.Rows.Gone {
		delete(tb.rows, id)
	}
}

// until receives updates until cond is true.
func (r *replica) until(t *testing.T, in adminview.Interest, is func(*table) bool) *table {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	tb := &table{}
	for u, err := range r.Watch(ctx, in) {
		if err != nil {
			t.Fatalf("watch: got error %v after %+v, want the awaited state", err, *tb)
		}
		tb.apply(u)
		if is(tb) {
			break
		}
	}
	return tb
}

func alerted(o adminview.Overview, kind string) bool {
	for _, a := range o.Alerts {
		if a.Kind == kind {
			return true
		}
	}
	return false
}
