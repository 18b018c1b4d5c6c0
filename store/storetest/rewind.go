package storetest

import (
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// rewindChecks require [Env.Checkpoint].
func rewindChecks() []check {
	return []check{
		{name: "an owner learns that the store forgot a batch", run: rewindOwner},
		{name: "lost positions are not used again", run: rewindPositions},
		{name: "a store that forgot a claim fences its lease", run: rewindClaim},
		{name: "a tail learns that the store forgot what it showed", run: rewindTail},
	}
}

func rewindOwner(r *rig) {
	p := r.createAndClaim("s", "a")
	kept := p.write(2).Top
	restore := r.env.Checkpoint(r.T)
	p.write(3)
	r = r.withEngine(restore(r.T))
	p = r.resume(p)
	_, err := p.try(p.next(store.Batch{Events: p.frames(1)}))
	r.isGap(err, kept, 1)
	_, err = p.try(store.Batch{Number: 2, Prev: p.top, Events: p.frames(1)})
	r.isGap(err, kept, 1)
	l := r.claim("s", "a")
	if l.Prev != kept {
		r.Errorf("claim says the log ended at %v, want %v", l.Prev, kept)
	}
	r.writer(l).write(1)
}

func rewindPositions(r *rig) {
	p := r.createAndClaim("s", "a")
	kept := p.write(2).Top
	restore := r.env.Checkpoint(r.T)
	lost := p.write(3).Top
	q := r.writer(r.claim("s", "a"))
	lostToo := q.write(1).Top
	r.env.Advance(r.env.Unit)
	r = r.withEngine(restore(r.T))
	for _, at := range []wire.Position{lost, lostToo} {
		_, err := r.Contents.Read(r.ctx, "s", at, 10)
		r.is(err, store.ErrAhead, "Read after a lost position")
	}
	l := r.claim("s", "a")
	if l.Epoch <= q.lease.Epoch {
		r.Errorf("epoch is %d, want more than the lost %d", l.Epoch, q.lease.Epoch)
	}
	for _, at := range []wire.Position{lost, lostToo, q.lease.Top()} {
		_, err := r.Contents.Read(r.ctx, "s", at, 10)
		r.is(err, store.ErrUnknownPosition, "Read after a lost position")
	}
	if got := r.readAfter("s", kept); len(got) != 1 || got[0].At != l.Top() {
		r.Errorf("log after %v is %v, want the claim at %v", kept, got, l.Top())
	}
}

func rewindClaim(r *rig) {
	p := r.createAndClaim("s", "a")
	r.ok(r.Leases.Release(r.ctx, p.lease))
	restore := r.env.Checkpoint(r.T)
	l := r.claim("s", "b")
	r = r.withEngine(restore(r.T))
	r.is(r.Leases.Renew(r.ctx, l), store.ErrFenced, "Renew")
	_, err := r.writer(l).try(store.Batch{Number: 1, Prev: l.Top(), Events: items("x")})
	r.is(err, store.ErrFenced, "Commit")
}

func rewindTail(r *rig) {
	p := r.createAndClaim("s", "a")
	p.write(2)
	restore := r.env.Checkpoint(r.T)
	lost := p.write(3).Top
	r = r.withEngine(restore(r.T))
	r.follow("s", lost).ends(store.ErrAhead)
}
