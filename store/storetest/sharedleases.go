package storetest

import (
	"errors"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// sharedLeaseChecks cover the lease of an incarnation, which keeps all its sessions of a
// partition.
func sharedLeaseChecks() []check {
	return []check{
		{name: "a shared claim names the incarnation", run: withSharedLeases(sharedClaim)},
		{name: "a shared claim is refused while the incarnation has a live lease", run: withSharedLeases(sharedRefused)},
		{name: "one renewal keeps all sessions", run: withSharedLeases(sharedRenewal)},
		{name: "the end of a shared lease frees all sessions", run: withSharedLeases(sharedExpiry)},
		{name: "a renewal keeps nothing of another incarnation", run: withSharedLeases(sharedOtherIncarnation)},
		{name: "the next incarnation of a replica claims at once", run: withSharedLeases(sharedNextIncarnation)},
		{name: "an incarnation that lost a session keeps the others", run: withSharedLeases(sharedLosesOne)},
		{name: "an expired shared lease is renewed", run: withSharedLeases(sharedRenewedLate)},
		{name: "a released session is not kept by its lease", run: withSharedLeases(sharedRelease)},
		{name: "a claim of a lease of its own ends the shared one", run: withSharedLeases(sharedThenOwn)},
		{name: "unattended follow the shared lease", run: withSharedLeases(sharedUnattended)},
		{name: "unattended follow the shared lease after a quarantine", run: withSharedLeases(sharedQuarantine)},
		{name: "a renewal knows the lease and those of others", run: withSharedLeases(sharedRenewalResult)},
		{name: "an invalid incarnation is refused", run: withSharedLeases(sharedInvalid)},
	}
}

// incarnation returns incarnation n of a replica.
func incarnation(replica wire.ReplicaID, n uint64) store.Incarnation {
	return store.Incarnation{Replica: replica, Number: 1<<52 + 1000*uint64(replica[0]) + n}
}

// sharedLeases is a rig for leases of incarnations.
type sharedLeases struct{ *rig }

func withSharedLeases(run func(sharedLeases)) func(*rig) {
	return func(r *rig) { run(sharedLeases{r}) }
}

// claimShared claims sessions, which it creates unless they exist, and returns their writers.
func (r sharedLeases) claimShared(by store.Incarnation, ttl time.Duration, ids ...wire.SessionID) []*leaseWriter {
	r.Helper()
	var all []*leaseWriter
	for _, id := range ids {
		if _, err := r.Directory.Session(r.ctx, id); errors.Is(err, store.ErrNotFound) {
			r.create(id)
		}
		l, err := r.Leases.ClaimShared(r.ctx, id, by, ttl)
		r.ok(err)
		all = append(all, r.writer(l))
	}
	return all
}

// renewShared renews the lease of an incarnation in all partitions of sessions.
func (r sharedLeases) renewShared(by store.Incarnation, ttl time.Duration, ids ...wire.SessionID) {
	r.Helper()
	for _, id := range ids {
		_, err := r.Leases.RenewShared(r.ctx, by, r.Directory.Partition(id), ttl)
		r.ok(err)
	}
}

// ownedBy fails the check unless a claim of replica "z" is refused in favour of an incarnation.
func (r sharedLeases) ownedBy(id wire.SessionID, by store.Incarnation) {
	r.Helper()
	_, err := r.secondHandle().Leases.ClaimShared(r.ctx, id, incarnation("z", 1), r.long())
	owned, ok := errors.AsType[*store.OwnedError](err)
	if !ok || owned.By != by.Replica || owned.Incarnation != by.Number || owned.For <= 0 {
		r.Fatalf("claim of %s: got error %v (%+v), want that %+v owns it", id, err, owned, by)
	}
}

func sharedClaim(r sharedLeases) {
	r.create("s")
	by := incarnation("a", 1)
	l, err := r.Leases.ClaimShared(r.ctx, "s", by, r.long())
	r.ok(err)
	want := store.Lease{Session: "s", Replica: "a", Epoch: l.Epoch, Incarnation: by.Number, TTL: r.long()}
	if l != want || l.Epoch == 0 {
		r.Fatalf("lease is %+v, want %+v with an epoch", l, want)
	}
	i := r.secondHandle().info("s")
	if i.Owner != "a" || i.Epoch != l.Epoch || i.Top != l.Top() || !i.Until.After(i.Updated) {
		r.Errorf("info is %+v, want owner a, epoch %d and an end after %v", i, l.Epoch, i.Updated)
	}
	r.writer(l).write(1)
}

func sharedRefused(r sharedLeases) {
	by := incarnation("a", 1)
	p := r.claimShared(by, r.long(), "s")[0]
	r.ownedBy("s", by)
	_, err := r.Leases.Claim(r.ctx, "s", "b", r.long())
	r.is(err, store.ErrOwned, "Claim with a lease of its own")
	p.write(1)
}

func sharedRenewal(r sharedLeases) {
	by, ttl := incarnation("a", 1), r.renewed()
	ids := []wire.SessionID{"s", "t", "u"}
	all := r.claimShared(by, ttl, ids...)
	until := r.info("s").Until
	for range 2 {
		r.env.Advance(ttl * 5 / 8)
		r.renewShared(by, ttl, ids...)
	}
	for _, id := range ids {
		r.ownedBy(id, by)
	}
	if got := r.info("s").Until; !got.After(until) {
		r.Errorf("lease is until %v, want later than %v", got, until)
	}
	all[2].write(1)
}

func sharedExpiry(r sharedLeases) {
	ids := []wire.SessionID{"s", "t", "u"}
	all := r.claimShared(incarnation("a", 1), r.short(), ids...)
	r.expire()
	if got := r.info("s").Owner; got != "a" {
		r.Errorf("owner of an expired lease is %q, want a until another replica claims", got)
	}
	other := sharedLeases{r.secondHandle()}
	for i, q := range other.claimShared(incarnation("b", 1), r.long(), ids...) {
		if q.lease.Prev != all[i].top || q.lease.Epoch <= all[i].lease.Epoch {
			r.Errorf("lease is %+v, want one after %+v", q.lease, all[i].lease)
		}
	}
	// The old owner renews too late, and neither that nor its epoch lets it write.
	r.renewShared(incarnation("a", 1), r.long(), ids...)
	for _, p := range all {
		_, err := p.try(p.next(store.Batch{Events: p.frames(1)}))
		r.is(err, store.ErrFenced, "Commit of the old owner")
		r.is(r.Leases.Release(r.ctx, p.lease), store.ErrFenced, "Release of the old owner")
		r.ownedBy(p.lease.Session, incarnation("b", 1))
	}
}

func sharedOtherIncarnation(r sharedLeases) {
	r.claimShared(incarnation("a", 1), r.short(), "s")
	r.claimShared(incarnation("a", 2), r.long(), "t")
	r.renewShared(incarnation("a", 2), r.long(), "s", "t")
	r.ownedBy("t", incarnation("a", 2))
	r.expire()
	r.claimShared(incarnation("b", 1), r.long(), "s")
	r.ownedBy("t", incarnation("a", 2))
}

func sharedNextIncarnation(r sharedLeases) {
	p := r.claimShared(incarnation("a", 1), r.long(), "s")[0]
	q := r.claimShared(incarnation("a", 2), r.short(), "s")[0]
	_, err := p.try(p.next(store.Batch{Events: p.frames(1)}))
	r.is(err, store.ErrFenced, "Commit of the first incarnation")
	q.write(1)
	r.expire() // the live lease of the first incarnation keeps nothing any more
	r.claimShared(incarnation("b", 1), r.long(), "s")
}

func sharedLosesOne(r sharedLeases) {
	by := incarnation("a", 1)
	all := r.claimShared(by, r.short(), "s", "t")
	r.expire()
	sharedLeases{r.secondHandle()}.claimShared(incarnation("b", 1), r.long(), "s")
	r.renewShared(by, r.long(), "s", "t")
	_, err := all[0].try(all[0].next(store.Batch{Events: all[0].frames(1)}))
	r.is(err, store.ErrFenced, "Commit to the lost session")
	all[1].write(1)
	r.ownedBy("s", incarnation("b", 1))
	r.ownedBy("t", by)
}

func sharedRenewedLate(r sharedLeases) {
	by := incarnation("a", 1)
	p := r.claimShared(by, r.short(), "s")[0]
	r.expire()
	p.write(1)
	r.renewShared(by, r.long(), "s")
	r.ownedBy("s", by)
	p.write(1)
	r.ok(r.Lifecycle.Delete(r.ctx, p.lease))
}

func sharedRelease(r sharedLeases) {
	by := incarnation("a", 1)
	all := r.claimShared(by, r.short(), "s", "t")
	r.ok(r.Leases.Release(r.ctx, all[0].lease))
	r.claimShared(incarnation("b", 1), r.long(), "s")
	left := all[1].lease
	left.Heir, left.TTL = "b", r.renewed()
	r.ok(r.Leases.Release(r.ctx, left))
	r.renewShared(by, r.long(), "t")
	_, err := r.Leases.ClaimShared(r.ctx, "t", incarnation("c", 1), r.long())
	if owned, ok := errors.AsType[*store.OwnedError](err); !ok || owned.By != "b" || owned.Incarnation != 0 {
		r.Errorf("claim of a session that is left to b: got error %v (%+v), want that b owns it", err, owned)
	}
	r.env.Advance(r.renewed() + r.env.Unit) // the heir does not come, and the lease of who has left counts no more
	r.claimShared(incarnation("c", 1), r.long(), "t")
}

func sharedThenOwn(r sharedLeases) {
	by := incarnation("a", 1)
	p := r.claimShared(by, r.long(), "s")[0]
	r.ok(r.Leases.Release(r.ctx, p.lease))
	r.claimFor("s", "b", r.short())
	r.expire()
	r.claimFor("s", "a", r.short())
	r.renewShared(by, r.long(), "s")
	r.expire()
	r.claim("s", "c")
}

func sharedUnattended(r sharedLeases) {
	by, ids := incarnation("a", 1), []wire.SessionID{"s", "t"}
	for _, p := range r.claimShared(by, r.long(), append(ids, "idle")...) {
		if p.lease.Session != "idle" {
			p.commit(store.Batch{Working: new(true)})
		}
	}
	kept := r.claimShared(incarnation("b", 1), r.long(), "kept")[0]
	kept.commit(store.Batch{Working: new(true)})
	r.unattended()
	r.renewShared(by, r.short(), ids...)
	r.expire()
	r.unattended("s", "t")
	r.renewShared(by, r.long(), ids...)
	r.unattended()
	r.ownedBy("kept", incarnation("b", 1))
}

func sharedQuarantine(r sharedLeases) {
	by := incarnation("a", 1)
	p := r.claimShared(by, r.short(), "s")[0]
	p.commit(store.Batch{Working: new(true)})
	r.ok(r.Directory.Quarantine(r.ctx, "s", "because"))
	r.renewShared(by, r.long(), "s")
	r.ok(r.Directory.Quarantine(r.ctx, "s", ""))
	r.expire()
	r.unattended()
	r.renewShared(by, r.short(), "s")
	r.expire()
	r.unattended("s")
}

func sharedRenewalResult(r sharedLeases) {
	r.create("s")
	partition := r.Directory.Partition("s")
	renew := func(by store.Incarnation, ttl time.Duration) store.Renewal {
		got, err := r.Leases.RenewShared(r.ctx, by, partition, ttl)
		r.ok(err)
		return got
	}
	a, b, c := incarnation("a", 1), incarnation("b", 1), incarnation("c", 1)
	if got := renew(a, r.renewed()); got.Known || len(got.Live) != 0 {
		r.Errorf("first renewal returns %+v, want an unknown lease and no others", got)
	}
	renew(c, r.long())
	got := renew(b, r.long())
	if got.Known || len(got.Live) != 2 || got.Live[a.Number] <= 0 || got.Live[a.Number] > r.renewed() || got.Live[c.Number] <= r.renewed() {
		r.Errorf("renewal returns %+v, want the leases of %d and %d", got, a.Number, c.Number)
	}
	r.env.Advance(r.renewed() + r.env.Unit)
	if got := renew(b, r.long()); !got.Known || len(got.Live) != 1 || got.Live[c.Number] <= 0 {
		r.Errorf("renewal returns %+v, want a known lease and that of %d", got, c.Number)
	}
	if got := renew(a, r.long()); !got.Known || len(got.Live) != 2 {
		r.Errorf("renewal of an expired lease returns %+v, want a known lease and two others", got)
	}
}

func sharedInvalid(r sharedLeases) {
	p := r.claimShared(incarnation("a", 1), r.long(), "s")[0]
	r.is(r.Leases.Renew(r.ctx, p.lease), store.ErrInvalid, "Renew of a shared lease")
	for _, bad := range []store.Incarnation{{Replica: "a"}, {Replica: "a", Number: 7}, {Replica: "a", Number: 1 << 53}} {
		_, err := r.Leases.ClaimShared(r.ctx, "s", bad, r.long())
		r.is(err, store.ErrInvalid, "ClaimShared")
		_, err = r.Leases.RenewShared(r.ctx, bad, 0, r.long())
		r.is(err, store.ErrInvalid, "RenewShared")
	}
	_, err := r.Leases.RenewShared(r.ctx, incarnation("a", 1), 0, 0)
	r.is(err, store.ErrInvalid, "RenewShared for no time")
	_, err = r.Leases.ClaimShared(r.ctx, "unknown", incarnation("a", 1), r.long())
	r.is(err, store.ErrNotFound, "ClaimShared of an unknown session")
	p.write(1)
}
