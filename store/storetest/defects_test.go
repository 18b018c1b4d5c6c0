package storetest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Each of these roles breaks one promise. A suite that does not notice is no
// suite.
type (
	unfenced     struct{ Leases }
	losesOps     struct{ Leases }
	keepsLease   struct{ Leases }
	noDuplicates struct{ Inbox }
	anyCursor    struct{ Contents }
	neglects     struct{ Directory }
	anyVersion   struct{ storedDocuments }
	overTime     struct{ Leases }
	halfLoads    struct{ Contents }
	overLimit    struct{ Semaphores }
	fromStart    struct{ Contents }

	// storedDocuments is embedded under this name, because a field Documents would hide the
	// method.
	storedDocuments = Documents
)

func (e unfenced) Renew(ctx context.Context, l store.Lease) error {
	if err := e.Leases.Renew(ctx, l); !errors.Is(err, store.ErrFenced) {
		return err
	}
	return nil
}

func (e losesOps) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	b.Ops = b.Ops[:min(len(b.Ops), 1)]
	return e.Leases.Commit(ctx, l, b)
}

func (keepsLease) Release(context.Context, store.Lease) error { return nil }

func (e noDuplicates) Send(ctx context.Context, id wire.SessionID, commands ...store.Command) ([]bool, error) {
	duplicates, err := e.Inbox.Send(ctx, id, commands...)
	return make([]bool, len(duplicates)), err
}

func (e anyCursor) Read(ctx context.Context, id wire.SessionID, after wire.Position, limit int) ([]store.Event, error) {
	ev, err := e.Contents.Read(ctx, id, after, limit)
	if errors.Is(err, store.ErrUnknownPosition) {
		return nil, nil
	}
	return ev, err
}

func (neglects) Unattended(context.Context, int) ([]wire.SessionID, error) { return nil, nil }

func (e anyVersion) Put(ctx context.Context, d store.Document) (uint64, error) {
	if old, err := e.Get(ctx, d.Collection, d.Name); err == nil {
		d.Version = old.Version
	}
	return e.storedDocuments.Put(ctx, d)
}

func (e overTime) Claim(ctx context.Context, id wire.SessionID, r wire.ReplicaID, ttl time.Duration) (store.Lease, error) {
	l, err := e.Leases.Claim(ctx, id, r, 2*ttl)
	l.TTL = ttl
	return l, err
}

func (e halfLoads) Load(ctx context.Context, id wire.SessionID) (store.State, error) {
	s, err := e.Contents.Load(ctx, id)
	delete(s.Tables, "m")
	return s, err
}

func (e fromStart) ReadList(ctx context.Context, id wire.SessionID, list string, from, limit int) (store.ListPage, error) {
	return e.Contents.ReadList(ctx, id, list, max(from, 0), limit)
}

func (e overLimit) Acquire(ctx context.Context, q store.SlotRequest) (store.Slot, error) {
	q.Limit++
	return e.Semaphores.Acquire(ctx, q)
}

func TestModelNoticesDefects(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Engine){
		"renews lost leases":        func(e *Engine) { e.Leases = unfenced{e.Leases} },
		"applies one op of a batch": func(e *Engine) { e.Leases = losesOps{e.Leases} },
		"does not release":          func(e *Engine) { e.Leases = keepsLease{e.Leases} },
		"knows no duplicates":       func(e *Engine) { e.Inbox = noDuplicates{e.Inbox} },
		"takes any cursor":          func(e *Engine) { e.Contents = anyCursor{e.Contents} },
		"neglects sessions":         func(e *Engine) { e.Directory = neglects{e.Directory} },
		"takes any version":         func(e *Engine) { e.Documents = anyVersion{e.Documents} },
		"leases for too long":       func(e *Engine) { e.Leases = overTime{e.Leases} },
		"loads half":                func(e *Engine) { e.Contents = halfLoads{e.Contents} },
		"grants too many slots":     func(e *Engine) { e.Semaphores = overLimit{e.Semaphores} },
		"reads lists from start":    func(e *Engine) { e.Contents = fromStart{e.Contents} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			programs := program()
			for seed := range 200 {
				steps := programs.Example(seed)
				var verdict error
				synctest.Test(t, func(t *testing.T) {
					env := newReference(t, Options{Limits: modelLimits()})
					bad := env.Open(t)
					spoil(&bad)
					env.Open = func(*testing.T) Engine { return bad }
					verdict = play(t, env, steps)
				})
				if verdict != nil {
					return
				}
			}
			t.Error("200 programs found no difference, want one that notices the defect")
		})
	}
}
