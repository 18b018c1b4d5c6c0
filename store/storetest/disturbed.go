package storetest

import (
	"fmt"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// disturbedChecks require [Env.Disturb]: a lost notification costs time, never data.
func disturbedChecks() []check {
	return []check{
		{name: "a tail misses nothing", run: disturbedTail},
		{name: "an idle tail learns of what it was not told", run: disturbedIdleTail},
		{name: "a receiver misses no command", run: disturbedReceiver},
		{name: "a waiting request gets its slot", run: disturbedSlots},
	}
}

func disturbedTail(r *rig) {
	p := r.createAndClaim("s", "a")
	tails := []*follower{r.secondHandle().follow("s", wire.Position{}), r.secondHandle().follow("s", wire.Position{})}
	for n := range 60 {
		if n%10 == 5 {
			r.env.Disturb(r.T)
		}
		if n%20 == 15 {
			p = r.writer(r.claim("s", "a"))
		}
		p.write(1 + n%3)
	}
	want := r.read("s")
	for i, f := range tails {
		r.same(fmt.Sprintf("tail %d", i), f.inOrder(p.top), want)
	}
}

func disturbedIdleTail(r *rig) {
	p := r.createAndClaim("s", "a")
	f := r.secondHandle().follow("s", wire.Position{})
	f.events(1)
	for range 3 {
		r.env.Disturb(r.T)
		p.write(2)
		if got := f.events(2); len(got) != 2 || got[1].At != p.top {
			r.Fatalf("news are %v, want two events up to %v", got, p.top)
		}
	}
	r.env.Disturb(r.T)
	r.ok(r.Lifecycle.Delete(r.ctx, p.lease))
	f.ends(store.ErrNotFound)
}

func disturbedReceiver(r *rig) {
	p := r.createAndClaim("s", "a")
	v := r.secondHandle().receiver(p.lease)
	for n := range 5 {
		r.env.Disturb(r.T)
		c := commands(fmt.Sprint("c", n))
		r.sendAll("s", c)
		r.same("received", v.next(1), c)
	}
	r.env.Disturb(r.T)
	r.ok(r.Leases.Release(r.ctx, p.lease))
	v.ends(store.ErrFenced)
}

func disturbedSlots(r *rig) {
	s := r.take(r.ask("first", "k", 1))
	q := r.queue()
	for n := range 3 {
		holder := fmt.Sprint("h", n)
		q.wait(r.ask(holder, "k", 1))
		r.env.Disturb(r.T)
		r.ok(r.Semaphores.ReleaseSlot(r.ctx, s))
		if s = q.next(); s.Holder != holder {
			r.Fatalf("slot went to %s, want %s", s.Holder, holder)
		}
	}
}
