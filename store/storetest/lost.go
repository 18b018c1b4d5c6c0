package storetest

import (
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// lostChecks cover sessions that the store lost; to the store they are like sessions that
// never existed.
func lostChecks() []check {
	return []check{
		{name: "a lost session is recreated", run: lostRecreated},
		{name: "a recreated session has an owner", run: lostOwned},
		{name: "a deleted session is not recreated", run: lostOrDeleted},
		{name: "Recreate refuses bad arguments", run: lostInvalid},
	}
}

// lostLease returns a lease of a session that was lost, from a store whose clock was ahead.
func (r *rig) lostLease(id wire.SessionID, replica wire.ReplicaID) store.Lease {
	return store.Lease{
		Session: id, Replica: replica, TTL: r.long(),
		Epoch: store.NextEpoch(0, time.Now().Add(time.Hour)),
	}
}

// deleted returns the result of Deleted for session s.
func (r *rig) deleted(epoch uint64) bool {
	r.Helper()
	yes, err := r.Lifecycle.Deleted(r.ctx, "s", epoch)
	r.ok(err)
	return yes
}

func lostRecreated(r *rig) {
	l := r.lostLease("s", "a")
	if r.deleted(l.Epoch) {
		r.Error("a lost session counts as deleted, want it not to")
	}
	r.ok(r.Lifecycle.Recreate(r.ctx, l, store.NewSession{ID: "s", User: "user", Card: []byte("card")}))
	i := r.info("s")
	r.same("info", i, store.Info{
		ID: "s", User: "user", Card: []byte("card"), Created: i.Created, Updated: i.Updated, Owner: "a", Epoch: l.Epoch, Until: i.Until,
	})
	r.same("state", dropEmpty(r.load("s")), store.State{})
	if got := r.walk(store.Query{User: "user"}, nil); len(got) != 1 {
		r.Errorf("listing shows %v, want the session", got)
	}
	r.is(r.Lifecycle.Recreate(r.ctx, l, store.NewSession{ID: "s", User: "user"}), store.ErrExists, "Recreate of a session that exists")
	// The next batch of the owner is a gap.
	_, err := r.Leases.Commit(r.ctx, l, store.Batch{Number: 8, Prev: wire.Position{Epoch: l.Epoch, Seq: 5}, Events: r.writer(l).frames(1)})
	r.isGap(err, wire.Position{}, 0)
	p := r.writer(r.claim("s", "a"))
	if p.lease.Epoch <= l.Epoch || !p.lease.Prev.IsZero() {
		r.Errorf("the claim is %+v after epoch %d, want a higher epoch and no previous position", p.lease, l.Epoch)
	}
	p.write(3)
	if got := r.secondHandle().read("s"); len(got) != 4 {
		r.Errorf("log has %d events, want 4", len(got))
	}
	_, err = r.Contents.Read(r.ctx, "s", wire.Position{Epoch: l.Epoch, Seq: 5}, 10)
	r.is(err, store.ErrTrimmed, "Read after a lost position")
}

func lostOwned(r *rig) {
	l := r.lostLease("s", "a")
	l.TTL = r.short()
	r.ok(r.Lifecycle.Recreate(r.ctx, l, store.NewSession{ID: "s", User: "user"}))
	r.ok(r.Lifecycle.Recreate(r.ctx, r.lostLease("held", "a"), store.NewSession{ID: "held", User: "user"}))
	_, err := r.Leases.Claim(r.ctx, "held", "b", r.long())
	r.is(err, store.ErrOwned, "Claim by another")
	r.expire()
	if b := r.claim("s", "b"); b.Epoch <= l.Epoch {
		r.Errorf("epoch is %d, want more than %d", b.Epoch, l.Epoch)
	}
	r.is(r.Leases.Renew(r.ctx, l), store.ErrFenced, "Renew of the former owner")
}

func lostOrDeleted(r *rig) {
	p, q := r.createAndClaim("s", "a"), r.createAndClaim("other", "a")
	if r.deleted(p.lease.Epoch) {
		r.Error("a session that exists counts as deleted, want it not to")
	}
	r.ok(r.Lifecycle.Delete(r.ctx, p.lease))
	other := r.secondHandle()
	if !other.deleted(p.lease.Epoch) {
		r.Error("a deleted session counts as lost, want it to count as deleted")
	}
	if later := r.lostLease("s", "a"); other.deleted(later.Epoch) {
		r.Error("a session that was claimed later counts as deleted, want it not to")
	}
	n := store.NewSession{ID: "s", User: "user"}
	r.is(other.Lifecycle.Recreate(r.ctx, p.lease, n), store.ErrNotFound, "Recreate after a deletion")
	_, err := r.Directory.Session(r.ctx, "s")
	r.is(err, store.ErrNotFound, "Session after a deletion")
	q.write(1)
}

func lostInvalid(r *rig) {
	l := r.lostLease("s", "a")
	n := store.NewSession{ID: "other", User: "user"}
	r.is(r.Lifecycle.Recreate(r.ctx, l, n), store.ErrInvalid, "Recreate of another session")
	n.ID, l.Epoch = "s", 0
	r.is(r.Lifecycle.Recreate(r.ctx, l, n), store.ErrInvalid, "Recreate without an epoch")
	l = r.lostLease("s", "a")
	l.TTL = 0
	r.is(r.Lifecycle.Recreate(r.ctx, l, n), store.ErrInvalid, "Recreate with a TTL of 0")
	l = r.lostLease("s", "a:b")
	r.is(r.Lifecycle.Recreate(r.ctx, l, n), wire.ErrID, "Recreate by a replica with a bad id")
	l, n.User = r.lostLease("s", "a"), ""
	r.is(r.Lifecycle.Recreate(r.ctx, l, n), store.ErrInvalid, "Recreate without a user")
	_, err := r.Directory.Session(r.ctx, "s")
	r.is(err, store.ErrNotFound, "Session that was not recreated")
}
