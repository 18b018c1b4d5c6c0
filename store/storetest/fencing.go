package storetest

import (
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
)

// fencingChecks try every write with every kind of stale lease.
func fencingChecks() []check {
	lost := []struct {
		name string
		lose func(r *rig, l store.Lease)
	}{
		{"released", func(r *rig, l store.Lease) { r.ok(r.Leases.Release(r.ctx, l)) }},
		{"packed", func(r *rig, l store.Lease) { r.ok(r.Lifecycle.Pack(r.ctx, l)) }},
		{"released and taken", func(r *rig, l store.Lease) {
			r.ok(r.Leases.Release(r.ctx, l))
			r.secondHandle().claim(l.Session, "b")
		}},
		{"expired and taken", func(r *rig, l store.Lease) {
			r.expire()
			r.secondHandle().claim(l.Session, "b")
		}},
		{"claimed again by the same replica", func(r *rig, l store.Lease) { r.claim(l.Session, l.Replica) }},
		{"deleted", func(r *rig, l store.Lease) { r.ok(r.Lifecycle.Delete(r.ctx, l)) }},
		{"deleted and created again", func(r *rig, l store.Lease) {
			r.ok(r.Lifecycle.Delete(r.ctx, l))
			r.create(l.Session)
		}},
	}
	writes := []struct {
		name string
		call func(p *leaseWriter) error
	}{
		{"commit", func(p *leaseWriter) error {
			_, err := p.try(p.next(store.Batch{Events: p.frames(1), Ops: []store.Op{store.Set("t", "f", []byte("stale"))}}))
			return err
		}},
		{"commit of a wrong number", func(p *leaseWriter) error {
			b := p.next(store.Batch{Events: p.frames(1)})
			b.Number += 7
			_, err := p.try(b)
			return err
		}},
		{"commit of the last batch again", func(p *leaseWriter) error {
			_, err := p.try(store.Batch{Number: p.number, Prev: p.lease.Top(), Events: p.frames(1)})
			return err
		}},
		{"renew", func(p *leaseWriter) error { return p.Leases.Renew(p.ctx, p.lease) }},
		{"release", func(p *leaseWriter) error { return p.Leases.Release(p.ctx, p.lease) }},
		{"pack", func(p *leaseWriter) error { return p.Lifecycle.Pack(p.ctx, p.lease) }},
		{"delete", func(p *leaseWriter) error { return p.Lifecycle.Delete(p.ctx, p.lease) }},
		{"receive", func(p *leaseWriter) error {
			for _, err := range p.Inbox.Receive(p.ctx, p.lease) {
				return err
			}
			return nil
		}},
	}
	var checks []check
	for _, l := range lost {
		for _, w := range writes {
			checks = append(checks, check{name: w.name + " with a lease " + l.name, run: func(r *rig) {
				r.create("s")
				p := r.writer(r.claimFor("s", "a", r.short()))
				p.commit(store.Batch{Events: p.frames(1), Ops: []store.Op{store.Set("t", "f", []byte("good"))}})
				l.lose(r, p.lease)
				before := r.everything("s")
				r.is(w.call(p), store.ErrFenced, w.name)
				r.same("after a fenced write", r.everything("s"), before)
			}})
		}
	}
	return slices.Concat(checks, []check{
		{name: "a made-up epoch is fenced", run: madeUpEpoch},
		{name: "the epoch alone is no proof", run: epochOfAnother},
	})
}

func madeUpEpoch(r *rig) {
	p := r.createAndClaim("s", "a")
	for _, epoch := range []uint64{0, 1, p.lease.Epoch - 1, p.lease.Epoch + 1, 1 << 62} {
		l := p.lease
		l.Epoch = epoch
		r.is(r.Leases.Renew(r.ctx, l), store.ErrFenced, "Renew")
		_, err := r.writer(l).try(store.Batch{Number: 1, Prev: l.Top(), Events: p.frames(1)})
		r.is(err, store.ErrFenced, "Commit")
	}
	p.write(1)
}

func epochOfAnother(r *rig) {
	p := r.createAndClaim("s", "a")
	l := p.lease
	l.Replica = "b"
	l.TTL = time.Hour
	r.is(r.Leases.Renew(r.ctx, l), store.ErrFenced, "Renew")
	r.is(r.Leases.Release(r.ctx, l), store.ErrFenced, "Release")
	r.is(r.Lifecycle.Delete(r.ctx, l), store.ErrFenced, "Delete")
	p.write(1)
}
