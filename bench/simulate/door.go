//go:build linux

package main

import (
	"slices"
	"time"
)

// leastBusy is the replica a load balancer sends the next tab to: the one with
// the fewest connections.
func (w *world) leastBusy() *replica {
	var best *replica
	first := w.random.IntN(len(w.replicas))
	for i := range w.replicas {
		r := w.replicas[(first+i)%len(w.replicas)]
		if r.up && !r.draining && (best == nil || r.tabs < best.tabs) {
			best = r
		}
	}
	return best
}

// backoff is the wait of client.FullJitter, from the model's own chance.
func (w *world) backoff(failed int) time.Duration {
	most := maxBackoff
	if doubled := failed - 1; doubled < 6 {
		most = firstBackoff << max(doubled, 0)
	}
	return w.jitter(most)
}

// restless lets a tab come and go as people and networks do.
func (w *world) restless(t *tab) {
	if w.cfg.stay == 0 {
		return
	}
	r, life := t.r, t.r.life
	w.after(time.Duration(w.random.ExpFloat64()*float64(w.cfg.stay)), func() {
		if t.r == r && r.life == life && t.lost < 0 {
			w.drop(t)
			w.after(w.backoff(1), func() { w.connect(t) })
		}
	})
}

// drop ends a connection.
func (w *world) drop(t *tab) {
	t.lost = w.now
	if t.r == nil {
		return
	}
	t.r.tabs--
	if k := t.r.keepers[t.s]; k != nil {
		k.tabs--
		switch {
		case k.tabs > 0:
		case k.following:
			k.dormantAt = w.now + followLinger
		case !t.s.streaming:
			k.dormantAt = w.now + dormantAfter
		}
	}
	t.r = nil
}

// connect brings a tab to a replica.
func (w *world) connect(t *tab) {
	r := w.leastBusy()
	if r == nil {
		t.failed++
		w.after(w.backoff(t.failed), func() { w.connect(t) })
		return
	}
	w.seen.connects = add(w.seen.connects, int(w.now/connectBucket), 1)
	t.r = r
	r.tabs++
	r.free = max(r.free, w.now) + connectTime
	life := r.life
	refused := func() {
		if t.r == r && r.life == life {
			r.tabs--
			t.r = nil
			t.failed++
			w.after(w.backoff(t.failed), func() { w.connect(t) })
		}
	}
	w.at(r.free, func() {
		if t.r != r || r.life != life {
			return
		}
		w.ask(r, 0, time.Second, w.charged(opQuota, 1), func(bool) { // counts alone when Redis does not answer
			w.ask(r, t.s.partition, storeTimeout, w.charged(opInfo, 1), func(ok bool) {
				switch {
				case t.r != r:
				case !ok || r.draining:
					refused()
				default:
					w.enter(t)
				}
			})
		})
	})
}

// enter gives a tab its place at the keeper of its session.
func (w *world) enter(t *tab) {
	w.seen.returns = append(w.seen.returns, w.now-t.lost)
	t.lost, t.failed = -1, 0
	k := w.keeperOf(t.r, t.s)
	k.tabs++
	k.dormantAt = 0
	switch {
	case k.owning:
		w.after(presenceEvery, k.then(func() { k.write(w) }))
	case k.following:
		k.tell(w)
		w.after(w.jitter(claimJitter), k.then(func() { k.look(w) }))
	case k.tabs == 1 && k.state == 0: // it is new
		k.claim(w)
	}
	w.restless(t)
}

// kill ends a process without a word.
func (w *world) kill(r *replica) {
	r.up = false
	r.life++
	for _, s := range w.sessions {
		if s.owner == r && s.lost < 0 && (len(s.tabs) > 0 || s.streaming) {
			s.lost = w.now
		}
		for _, t := range s.tabs {
			if t.r == r {
				t.r, t.lost = nil, w.now
				w.after(w.backoff(1), func() { w.connect(t) })
			}
		}
	}
	for _, k := range slices.Clone(r.order) {
		k.gone()
	}
	r.tabs = 0
}

// replace drains a process and starts another in its place, then does end.
func (w *world) replace(r *replica, end func()) {
	r.draining = true
	left, life, over := 1, r.life, false
	leave := func() {
		if over {
			return
		}
		over = true
		w.dismiss(r)
		w.after(w.cfg.boot, func() {
			if r.life == life {
				for _, k := range slices.Clone(r.order) {
					k.gone()
				}
				w.routine(w.boot(r))
			}
			end()
		})
	}
	released := func() {
		if left--; left == 0 {
			leave()
		}
	}
	w.after(drainTime, leave)
	for _, k := range slices.Clone(r.order) {
		if !k.owning {
			continue
		}
		left++
		k.left = released
		if k.settled {
			k.handOver(w)
		} // else once it is
	}
	released()
}

// dismiss sends tabs elsewhere, each after another time.
func (w *world) dismiss(r *replica) {
	spread := min(drainAfter, leastSpread+time.Duration(r.tabs)*clientSpread)
	for _, k := range r.order {
		for _, t := range k.s.tabs {
			if t.r == r && t.lost < 0 {
				w.drop(t)
				w.after(w.jitter(spread), func() { w.connect(t) })
			}
		}
	}
}
