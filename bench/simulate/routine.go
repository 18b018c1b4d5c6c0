//go:build linux

package main

import "time"

// routine starts what a process does all its life.
func (w *world) routine(r *replica) {
	w.every(r, w.jitter(fleetEvery), func() time.Duration { return fleetEvery - w.jitter(fleetEvery/5) }, func() {
		w.ask(r, 0, fleetEvery, w.charged(opFleet, 1), func(bool) {})
	})
	w.every(r, w.jitter(w.cfg.lease/20), func() time.Duration { return w.cfg.lease / 20 }, func() { w.renewAll(r) })
	w.every(r, w.jitter(sweepEvery), func() time.Duration { return sweepEvery/2 + w.jitter(sweepEvery) }, func() { w.sweep(r, 0) })
	w.every(r, w.jitter(checkEvery), func() time.Duration { return checkEvery }, func() { w.check(r) })
	w.every(r, w.jitter(slotTTL/3), func() time.Duration { return slotTTL / 3 }, func() { w.renewSlots(r) })
	w.every(r, w.jitter(recheckEvery/30), func() time.Duration { return recheckEvery / 30 }, func() { w.recheck(r) })
}

// renewEvery is how often a lease is renewed: a third of its time at the latest.
func (w *world) renewEvery() time.Duration {
	third := w.cfg.lease / 3
	return third - w.jitter(third/4)
}

// patience is how long an owner goes on without a renewal.
func (w *world) patience() time.Duration { return max(w.cfg.lease-time.Second, w.cfg.lease*3/4) }

// renewAll is one look at all leases of a replica.
func (w *world) renewAll(r *replica) {
	for _, k := range append([]*keeper(nil), r.order...) {
		age := w.now - k.renewed
		switch {
		case !k.owning:
			if k.following && k.dormantAt > 0 && w.now > k.dormantAt {
				k.gone()
			}
		case age > w.patience():
			w.seen.stale++
			if k.s.lost < 0 {
				k.s.lost = w.now
			}
			k.again(w)
		case k.dormantAt > 0 && w.now > k.dormantAt && !r.draining:
			k.dormantAt = 0
			k.release(w, k.gone)
		case age >= k.renewEvery && !k.inLine:
			k.inLine = true
			r.renewals = append(r.renewals, k)
		}
	}
	w.renewMore(r)
}

// renewMore gives waiting renewals to free renewers.
func (w *world) renewMore(r *replica) {
	for r.renewing < renewers && len(r.renewals) > 0 {
		k := r.renewals[0]
		r.renewals = r.renewals[1:]
		r.renewing++
		w.renew(r, k)
	}
}

func (w *world) renew(r *replica, k *keeper) {
	began, s, fenced := w.now, k.s, false
	w.askFirst(r, s.partition, w.cfg.lease/3, func() time.Duration {
		fenced = s.owner != r || s.epoch != k.epoch
		if !fenced {
			s.until = w.now + w.cfg.lease
		}
		return w.price(opRenew, 1)
	}, func(ok bool) {
		r.renewing--
		k.inLine = false
		switch {
		case !k.owning:
		case fenced:
			k.again(w)
		case ok:
			k.renewed = max(k.renewed, began)
		}
		w.renewMore(r)
	})
}

// sweep looks for work without an owner, one master after the other.
func (w *world) sweep(r *replica, master int) {
	if master < len(w.nodes) {
		part := 1 / float64(len(w.nodes))
		w.ask(r, master, storeTimeout, w.charged(opSweep, part), func(ok bool) {
			if ok {
				w.sweep(r, master+1)
			}
		})
		return
	}
	if r.draining {
		return
	}
	found := 0
	for _, s := range w.working {
		if s.until > w.now {
			continue
		}
		if found++; found > sweepLimit {
			return
		}
		if k := r.keepers[s]; k == nil || k.following && k.tabs == 0 {
			w.keeperOf(r, s).claim(w)
		}
	}
}

// check compares where followers are with where logs are.
func (w *world) check(r *replica) {
	following := make([]float64, len(w.nodes))
	for _, k := range r.order {
		if k.following {
			following[k.s.partition%len(w.nodes)]++
		}
	}
	for i, n := range following {
		if n > 0 {
			w.ask(r, i, storeTimeout, w.charged(opCheck, n), func(bool) {})
		}
	}
}

// renewSlots renews those of the agents that run here.
func (w *world) renewSlots(r *replica) {
	n := 0.0
	for _, k := range r.order {
		if k.owning && k.s.streaming {
			n++
		}
	}
	if n > 0 && !w.cfg.agentless {
		w.ask(r, 0, slotTTL/3, w.charged(opSlot, n), func(bool) {})
	}
}

// recheck looks up what a part of the people here may still do.
func (w *world) recheck(r *replica) {
	part := float64(r.tabs) / 30 / float64(len(w.nodes))
	for i := range w.nodes {
		w.ask(r, i, storeTimeout, w.charged(opInfo, part), func(bool) {})
	}
}
