package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func leaseChecks() []check {
	return []check{
		{name: "create twice is ErrExists", run: createTwice},
		{name: "claim of an unknown session is ErrNotFound", run: claimUnknown},
		{name: "claim gives a lease", run: claimGivesLease},
		{name: "claim is refused while another holds the lease", run: claimRefused},
		{name: "claim after release", run: claimAfterRelease},
		{name: "a session that is left to an heir is for it alone", run: claimByHeir},
		{name: "an heir that does not come loses the session", run: heirIsLate},
		{name: "claim after expiry", run: claimAfterExpiry},
		{name: "renew keeps others away", run: renewKeeps},
		{name: "renewing for no time is ErrInvalid", run: renewInvalid},
		{name: "the holder may claim again", run: holderClaimsAgain},
		{name: "an expired lease that was not claimed is still good", run: expiredStillGood},
		{name: "epochs grow with every claim", run: epochsGrow},
		{name: "epochs grow over deletion", run: epochsGrowOverDeletion},
		{name: "epochs are not before the clock", run: epochsFollowClock},
		{name: "the claim event is the same bytes for everyone", run: claimEventBytes},
		{name: "the claim event tells where the log ended", run: claimEventPrev},
		{name: "of many claims at once one wins", run: oneClaimWins},
	}
}

func createTwice(r *rig) {
	r.create("s")
	err := r.secondHandle().Lifecycle.Create(r.ctx, store.NewSession{ID: "s", User: "other"})
	r.is(err, store.ErrExists, "second Create")
	if got := r.info("s").User; got != "user" {
		r.Errorf("user after refused Create is %q, want %q", got, "user")
	}
}

func claimUnknown(r *rig) {
	_, err := r.Leases.Claim(r.ctx, "s", "a", r.long())
	r.is(err, store.ErrNotFound, "Claim")
}

func claimGivesLease(r *rig) {
	r.create("s")
	l := r.claim("s", "a")
	want := store.Lease{Session: "s", Replica: "a", Epoch: l.Epoch, TTL: r.long()}
	if l != want || l.Epoch == 0 {
		r.Fatalf("lease is %+v, want %+v with an epoch", l, want)
	}
	i := r.secondHandle().info("s")
	if i.Owner != "a" || i.Epoch != l.Epoch || i.Top != l.Top() || i.Oldest != l.Top() {
		r.Errorf("info is %+v, want owner a and top and oldest %v", i, l.Top())
	}
	if !i.Until.After(i.Updated) {
		r.Errorf("lease until %v, want after its claim at %v", i.Until, i.Updated)
	}
}

func claimRefused(r *rig) {
	p := r.createAndClaim("s", "a")
	_, err := r.secondHandle().Leases.Claim(r.ctx, "s", "b", r.long())
	owned, ok := errors.AsType[*store.OwnedError](err)
	if !ok || !errors.Is(err, store.ErrOwned) {
		r.Fatalf("got error %v, want *OwnedError", err)
	}
	if owned.By != "a" || owned.For <= 0 || owned.For > r.long() {
		r.Errorf("got %+v, want by a for more than 0 and at most %v", owned, r.long())
	}
	p.write(1) // the refused claim did not affect the owner
	if got := len(r.read("s")); got != 2 {
		r.Errorf("log has %d events, want the claim's and one more", got)
	}
}

func claimAfterRelease(r *rig) {
	p := r.createAndClaim("s", "a")
	p.write(1)
	r.ok(r.Leases.Release(r.ctx, p.lease))
	i := r.info("s")
	if i.Owner != "" || i.Epoch != p.lease.Epoch || i.Top != p.top {
		r.Errorf("info after release is %+v, want no owner and the rest as before", i)
	}
	l := r.secondHandle().claim("s", "b")
	if l.Epoch <= p.lease.Epoch || l.Prev != p.top {
		r.Errorf("lease is %+v, want a later epoch and prev %v", l, p.top)
	}
}

func claimByHeir(r *rig) {
	p := r.createAndClaim("s", "a")
	p.write(1)
	for _, heir := range []wire.ReplicaID{"a", "no name"} {
		bad := p.lease
		bad.Heir = heir
		if err := r.Leases.Release(r.ctx, bad); err == nil {
			r.Fatalf("the lease was released to %q, want an error", heir)
		}
	}
	left := p.lease
	left.Heir = "b"
	r.ok(r.Leases.Release(r.ctx, left))
	i := r.info("s")
	if i.Owner != "b" || i.Epoch != p.lease.Epoch || i.Top != p.top || !i.Until.After(i.Updated) {
		r.Errorf("info after release is %+v, want the heir as owner and the rest as before", i)
	}
	r.is(r.Leases.Renew(r.ctx, p.lease), store.ErrFenced, "Renew of who has left")
	r.is(r.Leases.Release(r.ctx, p.lease), store.ErrFenced, "Release of who has left")
	for _, other := range []wire.ReplicaID{"a", "c"} {
		_, err := r.secondHandle().Leases.Claim(r.ctx, "s", other, r.long())
		if owned, ok := errors.AsType[*store.OwnedError](err); !ok || owned.By != "b" || owned.For <= 0 {
			r.Errorf("claim of %s answers %v, want that b owns it", other, err)
		}
	}
	l := r.secondHandle().claim("s", "b")
	if l.Epoch <= p.lease.Epoch || l.Prev != p.top {
		r.Errorf("lease is %+v, want a later epoch and prev %v", l, p.top)
	}
}

func heirIsLate(r *rig) {
	r.create("s")
	p := r.writer(r.claimFor("s", "a", r.short()))
	p.commit(store.Batch{Working: new(true)})
	left := p.lease
	left.Heir = "b"
	r.ok(r.Leases.Release(r.ctx, left))
	r.expire()
	if ids, err := r.Directory.Unattended(r.ctx, 10); err != nil || len(ids) != 1 {
		r.Errorf("without an owner are %v (%v), want one", ids, err)
	}
	if l := r.secondHandle().claim("s", "c"); l.Prev != p.top {
		r.Errorf("lease is %+v, want prev %v", l, p.top)
	}
}

func claimAfterExpiry(r *rig) {
	r.create("s")
	p := r.writer(r.claimFor("s", "a", r.short()))
	p.write(3)
	r.expire()
	if got := r.info("s").Owner; got != "a" {
		r.Errorf("owner of an expired lease is %q, want a until another replica claims it", got)
	}
	l := r.secondHandle().claim("s", "b")
	if l.Prev != p.top || l.Replica != "b" {
		r.Errorf("lease is %+v, want that of b after %v", l, p.top)
	}
	if got := r.info("s").Owner; got != "b" {
		r.Errorf("owner after take-over is %q, want b", got)
	}
	_, err := r.Leases.Claim(r.ctx, "s", "a", r.long())
	r.is(err, store.ErrOwned, "Claim by the old owner")
}

func renewKeeps(r *rig) {
	r.create("s")
	ttl := r.renewed()
	l := r.claimFor("s", "a", ttl)
	until := r.info("s").Until
	for range 2 {
		r.env.Advance(ttl * 5 / 8)
		r.ok(r.Leases.Renew(r.ctx, l))
	}
	_, err := r.secondHandle().Leases.Claim(r.ctx, "s", "b", r.long())
	r.is(err, store.ErrOwned, "Claim of a lease that is renewed")
	if got := r.info("s").Until; !got.After(until) {
		r.Errorf("lease is until %v, want later than %v", got, until)
	}
	r.env.Advance(ttl + r.env.Unit)
	r.claim("s", "b")
}

func renewInvalid(r *rig) {
	r.create("s")
	l := r.claim("s", "a")
	for _, l.TTL = range []time.Duration{0, -time.Second} {
		r.is(r.Leases.Renew(r.ctx, l), store.ErrInvalid, fmt.Sprintf("Renew for %v", l.TTL))
	}
	_, err := r.Leases.Claim(r.ctx, "s", "b", r.long())
	r.is(err, store.ErrOwned, "Claim of another")
}

func holderClaimsAgain(r *rig) {
	p := r.createAndClaim("s", "a")
	p.write(2)
	l := r.claim("s", "a")
	if l.Epoch <= p.lease.Epoch || l.Prev != p.top {
		r.Errorf("second lease is %+v, want a later epoch and prev %v", l, p.top)
	}
	_, err := p.try(p.next(store.Batch{Events: p.frames(1)}))
	r.is(err, store.ErrFenced, "Commit with the first lease")
	r.writer(l).write(1)
}

func expiredStillGood(r *rig) {
	r.create("s")
	p := r.writer(r.claimFor("s", "a", r.short()))
	r.expire()
	p.write(1)
	r.ok(r.Leases.Renew(r.ctx, p.lease))
	r.expire()
	p.write(1)
	r.expire()
	r.ok(r.Leases.Release(r.ctx, p.lease))

	r.create("t")
	l := r.claimFor("t", "a", r.short())
	r.expire()
	r.ok(r.Lifecycle.Delete(r.ctx, l))
}

func epochsGrow(r *rig) {
	r.create("s")
	var last uint64
	for i := range 20 {
		l := r.claim("s", "a")
		if l.Epoch <= last {
			r.Fatalf("claim %d has epoch %d after %d, want a higher one", i, l.Epoch, last)
		}
		last = l.Epoch
		if i%3 == 0 {
			r.ok(r.Leases.Release(r.ctx, l))
		}
	}
}

func epochsGrowOverDeletion(r *rig) {
	var last uint64
	for life := range 4 {
		r.create("s")
		var l store.Lease
		// Claims in quick succession put the epoch ahead of the clock, so the clock
		// alone would repeat positions after the deletion.
		for range 30 {
			l = r.claim("s", "a")
			if l.Epoch <= last {
				r.Fatalf("life %d: epoch %d after %d, want a higher one", life, l.Epoch, last)
			}
			last = l.Epoch
		}
		r.ok(r.Lifecycle.Delete(r.ctx, l))
	}
}

func epochsFollowClock(r *rig) {
	r.create("s")
	first := r.claim("s", "a")
	r.env.Advance(r.env.Unit)
	second := r.claim("s", "a")
	if got, want := second.Epoch-first.Epoch, uint64(r.env.Unit.Milliseconds()); got < want { //nolint:gosec // not negative
		r.Errorf("epoch grew by %d in %v, want at least %d", got, r.env.Unit, want)
	}
}

func claimEventBytes(r *rig) {
	p := r.createAndClaim("s", "replica-1")
	other := r.secondHandle()
	events := r.read("s")
	if len(events) != 1 || events[0].At != p.lease.Top() {
		r.Fatalf("log is %v, want the claim's event at %v", events, p.lease.Top())
	}
	f := r.claimFrame(events[0])
	if f.Type != "OWNER_CHANGED" || f.Session != "s" || f.Message != p.lease.Top().String() ||
		f.Data.Replica != "replica-1" || f.Data.Epoch != p.lease.Epoch || !f.Data.Prev.IsZero() {
		r.Errorf("claim event says %+v, want OWNER_CHANGED of s at %v by replica-1 with epoch %d and no previous position", f, p.lease.Top(), p.lease.Epoch)
	}
	if want := store.ClaimEvent(p.lease, f.Timestamp); !bytes.Equal(events[0].Frame, want.Frame) {
		r.Errorf("claim event is\n%s, want\n%s", events[0].Frame, want.Frame)
	}
	r.env.Advance(r.env.Unit)
	if again := other.read("s"); !bytes.Equal(again[0].Frame, events[0].Frame) {
		r.Errorf("another replica reads\n%s, want\n%s", again[0].Frame, events[0].Frame)
	}
	for news, err := range other.Contents.Tail(r.ctx, "s", wire.Position{}) {
		r.ok(err)
		if len(news.Events) == 0 {
			continue
		}
		if !bytes.Equal(news.Events[0].Frame, events[0].Frame) {
			r.Errorf("a tail shows\n%s, want\n%s", news.Events[0].Frame, events[0].Frame)
		}
		break
	}
}

func claimEventPrev(r *rig) {
	r.create("s")
	var want wire.Position
	for i := range 5 {
		l := r.claim("s", wire.ReplicaID(fmt.Sprintf("replica-%d", i)))
		if l.Prev != want {
			r.Errorf("claim %d: prev is %v, want %v", i, l.Prev, want)
		}
		p := r.writer(l)
		want = l.Top()
		if i > 0 {
			want = p.write(i).Top
		}
		r.ok(r.Leases.Release(r.ctx, l))
	}
	want = wire.Position{}
	for _, e := range r.read("s") {
		if e.At.Seq == 0 {
			f := r.claimFrame(e)
			if f.Data.Prev != want {
				r.Errorf("event %v says prev %v, want %v", e.At, f.Data.Prev, want)
			}
			if again := store.ClaimEvent(store.Lease{
				Session: f.Session, Replica: f.Data.Replica, Epoch: f.Data.Epoch, Prev: f.Data.Prev,
			}, f.Timestamp); !bytes.Equal(again.Frame, e.Frame) {
				r.Errorf("event %v is\n%s, want\n%s", e.At, e.Frame, again.Frame)
			}
		}
		want = e.At
	}
}

func oneClaimWins(r *rig) {
	r.create("s")
	const n = 16
	errs := make(chan error, n)
	for i := range n {
		h := r.secondHandle()
		go func() {
			_, err := h.Leases.Claim(r.ctx, "s", wire.ReplicaID(fmt.Sprintf("replica-%d", i)), r.long())
			errs <- err
		}()
	}
	won := 0
	for range n {
		switch err := <-errs; {
		case err == nil:
			won++
		case !errors.Is(err, store.ErrOwned):
			r.Errorf("got error %v, want ErrOwned", err)
		}
	}
	if won != 1 || len(r.read("s")) != 1 {
		r.Errorf("%d claims succeeded and the log has %d events, want one of each", won, len(r.read("s")))
	}
}
