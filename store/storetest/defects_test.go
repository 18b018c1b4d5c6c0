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

// Each of these engines breaks one promise. A suite that does not notice is no
// suite.
type (
	unfenced     struct{ Engine }
	losesOps     struct{ Engine }
	keepsLease   struct{ Engine }
	noDuplicates struct{ Engine }
	anyCursor    struct{ Engine }
	neglects     struct{ Engine }
	anyVersion   struct{ Engine }
	overTime     struct{ Engine }
	halfLoads    struct{ Engine }
	overLimit    struct{ Engine }
	fromStart    struct{ Engine }
)

func (e unfenced) Renew(ctx context.Context, l store.Lease) error {
	if err := e.Engine.Renew(ctx, l); !errors.Is(err, store.ErrFenced) {
		return err
	}
	return nil
}

func (e losesOps) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	b.Ops = b.Ops[:min(len(b.Ops), 1)]
	return e.Engine.Commit(ctx, l, b)
}

func (keepsLease) Release(context.Context, store.Lease) error { return nil }

func (e noDuplicates) Send(ctx context.Context, id wire.SessionID, c store.Command) (bool, error) {
	_, err := e.Engine.Send(ctx, id, c)
	return false, err
}

func (e anyCursor) Read(ctx context.Context, id wire.SessionID, after wire.Position, limit int) ([]store.Event, error) {
	ev, err := e.Engine.Read(ctx, id, after, limit)
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
	return e.Engine.Put(ctx, d)
}

func (e overTime) Claim(ctx context.Context, id wire.SessionID, r wire.ReplicaID, ttl time.Duration) (store.Lease, error) {
	l, err := e.Engine.Claim(ctx, id, r, 2*ttl)
	l.TTL = ttl
	return l, err
}

func (e halfLoads) Load(ctx context.Context, id wire.SessionID) (store.State, error) {
	s, err := e.Engine.Load(ctx, id)
	delete(s.Tables, "m")
	return s, err
}

func (e fromStart) ReadList(ctx context.Context, id wire.SessionID, list string, from, limit int) (store.ListPage, error) {
	return e.Engine.ReadList(ctx, id, list, max(from, 0), limit)
}

func (e overLimit) Acquire(ctx context.Context, q store.SlotRequest) (store.Slot, error) {
	q.Limit++
	return e.Engine.Acquire(ctx, q)
}

func TestModelNoticesDefects(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(Engine) Engine{
		"renews lost leases":        func(e Engine) Engine { return unfenced{e} },
		"applies one op of a batch": func(e Engine) Engine { return losesOps{e} },
		"does not release":          func(e Engine) Engine { return keepsLease{e} },
		"knows no duplicates":       func(e Engine) Engine { return noDuplicates{e} },
		"takes any cursor":          func(e Engine) Engine { return anyCursor{e} },
		"neglects sessions":         func(e Engine) Engine { return neglects{e} },
		"takes any version":         func(e Engine) Engine { return anyVersion{e} },
		"leases for too long":       func(e Engine) Engine { return overTime{e} },
		"loads half":                func(e Engine) Engine { return halfLoads{e} },
		"grants too many slots":     func(e Engine) Engine { return overLimit{e} },
		"reads lists from start":    func(e Engine) Engine { return fromStart{e} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			programs := program()
			for seed := range 200 {
				steps := programs.Example(seed)
				var verdict error
				synctest.Test(t, func(t *testing.T) {
					env := newReference(t, Options{Limits: modelLimits()})
					good := env.Open(t)
					env.Open = func(*testing.T) Engine { return spoil(good) }
					verdict = play(t, env, steps)
				})
				if verdict != nil {
					return
				}
			}
			t.Error("200 programs noticed nothing")
		})
	}
}
