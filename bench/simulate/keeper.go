//go:build linux

package main

import (
	"slices"
	"time"
)

// keeper keeps a session at a replica, as its owner or as a follower.
type keeper struct {
	s    *session
	r    *replica
	life int
	tabs int
	// state counts changes between owning, following and neither, so that what
	// was begun in one is not ended in another.
	state     int
	owning    bool
	following bool
	epoch     int

	renewed    time.Duration
	renewEvery time.Duration
	inLine     bool // for a renewal
	committing bool
	behind     bool // something is to be committed next
	wait       time.Duration
	settled    bool          // it owns, and has said so
	left       func()        // told once when it does not own any more, while draining
	dormantAt  time.Duration // 0 while somebody holds it, or it works
}

// keeperOf finds or makes the keeper of a session.
func (w *world) keeperOf(r *replica, s *session) *keeper {
	k := r.keepers[s]
	if k == nil {
		k = &keeper{s: s, r: r, life: r.life, wait: retryFirst}
		r.keepers[s] = k
		r.order = append(r.order, k)
		s.keepers = append(s.keepers, k)
	}
	return k
}

// gone takes a keeper away.
func (k *keeper) gone() {
	k.none()
	if k.r.keepers[k.s] == k {
		delete(k.r.keepers, k.s)
		k.r.order = slices.DeleteFunc(k.r.order, func(o *keeper) bool { return o == k })
	}
	k.s.keepers = slices.DeleteFunc(k.s.keepers, func(o *keeper) bool { return o == k })
}

// none makes a keeper neither owner nor follower.
func (k *keeper) none() {
	k.state++
	k.owning, k.settled, k.following = false, false, false
	if left := k.left; left != nil {
		k.left = nil
		left()
	}
}

// then is done in the same state only.
func (k *keeper) then(fn func()) func() {
	state, life := k.state, k.r.life
	return func() {
		if k.state == state && k.r.life == life {
			fn()
		}
	}
}

// ask asks the store for one thing after the other. When one does not work the
// keeper begins again.
func (k *keeper) ask(w *world, steps []op, end func()) {
	if len(steps) == 0 {
		end()
		return
	}
	next := k.then(func() { k.ask(w, steps[1:], end) })
	again := k.then(func() { k.again(w) })
	w.ask(k.r, k.s.partition, storeTimeout, w.charged(steps[0], 1), func(ok bool) {
		if ok {
			next()
		} else {
			again()
		}
	})
}

// claim tries to become the owner.
func (k *keeper) claim(w *world) {
	k.none()
	s, won, left, began := k.s, false, time.Duration(0), w.now
	failed := false
	settled := k.then(func() {
		switch {
		case failed:
			k.again(w)
		case won:
			k.renewed, k.owning, k.inLine = began, true, false
			k.renewEvery = w.renewEvery()
			k.ask(w, []op{opLoad, opInfo}, func() { k.greet(w) })
		case k.tabs == 0:
			k.gone() // another was quicker, and nobody here needs it
		default:
			k.ask(w, []op{opLoad, opInfo, opTail}, func() { k.follow(w, left) })
		}
	})
	w.ask(k.r, s.partition, storeTimeout, func() time.Duration {
		if s.owner != nil && s.owner != k.r && s.until > w.now {
			won, left = false, s.until-w.now
			return w.price(opOwned, 1)
		}
		won = true
		s.owner, s.life, s.until = k.r, k.r.life, w.now+w.cfg.lease
		s.epoch++
		k.epoch = s.epoch
		w.seen.claims = add(w.seen.claims, int(w.now/time.Second), 1)
		return w.price(opClaim, 1)
	}, func(ok bool) {
		failed = !ok
		settled()
	})
}

// again waits a little longer each time and then begins anew.
func (k *keeper) again(w *world) {
	k.none()
	wait := k.wait
	k.wait = min(2*k.wait, retryLast)
	w.after(wait/2+w.jitter(wait/2), k.then(func() {
		if k.r.draining {
			k.follow(w, 0)
			return
		}
		k.claim(w)
	}))
}

// greet is the first commit of an owner. With it the session goes on.
func (k *keeper) greet(w *world) {
	w.commit(k.r, k.s.partition, len(k.s.keepers) > 1, k.orAgain(w, func() {
		if k.s.lost >= 0 {
			w.seen.takeOvers = append(w.seen.takeOvers, w.now-k.s.lost)
			k.s.lost = -1
		}
		k.own(w, k.renewed)
		// Followers tell who watches, and the owner tells everybody.
		for _, o := range k.s.keepers {
			if o != k && o.following && o.tabs > 0 {
				o.tell(w)
			}
		}
		w.after(presenceEvery, k.then(func() { k.write(w) }))
	}))
}

// orAgain is done when something worked; else the keeper begins again.
func (k *keeper) orAgain(w *world, fn func()) func(ok bool) {
	good, bad := k.then(fn), k.then(func() { k.again(w) })
	return func(ok bool) {
		if ok {
			good()
		} else {
			bad()
		}
	}
}

// own begins the routine of an owner.
func (k *keeper) own(w *world, renewed time.Duration) {
	k.state++
	k.owning, k.settled, k.following, k.epoch, k.wait = true, true, false, k.s.epoch, retryFirst
	k.renewed, k.renewEvery = renewed, w.renewEvery()
	if k.r.draining {
		k.handOver(w)
		return
	}
	k.loop(w, func() time.Duration { return inboxEvery }, func() {
		w.ask(k.r, k.s.partition, storeTimeout, w.charged(opReceive, 1), func(bool) {})
	})
	if k.s.streaming {
		every := time.Duration(float64(time.Second) / w.cfg.rate)
		k.loop(w, func() time.Duration { return every }, func() { k.write(w) })
	}
	if k.s.streaming && !w.cfg.agentless {
		k.loop(w, func() time.Duration { return w.jitter(2 * w.cfg.turn) }, func() {
			w.ask(k.r, 0, storeTimeout, func() time.Duration {
				// The script looks at every holder.
				holders := float64(len(w.working))
				return time.Duration(float64(w.price(opSlotTurn, 1)) * holders / probeHolders)
			}, func(bool) {})
		})
	}
}

// loop calls fn while the state stays the same, the first time at any time.
func (k *keeper) loop(w *world, every func() time.Duration, fn func()) {
	var again func()
	again = k.then(func() {
		fn()
		w.after(every(), again)
	})
	w.after(w.jitter(every()), again)
}

// write commits what there is. While a commit is under way the next collects.
func (k *keeper) write(w *world) {
	if k.committing {
		k.behind = true
		return
	}
	k.committing = true
	life := k.r.life
	w.commit(k.r, k.s.partition, len(k.s.keepers) > 1, func(bool) {
		k.committing = false
		if k.behind && k.owning && k.r.life == life {
			k.behind = false
			k.write(w)
		}
	})
}

// follow begins the routine of a follower. The owner's lease lasts some time, or
// is none of its business when that is 0.
func (k *keeper) follow(w *world, left time.Duration) {
	k.state++
	k.owning, k.following, k.wait = false, true, retryFirst
	if k.tabs > 0 {
		k.tell(w)
		k.loop(w, func() time.Duration { return presenceAgain }, func() { k.tell(w) })
	}
	if left > 0 {
		w.after(left+w.jitter(claimJitter), k.then(func() { k.look(w) }))
	}
}

// look claims the session or finds out how long its owner's lease lasts now.
func (k *keeper) look(w *world) {
	if k.tabs == 0 || k.r.draining {
		return
	}
	s := k.s
	if s.owner == nil || s.owner == k.r || s.until <= w.now {
		k.claim(w)
		return
	}
	left := time.Duration(0)
	w.ask(k.r, s.partition, storeTimeout, func() time.Duration {
		left = s.until - w.now
		return w.price(opOwned, 1)
	}, func(ok bool) {
		if !ok {
			left = retryLast
		}
		w.after(left+w.jitter(claimJitter), k.then(func() { k.look(w) }))
	})
}

// tell says to the owner who watches here.
func (k *keeper) tell(w *world) {
	w.ask(k.r, k.s.partition, storeTimeout, w.charged(opSend, 1), func(ok bool) {
		for _, o := range k.s.keepers {
			if ok && o.owning {
				w.ask(o.r, o.s.partition, storeTimeout, w.charged(opReceive, 2), func(bool) { o.write(w) })
				return
			}
		}
	})
}

// vacant tells followers that nobody owns the session any more.
func (s *session) vacant(w *world) {
	for _, k := range slices.Clone(s.keepers) {
		if k.following && k.tabs > 0 && !k.r.draining {
			w.after(w.cfg.rtt, k.then(func() { k.claim(w) }))
		}
	}
}

// release gives the lease up, after a last commit, and does end.
func (k *keeper) release(w *world, end func()) {
	w.commit(k.r, k.s.partition, len(k.s.keepers) > 1, k.orAgain(w, func() {
		w.ask(k.r, k.s.partition, storeTimeout, func() time.Duration {
			if k.s.owner == k.r {
				k.s.owner, k.s.until = nil, 0
			}
			return w.price(opRelease, 1)
		}, k.orAgain(w, func() {
			k.none()
			k.s.vacant(w)
			end()
		}))
	}))
}

// handOver is what an owner does when its replica is drained.
func (k *keeper) handOver(w *world) {
	k.release(w, func() {
		if k.s.lost < 0 && (len(k.s.tabs) > 0 || k.s.streaming) {
			k.s.lost = w.now
		}
		if k.tabs > 0 {
			k.ask(w, []op{opLoad, opInfo, opTail}, func() { k.follow(w, 0) })
		} else {
			k.gone()
		}
	})
}
