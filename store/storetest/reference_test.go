package storetest

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The model, made an engine by a lock, passes the suite: so checks and model
// say the same, and a failing engine has broken the one contract there is.
func TestModelPassesTheSuite(t *testing.T) {
	t.Parallel()
	Run(t, synctest.Test, newReference)
}

func TestModelAgreesWithItself(t *testing.T) {
	t.Parallel()
	RunModel(t, synctest.Test, newReference)
}

func newReference(t *testing.T, o Options) Env {
	t.Helper()
	e := &reference{model: newModel(o.Limits, time.Now), replicas: map[wire.ReplicaID]store.Replica{}, rates: map[string]*store.RateWindow{}, changed: make(chan struct{})}
	t.Cleanup(func() { _ = e.Close() })
	return Env{
		Open: func(*testing.T) Engine {
			return Engine{
				Lifecycle: e, Leases: e, Contents: e, Inbox: e, Directory: e,
				Replicas: e, Semaphores: e, Rates: e, Documents: e, Service: e,
			}
		},
		Advance: time.Sleep,
		Unit:    time.Minute,
		Virtual: true,
	}
}

// reference is the model behind a lock. Whoever waits looks again whenever
// anything has changed.
type reference struct {
	mu       sync.Mutex
	model    *model
	replicas map[wire.ReplicaID]store.Replica
	rates    map[string]*store.RateWindow
	changed  chan struct{}
	closed   bool
}

// do runs fn alone and wakes all who wait.
func (e *reference) do(ctx context.Context, fn func() error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := fn()
	for _, s := range e.model.sessions {
		for s.log.checkBounds() != nil {
			s.log.kept++
		}
	}
	close(e.changed)
	e.changed = make(chan struct{})
	return err
}

// await looks until there is something to show.
func (e *reference) await(ctx context.Context, look func() (found bool, err error)) error {
	for {
		e.mu.Lock()
		changed, closed := e.changed, e.closed
		var found bool
		err := ctx.Err()
		if err == nil && !closed {
			found, err = look()
		}
		e.mu.Unlock()
		switch {
		case closed:
			return store.ErrClosed
		case found || err != nil:
			return err
		}
		select {
		case <-changed:
		case <-time.After(time.Second): // a lease may have expired
		case <-ctx.Done():
		}
	}
}

func (e *reference) Create(ctx context.Context, s store.NewSession) error {
	return e.do(ctx, func() error { return e.model.create(s) })
}

func (e *reference) Recreate(ctx context.Context, l store.Lease, s store.NewSession) error {
	return e.do(ctx, func() error { return e.model.recreate(l, s) })
}

func (e *reference) Deleted(ctx context.Context, id wire.SessionID, epoch uint64) (yes bool, err error) {
	err = e.do(ctx, func() error { yes, err = e.model.deleted(id, epoch); return err })
	return yes, err
}

func (e *reference) Claim(ctx context.Context, id wire.SessionID, r wire.ReplicaID, ttl time.Duration) (l store.Lease, err error) {
	err = e.do(ctx, func() error { l, err = e.model.claim(id, r, ttl); return err })
	return l, err
}

func (e *reference) Renew(ctx context.Context, l store.Lease) error {
	return e.do(ctx, func() error { return e.model.renew(l) })
}

func (e *reference) ClaimShared(ctx context.Context, id wire.SessionID, by store.Incarnation, ttl time.Duration) (l store.Lease, err error) {
	err = e.do(ctx, func() error { l, err = e.model.claimShared(id, by, ttl); return err })
	return l, err
}

func (e *reference) RenewShared(ctx context.Context, by store.Incarnation, _ int, ttl time.Duration) (r store.Renewal, err error) {
	err = e.do(ctx, func() error { r, err = e.model.renewShared(by, ttl); return err })
	return r, err
}

func (e *reference) Take(ctx context.Context, key string, limit int, window time.Duration) (wait time.Duration, err error) {
	err = e.do(ctx, func() error {
		if err := store.CheckRate(key, limit, window); err != nil {
			return err
		}
		if e.rates[key] == nil {
			e.rates[key] = new(store.RateWindow)
		}
		wait = e.rates[key].Take(time.Now(), limit, window)
		return nil
	})
	return wait, err
}

func (e *reference) Pack(ctx context.Context, l store.Lease) error {
	l.Heir = ""
	return e.Release(ctx, l)
}

func (e *reference) Release(ctx context.Context, l store.Lease) error {
	return e.do(ctx, func() error { return e.model.release(l) })
}

func (e *reference) Commit(ctx context.Context, l store.Lease, b store.Batch) (r store.Receipt, err error) {
	err = e.do(ctx, func() error { r, err = e.model.commit(l, b); return err })
	return r, err
}

func (e *reference) Delete(ctx context.Context, l store.Lease) error {
	return e.do(ctx, func() error { return e.model.delete(l) })
}

func (e *reference) Discard(ctx context.Context, id wire.SessionID) error {
	return e.do(ctx, func() error { return e.model.discard(id) })
}

func (e *reference) Load(ctx context.Context, id wire.SessionID) (s store.State, err error) {
	err = e.do(ctx, func() error { s, err = e.model.load(id); return err })
	return s, err
}

func (e *reference) Read(ctx context.Context, id wire.SessionID, after wire.Position, limit int) (ev []store.Event, err error) {
	err = e.do(ctx, func() error { ev, err = e.model.read(id, after, limit); return err })
	return ev, err
}

func (e *reference) ReadList(ctx context.Context, id wire.SessionID, list string, from, limit int) (p store.ListPage, err error) {
	err = e.do(ctx, func() error { p, err = e.model.readList(id, list, from, limit); return err })
	return p, err
}

func (e *reference) Tail(ctx context.Context, id wire.SessionID, after wire.Position) iter.Seq2[store.News, error] {
	return func(yield func(store.News, error) bool) {
		owned := false
		for {
			var n store.News
			err := e.await(ctx, func() (bool, error) {
				events, err := e.model.read(id, after, 100)
				if err != nil {
					return false, err
				}
				vacant := e.model.sessions[id].info.Owner == ""
				n = store.News{Events: events, Vacant: owned && vacant}
				owned = !vacant
				return len(events) > 0 || n.Vacant, nil
			})
			if !yield(n, err) || err != nil {
				return
			}
			if len(n.Events) > 0 {
				after = n.Events[len(n.Events)-1].At
			}
		}
	}
}

func (e *reference) Send(ctx context.Context, id wire.SessionID, commands ...store.Command) (duplicates []bool, err error) {
	err = e.do(ctx, func() error {
		for _, c := range commands {
			duplicate, _, err := e.model.send(id, c)
			if err != nil {
				return err
			}
			duplicates = append(duplicates, duplicate)
		}
		return nil
	})
	return duplicates, err
}

func (e *reference) Receive(ctx context.Context, l store.Lease) iter.Seq2[[]store.Command, error] {
	return func(yield func([]store.Command, error) bool) {
		shown := map[string]bool{}
		for {
			var fresh []store.Command
			err := e.await(ctx, func() (bool, error) {
				all, err := e.model.received(l)
				for _, c := range all {
					if !shown[c.ID] {
						shown[c.ID] = true
						fresh = append(fresh, c)
					}
				}
				return len(fresh) > 0, err
			})
			if !yield(fresh, err) || err != nil {
				return
			}
		}
	}
}

func (e *reference) Session(ctx context.Context, id wire.SessionID) (i store.Info, err error) {
	err = e.do(ctx, func() error { i, err = e.model.session(id); return err })
	return i, err
}

func (e *reference) Sessions(ctx context.Context, q store.Query) (p store.Page[store.Info], err error) {
	err = e.do(ctx, func() error {
		if err := q.Check(); err != nil {
			return err
		}
		var all []store.Info
		for id, s := range e.model.sessions {
			if (q.User == "" || q.User == s.info.User) && (!q.Quarantined || s.info.Quarantined != "") {
				i, _ := e.model.session(id)
				all = append(all, i)
			}
		}
		if q.Recent {
			p, err = recentPage(all, q)
			return err
		}
		p = page(all, func(i store.Info) string { return string(i.ID) }, q.After, q.Limit)
		return nil
	})
	return p, err
}

// recentPage is a part of the sessions by last change.
func recentPage(all []store.Info, q store.Query) (p store.Page[store.Info], err error) {
	place := func(i store.Info) store.RecentCursor { return store.RecentPlace(i.Updated, i.ID) }
	slices.SortFunc(all, func(a, b store.Info) int {
		if place(a).Before(place(b)) {
			return -1
		}
		return 1
	})
	p.Total = len(all)
	if q.After != "" {
		after, err := store.ParseRecentCursor(q.After)
		if err != nil {
			return p, err
		}
		all = slices.DeleteFunc(all, func(i store.Info) bool { return !after.Before(place(i)) })
	}
	p.Items = all[:min(store.PageLimit(q.Limit), len(all))]
	if len(p.Items) < len(all) {
		p.Next = place(p.Items[len(p.Items)-1]).String()
	}
	return p, nil
}

// page is a part of what is there, in the order of names.
func page[T any](all []T, name func(T) string, after string, limit int) store.Page[T] {
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(name(a), name(b)) })
	i, found := slices.BinarySearchFunc(all, after, func(a T, after string) int { return cmp.Compare(name(a), after) })
	if found {
		i++
	}
	p := store.Page[T]{Items: all[i:min(i+store.PageLimit(limit), len(all))]}
	if i+len(p.Items) < len(all) {
		p.Next = name(p.Items[len(p.Items)-1])
	}
	return p
}

func (e *reference) Unattended(ctx context.Context, limit int) (ids []wire.SessionID, err error) {
	err = e.do(ctx, func() error { ids = e.model.unattended(); return nil })
	return ids[:min(len(ids), store.PageLimit(limit))], err
}

func (e *reference) Partition(wire.SessionID) int { return 0 }

func (e *reference) Quarantine(ctx context.Context, id wire.SessionID, reason string) error {
	return e.do(ctx, func() error { return e.model.setQuarantine(id, reason) })
}

func (e *reference) Announce(ctx context.Context, r store.Replica, ttl time.Duration) error {
	return e.do(ctx, func() error {
		if err := cmp.Or(r.ID.Validate(), store.CheckTTL(ttl)); err != nil {
			return err
		}
		r.Until = time.Now().Add(ttl)
		e.replicas[r.ID] = r
		return nil
	})
}

func (e *reference) Withdraw(ctx context.Context, id wire.ReplicaID) error {
	return e.do(ctx, func() error { delete(e.replicas, id); return nil })
}

func (e *reference) Replicas(ctx context.Context, after string, limit int) (p store.Page[store.Replica], err error) {
	err = e.do(ctx, func() error {
		var all []store.Replica
		for _, r := range e.replicas {
			if r.Until.After(time.Now()) {
				all = append(all, r)
			}
		}
		p = page(all, func(r store.Replica) string { return string(r.ID) }, after, limit)
		return nil
	})
	return p, err
}

func (e *reference) Acquire(ctx context.Context, q store.SlotRequest) (store.Slot, error) {
	slot := store.Slot{Semaphore: q.Semaphore, Holder: q.Holder, TTL: q.TTL}
	granted := false
	err := e.do(ctx, func() (err error) { granted, err = e.model.acquire(q); return err })
	if err != nil || granted {
		return slot, err
	}
	err = e.await(ctx, func() (bool, error) {
		e.model.grantWaiting(q.Semaphore)
		_, ok := e.model.semaphore(q.Semaphore).held[q.Holder]
		return ok, nil
	})
	if err != nil {
		// One that was granted all the same is let go.
		_ = e.do(context.WithoutCancel(ctx), func() error {
			e.model.removeWaiter(q.Semaphore, q.Holder)
			e.model.releaseSlot(slot)
			return nil
		})
	}
	return slot, err
}

func (e *reference) RenewSlot(ctx context.Context, s store.Slot) error {
	return e.do(ctx, func() error { return e.model.renewSlot(s) })
}

func (e *reference) ReleaseSlot(ctx context.Context, s store.Slot) error {
	return e.do(ctx, func() error { e.model.releaseSlot(s); e.model.grantWaiting(s.Semaphore); return nil })
}

func (e *reference) Slots(ctx context.Context, name string) (u store.SlotUse, err error) {
	err = e.do(ctx, func() error { u = e.model.slots(name); return nil })
	return u, err
}

func (e *reference) Get(ctx context.Context, c, n string) (d store.Document, err error) {
	err = e.do(ctx, func() error { d, err = e.model.get(c, n); return err })
	return d, err
}

func (e *reference) Put(ctx context.Context, d store.Document) (v uint64, err error) {
	err = e.do(ctx, func() error { v, err = e.model.put(d); return err })
	return v, err
}

func (e *reference) Remove(ctx context.Context, c, n string, version uint64) error {
	return e.do(ctx, func() error { return e.model.remove(c, n, version) })
}

func (e *reference) Documents(ctx context.Context, c, after string, limit int) (p store.Page[store.Document], err error) {
	err = e.do(ctx, func() error {
		p = page(e.model.collection(c), func(d store.Document) string { return d.Name }, after, limit)
		return nil
	})
	return p, err
}

func (e *reference) Ready(ctx context.Context) error { return e.do(ctx, func() error { return nil }) }

func (e *reference) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.closed = true
		close(e.changed)
	}
	return nil
}
