package storetest

import (
	"errors"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func quarantineChecks() []check {
	return []check{
		{name: "writes are refused with the reason", run: quarantineRefuses},
		{name: "reads go on", run: quarantineReads},
		{name: "who has the lease may keep it or let it go", run: quarantineLease},
		{name: "lifting it lets the owner go on", run: quarantineLift},
		{name: "other sessions run on", run: quarantineOthers},
		{name: "the reason may change", run: quarantineReason},
		{name: "what is discarded is deleted", run: quarantineDiscard},
		{name: "only what is quarantined is discarded", run: quarantineDiscardOthers},
		{name: "an unknown session is ErrNotFound", run: quarantineUnknown},
	}
}

// isQuarantined fails the check if err is not a *QuarantinedError with the reason.
func (r *rig) isQuarantined(err error, id wire.SessionID, reason string) {
	r.Helper()
	q, ok := errors.AsType[*store.QuarantinedError](err)
	if !ok || !errors.Is(err, store.ErrQuarantined) {
		r.Fatalf("got error %v, want *QuarantinedError", err)
	}
	if q.Session != id || q.Reason != reason {
		r.Fatalf("error is %+v, want reason %q of %s", q, reason, id)
	}
}

// refusesWrites tries every write that a quarantine forbids.
func (p *leaseWriter) refusesWrites(reason string) {
	p.Helper()
	id := p.lease.Session
	_, err := p.Leases.Claim(p.ctx, id, p.lease.Replica, p.long())
	p.isQuarantined(err, id, reason)
	_, err = p.Leases.Claim(p.ctx, id, "other", p.long())
	if !errors.Is(err, store.ErrOwned) {
		p.isQuarantined(err, id, reason)
	}
	_, err = p.try(p.next(store.Batch{Events: p.frames(1)}))
	p.isQuarantined(err, id, reason)
	p.isQuarantined(p.Lifecycle.Delete(p.ctx, p.lease), id, reason)
	_, err = p.Inbox.Send(p.ctx, id, store.Command{ID: "during-quarantine"})
	p.isQuarantined(err, id, reason)
}

func quarantineRefuses(r *rig) {
	p := r.createAndClaim("s", "a")
	p.write(1)
	r.ok(r.Directory.Quarantine(r.ctx, "s", "disk is on fire"))
	before := r.everything("s")
	if got := before.Info.Quarantined; got != "disk is on fire" {
		r.Errorf(`the reason of the quarantine is %q, want "disk is on fire"`, got)
	}
	p.refusesWrites("disk is on fire")
	r.secondHandle().writer(p.lease).refusesWrites("disk is on fire")
	r.same("session", r.everything("s"), before)

	r.create("unclaimed")
	r.ok(r.Directory.Quarantine(r.ctx, "unclaimed", "early"))
	_, err := r.Leases.Claim(r.ctx, "unclaimed", "a", r.long())
	r.isQuarantined(err, "unclaimed", "early")
}

func quarantineReads(r *rig) {
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{Events: p.frames(2), Ops: []store.Op{store.Set("t", "f", nil), store.Push("l", nil)}})
	r.sendAll("s", commands("a"))
	before := r.everything("s")
	r.ok(r.Directory.Quarantine(r.ctx, "s", "because"))
	other := r.secondHandle()
	after := other.everything("s")
	before.Info.Quarantined = "because"
	r.same("session", after, before)
	r.same("tail", other.follow("s", wire.Position{}).events(3), after.Log)
	page, err := other.Contents.ReadList(r.ctx, "s", "l", 0, 1)
	r.ok(err)
	if page.Total != 1 {
		r.Errorf("list has %d items, want 1", page.Total)
	}
	if got := other.walk(store.Query{}, nil); got["s"].Quarantined != "because" {
		r.Errorf(`listing shows %+v, want s quarantined because of "because"`, got)
	}
}

func quarantineLease(r *rig) {
	p := r.createAndClaim("s", "a")
	r.ok(r.Directory.Quarantine(r.ctx, "s", "because"))
	r.ok(r.Leases.Renew(r.ctx, p.lease))
	r.ok(r.Leases.Release(r.ctx, p.lease))
	if got := r.info("s").Owner; got != "" {
		r.Errorf("owner after release is %s, want none", got)
	}
	r.is(r.Leases.Renew(r.ctx, p.lease), store.ErrFenced, "Renew after release")
}

func quarantineLift(r *rig) {
	p := r.createAndClaim("s", "a")
	p.write(1)
	r.ok(r.Directory.Quarantine(r.ctx, "s", "because"))
	_, err := p.try(p.next(store.Batch{Events: p.frames(1)}))
	r.isQuarantined(err, "s", "because")
	r.ok(r.secondHandle().Directory.Quarantine(r.ctx, "s", ""))
	if got := r.info("s").Quarantined; got != "" {
		r.Errorf("the reason of a lifted quarantine is %q, want none", got)
	}
	p.write(1)
	r.sendAll("s", commands("a"))
	r.ok(r.Directory.Quarantine(r.ctx, "s", "")) // lifting without a quarantine
	r.ok(r.Lifecycle.Delete(r.ctx, p.lease))
}

func quarantineOthers(r *rig) {
	p, q := r.createAndClaim("s", "a"), r.createAndClaim("t", "a")
	r.ok(r.Directory.Quarantine(r.ctx, "s", "because"))
	q.write(1)
	r.sendAll("t", commands("a"))
	q = r.writer(r.claim("t", "a"))
	r.ok(r.Lifecycle.Delete(r.ctx, q.lease))
	r.createAndClaim("u", "a").write(1)
	p.refusesWrites("because")
}

func quarantineReason(r *rig) {
	p := r.createAndClaim("s", "a")
	r.ok(r.Directory.Quarantine(r.ctx, "s", "first"))
	r.ok(r.Directory.Quarantine(r.ctx, "s", "sécond: {with} 'everything' \"in\" it"))
	p.refusesWrites("sécond: {with} 'everything' \"in\" it")
}

func quarantineDiscard(r *rig) {
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{
		Events: p.frames(2), Working: new(true), Card: []byte("old"),
		Ops: []store.Op{store.Set("t", "f", nil), store.Push("l", nil), store.Push(store.ColdPrefix+"l", nil)},
	})
	r.sendAll("s", commands("a"))
	f := r.follow("s", p.top)
	r.ok(r.Directory.Quarantine(r.ctx, "s", "because"))
	other := r.secondHandle()
	r.ok(other.Lifecycle.Discard(r.ctx, "s"))
	f.ends(store.ErrNotFound)
	for _, c := range sessionCalls() {
		if c.name != "Create" {
			r.is(c.named(other, "s"), store.ErrNotFound, c.name)
		}
	}
	r.is(r.Leases.Renew(r.ctx, p.lease), store.ErrFenced, "Renew of what was discarded")
	for _, q := range []store.Query{{}, {User: "user"}} {
		if got := other.walk(q, nil); len(got) != 0 {
			r.Errorf("listing shows %v, want nothing", got)
		}
	}
	if !other.deleted(p.lease.Epoch) {
		r.Error("a discarded session counts as lost, want it to count as deleted")
	}
	q := r.createAndClaim("s", "a") // has no data of the discarded session
	if q.lease.Epoch <= p.lease.Epoch || !q.lease.Prev.IsZero() {
		r.Errorf("the new session is claimed as %+v after epoch %d, want a higher epoch and no previous position", q.lease, p.lease.Epoch)
	}
	r.same("state", dropEmpty(r.load("s")), store.State{At: q.lease.Top()})
	q.write(1)
	r.sendAll("s", commands("a"))
	r.unattended()
}

func quarantineDiscardOthers(r *rig) {
	p := r.createAndClaim("s", "a")
	r.is(r.Lifecycle.Discard(r.ctx, "s"), store.ErrConflict, "Discard")
	r.ok(r.Directory.Quarantine(r.ctx, "s", "because"))
	r.ok(r.Directory.Quarantine(r.ctx, "s", ""))
	r.is(r.Lifecycle.Discard(r.ctx, "s"), store.ErrConflict, "Discard of what was lifted")
	p.write(1)
}

func quarantineUnknown(r *rig) {
	r.is(r.Directory.Quarantine(r.ctx, "s", "because"), store.ErrNotFound, "Quarantine")
	r.is(r.Directory.Quarantine(r.ctx, "s", ""), store.ErrNotFound, "Quarantine")
}
