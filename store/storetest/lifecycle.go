package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func lifecycleChecks() []check {
	checks := []check{
		{name: "a new store is ready", run: func(r *rig) { r.ok(r.Service.Ready(r.ctx)) }},
		{name: "deletion removes everything", run: deletionRemoves},
		{name: "a deleted id begins anew", run: deletionBeginsAnew},
		{name: "deletion leaves others alone", run: deletionLeavesOthers},
		{name: "closing ends those who wait", run: closeEndsWaiting},
		{name: "a bad session is not created", run: createInvalid, opts: Options{Limits: store.Limits{DocumentBytes: 100}}},
		{name: "a bad claim is refused", run: claimInvalid},
		{name: "any valid id is good", run: createAnyID},
	}
	for _, c := range calls() {
		checks = append(checks,
			check{name: c.name + " on a closed store is ErrClosed", run: func(r *rig) {
				p := r.createAndClaim("s", "a")
				r.ok(r.Service.Close())
				r.is(c.call(r.ctx, p), store.ErrClosed, c.name)
			}},
			check{name: c.name + " with a cancelled context says so", run: func(r *rig) {
				p := r.createAndClaim("s", "a")
				ctx, cancel := context.WithCancel(r.ctx)
				cancel()
				r.is(c.call(ctx, p), context.Canceled, c.name)
			}})
		if c.named != nil {
			checks = append(checks, check{name: c.name + " of a bad id is ErrID", run: func(r *rig) {
				for _, id := range []wire.SessionID{"", "a b", "a:b", "a/b", "{a}", "ü", "a\n", "0123456789012345678901234567890123456789012345678901234567890123456789"} {
					r.is(c.named(r, id), wire.ErrID, fmt.Sprintf("%s of %q", c.name, id))
				}
			}})
		}
	}
	return checks
}

// call is one method, called with any session if it takes one.
type call struct {
	name  string
	call  func(ctx context.Context, p *leaseWriter) error
	named func(r *rig, id wire.SessionID) error
}

func calls() []call {
	return append(sessionCalls(), []call{
		{"Renew", func(ctx context.Context, p *leaseWriter) error { return p.Leases.Renew(ctx, p.lease) }, nil},
		{"Release", func(ctx context.Context, p *leaseWriter) error { return p.Leases.Release(ctx, p.lease) }, nil},
		{"Delete", func(ctx context.Context, p *leaseWriter) error { return p.Lifecycle.Delete(ctx, p.lease) }, nil},
		{"Commit", func(ctx context.Context, p *leaseWriter) error {
			_, err := p.Leases.Commit(ctx, p.lease, p.next(store.Batch{Events: p.frames(1)}))
			return err
		}, nil},
		{"Receive", func(ctx context.Context, p *leaseWriter) error {
			for _, err := range p.Inbox.Receive(ctx, p.lease) {
				return err
			}
			return errEnded
		}, nil},
		{"Recreate", func(ctx context.Context, p *leaseWriter) error {
			return p.Lifecycle.Recreate(ctx, p.lostLease("new", "a"), store.NewSession{ID: "new", User: "u"})
		}, func(r *rig, id wire.SessionID) error {
			return r.Lifecycle.Recreate(r.ctx, r.lostLease(id, "a"), store.NewSession{ID: id, User: "u"})
		}},
		{"Deleted", func(ctx context.Context, p *leaseWriter) error {
			_, err := p.Lifecycle.Deleted(ctx, "s", 1)
			return err
		}, func(r *rig, id wire.SessionID) error {
			_, err := r.Lifecycle.Deleted(r.ctx, id, 1)
			return err
		}},
		{"Sessions", func(ctx context.Context, p *leaseWriter) error {
			_, err := p.Directory.Sessions(ctx, store.Query{})
			return err
		}, nil},
		{"Unattended", func(ctx context.Context, p *leaseWriter) error { _, err := p.Directory.Unattended(ctx, 1); return err }, nil},
		{"Announce", func(ctx context.Context, p *leaseWriter) error {
			return p.Replicas.Announce(ctx, store.Replica{ID: "a"}, p.long())
		}, nil},
		{"Withdraw", func(ctx context.Context, p *leaseWriter) error { return p.Replicas.Withdraw(ctx, "a") }, nil},
		{"Replicas", func(ctx context.Context, p *leaseWriter) error { _, err := p.Replicas.Replicas(ctx, "", 1); return err }, nil},
		{"Acquire", func(ctx context.Context, p *leaseWriter) error {
			_, err := p.Semaphores.Acquire(ctx, p.ask("h", "k", 1))
			return err
		}, nil},
		{"Acquire that waits", func(ctx context.Context, p *leaseWriter) error {
			q := p.ask("h", "k", 1)
			q.Wait = true
			_, err := p.Semaphores.Acquire(ctx, q)
			return err
		}, nil},
		{"RenewSlot", func(ctx context.Context, p *leaseWriter) error {
			return p.Semaphores.RenewSlot(ctx, store.Slot{Semaphore: "sem", Holder: "h", TTL: p.long()})
		}, nil},
		{"ReleaseSlot", func(ctx context.Context, p *leaseWriter) error {
			return p.Semaphores.ReleaseSlot(ctx, store.Slot{Semaphore: "sem", Holder: "h", TTL: p.long()})
		}, nil},
		{"Slots", func(ctx context.Context, p *leaseWriter) error { _, err := p.Semaphores.Slots(ctx, "sem"); return err }, nil},
		{"Get", func(ctx context.Context, p *leaseWriter) error { _, err := p.Documents.Get(ctx, "c", "n"); return err }, nil},
		{"Put", func(ctx context.Context, p *leaseWriter) error {
			_, err := p.Documents.Put(ctx, store.Document{Collection: "c", Name: "n"})
			return err
		}, nil},
		{"Remove", func(ctx context.Context, p *leaseWriter) error { return p.Documents.Remove(ctx, "c", "n", 1) }, nil},
		{"Documents", func(ctx context.Context, p *leaseWriter) error {
			_, err := p.Documents.Documents(ctx, "c", "", 1)
			return err
		}, nil},
		{"Ready", func(ctx context.Context, p *leaseWriter) error { return p.Service.Ready(ctx) }, nil},
	}...)
}

// sessionCalls are the methods that take a session id.
func sessionCalls() []call {
	type method struct {
		name string
		call func(ctx context.Context, r *rig, id wire.SessionID) error
	}
	var out []call
	for _, m := range []method{
		{"Create", func(ctx context.Context, r *rig, id wire.SessionID) error {
			return r.Lifecycle.Create(ctx, store.NewSession{ID: id, User: "u"})
		}},
		{"Claim", func(ctx context.Context, r *rig, id wire.SessionID) error {
			_, err := r.Leases.Claim(ctx, id, "a", r.long())
			return err
		}},
		{"Load", func(ctx context.Context, r *rig, id wire.SessionID) error {
			_, err := r.Contents.Load(ctx, id)
			return err
		}},
		{"Read", func(ctx context.Context, r *rig, id wire.SessionID) error {
			_, err := r.Contents.Read(ctx, id, wire.Position{}, 1)
			return err
		}},
		{"ReadList", func(ctx context.Context, r *rig, id wire.SessionID) error {
			_, err := r.Contents.ReadList(ctx, id, "l", 0, 1)
			return err
		}},
		{"Tail", func(ctx context.Context, r *rig, id wire.SessionID) error {
			for _, err := range r.Contents.Tail(ctx, id, wire.Position{}) {
				return err
			}
			return errEnded
		}},
		{"Send", func(ctx context.Context, r *rig, id wire.SessionID) error {
			_, err := r.Inbox.Send(ctx, id, store.Command{ID: "c"})
			return err
		}},
		{"Session", func(ctx context.Context, r *rig, id wire.SessionID) error {
			_, err := r.Directory.Session(ctx, id)
			return err
		}},
		{"Quarantine", func(ctx context.Context, r *rig, id wire.SessionID) error {
			return r.Directory.Quarantine(ctx, id, "because")
		}},
		{"Discard", func(ctx context.Context, r *rig, id wire.SessionID) error { return r.Lifecycle.Discard(ctx, id) }},
	} {
		out = append(out, call{
			name:  m.name,
			call:  func(ctx context.Context, p *leaseWriter) error { return m.call(ctx, p.rig, "s") },
			named: func(r *rig, id wire.SessionID) error { return m.call(r.ctx, r, id) },
		})
	}
	return out
}

func deletionRemoves(r *rig) {
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{Events: p.frames(2), Working: new(true), Ops: []store.Op{store.Set("t", "f", nil), store.Push("l", nil)}})
	r.sendAll("s", commands("a"))
	r.ok(r.Leases.Release(r.ctx, p.lease))
	r.unattended("s")
	l := r.claim("s", "a")
	r.ok(r.Lifecycle.Delete(r.ctx, l))
	other := r.secondHandle()
	for _, c := range sessionCalls() {
		if c.name == "Create" {
			continue
		}
		r.is(c.named(other, "s"), store.ErrNotFound, c.name)
	}
	for _, q := range []store.Query{{}, {User: "user"}} {
		if got := other.walk(q, nil); len(got) != 0 {
			r.Errorf("listing shows %v, want nothing", got)
		}
	}
	r.unattended()
}

func deletionBeginsAnew(r *rig) {
	p := r.createAndClaim("s", "a")
	r.sendAll("s", commands("consumed", "waiting"))
	p.commit(store.Batch{
		Events: p.frames(2), Working: new(true), Card: []byte("old"), Consumed: []string{"consumed"},
		Ops: []store.Op{store.Set("t", "f", nil), store.Push("l", nil), store.Push(store.ColdPrefix+"l", nil)},
	})
	r.ok(r.Lifecycle.Delete(r.ctx, p.lease))
	r.ok(r.Lifecycle.Create(r.ctx, store.NewSession{ID: "s", User: "heir"}))
	i := r.info("s")
	r.same("info", i, store.Info{ID: "s", User: "heir", Created: i.Created, Updated: i.Updated, Until: i.Until})
	if got := r.walk(store.Query{User: "user"}, nil); len(got) != 0 {
		r.Errorf("the former user still has %v, want nothing", got)
	}
	r.same("state", dropEmpty(r.load("s")), store.State{})
	q := r.writer(r.claim("s", "a"))
	if !q.lease.Prev.IsZero() {
		r.Errorf("first claim follows %v, want no previous position", q.lease.Prev)
	}
	if got := r.read("s"); len(got) != 1 {
		r.Errorf("log is %v, want one claim", got)
	}
	page, err := r.Contents.ReadList(r.ctx, "s", store.ColdPrefix+"l", 0, 1)
	r.ok(err)
	r.same("cold list", page, store.ListPage{})
	r.sendAll("s", commands("consumed")) // a new command for the new session
	r.same("inbox", r.inbox(q.lease, 1), commands("consumed"))
	_, err = r.Contents.Read(r.ctx, "s", p.top, 10)
	r.is(err, store.ErrTrimmed, "Read after a position of the former life")
}

func deletionLeavesOthers(r *rig) {
	p, q := r.createAndClaim("s", "a"), r.createAndClaim("s-2", "a")
	q.commit(store.Batch{Events: q.frames(1), Ops: []store.Op{store.Set("t", "f", []byte("v"))}})
	before := r.everything("s-2")
	r.ok(r.Lifecycle.Delete(r.ctx, p.lease))
	r.same("the other session", r.everything("s-2"), before)
	q.write(1)
}

func closeEndsWaiting(r *rig) {
	p := r.createAndClaim("s", "a")
	r.take(r.ask("h", "k", 1))
	f, v := r.follow("s", p.top), r.receiver(p.lease)
	r.sendAll("s", commands("a"))
	v.next(1)
	p.write(1)
	f.events(1)
	waiting := make(chan error, 1)
	go func() {
		q := r.ask("i", "k", 1)
		q.Wait = true
		_, err := r.Semaphores.Acquire(r.ctx, q)
		waiting <- err
	}()
	r.eventually("a request waits", func() bool {
		u, err := r.Semaphores.Slots(r.ctx, "sem")
		r.ok(err)
		return u.Waiting == 1
	})
	r.ok(r.Service.Close())
	f.ends(store.ErrClosed)
	v.ends(store.ErrClosed)
	select {
	case err := <-waiting:
		r.is(err, store.ErrClosed, "Acquire")
	case <-r.ctx.Done():
		r.Fatal("Acquire waits after Close, want it to end with ErrClosed")
	}
}

func createInvalid(r *rig) {
	for _, user := range []string{"", "a\nb"} {
		r.is(r.Lifecycle.Create(r.ctx, store.NewSession{ID: "s", User: user}), store.ErrInvalid, "Create for a bad user")
	}
	big := store.NewSession{ID: "s", User: "u", Card: make([]byte, 101)}
	r.is(r.Lifecycle.Create(r.ctx, big), store.ErrTooLarge, "Create with a card of 101 bytes of 100")
	if got := r.walk(store.Query{}, nil); len(got) != 0 {
		r.Errorf("listing shows %v, want nothing", got)
	}
	big.Card = big.Card[:100]
	r.ok(r.Lifecycle.Create(r.ctx, big))
}

func claimInvalid(r *rig) {
	r.create("s")
	_, err := r.Leases.Claim(r.ctx, "s", "a:b", r.long())
	r.is(err, wire.ErrID, "Claim by a bad replica")
	for _, ttl := range []time.Duration{0, -1} {
		_, err = r.Leases.Claim(r.ctx, "s", "a", ttl)
		r.is(err, store.ErrInvalid, "Claim for no time")
	}
	if i := r.info("s"); i.Owner != "" || i.Epoch != 0 {
		r.Errorf("info is %+v after refused claims, want no owner and epoch 0", i)
	}
}

func createAnyID(r *rig) {
	for _, id := range []wire.SessionID{"-", "_", "0", "A-z_0", "a", "A", "0123456789012345678901234567890123456789012345678901234567890123"} {
		r.createAndClaim(id, wire.ReplicaID(id)).write(1)
	}
	if got := len(r.walk(store.Query{}, nil)); got != 7 {
		r.Errorf("listing shows %d sessions, want 7", got)
	}
}
